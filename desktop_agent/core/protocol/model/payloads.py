"""What is kept outside: decoded JSON of a foreign shape, and payloads in blobs."""

from dataclasses import dataclass

from desktop_agent.core.base.ids import Digest

JsonObject = dict[str, object]
"""A decoded JSON object whose shape another program defines (tool arguments, metadata)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRef:
    """A payload kept outside the journal: its digest, its length in bytes, and what it is."""

    blob: Digest
    size: int
    media_type: str
