"""The SDK's types as ours. What a server claims is carried over as it is; who uses it judges it."""

import base64
import binascii
from collections.abc import Mapping
from typing import cast

import mcp_types

from desktop_agent.core.mcp.offers import CallReply, LinkPart, MediaPart, OfferedTool, Part, ResourcePart, TextPart

NEEDS_TASK = "It runs only as a task, which is waited for in other ways than a call. That is not supported here."
ONLY_FOR_VIEW = "It is only for the server's own interactive view, which is not shown here."

_LONGEST_ADDRESS = 200
_MOST_UNUSED = 30
_LONGEST_NAME = 100


def offered_tool(tool: mcp_types.Tool) -> OfferedTool:
    """Return a listed tool."""
    hints = tool.annotations
    return OfferedTool(
        name=tool.name,
        title=tool.title or (hints.title if hints and hints.title else ""),
        description=tool.description or "",
        input_schema=tool.input_schema,
        only_reads=hints.read_only_hint if hints else None,
        destroys=hints.destructive_hint if hints else None,
        annotations=hints.model_dump(mode="json", by_alias=True, exclude_none=True) if hints else {},
        view=_view_of(tool),
        unusable=_why_unusable(tool),
    )


def unused_in(can: mcp_types.ServerCapabilities) -> tuple[str, ...]:
    """Return what a server says that it can do, and what nothing here makes use of."""
    known = {
        "tasks": can.tasks is not None,
        "subscriptions to resources": can.resources is not None and bool(can.resources.subscribe),
    }
    names = [*(can.extensions or {}), *(f"experimental: {name}" for name in can.experimental or {})]
    said = [*(words for words, is_there in known.items() if is_there), *(name[:_LONGEST_NAME] for name in names)]
    return tuple(said[:_MOST_UNUSED])


def _ui_of(tool: mcp_types.Tool) -> Mapping[str, object]:
    """Return what MCP Apps says of a tool (`_meta.ui`), if that is an object."""
    ui: object = (tool.meta or {}).get("ui")
    return cast("dict[str, object]", ui) if isinstance(ui, dict) else {}


def _view_of(tool: mcp_types.Tool) -> str:
    """Return the address of a tool's view, where MCP Apps has it now or had it before."""
    address = _ui_of(tool).get("resourceUri", (tool.meta or {}).get("ui/resourceUri"))
    return address[:_LONGEST_ADDRESS] if isinstance(address, str) else ""


def _why_unusable(tool: mcp_types.Tool) -> str:
    if tool.execution is not None and tool.execution.task_support == "required":
        return NEEDS_TASK
    return ONLY_FOR_VIEW if _ui_of(tool).get("visibility") == ["app"] else ""


def reply_of(result: mcp_types.CallToolResult) -> CallReply:
    """Return a result with all of its parts, in order."""
    return CallReply(
        parts=tuple(map(part_of, result.content)),
        structured=result.structured_content,
        is_error=result.is_error,
    )


def part_of(block: mcp_types.ContentBlock) -> Part:
    """Return one part of what a server says."""
    match block:
        case mcp_types.TextContent():
            return TextPart(block.text)
        case mcp_types.ImageContent() | mcp_types.AudioContent():
            return _media(block.data, block.mime_type, "")
        case mcp_types.ResourceLink():
            return LinkPart(block.uri, block.name, block.description or "", block.mime_type or "")
        case mcp_types.EmbeddedResource():
            return embedded(block.resource)


def embedded(file: mcp_types.TextResourceContents | mcp_types.BlobResourceContents) -> Part:
    """Return a file or a part of a resource, whole."""
    if isinstance(file, mcp_types.TextResourceContents):
        return ResourcePart(file.uri, file.text, file.mime_type or "")
    return _media(file.blob, file.mime_type or "application/octet-stream", file.uri)


def _media(data: str, media_type: str, uri: str) -> Part:
    try:
        return MediaPart(base64.b64decode(data, validate=True), media_type, uri)
    except binascii.Error:
        return TextPart(f"[{media_type} that is not valid base64 was left out]")
