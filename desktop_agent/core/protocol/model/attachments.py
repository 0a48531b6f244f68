"""What comes with a prompt besides its text."""

from msgspec import Struct

from desktop_agent.core.protocol.model.payloads import BlobRef


class Attachment(Struct, frozen=True, kw_only=True):
    """What a mention in a prompt stood for when the prompt was sent. Nothing of it is fetched again.

    All texts but `mention` were written by a server.
    """

    mention: str
    """As it stands in the prompt: `@docs:readme`."""
    server: str
    """The name of the MCP server that it came from."""
    uri: str
    """Its address there."""
    name: str
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
