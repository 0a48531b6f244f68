"""`list_files`: the files below a folder, without files that `.gitignore` names."""

import asyncio
from functools import partial
from typing import Literal

from pydantic import Field

from desktop_agent.core.base.file_names import all_folders_above
from desktop_agent.core.base.globs import Glob
from desktop_agent.core.policy.boundary import ResolvedPath
from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.core.tools.files.file_tool import GlobText, PathText, folder_to_list
from desktop_agent.core.tools.files.listing import (
    MOST_COLLECTED,
    MOST_RETURNED_BYTES,
    FileListing,
    Select,
    by_name,
    largest,
    list_by,
    list_known,
    list_paths,
    missing,
    newest,
    within_limits,
)
from desktop_agent.core.tools.files.ripgrep import file_cards
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext, json_text

_MEASURES = {"name": by_name, "mtime": newest, "size": largest}


class ListFilesArguments(ToolArguments):
    path: PathText = Field(default=".", description="The directory, relative to the workspace.")
    recursive: bool = Field(default=True, description="Look into subdirectories; if not, they are shown, ending in /.")
    depth: int | None = Field(
        default=None,
        ge=1,
        description="How many levels deep to look; 1 is the directory alone. Directories on the last level are shown.",
    )
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
        place = await asyncio.to_thread(folder_to_list, arguments.path, context)
        depth = None if _shows_folders(arguments) else _depth(arguments)
        folder, select = place.absolute, partial(_select, arguments)
        limits = arguments.limit, context.room(MOST_RETURNED_BYTES)
        if arguments.sort != "name" or arguments.glob is not None:
            measure = _MEASURES[arguments.sort]
            listing = await list_by(measure, folder, arguments.path, context, select=select, depth=depth)
            shown = within_limits(listing.paths, *limits)
            return await asyncio.to_thread(_answer, place, listing, shown)
        found = await list_known(folder, arguments.path, context, depth=depth)
        if found.is_partial and depth != _depth(arguments):  # deeper files must not displace the requested ones
            near = await list_known(folder, arguments.path, context, depth=_depth(arguments))
            found = FileListing(sorted({*found.paths, *near.paths}), is_partial=True)
        listing, shown = await asyncio.to_thread(_cut, found, select, limits)
        if await asyncio.to_thread(missing, folder, shown):
            found = await list_paths(folder, arguments.path, context, depth=depth)
            listing, shown = await asyncio.to_thread(_cut, found, select, limits)
        return await asyncio.to_thread(_answer, place, listing, shown)


def _cut(found: FileListing, select: Select, limits: tuple[int, int]) -> tuple[FileListing, list[str]]:
    listing = FileListing(select(found.paths), found.is_partial)
    return listing, within_limits(listing.paths, *limits)


def _answer(place: ResolvedPath, listing: FileListing, shown: list[str]) -> ToolResult:
    entries = listing.paths
    omitted = len(entries) - len(shown)
    answer: JsonObject = {"path": place.relative, "entries": shown, "total": len(entries)}
    if omitted:
        answer["omitted"] = omitted
        answer["note"] = "Narrow the listing with path, glob or depth, or raise limit."
    if listing.is_partial:
        answer["note"] = f"Only the first {MOST_COLLECTED:,} files found were looked at. List a smaller directory."
    return ToolResult(
        content=json_text(answer),
        metadata={
            "path": place.relative,
            "entries": len(shown),
            "truncated": bool(omitted) or listing.is_partial,
            "matches": file_cards(shown, place.relative),
        },
    )


def _select(arguments: ListFilesArguments, paths: list[str]) -> list[str]:
    depth = _depth(arguments)
    if arguments.glob is not None:
        paths = Glob(arguments.glob).filter(paths)
    for pattern in map(Glob, arguments.ignore):
        paths = [path for path in paths if not pattern.covers(path)]
    if not _shows_folders(arguments):  # the listing has no more levels than requested
        return paths
    files = paths if depth is None else [path for path in paths if path.count("/") < depth]
    folders = {f"{name}/" for name in all_folders_above(paths) if depth is None or name.count("/") < depth}
    if not arguments.include_dirs:
        folders = {path for path in folders if path.count("/") == depth}
    return sorted({*files, *folders})


def _shows_folders(arguments: ListFilesArguments) -> bool:
    return arguments.include_dirs or (_depth(arguments) is not None and arguments.glob is None)


def _depth(arguments: ListFilesArguments) -> int | None:
    return arguments.depth if arguments.recursive else 1
