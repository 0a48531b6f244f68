"""`glob_file_search`: files whose names match a pattern, the newest first."""

import asyncio
from typing import Annotated

from pydantic import AfterValidator, Field

from desktop_agent.core.base.file_names import legible_name
from desktop_agent.core.base.globs import Glob
from desktop_agent.core.policy.boundary import ResolvedPath
from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.tools.files.file_tool import GlobText, PathText, folder_to_list
from desktop_agent.core.tools.files.listing import (
    MOST_COLLECTED,
    MOST_RETURNED_BYTES,
    FileListing,
    list_by,
    newest,
    within_limits,
)
from desktop_agent.core.tools.files.ripgrep import file_cards
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext, json_text


def _relative(pattern: str) -> str:
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise ValueError("the pattern is relative to target_directory; name another directory there")
    return pattern


class GlobFileSearchArguments(ToolArguments):
    glob_pattern: Annotated[GlobText, AfterValidator(_relative)] = Field(
        min_length=1,
        description="Such as *.py, test_*.ts or src/**/*.{ts,tsx}. **/ is put before it, so it matches at any depth.",
    )
    target_directory: PathText = Field(default=".", description="The directory to look in, relative to the workspace.")
    limit: int = Field(default=200, ge=1, le=2000, description="How many paths to return.")


class GlobFileSearch(ReadTool[GlobFileSearchArguments]):
    name = "glob_file_search"
    description = (
        "Find files whose path matches a glob, the most recently changed first. Leaves out .git, node_modules, "
        "__pycache__ and what .gitignore names. Returns a JSON array of paths relative to target_directory. A last "
        "entry in brackets says when there are more."
    )
    capabilities = ("read_fs",)
    arguments_type = GlobFileSearchArguments

    def title(self, arguments: GlobFileSearchArguments) -> str:
        where = arguments.target_directory
        return arguments.glob_pattern if where == "." else f"{arguments.glob_pattern} in {where}"

    async def run(self, arguments: GlobFileSearchArguments, context: ToolContext) -> ToolResult:
        place = await asyncio.to_thread(folder_to_list, arguments.target_directory, context)
        glob = Glob(f"**/{arguments.glob_pattern.removeprefix('**/')}")
        where = arguments.target_directory
        listing = await list_by(newest, place.absolute, where, context, select=glob.filter)
        room = context.room(MOST_RETURNED_BYTES)
        return await asyncio.to_thread(_answer, arguments, place, listing, room)


def _answer(
    arguments: GlobFileSearchArguments, place: ResolvedPath, listing: FileListing, max_bytes: int
) -> ToolResult:
    found = listing.paths
    shown = within_limits(found, arguments.limit, max_bytes)
    answer = list(map(legible_name, shown))
    if len(shown) < len(found):
        answer.append(f"[{len(shown)} of {len(found)} files. Narrow glob_pattern or target_directory, or raise limit.]")
    if listing.is_partial:
        answer.append(
            f"[Only the first {MOST_COLLECTED:,} files found were looked at. Name a smaller target_directory.]"
        )
    return ToolResult(
        content=json_text(answer),
        metadata={
            "path": place.relative,
            "files": len(found),
            "truncated": len(answer) > len(shown),
            "matches": file_cards(shown, place.relative),
        },
    )
