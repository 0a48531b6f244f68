"""The result of a server tool's call, for the model and the user: complete, in order, within the limits."""

import json
from collections.abc import Callable, Iterable
from typing import assert_never

from msgspec import Struct, field

from desktop_agent.core.base.file_types import PictureError, inspect_picture
from desktop_agent.core.mcp.server_status import CallReply, LinkPart, MediaPart, Part, ResourcePart, TextPart
from desktop_agent.core.protocol.model import BlobRef, JsonObject, ToolResult
from desktop_agent.core.tools.tool import ToolContext

LARGEST_PICTURE_BYTES = 5 * 1024 * 1024 * 3 // 4
"""The strictest provider limits an image to 5 MiB of base64."""

LONGEST_SIDE = 8_000
MOST_PICTURES = 20


Keep = Callable[[bytes, str], BlobRef]


class ReadParts(Struct):
    keep: Keep
    texts: list[str] = field(default_factory=list[str])
    pictures: list[BlobRef] = field(default_factory=list[BlobRef])
    files: list[tuple[BlobRef, str]] = field(default_factory=list[tuple[BlobRef, str]])
    """Content that cannot be shown to a model, each with its address at the server, if it has one."""


def read_parts(parts: Iterable[Part], keep: Keep) -> ReadParts:
    """Return the parts as the model and the user read them. Stores images and other media: blocks."""
    reading = ReadParts(keep)
    for part in parts:
        reading.texts.append(_text_of(part, reading))
    return reading


def is_plain(reply: CallReply) -> bool:
    return reply.structured is None and all(isinstance(part, TextPart) for part in reply.parts)


def result_of(reply: CallReply, context: ToolContext) -> ToolResult:
    reading = read_parts(reply.parts, context.keep)
    if reply.structured is not None and not _is_said(reply.structured, reading.texts):
        reading.texts.append(json.dumps(reply.structured, ensure_ascii=False))
    content = "\n".join(reading.texts) or ("The server reported a failure without a word." if reply.is_error else "")
    files: list[JsonObject] = [
        {"blob": kept.blob, "size": kept.size, "media_type": kept.media_type, "uri": uri} for kept, uri in reading.files
    ]
    return ToolResult(
        content=content or "The server answered without a word.",
        is_error=reply.is_error,
        error_type="recoverable" if reply.is_error else None,
        metadata={"files": files} if files else {},
        images=tuple(reading.pictures),
    )


def _text_of(part: Part, reading: ReadParts) -> str:
    match part:
        case TextPart(text=text):
            return text
        case ResourcePart(uri=uri, text=text):
            return f"[{uri}]\n{text}"
        case LinkPart():
            about = f": {part.description}" if part.description else ""
            return f"[{part.name or 'Resource'}, at {part.uri}{about}]"
        case MediaPart():
            return _media_text(part, reading)
        case _:
            assert_never(part)


def _media_text(part: MediaPart, reading: ReadParts) -> str:
    """Store the media. The model can see images, but no other media."""
    size = f"{len(part.content):,} bytes"
    name = f"{part.uri}, " if part.uri else ""
    try:
        picture = inspect_picture(part.content)
    except PictureError:
        reading.files.append((reading.keep(part.content, part.media_type), part.uri))
        return f"[{name}{part.media_type}, {size}. It is kept for the user; it cannot be shown to you.]"
    sides = f"{picture.width}×{picture.height} pixels"
    if len(part.content) > LARGEST_PICTURE_BYTES or max(picture.width, picture.height) > LONGEST_SIDE:
        return f"[{name}A {picture.format} picture of {sides}, {size}: too large to be shown to you.]"
    if len(reading.pictures) >= MOST_PICTURES:
        return f"[{name}One more {picture.format} picture of {sides}: only {MOST_PICTURES} are shown.]"
    reading.pictures.append(reading.keep(part.content, picture.media_type))
    return f"[{name}{picture.format}, {sides}, {size}.]"


def _is_said(structured: object, texts: list[str]) -> bool:
    """Whether a text already contains the structured content, as servers send it for older clients."""
    for text in texts:
        try:
            if json.loads(text) == structured:
                return True
        except (ValueError, RecursionError):
            continue
    return False
