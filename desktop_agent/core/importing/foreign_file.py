"""The file of another program's conversation: its JSON lines, and the results of a first pass."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct, field

from desktop_agent.core.base.errors import storage_error
from desktop_agent.core.protocol.codec import MalformedLineError, text_in
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.store.journal.lines import Line, decode, decode_line, open_regular, read_lines

_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"\s*")

SourceKind = Literal["claude-code", "codex", "desktop-agent"]

SOURCE_NAMES: dict[SourceKind, str] = {"claude-code": "Claude Code", "codex": "Codex", "desktop-agent": "Desktop Agent"}


class FileFacts(Struct):
    kind: SourceKind
    source_id: str = ""
    workspace: str = ""
    title: str = ""
    is_title_given: bool = False
    wanted: set[int] = field(default_factory=set[int])
    """The indexes (from 0) of the objects that form the conversation, if not all do."""
    problems: list[str] = field(default_factory=list[str])
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


def read_objects(
    path: Path, problems: list[str], unreadable: list[str] | None = None
) -> Iterator[tuple[Line, JsonObject]]:
    """Yield the JSON objects of each line. There are several where the newline between them was lost.

    Lines that are not JSON objects are reported in `problems`, with their texts in `unreadable`. Raises `StorageError`.
    """
    with storage_error("The file could not be read.", path=path), open_regular(path) as file:
        for line in read_lines(file):
            if line.content is not None and not line.content.strip():
                continue
            try:
                yield line, decode_line(line)
            except (MalformedLineError, RecursionError) as error:
                objects = _joined_objects(line)
                yield from ((line, fields) for fields in objects)
                if not objects:
                    problems.append(f"line {line.number}: {error}")
                    if unreadable is not None:
                        unreadable.append((line.content or b"").decode(errors="replace"))


def _joined_objects(line: Line) -> list[JsonObject]:
    objects: list[JsonObject] = []
    try:
        rest = (line.content or b"").decode().strip()
        at = 0
        while at < len(rest):
            _, end = _DECODER.raw_decode(rest, at)
            objects.append(decode(rest[at:end].encode()))
            at = _BLANKS.match(rest, end).end()  # type: ignore[union-attr] - it matches everywhere
    except (ValueError, RecursionError, MalformedLineError):
        return []
    return objects


def without_leading_blocks(text: str, tags: Collection[str]) -> tuple[str, dict[str, str]]:
    """Remove `<tag>…</tag>` blocks in front of a text, and return the rest and their contents by tag."""
    block = re.compile(rf"\s*<({'|'.join(map(re.escape, tags))})(?: [^>]*)?>(.*?)</\1>", re.DOTALL)
    contents: dict[str, str] = {}
    at = 0
    while found := block.match(text, at):
        contents[found[1]] = "\n".join(filter(None, (contents.get(found[1]), found[2].strip())))
        at = found.end()
    return text[at:].strip() if at else text, contents


def words_in(content: object) -> list[str]:
    """Return the texts of a message of the user. A block of an unknown kind stays JSON."""
    texts: list[str] = []
    for block in cast("list[object]", content) if isinstance(content, list) else [content]:
        match block:
            case str():
                texts.append(block)
            case {"type": "tool_result" | "image" | "document" | "input_image" | "input_file"} | None:
                pass
            case {"text": str(text)}:
                texts.append(text)
            case _:
                texts.append(json.dumps(block, ensure_ascii=False))
    return [text for text in texts if text.strip()]
