"""Runs git, with bounded output and time. No other module starts git.

Any program can write a repository, so git reads a configuration that names no program (`make_stand_in`).
"""

import asyncio
import codecs
import contextlib
import os
import re
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.git.repository import (
    FileState,
    FileStatus,
    NoStatus,
    Repository,
    RepoStatus,
    common_folder,
    find_repository,
    is_still_there,
    read_plain_settings,
    read_regular,
    stranger_of,
)
from desktop_agent.core.system.processes.child import started, unhurried
from desktop_agent.core.system.processes.process_tree import MARK_VARIABLE, ProcessTree
from desktop_agent.core.system.processes.shell import search_path
from desktop_agent.core.system.processes.worker_process import NO_WINDOW

TIME_LIMIT_S: Final = 30.0
_ERROR_LIMIT_BYTES: Final = 8 * 1024
_TOLD_LIMIT_BYTES: Final = 64 * 1024
_SETTINGS_LIMIT_BYTES: Final = 4 * 1024 * 1024

_SETTINGS: Final = (
    "safe.bareRepository=explicit", "protocol.allow=never", "submodule.recurse=false", "diff.ignoreSubmodules=all",
    f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "core.pager=cat", "core.askPass=", "credential.helper=",
    "log.showSignature=false", "gc.auto=0", "maintenance.auto=false",
)  # fmt: skip
_ALWAYS: Final = ("--no-pager", "--no-optional-locks", *(word for setting in _SETTINGS for word in ("-c", setting)))
_FOR_COMMAND: Final[Mapping[str, tuple[str, ...]]] = {
    "status": ("--ignore-submodules=all",),
    "diff": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
}
"""Without these options, the commands start converters, and git in each submodule with its own configuration."""
_REPLACED: Final = "{} is not the one that was there when the folder was opened"
_STRANGER: Final = (
    "{0} belongs to another user; if you trust the repository, run: git config --global --add safe.directory {1}"
)

_PASSED_ON: Final = (
    "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "GIT_EXEC_PATH",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
    "APPDATA", "LOCALAPPDATA", "USERPROFILE", "SYSTEMROOT", "TEMP", "TMP", "PATHEXT",
)  # fmt: skip
"""The variables that git gets, listed one by one so that it gets no key, and no `GIT_DIR` of a hook that runs us."""
_NOWHERE: Final = str(Path(os.sep, "nonexistent"))
"""Used in place of an empty `PATH`, which would mean the current folder."""


class PinnedGit(Struct, frozen=True):
    """Git bound to one repository. Git does not search for another repository, and starts no other program."""

    _repository: Repository
    _common: Path

    async def run(self, *arguments: str, limit_bytes: int) -> "tuple[bytes, bool] | NoStatus":
        """Return git's output and whether it is complete, or why git failed. Cancelling kills the process group."""
        repository = self._repository
        places = (f"--git-dir={repository.git_dir}", f"--work-tree={repository.root}")
        command, *rest = arguments
        environ = await asyncio.to_thread(_environment, repository.root) | {
            "GIT_COMMON_DIR": str(self._common),
            "GIT_CEILING_DIRECTORIES": str(repository.root.parent),
        }
        argv = (*_ALWAYS, *places, command, *_FOR_COMMAND.get(command, ()), *rest)
        return await _run(argv, repository.root / repository.prefix, environ, limit_bytes)


@contextlib.asynccontextmanager
async def pinned(repository: Repository) -> AsyncGenerator["PinnedGit | NoStatus"]:
    """Yield git bound to a repository; `NoStatus` if it was replaced or belongs to another user."""
    look = await asyncio.to_thread(_look_at, repository)
    if isinstance(look, NoStatus):
        yield look
        return
    stranger, common, listed = look
    if stranger is not None and not await _is_trusted(repository):
        yield NoStatus(reason="failed", detail=_STRANGER.format(stranger, repository.root))
        return
    if listed is None:  # only git can parse this configuration
        listed = await _ask_about_settings(repository, *LISTING, str(common / "config"))
    if isinstance(listed, NoStatus):
        yield listed
        return
    folder = Path(tempfile.mkdtemp(prefix="desktop-agent-git-"))
    in_thread = asyncio.get_running_loop().run_in_executor  # not a task, because closing the application cancels tasks
    try:
        try:
            await unhurried(in_thread(None, make_stand_in, folder, common, listed))  # the thread cannot be cancelled
        except OSError as error:
            yield NoStatus(reason="failed", detail=error.strerror or str(error))
        else:
            yield PinnedGit(repository, folder)
    finally:
        await unhurried(in_thread(None, partial(shutil.rmtree, folder, ignore_errors=True)))


