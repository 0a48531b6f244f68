"""What calls came to in a file of another program, as results of ours: long texts and pictures become blobs."""

from base64 import b64decode
from binascii import Error as Base64Error
from collections import Counter

from msgspec import Struct

from desktop_agent.core.base.images import PictureError, inspect_picture
from desktop_agent.core.protocol.model import BlobRef, ToolResult
from desktop_agent.core.store.blobs import Blobs

MAX_RESULT_CHARS = 40_000
"""How much of a result the model reads again; the whole of a longer one is kept beside it."""
MAX_PICTURE_BYTES = 8 * 2**20


class ImportedResults(Struct):
    """Makes results, and counts what cannot be shown."""

    blobs: Blobs
    left_out: Counter[str]

    def result(self, text: str, *, is_error: bool, images: tuple[BlobRef, ...]) -> ToolResult:
        """Return what the model reads again; of a long text the beginning and the end."""
        output: BlobRef | None = None
        if len(text) > MAX_RESULT_CHARS:
            output = self.blobs.put_ref(text.encode("utf-8", "replace"), "text/plain; charset=utf-8")
            half = MAX_RESULT_CHARS // 2
            text = f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"
        error_type = "recoverable" if is_error else None
        return ToolResult(content=text, is_error=is_error, error_type=error_type, images=images, output=output)

    def picture(self, base64: str) -> BlobRef | None:
        """Store a picture of the file; None when it cannot be shown."""
        try:
            if len(base64) > MAX_PICTURE_BYTES * 4 // 3 + 4:
                raise PictureError("too large")
            content = b64decode(base64, validate=True)
            return self.blobs.put_ref(content, inspect_picture(content).media_type)
        except (Base64Error, ValueError):
            self.left_out["pictures that cannot be shown"] += 1
            return None
