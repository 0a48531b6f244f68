"""`view_image`: shows the model an image file of the workspace, within the strictest provider's limits."""

import asyncio
import os

from pydantic import Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.file_types import PictureError, inspect_picture
from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.tools.files.file_tool import FileArguments, FileReadTool, PathText, opened_file
from desktop_agent.core.tools.output import LARGEST_PICTURE_BYTES, LONGEST_SIDE
from desktop_agent.core.tools.tool import ToolContext

_SHRINK = (
    "Make a smaller copy with run_terminal_cmd and view that, for example: convert {path} -resize 1500x1500 small.png"
)
_CONVERT = (
    "Possible are PNG, JPEG, GIF and WebP. If it is a picture, convert it with run_terminal_cmd, for example: "
    "convert {path} picture.png"
)


class ViewImageArguments(FileArguments):
    path: PathText = Field(description="The picture file, relative to the workspace.")


class ViewImage(FileReadTool[ViewImageArguments]):
    name = "view_image"
    description = (
        "Look at a picture of the workspace: a screenshot, a diagram, a rendered page. PNG, JPEG, GIF and WebP, "
        f"up to {LARGEST_PICTURE_BYTES / 1e6:.1f} MB and {LONGEST_SIDE:,} pixels a side. Older pictures leave the "
        "conversation after a while; view one again when you need it again."
    )
    capabilities = ("read_fs",)
    arguments_type = ViewImageArguments

    async def run(self, arguments: ViewImageArguments, context: ToolContext) -> ToolResult:
        return await asyncio.to_thread(_view, arguments.path, context)


def _view(path: str, context: ToolContext) -> ToolResult:
    with opened_file(path, context) as (file, place):
        size_bytes = os.fstat(file.fileno()).st_size
        content = file.read(LARGEST_PICTURE_BYTES + 1)
    if not content:
        raise ToolError(f"{path} is empty.")
    if len(content) > LARGEST_PICTURE_BYTES:
        size = f"{max(size_bytes, len(content)):,} bytes; {LARGEST_PICTURE_BYTES:,} is the most for a picture."
        raise ToolError(f"{path} has {size} {_SHRINK.format(path=path)}")
    try:
        info = inspect_picture(content)
    except PictureError as error:
        raise ToolError(f"{path} cannot be shown: {error}. {_CONVERT.format(path=path)}") from error
    if max(info.width, info.height) > LONGEST_SIDE:
        text = f"{path} is {info.width}×{info.height} pixels large; {LONGEST_SIDE:,} a side is the most."
        raise ToolError(f"{text} {_SHRINK.format(path=path)}")
    text = f"[{path}: {info.format}, {info.width}×{info.height} pixels, {len(content):,} bytes.]"
    return ToolResult(
        content=text,
        metadata={"path": place.relative, "format": info.format, "width": info.width, "height": info.height},
        images=(context.keep(content, info.media_type),),
    )
