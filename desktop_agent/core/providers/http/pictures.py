"""Pictures inside a body of JSON: in base64, encoded once, and put in after everything else was encoded."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from secrets import token_hex

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.model import BlobRef, JsonObject, ModelRequest

PICTURE_GONE = "[The picture is no longer available.]"
_PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

Pictures = Mapping[Digest, str]
"""The data of each picture by its digest, or what stands for it until the body is text."""


class EncodedPictures:
    """The base64 of the pictures in the last request, because the next one has them again."""

    def __init__(self) -> None:
        self._kept: dict[Digest, bytes] = {}

    def encode(self, images: Mapping[Digest, bytes]) -> Mapping[Digest, bytes]:
        """Return `images` in base64, and forget those of earlier requests that are not among them."""
        kept = self._kept
        encoded = {digest: kept[digest] if digest in kept else b64encode(images[digest]) for digest in images}
        self._kept = encoded
        return encoded


def encode_body(
    request: ModelRequest, make_body: Callable[[ModelRequest, Pictures], JsonObject], pictures: EncodedPictures
) -> bytes:
    """Return what `make_body` makes of `request`, as JSON with its pictures in it."""
    encoded = pictures.encode(request.images)
    # Megabytes of pictures are put in at the end: the JSON encoder would hold every other thread up meanwhile.
    token = token_hex(16)
    body = make_body(request, {digest: f"{token}:{digest}" for digest in encoded})
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    parts = re.split(rb"%s:([0-9a-f]+)" % token.encode(), text)
    parts[1::2] = [encoded[part.decode()] for part in parts[1::2]]
    return b"".join(parts)


def data_of(image: BlobRef, pictures: Pictures) -> str | None:
    """Return the data of a picture that models take, or `None`: it is gone, or of another kind."""
    return pictures.get(image.blob) if image.media_type in _PICTURE_TYPES else None
