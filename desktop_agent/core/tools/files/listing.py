"""The files of a folder as the project sees them: without ignored files, `.git` and the like.

Git lists a whole repository, ripgrep everything else.
"""

import asyncio
import os
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.system.git.git_process import PinnedGit, pinned
from desktop_agent.core.system.git.repository import NoStatus, Repository, find_repository
from desktop_agent.core.tools.files.ripgrep import SKIPPED, SearchGround, prepare, run_ripgrep

MOST_COLLECTED = 200_000

MOST_RETURNED_BYTES = 80_000

_SKIPPED_BYTES = tuple(f"{name}/".encode() for name in SKIPPED - {".git"})
_ONLY_FOR_RIPGREP = (".gitmodules", ".ignore", ".rgignore")
"""A folder with one of these files is listed by ripgrep, because git's answer does not include their effect."""

_MOST_BYTES = 64 * 1024 * 1024


class FileListing(Struct, frozen=True):
    """Sorted paths of files, with `/`, relative to the listed folder. Bytes that are not UTF-8 are surrogates."""

    paths: list[str]
    is_partial: bool = False


Select = Callable[[list[str]], list[str]]
"""Returns those files of a list that are wanted. Called in a thread, once for each part of the folder's files."""
Measure = Callable[[os.stat_result], int]


async def list_paths(folder: Path, name: str, context: SearchGround, *, depth: int | None = None) -> FileListing:
    """List files, including hidden ones, down to `depth` levels. Raises `ToolError` after a minute or on failure."""
    known = await list_known(folder, name, context, depth=depth)
    present = await asyncio.to_thread(_present, folder, known.paths)
    if known.is_partial and len(present) < len(known.paths):  # missing files displaced others in the partial list
        return await _from_ripgrep(folder, name, context, depth)
    return FileListing(present, known.is_partial)


async def list_known(folder: Path, name: str, context: SearchGround, *, depth: int | None = None) -> FileListing:
    """List like `list_paths`, but tracked files may be missing. Check the shown files with `missing`."""
    repository = await asyncio.to_thread(_repository_for, folder, context) if depth is None else None
    if repository is not None:
        async with pinned(repository) as git:
            answer = await _ls_files(git, "--cached", "--others", "--exclude-standard")
        if answer is not None and b"/\0" not in answer:
            return await asyncio.to_thread(_known, answer)
    return await _from_ripgrep(folder, name, context, depth)


async def left_out(folder: Path, name: str, context: SearchGround) -> list[str]:
    """Return the files below `folder` that git tracks but ripgrep leaves out. Raises like `list_paths`."""
    tracked = await _tracked_anyway(folder)
    if not tracked:
        return []
    found, _ = await _walked(folder, name, context, None)
    walked = await asyncio.to_thread(lambda: set(_decoded(found, [])))
    return [path for path in tracked if path not in walked]


async def _tracked_anyway(folder: Path) -> list[str]:
    repository = await asyncio.to_thread(find_repository, folder)
    if repository is None:
        return []
    async with pinned(repository) as git:
        answer = await _ls_files(git, "--cached", "--ignored", "--exclude-standard")
    return await asyncio.to_thread(_regular, folder, answer) if answer else []


def _regular(folder: Path, answer: bytes) -> list[str]:
    base = f"{folder}/"
    found = (path for path in sorted(dict.fromkeys(_plain(answer))) if SKIPPED.isdisjoint(path.split("/")))
    return [path for path in found if os.path.isfile(base + path) and not os.path.islink(base + path)]  # noqa: PTH113, PTH114  # text


def missing(folder: Path, paths: list[str]) -> bool:
    """Whether any of the paths does not exist. Paths that end with `/` are folders. Blocks."""
    return len(_present(folder, paths)) < len(paths)


def _present(folder: Path, paths: list[str]) -> list[str]:
    base = f"{folder}/"  # plain text: a Path for each of a hundred thousand entries takes a second
    return [path for path in paths if os.path.lexists(base + path)]


def within_limits(paths: list[str], limit: int, max_bytes: int) -> list[str]:
    size = 0
    for index, path in enumerate(paths[:limit]):
        size += len(path.encode("utf-8", "replace")) + 4  # quotes, comma and space
        if size > max_bytes:
            return paths[:index]
    return paths[:limit]


