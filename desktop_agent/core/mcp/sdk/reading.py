"""The SDK's types as ours. What a server claims is carried over as it is; who uses it judges it."""

import base64
import binascii

import mcp_types

from desktop_agent.core.mcp.offers import CallReply, FilePart, LinkPart, MediaPart, OfferedTool, Part, TextPart


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
    )


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
            return _embedded(block.resource)


def _embedded(file: mcp_types.TextResourceContents | mcp_types.BlobResourceContents) -> Part:
    if isinstance(file, mcp_types.TextResourceContents):
        return FilePart(file.uri, file.text, file.mime_type or "")
    return _media(file.blob, file.mime_type or "application/octet-stream", file.uri)


def _media(data: str, media_type: str, uri: str) -> Part:
    try:
        return MediaPart(base64.b64decode(data, validate=True), media_type, uri)
    except binascii.Error:
        return TextPart(f"[{media_type} that is not valid base64 was left out]")
