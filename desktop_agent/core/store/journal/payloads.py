"""Large payloads live beside the journal: strings over 16 KiB become blob references and come back when read.

Works on the JSON objects of journal lines, for every event alike. An object that merely looks like a reference is
itself stored as a blob, so that nothing a model writes can be mistaken for one.
"""

import json
from typing import cast

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.blobs import Blobs

MAX_INLINE_BYTES = 16_384
MAX_MOVED_BYTES = 2**30
"""A reference that claims more is not followed."""
MISSING = "[this content is missing on disk]"
_REFERENCE_KEYS = {"blob", "size", "media_type"}
# The parameter distinguishes a moved payload from a reference that is itself the value (a tool's full output).
_TEXT = "text/plain; charset=utf-8; moved=string"
_LITERAL = "application/json; moved=object"
_MARK = b"; moved="


def externalise(fields: JsonObject, blobs: Blobs) -> JsonObject:
    """Return `fields` with every long string, at any depth, replaced by a reference to its blob.

    Raises `ValueError` for one that could not be read back, and `StorageError`.
    """
    return {key: _out(value, blobs) for key, value in fields.items()}


def may_have_moved(line: bytes) -> bool:
    """Whether `internalise` has something to do for this line. Most lines have nothing, and need not be walked."""
    return _MARK in line


def internalise(fields: JsonObject, blobs: Blobs) -> tuple[JsonObject, list[str]]:
    """Return `fields` with the payloads that `externalise` moved out put back, and what could not be found.

    A lost payload becomes `MISSING`, so that one missing blob does not cost the rest of its event.
    """
    lost: list[str] = []
    return _in_object(fields, blobs, lost), lost


def _out(value: object, blobs: Blobs) -> object:
    if isinstance(value, str):
        # A character takes four bytes at most, so most strings need not be encoded to know that they are short.
        if len(value) * 4 <= MAX_INLINE_BYTES:
            return value
        encoded = value.encode("utf-8", "surrogatepass")
        if len(encoded) > MAX_MOVED_BYTES:
            raise ValueError(f"a text of {len(encoded)} bytes is too long")
        return value if len(encoded) <= MAX_INLINE_BYTES else _reference(encoded, _TEXT, blobs)
    if isinstance(value, dict):
        fields = cast("JsonObject", value)
        if _is_reference(fields):
            return _reference(json.dumps(fields).encode(), _LITERAL, blobs)
        return externalise(fields, blobs)
    if isinstance(value, list):
        return [_out(item, blobs) for item in cast("list[object]", value)]
    return value


def _is_reference(fields: JsonObject) -> bool:
    return fields.keys() == _REFERENCE_KEYS and fields["media_type"] in (_TEXT, _LITERAL)


def _in_object(fields: JsonObject, blobs: Blobs, lost: list[str]) -> JsonObject:
    return {key: _in(value, blobs, lost) for key, value in fields.items()}


def _in(value: object, blobs: Blobs, lost: list[str]) -> object:
    if isinstance(value, dict):
        fields = cast("JsonObject", value)
        if _is_reference(fields):
            return _resolve(fields, blobs, lost)
        return _in_object(fields, blobs, lost)
    if isinstance(value, list):
        return [_in(item, blobs, lost) for item in cast("list[object]", value)]
    return value


def _resolve(reference: JsonObject, blobs: Blobs, lost: list[str]) -> object:
    size = reference["size"]
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MAX_MOVED_BYTES:
        lost.append(f"A stored reference has an impossible size: {str(size)[:40]}.")
        return MISSING
    try:
        content = blobs.get(str(reference["blob"]), size=size)
        if reference["media_type"] == _TEXT:
            return content.decode("utf-8", "surrogatepass")
        return json.loads(content)
    except StorageError as error:
        lost.append(f"{error.title} {error.detail}")
    except (ValueError, RecursionError) as error:
        lost.append(f"A stored content is not what its reference says: {error}.")
    return MISSING


def _reference(content: bytes, media_type: str, blobs: Blobs) -> JsonObject:
    reference = blobs.put_ref(content, media_type)
    return {"blob": reference.blob, "size": reference.size, "media_type": reference.media_type}
