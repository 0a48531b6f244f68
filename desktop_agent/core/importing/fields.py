"""Reading JSON of a foreign shape: whatever is there, the answer has the type that was asked for."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import cast

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.codec import MalformedLineError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.journal.lines import Line, decode_line, open_regular, read_lines


def text_in(fields: JsonObject, key: str) -> str:
    """Return the text under `key`; empty when there is none."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def whole_in(fields: JsonObject, key: str) -> int:
    """Return the whole number under `key`, at least 0; 0 when there is none."""
    value = fields.get(key)
    return min(max(value, 0), 2**53) if isinstance(value, int) and not isinstance(value, bool) else 0


def object_in(fields: JsonObject, key: str) -> JsonObject:
    """Return the object under `key`; an empty one when there is none."""
    value = fields.get(key)
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def objects_in(fields: JsonObject, key: str) -> list[JsonObject]:
    """Return the objects of the list under `key`; what else is in it is passed over."""
    value = fields.get(key)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", item) for item in items if isinstance(item, dict)]


def time_in(fields: JsonObject, key: str) -> datetime | None:
    """Return the time under `key`, if it says where on earth."""
    try:
        moment = datetime.fromisoformat(text_in(fields, key))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def read_objects(path: Path, problems: list[str]) -> Iterator[tuple[Line, JsonObject]]:
    """Yield the object of each line; a line that holds none is named in `problems`. Raises `StorageError`."""
    try:
        with open_regular(path) as file:
            for line in read_lines(file):
                if line.content is not None and not line.content.strip():
                    continue
                try:
                    yield line, decode_line(line)
                except (MalformedLineError, RecursionError) as error:
                    problems.append(f"line {line.number}: {error}")
    except OSError as error:
        raise StorageError("The file could not be read.", detail=f"{path}: {error}") from error
