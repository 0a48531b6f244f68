"""Reads a journal: each line gives an event, or a `Damage` that says what is wrong with it."""

import errno
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError, storage_error
from desktop_agent.core.base.ids import is_session_id
from desktop_agent.core.protocol.codec import MalformedLineError, decode_event
from desktop_agent.core.protocol.events import FORMAT_VERSION, JournalEvent, SessionOpened
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.lines import Line, decode_line, open_regular, read_lines

Step = Callable[[JsonObject], JsonObject]
"""Converts a line of one version to the next, except for its `v`. Raises `MalformedLineError`."""

STEPS: Mapping[int, Step] = {}
"""The migration from each version to the next.

A change that raises `FORMAT_VERSION` adds its step here, and a journal of the previous version under
`tests/core/store/golden/`. Steps are pure, and see a line before its long texts are put back.
"""


def migrated(fields: JsonObject, *, steps: Mapping[int, Step] = STEPS, target: int = FORMAT_VERSION) -> JsonObject:
    """Return a line in the format `target`. A line of a later or invalid version is returned unchanged."""
    version = fields.get("v")
    if version == target or not isinstance(version, int) or isinstance(version, bool) or not 1 <= version < target:
        return fields
    for number in range(version, target):
        if number not in steps:
            raise MalformedLineError(f"lines of version {number} cannot be read any more")
        fields = steps[number](fields) | {"v": number + 1}
    return fields


MAX_INLINE_BYTES = 16_384
MAX_MOVED_BYTES = 2**30
"""A reference to moved text that states a larger size is not followed."""
MISSING = "[this content is missing on disk]"
_REFERENCE_KEYS = {"blob", "size", "media_type"}
# The parameter distinguishes a moved payload from a reference that is itself the value (a tool's full output).
_TEXT = "text/plain; charset=utf-8; moved=string"
_LITERAL = "application/json; moved=object"
_MARK = b"; moved="


def externalise(fields: JsonObject, blobs: Blobs) -> JsonObject:
    """Replace every long string, at any depth, by a reference to its blob. Raises `ValueError` and `StorageError`.

    An object that merely looks like a reference becomes a blob, so that a model cannot forge references.
    """
    return {key: _out(value, blobs) for key, value in fields.items()}


def may_have_moved(line: bytes) -> bool:
    return _MARK in line


def internalise(fields: JsonObject, blobs: Blobs) -> tuple[JsonObject, list[str]]:
    """Restore texts (`MISSING` for a lost text). Also return a description of each lost text."""
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


class Damage(Struct, frozen=True):
    line: int
    reason: str


class Readable(NamedTuple):
    event: JournalEvent
    lost: list[str]


def read_journal(path: Path, blobs: Blobs) -> tuple[list[JournalEvent], list[Damage]]:
    """Return the events and damages of a journal. Raises `StorageError` for an unreadable file."""
    events: list[JournalEvent] = []
    damages: list[Damage] = []
    for line, found in read_each_line(path, blobs):
        if isinstance(found, Damage):
            damages.append(found)
        else:
            events.append(found.event)
            damages += [Damage(line.number, reason) for reason in found.lost]
    return events, damages


def read_each_line(
    path: Path, blobs: Blobs, start: int = 0, blobs_of: Callable[[Line], Blobs] | None = None
) -> Iterator[tuple[Line, Readable | Damage]]:
    """Yield each line with its event or its `Damage`, from byte `start` on. Raises `StorageError`."""
    is_first = start == 0
    with reading(path):
        refuse_links(path)
        with open_regular(path) as file:
            file.seek(start)
            for line in read_lines(file):
                found = read_line(line, blobs_of(line) if blobs_of is not None else blobs)
                if isinstance(found, Readable):
                    found = placed(found, line, path.parent.name, is_first=is_first)
                    is_first = is_first and not isinstance(found, Readable)
                yield line, found


def read_line(line: Line, blobs: Blobs) -> Readable | Damage:
    try:
        fields = migrated(decode_line(line))
        lost: list[str] = []
        if line.content is not None and may_have_moved(line.content):
            fields, lost = internalise(fields, blobs)
        return Readable(decode_event(fields), lost)
    except MalformedLineError as error:
        is_torn = not line.is_ended
        return Damage(line.number, f"cut off in the middle: {error}" if is_torn else str(error))
    except RecursionError:
        return Damage(line.number, "nested too deeply")


def refuse_links(path: Path) -> None:
    """A link in place of a journal or its folder would redirect reading and writing. Raises `OSError`."""
    if path.is_symlink() or path.parent.is_symlink():
        raise OSError(errno.ELOOP, "A session is not opened through a link")


def placed(record: Readable, line: Line, folder: str, *, is_first: bool) -> Readable | Damage:
    """Return the record, or why it may not stand here. A `SessionOpened` must be first, and gets the id in `folder`."""
    event = record.event
    if not isinstance(event, SessionOpened):
        return record
    if not is_first:
        return Damage(line.number, "a second session_opened: only the first line may say where to work")
    if is_session_id(folder) and event.session_id != folder:
        reason = f"it names another session, {event.session_id[:40]!r}; the folder's name counts"
        return Readable(replace(event, session_id=folder), [*record.lost, reason])
    return record


def reading(path: Path) -> AbstractContextManager[None]:
    hint = "Check the permissions of the data folder."
    return storage_error("The session could not be read.", hint=hint, path=path)