async def list_by(
    measure: Measure, folder: Path, name: str, context: SearchGround, *, select: Select, depth: int | None = None
) -> FileListing:
    """List the files that `select` returns, largest `measure` first, then by name. Measures while git still lists."""
    measures: dict[str, int] = {}
    is_partial = False
    repository = await asyncio.to_thread(_repository_for, folder, context) if depth is None else None
    if repository is None or not await _measured_by_git(repository, folder, measures, select, measure):
        listing = await _from_ripgrep(folder, name, context, depth)
        measures = await asyncio.to_thread(_measured, folder, select(listing.paths), measure)
        is_partial = listing.is_partial
    paths = await asyncio.to_thread(lambda: sorted(sorted(measures), key=measures.__getitem__, reverse=True))
    return FileListing(paths, is_partial)


def by_name(_: os.stat_result) -> int:
    return 0


newest: Measure = attrgetter("st_mtime_ns")
largest: Measure = attrgetter("st_size")


def _measured(folder: Path, paths: list[str], measure: Measure) -> dict[str, int]:
    base = f"{folder}/"
    found: dict[str, int] = {}
    for path in paths:
        try:
            found[path] = measure(os.lstat(base + path))
        except OSError:  # deleted meanwhile, or deleted but still tracked
            continue
    return found


async def _from_ripgrep(folder: Path, name: str, context: SearchGround, depth: int | None) -> FileListing:
    found, is_partial = await _walked(folder, name, context, depth)
    tracked = [path for path in await _tracked_anyway(folder) if depth is None or path.count("/") < depth]
    return FileListing(await asyncio.to_thread(_decoded, found, tracked), is_partial)


async def _walked(folder: Path, name: str, context: SearchGround, depth: int | None) -> tuple[list[bytes], bool]:
    options = ["--files", "--null", "--hidden"]
    if depth is not None:
        options.append(f"--max-depth={depth}")
    command = await asyncio.to_thread(prepare, options, folder=folder, context=context)
    found: list[bytes] = []

    def collect(records: list[bytes]) -> bool:
        found.extend(records)
        return len(found) < MOST_COLLECTED

    end = await run_ripgrep(command, context, separator=b"\0", on_records=collect)
    if end.exit_code == 2 and not found:
        raise ToolError(f"{name} could not be listed: {end.errors.strip()}")
    del found[MOST_COLLECTED:]
    return found, end.is_stopped


def _decoded(found: list[bytes], others: list[str]) -> list[str]:
    listed = os.fsdecode(b"\0".join(found)).split("\0") if found else []
    return sorted({*listed, *others} if others else listed)


async def _measured_by_git(
    repository: Repository, folder: Path, measures: dict[str, int], select: Select, measure: Measure
) -> bool:
    async def fill(git: PinnedGit | NoStatus, *options: str) -> bool:
        answer = await _ls_files(git, *options)
        if answer is None or b"/\0" in answer:
            return False
        found = await asyncio.to_thread(lambda: _measured(folder, select(_plain(answer)), measure))
        measures.update(found)
        return len(measures) <= MOST_COLLECTED

    async with pinned(repository) as git:
        return all(await asyncio.gather(fill(git, "--cached"), fill(git, "--others", "--exclude-standard")))


async def _ls_files(git: PinnedGit | NoStatus, *options: str) -> bytes | None:
    answer = git if isinstance(git, NoStatus) else await git.run("ls-files", "-z", *options, limit_bytes=_MOST_BYTES)
    return None if isinstance(answer, NoStatus) or not answer[1] else answer[0]


def _repository_for(folder: Path, context: SearchGround) -> Repository | None:
    if folder != context.boundary.root or any((folder / name).exists() for name in _ONLY_FOR_RIPGREP):
        return None
    repository = find_repository(folder)
    return repository if repository is not None and not repository.prefix else None


def _known(answer: bytes) -> FileListing:
    paths = sorted(dict.fromkeys(_plain(answer)))  # a file with a conflict is listed once for each side
    return FileListing(paths[:MOST_COLLECTED], len(paths) > MOST_COLLECTED)


def _plain(answer: bytes) -> list[str]:
    paths = os.fsdecode(answer).split("\0")[:-1]
    if any(name in answer for name in _SKIPPED_BYTES):
        return [path for path in paths if SKIPPED.isdisjoint(path.split("/"))]
    return paths
