"""Matches as `rg --json` reports them, turned into lines that are the same every time."""

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, field

LONGEST_LINE = 400
"""Characters of a line that are shown; of a longer one, the part around its first match."""

_LEAD = 100


class _Line(Struct):
    number: int
    text: str
    is_match: bool
    begins_match: bool


class LineSelection(Struct, frozen=True):
    """The lines to show."""

    lines: list[str]
    places: list[tuple[str, int, str]]
    """Path, line and text where each of the matches begins that they show."""


class GrepMatches(Struct):
    """Collects up to `limit` matches, and ten times as many lines, in the files that `accepts` lets through."""

    accepts: Callable[[str], bool]
    limit: int
    count: int = 0
    _lines: int = 0
    _files: dict[str, list[_Line]] = field(default_factory=dict[str, list[_Line]])
    _current: list[_Line] | None = None

    @property
    def files(self) -> int:
        """How many files have matches."""
        return len(self._files)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that have matches."""
        return tuple(self._files)

    def leave_out(self, paths: Iterable[str]) -> None:
        """Forget the matches in these files."""
        for path in paths:
            lines = self._files.pop(path)
            self.count -= sum(line.begins_match for line in lines)

    def add(self, records: list[bytes]) -> bool:
        """Take lines of `rg --json`; False when no more are wanted."""
        for record in records:
            self._add(json.loads(record))
            if self.count >= self.limit or self._lines >= 10 * self.limit:
                return False
        return True

    def _add(self, event: dict[str, Any]) -> None:
        data: dict[str, Any] = event["data"]
        match event["type"]:
            case "begin":
                path = _text(data["path"]).removeprefix("./")
                self._current = self._files.setdefault(path, []) if self.accepts(path) else None
            case "match" if self._current is not None:
                self._keep(self._current, _lines_of(data, is_match=True))
                self.count += 1
            case "context" if self._current is not None:
                self._keep(self._current, _lines_of(data, is_match=False))
            case _:
                pass

    def _keep(self, file: list[_Line], lines: list[_Line]) -> None:
        file += lines
        self._lines += len(lines)

    def select(self, max_matches: int, *, lines_after: int, max_bytes: int) -> LineSelection:
        """Return the first `max_matches` by path and line, with their context, as far as `max_bytes` goes."""
        shown: list[str] = []
        places: list[tuple[str, int, str]] = []
        size = 0
        for path in sorted(self._files):
            wanted = _first_matches(self._files[path], max_matches - len(places), lines_after)
            has_context = any(not line.is_match for line in wanted)
            before: _Line | None = None
            for line in wanted:
                is_gap = has_context and before is not None and line.number > before.number + 1
                new = ["--"] if is_gap else []
                sign = ":" if line.is_match else "-"
                new.append(f"{path}{sign}{line.number}{sign}{line.text}")
                size += sum(len(text.encode("utf-8", "replace")) + 4 for text in new)
                if size > max_bytes:
                    return LineSelection(shown, places)
                shown += new
                if line.begins_match:
                    places.append((path, line.number, line.text))
                before = line
        return LineSelection(shown, places)


def _first_matches(lines: list[_Line], count: int, lines_after: int) -> list[_Line]:
    """Return the first `count` matches of one file with their context."""
    lines.sort(key=lambda line: line.number)
    starts = [index for index, line in enumerate(lines) if line.begins_match]
    if count <= 0:
        return []
    if len(starts) <= count:
        return lines
    end = starts[count]  # where the first match that is not shown begins
    last = max((line.number for line in lines[:end] if line.is_match), default=0)
    return [line for line in lines[:end] if line.number <= last + lines_after]


def _lines_of(data: dict[str, Any], *, is_match: bool) -> list[_Line]:
    text = _text(data["lines"]).removesuffix("\n")
    submatches: list[dict[str, int]] = data["submatches"]
    start = submatches[0]["start"] if submatches else 0
    first: int = data["line_number"]
    lines: list[_Line] = []
    for offset, line in enumerate(text.split("\n")):
        around = len(text.encode()[:start].decode("utf-8", "ignore")) if offset == 0 else 0
        lines.append(
            _Line(first + offset, _shortened(line.removesuffix("\r"), around), is_match, is_match and not offset)
        )
    return lines


def _shortened(line: str, around: int) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    begin = max(0, min(around - _LEAD, len(line) - LONGEST_LINE))
    end = begin + LONGEST_LINE
    return f"{'…' if begin else ''}{line[begin:end]}{'…' if end < len(line) else ''}"


def _text(value: dict[str, str]) -> str:
    """Return the text; what is not UTF-8 comes in base 64."""
    return value["text"] if "text" in value else base64.b64decode(value["bytes"]).decode("utf-8", "replace")
