"""A session as JSON lines that another machine can import: the journal's own lines, with referenced contents.

The format is in docs/session-format.md, "Exports and imports". Secrets are masked.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import cast

from msgspec import Struct, field

from desktop_agent.core.base.errors import StorageError, storage_error
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.export.export_source import ExportSource
from desktop_agent.core.protocol.codec import MalformedLineError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.journal.journal_reader import internalise, may_have_moved, migrated
from desktop_agent.core.store.journal.lines import Line, decode_line, open_regular, read_lines
from desktop_agent.core.system.files import digest_of

HEADER_TYPE = "desktop_agent_export"
BLOB_TYPE = "blob"
END_TYPE = "export_ended"
EXPORT_VERSION = 1
MAX_BLOB_BYTES = 16 * 2**20

_REFERENCE_KEYS = {"blob", "size", "media_type"}
_CHANGES = frozenset({"changes_prepared", "changes_recorded", "changes_undone", "changes_redone"})
_MAX_NAMED = 200


def export_jsonl(source: ExportSource) -> Iterator[bytes]:
    """Yield the lines, with only one line and its blobs in memory. Raises `StorageError`."""
    yield _encoded({"type": HEADER_TYPE, "version": EXPORT_VERSION, "session_id": source.journal.parent.name})
    writing = _Writing(source)
    with storage_error("The session could not be read.", path=source.journal), open_regular(source.journal) as file:
        for line in read_lines(file):
            yield from writing.lines_for(line)
    yield _encoded({"type": END_TYPE, "records": writing.records, "left_out": writing.left_out()})


class _Writing(Struct):
    source: ExportSource
    records: int = 0
    _written: set[str] = field(default_factory=set[str])
    _problems: list[str] = field(default_factory=list[str])
    _changes: int = 0

    def lines_for(self, line: Line) -> Iterator[bytes]:
        try:
            fields = migrated(decode_line(line))
        except (MalformedLineError, RecursionError) as error:
            self._problems.append(f"line {line.number} cannot be read: {error}")
            return
        if line.content is not None and may_have_moved(line.content):
            fields, lost = internalise(fields, self.source.blobs)
            self._problems += [f"line {line.number}: {reason}" for reason in lost]
        blobs: list[JsonObject] = []
        exported = {name: self._value(value, blobs) for name, value in fields.items()}
        self._changes += str(fields.get("type")) in _CHANGES
        self.records += 1
        yield from map(_encoded, blobs)
        yield _encoded(exported)

    def left_out(self) -> list[str]:
        named = self._problems[:_MAX_NAMED]
        if len(self._problems) > len(named):
            named.append(f"{len(self._problems) - len(named)} more")
        if self._changes:
            named.append(f"the contents of changed files, in {self._changes} records: nothing can be undone from here")
        return named

    def _value(self, value: object, blobs: list[JsonObject]) -> object:
        if isinstance(value, str):
            return mask(value)
        if isinstance(value, list):
            return [self._value(item, blobs) for item in cast("list[object]", value)]
        if not isinstance(value, dict):
            return value
        fields = cast("JsonObject", value)
        if fields.keys() == _REFERENCE_KEYS:
            return self._reference(fields, blobs)
        return {mask(name): self._value(item, blobs) for name, item in fields.items()}

    def _reference(self, fields: JsonObject, blobs: list[JsonObject]) -> JsonObject:
        """Add the blob of a reference to `blobs`, masked if it is text. Return the new reference."""
        size, media_type = fields["size"], str(fields["media_type"])
        if not isinstance(size, int) or not 0 <= size <= MAX_BLOB_BYTES:
            self._problems.append(f"a content of {size} bytes ({media_type}) is too large")
            return fields
        try:
            content = self.source.blobs.get(str(fields["blob"]), size=size)
        except StorageError as error:
            self._problems.append(f"{error.title} {error.detail}")
            return fields
        if not media_type.startswith("image/"):
            content = mask(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        digest = digest_of(content)
        if digest not in self._written:
            self._written.add(digest)
            encoded = b64encode(content).decode()
            blobs.append({"type": BLOB_TYPE, "digest": digest, "media_type": media_type, "base64": encoded})
        return {"blob": digest, "size": len(content), "media_type": media_type}


def _encoded(fields: JsonObject) -> bytes:
    try:
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate: escaped, it is JSON
        return json.dumps(fields, separators=(",", ":")).encode() + b"\n"
