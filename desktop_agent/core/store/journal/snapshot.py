"""The snapshot of a session: its journal folded up to an offset, to open the session quickly. Only a cache."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, cast

from pydantic_core import from_json

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.journal.journal import encode_line
from desktop_agent.core.store.journal.lines import open_regular
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.files import new_hasher

SNAPSHOT_NAME: Final = "snapshot.jsonl"
VERSION: Final = 11

_CHECKED_BYTES: Final = 65_536
_NO_SNAPSHOT = (OSError, ValueError, KeyError, TypeError)
_MAX_LINE_BYTES: Final = 64 * 2**20

Section = tuple[str, object]


def _check_of(journal: Path, offset: int) -> str:
    """Return a checksum of the journal before `offset`. Raises `OSError`; `ValueError` if the journal is shorter."""
    hasher = new_hasher()
    with journal.open("rb") as file:
        hasher.update(file.read(min(offset, _CHECKED_BYTES)))
        file.seek(max(0, offset - _CHECKED_BYTES))
        end = file.read(min(offset, _CHECKED_BYTES))
    if len(end) < min(offset, _CHECKED_BYTES) or not end.endswith(b"\n"):
        raise ValueError("The journal is not what it was")
    hasher.update(end)
    return hasher.hexdigest()


def write_snapshot(path: Path, journal: Path, offset: int, sections: Iterable[Section]) -> None:
    """Write a snapshot of the journal before `offset`. Raises like `_check_of`."""
    lines = [encode_line({"snapshot": VERSION, "offset": offset, "check": _check_of(journal, offset)})]
    lines += [encode_line({name: value}) for name, value in sections]
    lines.append(encode_line({"end": len(lines)}))
    write_atomically(path, b"".join(lines), mode=0o600)


def read_extent(path: Path, journal: Path) -> int | None:
    """Return how far a snapshot reaches; None if it is missing or does not match this journal."""
    try:
        with open_regular(path) as file:
            header = _object(file.readline(_MAX_LINE_BYTES))
        offset = header["offset"]
        if header["snapshot"] != VERSION or not isinstance(offset, int) or offset < 0:
            return None
        return offset if header["check"] == _check_of(journal, offset) else None
    except _NO_SNAPSHOT:
        return None


def read_sections(path: Path, offset: int) -> Iterator[Section]:
    """Yield the sections of a snapshot. Raises `OSError` and `ValueError`."""
    number = 0
    with open_regular(path) as file:
        if _object(file.readline(_MAX_LINE_BYTES)).get("offset") != offset:
            raise ValueError("The snapshot was replaced")
        while line := file.readline(_MAX_LINE_BYTES):
            number += 1
            fields = _object(line)
            [(name, value)] = fields.items() if len(fields) == 1 else [("", None)]
            if name == "end":
                if value != number:
                    break
                return
            yield name, value
    raise ValueError("The snapshot is not whole")


def _object(line: bytes) -> JsonObject:
    try:
        # The parser's cache would hold 16,384 strings, and their memory arenas, for ever.
        fields: object = from_json(line, cache_strings=False)
    except ValueError:
        try:
            fields = json.loads(line)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    if not isinstance(fields, dict):
        raise ValueError("not an object")  # noqa: TRY004 - as any other line that is not what it should be
    return cast("JsonObject", fields)