_KEPT_VARIABLES: Final = regex(r"GIT_(AUTHOR|COMMITTER|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|SSH|SSL|TRACE|EXEC_PATH).*")


class NoRepositoryError(UsageError): ...


class UsersGit(Struct, frozen=True):
    """Git as the user runs it: with the configuration, filters, hooks and keys. Use it only for what the user asked.

    Git and SSH ask nothing: what needs a password fails.
    """

    repository: Repository
    environ: Mapping[str, str]
    _failure: str

    @classmethod
    async def around(cls, folder: Path, failure: str = "git failed, so nothing was committed.") -> "UsersGit":
        """Raises `NoRepositoryError`. `failure` is the title of other errors."""
        return await asyncio.to_thread(cls._around, folder, failure)

    @classmethod
    def _around(cls, folder: Path, failure: str) -> "UsersGit":
        repository = find_repository(folder)
        if repository is None:
            raise NoRepositoryError("The folder is not in a git repository.", hint="Make one with `git init`.")
        own = child_environment(os.environ).items()
        environ = {name: value for name, value in own if name[:4] != "GIT_" or _KEPT_VARIABLES.fullmatch(name)}
        environ["PATH"] = search_path(os.environ, repository.root) or _NOWHERE
        quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never"}
        return cls(repository, environ | quiet | {"GIT_OPTIONAL_LOCKS": "0"}, failure)

    async def run(
        self,
        *arguments: str,
        stdin: str = "",
        environ: Mapping[str, str] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> tuple[int, str, str]:
        """Return exit code, output and complaint; `tell` hears both while they are written, and no input is sent.

        A hook may take long. Cancelling kills the process group, and with `tell` also processes that left the group.
        """
        variables = {**self.environ, **(environ or {}), MARK_VARIABLE: (mark := secrets.token_hex(8))}
        try:
            process = await _start_git(arguments, self.repository.root, variables, has_input=True)
        except OSError as error:
            raise AgentError("git cannot be started.", hint="Install git.", detail=str(error)) from error
        try:
            if tell is None:
                output, complaint = await process.communicate(os.fsencode(stdin))
            else:
                output, complaint = await _told(process, tell)
        finally:
            if tell is not None and process.returncode is None:
                tree = ProcessTree(mark, process.pid)
                await unhurried(asyncio.to_thread(tree.signal, "tree", forceful=True))
            await _end(process)
        assert process.returncode is not None
        return process.returncode, os.fsdecode(output), complaint.decode("utf-8", "replace").strip()

    async def ask(self, *arguments: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> str:
        """Return git's output. Raises `AgentError` if git fails."""
        code, output, complaint = await self.run(*arguments, stdin=stdin, environ=environ)
        if code:
            raise AgentError(self._failure, detail=complaint or f"git {arguments[0]}: {code}")
        return output


FETCH_LIMIT_S: Final = 180.0
_FETCHED_BYTES: Final = 256 * 2**20


async def fetch_newest(address: str, folder: Path, inside: str, *, most_files: int, most_bytes: int) -> str:
    """Write the files of the newest commit, or those in its folder `inside`, to `folder`; return the commit.

    Nothing of the repository runs: no hook, no filter, no submodule, and git asks nothing. Raises `AgentError`.
    """
    repository = folder / ".git"
    await asyncio.to_thread(folder.mkdir, parents=True)
    environ = {name: value for name, value in child_environment(os.environ).items() if not name.startswith("GIT_")}
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never"}
    environ |= quiet | {"PATH": search_path(os.environ) or _NOWHERE, "GIT_ALLOW_PROTOCOL": "https:ssh:file"}
    options = ("--quiet", "--depth=1", "--no-checkout", "--no-tags", "--single-branch", "--no-recurse-submodules")
    fetching = asyncio.create_task(
        _run(
            (*_ALWAYS, "clone", *options, "--template=", "--", address, str(folder)), folder, environ, 0, FETCH_LIMIT_S
        ),
        name="fetch a repository",
    )
    try:
        while not (await asyncio.wait((fetching,), timeout=0.2))[0]:
            if await asyncio.to_thread(_size_below, repository / "objects" / "pack") > _FETCHED_BYTES:
                raise AgentError("The repository is too large to be fetched.", detail=address)
    finally:
        fetching.cancel()
        await asyncio.wait((fetching,))
    _require(fetching.result(), "The repository could not be fetched.")
    # From here on without the user's configuration, in which filters may be defined.
    environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ALLOW_PROTOCOL": "none"}
    git = (*_ALWAYS, f"--git-dir={repository}", f"--work-tree={folder}", "-c", f"core.attributesFile={os.devnull}")
    failure = "The fetched repository could not be read."
    below = ("--", inside) if inside else ()
    tree = ("ls-tree", "-r", "-l", "-z", "--full-tree", "HEAD", *below)
    listed = _require(await _run((*git, *tree), folder, environ, _SETTINGS_LIMIT_BYTES), failure)
    sizes = [line.split(None, 4)[3] for line in listed.split(b"\0")[:-1]]
    if not sizes:
        raise UsageError(f"The repository has no folder {inside}." if inside else "The repository is empty.")
    if len(sizes) > most_files or sum(int(size) for size in sizes if size.isdigit()) > most_bytes:
        hint = "Name the plugin's folder in the repository." if not inside else ""
        raise UsageError("The repository has too many files, or they are too large.", hint=hint)
    _require(await _run((*git, "checkout", "--quiet", "HEAD", "--", inside or "."), folder, environ, 0), failure)
    return os.fsdecode(_require(await _run((*git, "rev-parse", "HEAD"), folder, environ, 100), failure)).strip()


def _require(answer: tuple[bytes, bool] | NoStatus, failure: str) -> bytes:
    if isinstance(answer, NoStatus):
        hint = "Install git." if answer.reason == "git_missing" else ""
        detail = "It took too long." if answer.reason == "too_slow" else answer.detail
        raise AgentError(failure, hint=hint, detail=detail)
    return answer[0]


def _size_below(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(entry.stat().st_size for entry in os.scandir(folder))
    return 0


async def run_git(repository: Repository, *arguments: str, limit_bytes: int) -> tuple[bytes, bool] | NoStatus:
    async with pinned(repository) as git:
        return git if isinstance(git, NoStatus) else await git.run(*arguments, limit_bytes=limit_bytes)


def _look_at(repository: Repository) -> tuple[Path | None, Path, bytes | None] | NoStatus:
    """Return the path that another user owns (or None), the common folder, and its settings in the form of `LISTING`.

    The settings are None if only git can parse the file.
    """
    if not is_still_there(repository):
        return NoStatus(reason="replaced", detail=_REPLACED.format(repository.root / ".git"))
    try:
        stranger = stranger_of(repository)
    except OSError as error:
        return NoStatus(reason="failed", detail=error.strerror or str(error))
    common = common_folder(repository.git_dir)
    return stranger, common, read_plain_settings(common / "config")


async def _is_trusted(repository: Repository) -> bool:
    trusted = await _ask_about_settings(repository, "config", "--null", "--get-all", "safe.directory")
    places: list[str] = []
    for place in [] if isinstance(trusted, NoStatus) else os.fsdecode(trusted).split("\0")[:-1]:
        places = [*places, place] if place else []  # as in git, an empty value clears the earlier ones
    return bool({"*", str(repository.root)}.intersection(places))


async def _ask_about_settings(repository: Repository, *arguments: str) -> bytes | NoStatus:
    environ = await asyncio.to_thread(_environment, repository.root) | {"GIT_DIR": os.devnull}
    answer = await _run((*_ALWAYS, *arguments), repository.root, environ, _SETTINGS_LIMIT_BYTES)
    if isinstance(answer, NoStatus):
        return answer
    return answer[0] if answer[1] else NoStatus(reason="failed", detail="the configuration of git is too long")


async def _run(
    argv: Sequence[str], folder: Path, environ: Mapping[str, str], limit_bytes: int, limit_s: float = TIME_LIMIT_S
) -> tuple[bytes, bool] | NoStatus:
    try:
        process = await _start_git(argv, folder, environ)
    except FileNotFoundError:
        return NoStatus(reason="git_missing")
    except OSError as error:
        return NoStatus(reason="failed", detail=error.strerror or str(error))
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(limit_s):
            (output, is_complete), complaint = await asyncio.gather(
                _read_output(process, process.stdout, limit_bytes), _read_complaint(process.stderr)
            )
            await process.wait()
    except TimeoutError:
        return NoStatus(reason="too_slow")
    finally:
        await _end(process)
    if is_complete and process.returncode != 0:
        lines = complaint.decode("utf-8", "replace").strip().splitlines()
        return NoStatus(reason="failed", detail=lines[0] if lines else f"git ended with {process.returncode}")
    return output, is_complete


async def _start_git(
    argv: Sequence[str], folder: Path, environ: Mapping[str, str], *, has_input: bool = False
) -> asyncio.subprocess.Process:
    return await started(
        asyncio.create_subprocess_exec(
            "git",
            *argv,
            cwd=folder,
            env=environ,
            stdin=asyncio.subprocess.PIPE if has_input else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            creationflags=NO_WINDOW,
        ),
        _end,
    )


async def _told(process: asyncio.subprocess.Process, tell: Callable[[str], None]) -> tuple[bytes, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.close()
    kept = await asyncio.gather(_passed_on(process.stdout, tell), _passed_on(process.stderr, tell))
    await process.wait()
    return kept


async def _passed_on(stream: asyncio.StreamReader, tell: Callable[[str], None]) -> bytes:
    decoder, kept = codecs.getincrementaldecoder("utf-8")("replace"), b""
    while chunk := await stream.read(64 * 1024):
        kept = (kept + chunk)[-_TOLD_LIMIT_BYTES:]
        tell(decoder.decode(chunk))
    return kept


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        _kill(process)
        await process.communicate()


async def _read_output(
    process: asyncio.subprocess.Process, stream: asyncio.StreamReader, limit_bytes: int
) -> tuple[bytes, bool]:
    output = bytearray()
    is_complete = True
    while chunk := await stream.read(64 * 1024):
        room = limit_bytes - len(output)
        output += chunk[:room]
        if is_complete and len(chunk) > room:
            is_complete = False
            _kill(process)
    return bytes(output), is_complete


async def _read_complaint(stream: asyncio.StreamReader) -> bytes:
    kept = b""
    while chunk := await stream.read(64 * 1024):
        kept += chunk[: _ERROR_LIMIT_BYTES - len(kept)]
    return kept


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended by itself a moment ago
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _environment(workspace: Path) -> dict[str, str]:
    environment = {name: value for name in _PASSED_ON if (value := os.environ.get(name)) is not None}
    return environment | {
        "PATH": search_path(os.environ, workspace) or _NOWHERE,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_ASKPASS": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }


LISTING: Final = ("config", "--no-includes", "--null", "--list", "--file")
"""The arguments with which git reads one configuration file, whose path follows. It runs nothing for that."""

_KEPT: Final = regex(
    r"core\.(repositoryformatversion|filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|quotepath|excludesfile"
    r"|checkstat|trustctime|bigfilethreshold|logallrefupdates|protecthfs|protectntfs|sparsecheckout|sparsecheckoutcone"
    r"|sharedrepository|abbrev|checkroundtripencoding)"
    r"|extensions\.(objectformat|refstorage|compatobjectformat|noop)"
    r"|status\.(renames|renamelimit)|diff\.(renames|renamelimit|algorithm)|index\.sparse|user\.(name|email)"
    r"|branch\..+\.(remote|merge)|remote\..+\.fetch",
    re.DOTALL,
)
_NO_FILTERS: Final = b"\n* -filter\n"
"""The line for `info/attributes`, which overrides all other attributes, so that no file ever has a filter."""
_LARGEST_ATTRIBUTES_BYTES: Final = 1024 * 1024
_LINKED: Final = (
    "objects", "refs", "packed-refs", "reftable", "logs", "worktrees", "shallow", "info/exclude",
    "info/sparse-checkout",
)  # fmt: skip


def make_stand_in(folder: Path, common: Path, listing: bytes) -> None:
    """Fill the empty `folder` as git's `GIT_COMMON_DIR` in place of `common`. Blocks. `listing` is from `LISTING`.

    About forty settings, attributes and hooks can name a program. This folder has harmless settings, no filters, no
    hooks, and links to the real objects, refs and logs.
    """
    (folder / "config").write_bytes(harmless_config(listing))
    info = folder / "info"
    info.mkdir()
    attributes = read_regular(common / "info" / "attributes", _LARGEST_ATTRIBUTES_BYTES)
    (info / "attributes").write_bytes(attributes + _NO_FILTERS)
    for name in _LINKED:
        _link(common / name, folder / name)


def harmless_config(listing: bytes) -> bytes:
    lines = [b"[core]", b"\tbare = false"]
    for record in listing.split(b"\0"):
        name, separator, value = record.partition(b"\n")
        text = os.fsdecode(name)
        if not _KEPT.fullmatch(text):
            continue
        section, _, rest = text.partition(".")
        subsection, _, key = rest.rpartition(".")
        head = f'[{section} "{_escaped(subsection)}"]' if subsection else f"[{section}]"
        lines += [
            os.fsencode(head),
            os.fsencode(f'\t{key} = "{_escaped(os.fsdecode(value))}"' if separator else f"\t{key}"),
        ]
    return b"\n".join([*lines, b""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _link(target: Path, link: Path) -> None:
    if not os.path.lexists(target):
        return
    try:
        link.symlink_to(target)
    except OSError:
        if sys.platform != "win32":
            raise
        if target.is_dir():
            import _winapi

            _winapi.CreateJunction(str(target), str(link))
        else:
            shutil.copyfile(target, link)


STATUS_LIMIT_BYTES: Final = 32 * 1024 * 1024
"""How much of a status is read: enough for about 200,000 changed files, more than a user would look at."""
LIST_LIMIT_BYTES: Final = 64 * 1024 * 1024

_PARSE_IN_THREAD_BYTES: Final = 64 * 1024


async def query_status(folder: Path) -> RepoStatus | NoStatus:
    repository = await asyncio.to_thread(find_repository, folder)
    return NoStatus(reason="not_a_repository") if repository is None else await status_of(repository)


async def status_of(repository: Repository) -> RepoStatus | NoStatus:
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
    """Return the files below `folder` that are tracked, or new and not ignored; and whether the list is complete.

    None if git fails. A deleted tracked file is listed until its deletion is staged.
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


async def read_git(repository: Repository, *arguments: str) -> bytes | NoStatus:
    """Return git's output. Truncated output counts as a failure."""
    answer = await run_git(repository, *arguments, limit_bytes=LIST_LIMIT_BYTES)
    if isinstance(answer, NoStatus):
        return answer
    return answer[0] if answer[1] else NoStatus(reason="failed", detail="git printed more than can be shown")


_PLAIN: Final[Mapping[FileState, FileStatus]] = {
    state: FileStatus(state=state)
    for state in ("modified", "added", "deleted", "renamed", "untracked", "conflicted", "ignored")
}
_BRANCH: Final = b"# branch."
_PATH_FIELD: Final = {b"1": 8, b"2": 9, b"u": 10}


def parse_status(output: bytes) -> RepoStatus:
    """The output is from `git status --porcelain=v2 -z --branch` (git-status(1)). Unknown lines are ignored."""
    heads: dict[str, str] = {}
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
        elif record.startswith(_BRANCH):
            name, _, value = os.fsdecode(record.removeprefix(_BRANCH)).partition(" ")
            heads[name] = value if value not in ("(detached)", "(initial)") else ""
    counts = re.fullmatch(r"\+(\d{1,9}) -(\d{1,9})", heads.get("ab", ""))
    ahead, behind = map(int, counts.groups()) if counts else (0, 0)
    return RepoStatus(
        branch=heads.get("head", ""),
        commit=heads.get("oid", ""),
        upstream=heads.get("upstream", ""),
        ahead=ahead,
        behind=behind,
        files=files,
    )


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
    # Git lists a nested repository as one folder, with a slash at its end. It is not a file.
    names = {os.fsdecode(name) for name in output.split(b"\0")[:-1] if not name.endswith(b"/")}
    return list(names)


def _below(prefix: str, files: Mapping[str, FileStatus]) -> Mapping[str, FileStatus]:
    if not prefix:
        return files
    return {path[len(prefix) :]: status for path, status in files.items() if path.startswith(prefix)}
