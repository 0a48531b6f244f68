"""How much a client may send, and how long it may take."""

from msgspec import Struct


class ServerLimits(Struct, frozen=True, kw_only=True):
    """The limits of one server; seconds and bytes."""

    body_bytes: int = 8 * 2**20
    head_bytes: int = 16 * 2**10
    """Of the request line and all headers together."""
    head_s: float = 10.0
    """From the beginning of a connection, or the first byte of its next request, to the end of the headers."""
    body_s: float = 20.0
    """For the whole body."""
    waiting: int = 256
    """The most connections at once that have not shown the token. One more ends the oldest of the host with most of
    them."""
    requests: int = 200
    """With the token, at once, streams of events among them."""
    streams: int = 100
    """Of events, at once, so that they leave room for other requests: one that answers or stops."""
    tick_s: float = 15.0
    """How long a stream of events is silent at most: then a comment shows that it still stands."""
    closing_s: int = 10
    """How long answers that are on their way may take when the server ends."""
