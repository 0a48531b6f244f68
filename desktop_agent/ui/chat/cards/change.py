"""The body of an edit's card: a few changed lines of the first file, and of other files on demand."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import ClassVar, Literal, NamedTuple, cast

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.diff.intraline import changed_words
from desktop_agent.core.diff.rows import DiffRow, DiffRows
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.protocol.model import FileChange, FileDiff
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.tool_body import (
    SHOWN_LINES,
    CardSource,
    Content,
    ContentWriter,
    ToolBody,
    entry_of,
    in_thread,
    short_line,
)
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.text.styles import LINK_TINT, MUTED_TINT, TextMark, Tint
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.rows import RIGHT
from desktop_agent.ui.widgets.text_colours import Lexer, Lexers, colour_lines
from desktop_agent.ui.wording import utf16_length

_AROUND = 2
_MAX_LINE = 300

Tone = Literal["", "added", "removed", "gap", "file"]


class DiffLine(NamedTuple):
    tone: Tone
    number: int
    text: str
    words: tuple[tuple[int, int], ...] = ()
    """The changed words, as half-open ranges of characters."""


class DiffExcerpt(NamedTuple):
    lines: tuple[DiffLine, ...] = ()
    hidden: int = 0
    note: str = ""


def excerpt_of(diff: FileDiff, most: int = SHOWN_LINES, *, is_exact: bool = False) -> DiffExcerpt:
    """Return the part of a diff to show. `is_exact` keeps every character of the lines."""
    rows = DiffRows(diff, "unified")
    lines: list[DiffLine] = []
    leading: list[DiffLine] = []
    is_gap = False
    for index in range(len(rows)):
        row = rows[index]
        if row.kind in ("hunk", "gap"):
            is_gap = bool(lines)
            leading.clear()
            continue
        if len(lines) >= most:
            break
        line = _diff_line(diff, row, is_exact=is_exact)
        if not lines and not line.tone:
            leading = [*leading, line][-_AROUND:]
            continue
        if is_gap:
            lines.append(DiffLine("gap", 0, "⋯"))
            is_gap = False
        lines += [*leading, line]
        leading.clear()
    del lines[most:]
    while lines and not _ends_well(lines):
        lines.pop()
    shown = sum(line.tone in ("added", "removed") for line in lines)
    note = "; ".join(("Binary file", *diff.notes) if diff.is_binary else diff.notes)
    return DiffExcerpt(tuple(lines), diff.added + diff.removed - shown, note)


def _ends_well(lines: list[DiffLine]) -> bool:
    is_near = any(line.tone in ("added", "removed") for line in lines[-_AROUND - 1 :])
    return lines[-1].tone in ("added", "removed") or (lines[-1].tone == "" and is_near and bool(lines[-1].text.strip()))


def _diff_line(diff: FileDiff, row: DiffRow, *, is_exact: bool) -> DiffLine:
    match row.kind:
        case "removed":
            tone, number, lines, others = "removed", row.old, diff.old_lines, diff.new_lines
        case "added":
            tone, number, lines, others = "added", row.new, diff.new_lines, diff.old_lines
        case _:
            tone, number, lines, others = "", row.new, diff.new_lines, ()
    assert number is not None
    other = others[row.peer] if tone and row.peer is not None else ""
    texts = [without_ending(line) for line in (lines[number], other)]
    if not is_exact:
        texts = [short_line(text, _MAX_LINE) for text in texts]
    elif texts[0] == texts[1]:  # only their line endings differ
        return DiffLine(tone, number + 1, lines[number].removesuffix("\n"))
    return DiffLine(tone, number + 1, texts[0], changed_words(*texts).old if other else ())


_LANGUAGES = frozenset(
    {
        *("c", "cpp", "cs", "css", "go", "html", "java", "js", "json", "jsx", "lua", "php", "py", "rb", "rs", "scss"),
        *("sh", "sql", "swift", "toml", "ts", "tsx", "xml", "yaml"),
    }
)
"""The file suffixes that Pygments accepts as names of languages."""

_OTHER_SUFFIXES = {"cc": "cpp", "h": "c", "hpp": "cpp", "kt": "kotlin", "pyi": "py", "yml": "yaml"}


def language_of(path: str) -> str:
    suffix = PurePosixPath(path).suffix[1:].lower()
    return suffix if suffix in _LANGUAGES else _OTHER_SUFFIXES.get(suffix, "")


def line_colours(lexer: Lexer, lines: Sequence[DiffLine]) -> tuple[tuple[TextMark, ...], ...]:
    found: list[tuple[TextMark, ...]] = [() for _ in lines]
    for tones in (("", "removed"), ("", "added")):  # unchanged lines keep the colours they have among the added ones
        numbers = [number for number, line in enumerate(lines) if line.tone in tones]
        for number, colours in zip(
            numbers, colour_lines(lexer, [lines[number].text for number in numbers]), strict=True
        ):
            found[number] = tuple(TextMark(at, length, Tint(role)) for at, length, role in colours)
    return tuple(found)


_MOST_FILES = 50
SIGNS: dict[Tone, str] = {"": " ", "added": "+", "removed": "-", "gap": " ", "file": ""}
_NUMBER_SIZE = 0.92
_NAME_OF_FILE = DiffLine("", 0, "")


class ChangeBody(ToolBody):
    ground: ClassVar[str] = "surface"
    is_result: ClassVar[bool] = True

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        return bool(entry.changes) and entry.state == "completed"

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        writer = ContentWriter()
        changes = _changes(row)
        for change in changes:
            writer.end_paragraph()
            if len(changes) > 1:
                writer.add(f"{'▾' if _is_open(row, change) else '▸'} {change.path}", LINK_TINT, change.path)
                if change.added:
                    writer.add(f"  +{change.added}", Tint("added_text"))
                if change.removed:
                    writer.add(f"  {entry_words.MINUS}{change.removed}", Tint("removed_text"))
                writer.end_line()
            colours = cast("tuple[tuple[TextMark, ...], ...]", row.loaded.get(f"colours:{change.id}", ()))
            for line, marks in zip_longest(_lines(row, change), colours):
                if line is not None:
                    _write_line(writer, line, marks or ())
        return writer.content(has_paragraphs=True)

    @property
    def left(self) -> int:
        numbers = [line.number for line in self._shown()]
        digits = len(str(max(numbers, default=0))) if any(numbers) else 0
        digit = QFontMetricsF(self._number_font).horizontalAdvance("0")
        return Space.M + round(digits * digit) + (Space.S if digits else 0)

    @property
    def _number_font(self) -> QFont:
        return self.styles.theme.code_font(self.styles.theme.sizes.code * _NUMBER_SIZE, grows=False)

    def _shown(self) -> Iterator[DiffLine]:
        changes = _changes(self.row)
        for change in changes:
            if len(changes) > 1:
                yield _NAME_OF_FILE
            yield from _lines(self.row, change)

    def load(self) -> None:
        for change in _changes(self.row):
            if _is_open(self.row, change):
                self.fetch(f"diff:{change.id}", partial(_compare, change))

    def follow(self, href: str) -> None:
        if change := next((change for change in _changes(self.row) if change.path == href), None):
            self.row.opened ^= {f"file:{change.id}"}
            self.unfolded.emit()

    def paint_beside(self, painter: QPainter, width: int) -> None:
        shown = self._shown()
        painter.setFont(self._number_font)
        for index in range(len(self.column.text.blocks)):
            for (top, height), line in zip(self.column.line_areas(index), shown, strict=False):
                if line.tone in ("added", "removed"):
                    painter.fillRect(QRectF(1, top, width - 2, height), self.styles.colour(f"{line.tone}_line"))
                if line.number:
                    painter.setPen(self.styles.colour("faint"))
                    area = QRectF(0, top, self.left - Space.S + 1, height)
                    painter.drawText(area, RIGHT, str(line.number))

    def colour(self, lexers: Lexers) -> bool:
        is_new = False
        for change in _changes(self.row):
            language, key = language_of(change.path), f"colours:{change.id}"
            lines = _lines(self.row, change)
            if lines and language and key not in self.row.loaded and lexers.is_known(language):
                lexer = lexers.get(language)
                self.row.loaded[key] = line_colours(lexer, lines) if lexer is not None else ()
                is_new = True
        return is_new


async def _compare(change: FileChange, source: CardSource) -> DiffExcerpt:
    return await in_thread(partial(excerpt_of, await source.change_diff(change)))


def _changes(row: EntryRow) -> tuple[FileChange, ...]:
    return entry_of(row).changes[:_MOST_FILES]


def _is_open(row: EntryRow, change: FileChange) -> bool:
    return (change is entry_of(row).changes[0]) != (f"file:{change.id}" in row.opened)


def _lines(row: EntryRow, change: FileChange) -> tuple[DiffLine, ...]:
    excerpt = row.loaded.get(f"diff:{change.id}")
    if isinstance(excerpt, AgentError):
        excerpt = DiffExcerpt(note=excerpt.title)
    if not isinstance(excerpt, DiffExcerpt) or not _is_open(row, change):
        return ()
    notes = [DiffLine("gap", 0, excerpt.note)] if excerpt.note else []
    if excerpt.hidden and excerpt.lines:
        more = entry_words.counted(excerpt.hidden, "%n more changed line", "%n more changed lines")
        notes.append(DiffLine("gap", 0, f"⋯ {more}"))
    return (*excerpt.lines, *notes)


def _write_line(writer: ContentWriter, line: DiffLine, colours: Sequence[TextMark]) -> None:
    role = f"{line.tone}_text" if line.tone in ("added", "removed") else ""
    writer.add(SIGNS[line.tone], Tint(role, is_spaced=True))
    start = writer.at
    for mark in colours:
        writer.mark(mark._replace(start=start + mark.start))
    writer.add(line.text, MUTED_TINT if line.tone == "gap" else None)
    for first, last in line.words:
        begin, length = utf16_length(line.text[:first]), utf16_length(line.text[first:last])
        # Syntax colours are too faint on the background of a changed word.
        writer.mark(TextMark(start + begin, length, Tint("text", f"{line.tone}_word")))
    writer.end_line()
