"""`list_files`: the files below a folder as the project sees them, without what `.gitignore` names."""

import asyncio
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field

from desktop_agent.core.errors import ToolError
from desktop_agent.core.model import JsonObject, ToolResult
from desktop_agent.core.policy.boundary import ResolvedPath
from desktop_agent.core.process import Command
from desktop_agent.core.tools.builtin.arguments import GlobText, PathText
from desktop_agent.core.tools.builtin.target import not_found
from desktop_agent.core.tools.globs import Glob
from desktop_agent.core.tools.ripgrep import SearchEnd, prepare, run_ripgrep
from desktop_agent.core.tools.spec import ReadTool, ToolArguments, ToolContext

MOST_COLLECTED = 200_000
"""Files looked at in one call. A larger folder is answered in part, and the answer says so."""

MOST_RETURNED_BYTES = 80_000


class ListFilesArguments(ToolArguments):
    """Where to look, what to show, and in which order."""

    path: PathText = Field(default=".", description="The directory, relative to the workspace.")
    recursive: bool = Field(default=True, description="Look into subdirectories.")
    depth: int | None = Field(default=None, ge=1, description="How many levels deep to look; 1 is the directory alone.")
    glob: GlobText | None = Field(
        default=None, description="Show only files that match, such as *.py or src/**/*.{ts,tsx}, relative to path."
    )
    ignore: tuple[GlobText, ...] = Field(default=(), description="Leave out files and directories that match these.")
    include_dirs: bool = Field(default=False, description="Show the directories that hold these files, ending in /.")
    sort: Literal["name", "mtime", "size"] = Field(
        default="name", description="mtime: newest first. size: largest first."
    )
    limit: int = Field(default=500, ge=1, le=5000, description="How many entries to return.")


class ListFiles(ReadTool[ListFilesArguments]):
    """Lists files."""

    name = "list_files"
    description = (
        "List the files of a directory and its subdirectories. Leaves out .git, node_modules, __pycache__ and what "
        ".gitignore names. Returns JSON: entries (paths relative to the directory, with /), total, and omitted when "
        "there are more than limit."
    )
    capabilities = ("read_fs",)
    arguments_type = ListFilesArguments

    def title(self, arguments: ListFilesArguments) -> str:
        return arguments.path if arguments.glob is None else f"{arguments.glob} in {arguments.path}"

    async def run(self, arguments: ListFilesArguments, context: ToolContext) -> ToolResult:
        """List with ripgrep, whose process ends when this is cancelled."""
        place, command = await asyncio.to_thread(_prepare, arguments, context)
        paths: list[str] = []

        def collect(records: list[bytes]) -> bool:
            paths.extend(record.decode("utf-8", "replace") for record in records)
            return len(paths) < MOST_COLLECTED

        end = await run_ripgrep(command, context, separator=b"\0", on_records=collect)
        del paths[MOST_COLLECTED:]
        if end.exit_code == 2 and not paths:
            raise ToolError(f"{arguments.path} could not be listed: {end.errors.strip()}")
        return await asyncio.to_thread(_answer, arguments, place, paths, end)


def _prepare(arguments: ListFilesArguments, context: ToolContext) -> tuple[ResolvedPath, Command]:
    place = context.boundary.follow(context.boundary.for_reading(arguments.path))
    if not place.absolute.exists():
        raise not_found(arguments.path, place.absolute, context.boundary)
    if not place.absolute.is_dir():
        raise ToolError(f"{arguments.path} is a file, not a directory. Use read_file to read it.")
    depth = _depth(arguments)
    options = ["--files", "--null", "--hidden"]
    if depth is not None and not arguments.include_dirs:
        options.append(f"--max-depth={depth}")
    return place, prepare(options, folder=place.absolute, context=context)


def _answer(arguments: ListFilesArguments, place: ResolvedPath, paths: list[str], end: SearchEnd) -> ToolResult:
    entries = _sorted(_select(arguments, paths), arguments.sort, place.absolute)
    shown = _within_limits(entries, arguments.limit)
    omitted = len(entries) - len(shown)
    answer: JsonObject = {"path": place.relative, "entries": shown, "total": len(entries)}
    if omitted:
        answer["omitted"] = omitted
        answer["note"] = "Narrow the listing with path, glob or depth, or raise limit."
    if end.is_stopped:
        answer["note"] = f"Only the first {MOST_COLLECTED:,} files found were looked at. List a smaller directory."
    return ToolResult(
        content=json.dumps(answer, ensure_ascii=False),
        metadata={"path": place.relative, "entries": len(shown), "truncated": bool(omitted) or end.is_stopped},
    )


def _select(arguments: ListFilesArguments, paths: Iterable[str]) -> set[str]:
    """Return the wanted files, and their directories if those are wanted too."""
    glob = Glob(arguments.glob) if arguments.glob is not None else None
    ignored = [Glob(pattern) for pattern in arguments.ignore]
    depth = _depth(arguments)
    selected: set[str] = set()
    for path in paths:
        if (glob is not None and not glob.matches(path)) or any(pattern.covers(path) for pattern in ignored):
            continue
        parts = path.split("/")
        if depth is None or len(parts) <= depth:
            selected.add(path)
        if arguments.include_dirs:
            folders = parts[:-1] if depth is None else parts[:-1][:depth]
            selected.update("/".join(folders[: count + 1]) + "/" for count in range(len(folders)))
    return selected


def _depth(arguments: ListFilesArguments) -> int | None:
    return arguments.depth if arguments.recursive else 1


def _sorted(entries: set[str], order: Literal["name", "mtime", "size"], folder: Path) -> list[str]:
    by_name = sorted(entries)
    if order == "name":
        return by_name
    base = f"{folder}/"  # plain text: a Path for each of a hundred thousand entries takes a second
    statuses = {entry: _status(base + entry) for entry in by_name}
    measure = _modified if order == "mtime" else _size
    return sorted(by_name, key=lambda entry: measure(statuses[entry]), reverse=True)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _modified(status: os.stat_result | None) -> int:
    return status.st_mtime_ns if status is not None else -1  # gone meanwhile: last


def _size(status: os.stat_result | None) -> int:
    return status.st_size if status is not None else -1


def _within_limits(entries: list[str], limit: int) -> list[str]:
    shown: list[str] = []
    size = 0
    for entry in entries[:limit]:
        size += len(entry.encode("utf-8", "replace")) + 4
        if size > MOST_RETURNED_BYTES:
            break
        shown.append(entry)
    return shown
