"""What is kept outside: decoded JSON of a foreign shape, and payloads in blobs."""

import sys
from typing import Annotated

from msgspec import Meta, Struct

from desktop_agent.core.base.ids import Digest

JsonObject = dict[str, object]
"""A decoded JSON object whose shape another program defines (tool arguments, metadata)."""

Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
"""A measure or duration. None is infinite: a line that says so (`1e400` does) was not written by us."""


class BlobRef(Struct, frozen=True, kw_only=True):
    """A payload kept outside the journal: its digest, its length in bytes, and what it is."""

    blob: Digest
    size: int
    media_type: str
