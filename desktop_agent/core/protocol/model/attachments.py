"""What comes with a prompt besides its text."""

from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.model.payloads import BlobRef

AttachmentKind = Literal["resource", "file", "picture", "folder", "session"]
"""A resource of an MCP server, a file of text, a picture, what a folder holds, or another session."""


class Attachment(Struct, frozen=True, kw_only=True):
    """What a mention in a prompt stood for when the prompt was sent. Nothing of it is fetched again.

    All texts but `mention` were written by a server, or are what a file held.
    """

    mention: str
    """As it stands in the prompt: `@docs:readme`."""
    server: str = ""
    """The name of the MCP server that it came from; empty for all but a resource."""
    uri: str
    """Its address there; the path of a file or folder, relative to the workspace; the id of a session; a name."""
    name: str
    kind: AttachmentKind = "resource"
    lines: str = ""
    """Which lines of a file were meant, such as `10-40`; empty for all."""
    digest: Digest | None = None
    """Of the whole file, so that an edit notices when it changed since; None for what no edit tool takes."""
    media_type: str = ""
    size: int = 0
    """Of all of it, in bytes."""
    text: str = ""
    """What the model reads of it."""
    content: BlobRef | None = None
    """The whole text, where `text` has only its beginning and its end."""
    images: tuple[BlobRef, ...] = ()
    """What the model is shown."""
    files: tuple[BlobRef, ...] = ()
    """What is neither text nor a picture: kept for the user."""
