"""The selection in a transcript, across entries, and the text of copying."""

import re
from typing import Literal, NamedTuple

from PySide6.QtGui import QGuiApplication

from desktop_agent.core.protocol.events import CommandRun, PromptSubmitted, Steered
from desktop_agent.core.transcript import (
    HookEntry,
    NoticeEntry,
    PageEntry,
    SpendingEntry,
    TextEntry,
    ToolEntry,
    spending_line,
)
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.markdown.inline import LINE_BREAK, utf16_slice
from desktop_agent.ui.chat.text.column_text import END, TextPosition
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.translation.core_words import answer_words
from desktop_agent.ui.wording.visible_text import utf16_length

Unit = Literal["letter", "word", "line"]
START = TextPosition(0, 0)
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class TranscriptPosition(NamedTuple):
    row: EntryRow
    place: TextPosition

    def is_before(self, other: "TranscriptPosition") -> bool:
        return (self.row.index, self.place) < (other.row.index, other.place)


Range = tuple[TranscriptPosition, TranscriptPosition]


def unit_around(text: str, offset: int, unit: Unit) -> tuple[int, int]:
    """Return start and end of the word or line of `text` around a UTF-16 offset."""
    at = len(utf16_slice(text, 0, offset))
    line_start = text.rfind(LINE_BREAK, 0, at) + 1
    line_end = text.find(LINE_BREAK, at)
    line_end = len(text) if line_end < 0 else line_end
    start, end = line_start, line_end
    if unit == "word":
        for word in _WORDS.finditer(text, line_start, line_end):
            start, end = word.span()
            if end > at:
                break
    return utf16_length(text[:start]), utf16_length(text[:end])


def copied_row(row: EntryRow) -> str:
    entry = row.entry
    match entry:
        case PromptSubmitted() | Steered() | TextEntry():
            return entry.text
        case ToolEntry():
            headline = " ".join(filter(None, entry_words.headline(entry)))
            parts = [headline, *(note for note, _ in entry_words.notes(entry))]
            if output := family_of(entry).copied(row):
                parts.append(output)
            return "\n".join(parts)
        case NoticeEntry():
            notice = entry.notice
            return "\n".join(part for part in (notice.title, notice.hint) if part)
        case HookEntry():
            return f"{entry_words.hooks(entry)}\n{entry_words.hook_details(entry)}"
        case SpendingEntry():
            return spending_line(entry)
        case PageEntry():
            return entry_words.page(entry)
        case CommandRun():
            return f"{entry.text}\n{answer_words(entry.output)}"
        case _:
            return entry_words.sentence(entry)


_MOST_ROWS = 8
"""A selection of more rows is not copied automatically, because that would take long."""


class SelectedText:
    def __init__(self, layout: RowLayout) -> None:
        self._layout = layout
        self._first: Range | None = None
        self._last: Range | None = None
        self._unit: Unit = "letter"

    @property
    def is_empty(self) -> bool:
        ends = self._ends()
        return ends is None or not ends[0].is_before(ends[1])

    def clear(self) -> None:
        self._first = self._last = None
        self._show()

    def begin(self, spot: TranscriptPosition, unit: Unit = "letter") -> None:
        self._unit = unit
        self._first = self._last = self._unit_at(spot)
        self._show()

    def extend(self, spot: TranscriptPosition) -> None:
        if self._first is None:
            self.begin(spot)
        else:
            self._last = self._unit_at(spot)
            self._show()

    def select_all(self) -> None:
        rows = self._layout.rows
        if len(rows):
            start, end = TranscriptPosition(rows[0], START), TranscriptPosition(rows[len(rows) - 1], END)
            self._unit = "letter"
            self._first, self._last = (start, start), (end, end)
            self._show()

    def forget(self, row: EntryRow) -> None:
        if any(spot.row is row for spot in (*(self._first or ()), *(self._last or ()))):
            self._first = self._last = None

    def range_in(self, row: EntryRow) -> tuple[TextPosition, TextPosition] | None:
        """Return the selected part of `row`, if any. Its end is `END` if the selection continues in the next row."""
        ends = self._ends()
        if ends is None or not ends[0].row.index <= row.index <= ends[1].row.index:
            return None
        start = ends[0].place if row is ends[0].row else START
        end = ends[1].place if row is ends[1].row else END
        return (start, end) if start < end else None

    def text(self) -> str:
        """Return the text to copy: displayed text for a part of a paragraph, otherwise the markdown source."""
        ends, layout = self._ends(), self._layout
        if ends is None or self.is_empty:
            return ""
        parts: list[str] = []
        for index in range(ends[0].row.index, ends[1].row.index + 1):
            row = layout.rows[index]
            selected = self.range_in(row)
            if selected == (START, END):
                parts.append(copied_row(row))
            elif selected is not None:
                widget = row.widget or layout.widgets.create(row)
                parts.append(widget.column.text.copied(*selected, widget.source()))
        return "\n\n".join(part for part in parts if part)

    def copy(self) -> None:
        if text := self.text():
            QGuiApplication.clipboard().setText(text)

    def _ends(self) -> Range | None:
        if self._first is None or self._last is None:
            return None
        if self._last[0].is_before(self._first[0]):
            return self._last[0], self._first[1]
        return self._first[0], self._last[1]

    def _unit_at(self, spot: TranscriptPosition) -> Range:
        widget = spot.row.widget
        block, offset = spot.place
        if self._unit == "letter" or widget is None or block >= len(widget.column.text.blocks):
            return spot, spot
        start, end = unit_around(widget.column.text.shown(block), offset, self._unit)
        return spot._replace(place=TextPosition(block, start)), spot._replace(place=TextPosition(block, end))

    def _show(self) -> None:
        for row in self._layout.widgets.live:
            if row.widget is not None and row.widget.column.highlights.select(self.range_in(row)):
                row.widget.update()
        clipboard, ends = QGuiApplication.clipboard(), self._ends()
        if not clipboard.supportsSelection() or ends is None or ends[1].row.index - ends[0].row.index >= _MOST_ROWS:
            return
        if text := self.text():
            clipboard.setText(text, clipboard.Mode.Selection)
