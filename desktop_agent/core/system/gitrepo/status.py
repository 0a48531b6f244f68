"""What git knows about a folder: its branch, what is changed, and which files belong to it.

One child process per question, never one per file; each takes no lock. `parse_status` is pure; the format is git's
porcelain version 2 (git-status(1), "Porcelain Format Version 2").
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from desktop_agent.core.system.gitrepo.child import run_git
from desktop_agent.core.system.gitrepo.finding import Repository, find_repository
from desktop_agent.core.system.gitrepo.states import FileState, FileStatus, NoStatus, RepoStatus

STATUS_LIMIT_BYTES: Final = 32 * 1024 * 1024
"""About 200,000 changed files: more than a user reads, less than hurts."""
LIST_LIMIT_BYTES: Final = 64 * 1024 * 1024

_PARSE_IN_THREAD_BYTES: Final = 64 * 1024


# --- asking -------------------------------------------------------------------------------------------------------


async def query_status(folder: Path) -> RepoStatus | NoStatus:
    """Return the state of the repository that `folder` is in, or why there is no answer.

    It covers `folder` only, not the repository around it.
    """
    repository = await asyncio.to_thread(find_repository, folder)
    return NoStatus(reason="not_a_repository") if repository is None else await status_of(repository)


async def status_of(repository: Repository) -> RepoStatus | NoStatus:
    """Return the state of a repository that was found before, below its `prefix`. Submodules are not looked into."""
    # `matching` names an ignored folder once instead of its 40,000 files; `normal` does the same for untracked ones.
    answer = await run_git(
        repository,
        "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=normal", "--ignored=matching", "--", ".",
        limit_bytes=STATUS_LIMIT_BYTES,
    )  # fmt: skip
    if isinstance(answer, NoStatus):
        return answer
    output, is_complete = answer
    if len(output) > _PARSE_IN_THREAD_BYTES:
        status = await asyncio.to_thread(parse_status, output)
    else:
        status = parse_status(output)
    return replace(status, files=_below(repository.prefix, status.files), is_complete=is_complete)


async def list_files(folder: Path) -> tuple[list[str], bool] | None:
    """Return all files below `folder` that are tracked or new and not ignored, and whether the list is whole.

    None when git cannot say. Tracked files that were deleted are in the list until the deletion is staged.
    """
    repository = await asyncio.to_thread(find_repository, folder)
    if repository is None:
        return None
    answer = await run_git(
        repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard", limit_bytes=LIST_LIMIT_BYTES
    )
    if isinstance(answer, NoStatus):
        return None
    return await asyncio.to_thread(_parse_list, answer[0]), answer[1]


async def read_git(repository: Repository, *arguments: str, limit_bytes: int = LIST_LIMIT_BYTES) -> bytes | NoStatus:
    """Return what a git command that only reads printed, or why there is no answer; cut-off output is none."""
    answer = await run_git(repository, *arguments, limit_bytes=limit_bytes)
    if isinstance(answer, NoStatus):
        return answer
    return answer[0] if answer[1] else NoStatus(reason="failed", detail="git printed more than can be shown")


# --- parsing ------------------------------------------------------------------------------------------------------

_PLAIN: Final[Mapping[FileState, FileStatus]] = {
    state: FileStatus(state=state)
    for state in ("modified", "added", "deleted", "renamed", "untracked", "conflicted", "ignored")
}
_BRANCH: Final = b"# branch.head "
_PATH_FIELD: Final = {b"1": 8, b"2": 9, b"u": 10}
"""How many space-separated fields precede the path, which may itself contain spaces."""


def parse_status(output: bytes) -> RepoStatus:
    """Return what `git status --porcelain=v2 -z --branch` printed. Paths stay relative to the repository's top.

    Lines of a kind that this version does not know are skipped; so is a last line that was cut off.
    """
    branch = ""
    files: dict[str, FileStatus] = {}
    records = iter(output.split(b"\0")[:-1])  # what follows the last NUL is nothing, or half a record
    for record in records:
        kind = record[:1]
        if kind in _PATH_FIELD:
            fields = record.split(b" ", _PATH_FIELD[kind])
            origin = next(records, None) if kind == b"2" else b""
            if len(fields) == _PATH_FIELD[kind] + 1 and len(fields[1]) == 2 and origin is not None:
                files[os.fsdecode(fields[-1])] = _changed(kind, fields, origin)
        elif kind in (b"?", b"!"):
            path = os.fsdecode(record[2:])
            state: FileState = "untracked" if kind == b"?" else "ignored"
            files[path.rstrip("/")] = FileStatus(state=state, is_folder=True) if path.endswith("/") else _PLAIN[state]
        elif record.startswith(_BRANCH) and record != _BRANCH + b"(detached)":
            branch = os.fsdecode(record.removeprefix(_BRANCH))
    return RepoStatus(branch=branch, files=files)


def _changed(kind: bytes, fields: list[bytes], origin: bytes) -> FileStatus:
    staged, unstaged = chr(fields[1][0]), chr(fields[1][1])
    state: FileState
    if kind == b"u":
        state = "conflicted"
    elif unstaged == "D" or (staged == "D" and unstaged == "."):
        state = "deleted"
    elif kind == b"2":
        state = "renamed" if "R" in (staged, unstaged) else "added"  # a copy is a new file
    elif "A" in (staged, unstaged):
        state = "added"
    else:
        state = "modified"
    return FileStatus(state=state, renamed_from=os.fsdecode(origin)) if state == "renamed" else _PLAIN[state]


def _parse_list(output: bytes) -> list[str]:
    # A nested repository is listed as one folder, with a slash at its end: not a file.
    names = {os.fsdecode(name) for name in output.split(b"\0")[:-1] if not name.endswith(b"/")}
    return list(names)


def _below(prefix: str, files: Mapping[str, FileStatus]) -> Mapping[str, FileStatus]:
    if not prefix:
        return files
    return {path[len(prefix) :]: status for path, status in files.items() if path.startswith(prefix)}
