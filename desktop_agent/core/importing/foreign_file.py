"""The file of another program's conversation: its JSON lines, and what a first pass through it finds."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.codec import MalformedLineError, text_in
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.journal.lines import Line, decode_line, open_regular, read_lines

SourceKind = Literal["claude-code", "codex", "desktop-agent"]

SOURCE_NAMES: dict[SourceKind, str] = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "desktop-agent": "Desktop Agent",
}


class FileFacts(Struct):
    kind: SourceKind
    source_id: str = ""
    workspace: str = ""
    title: str = ""
    is_title_given: bool = False
    wanted: set[int] = field(default_factory=set[int])
    """Numbers of the lines that form the conversation, if not all of them do."""
    problems: list[str] = field(default_factory=list[str])
    """Unreadable lines, each with its number."""
    left_out: Counter[str] = field(default_factory=Counter[str])


def whole_in(fields: JsonObject, key: str) -> int:
    value = fields.get(key)
    return min(max(value, 0), 2**53) if isinstance(value, int) and not isinstance(value, bool) else 0


def time_in(fields: JsonObject, key: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text_in(fields, key))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def read_objects(path: Path, problems: list[str]) -> Iterator[tuple[Line, JsonObject]]:
    """Yield the JSON object of each line; other lines are reported in `problems`. Raises `StorageError`."""
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
