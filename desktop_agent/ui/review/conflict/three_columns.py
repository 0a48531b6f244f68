"""Three versions of a text side by side, with aligned rows."""

from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QHideEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.core.diff.intraline import Spans, changed_words
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.merge.three_way import Choice, Source, ThreeWay
from desktop_agent.ui.review.diff.diff_layout import ROW_HEIGHT
from desktop_agent.ui.review.diff.highlighter import Highlighter
from desktop_agent.ui.review.diff.line_layouts import Columns, LineLayouts
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS

SOURCES: Final[tuple[Source, ...]] = ("base", "wanted", "yours")
_MAX_WORDS_KEPT = 2_000


class Look(NamedTuple):
    """How the lines of a version are marked in a region: palette roles, and a sign for the gutter."""

    ground: str = ""
    word: str = ""
    sign: str = ""
    ink: str = "muted"


class ThreeRows:
    def __init__(self, three: ThreeWay) -> None:
        self.three = three
        self._starts = list(accumulate((region.row_count for region in three.regions), initial=0))
        self.count = self._starts[-1]
        clashes = (index for index, region in enumerate(three.regions) if region.origin == "clash")
        self._clash_numbers = {index: number for number, index in enumerate(clashes)}
        self.choices: list[Choice] = ["undecided"] * len(self._clash_numbers)
        self.edited: set[int] = set()
        self.current = 0
        self._words: dict[tuple[int, Source], Spans] = {}

    @property
    def undecided(self) -> list[int]:
        return [number for number in range(len(self.choices)) if self.is_open(number)]

    def look(self, row: int, source: Source) -> Look:
        index, _ = self._at(row)
        origin = self.three.regions[index].origin
        if origin == "unchanged":
            return Look()
        if origin == "clash":
            clash = self._clash_numbers[index]
            choice = self.choices[clash]
            if clash in self.edited:
                return Look("sunken")
            if choice == "undecided":
                return Look("warning_bg", "found_current", "≠" if source != "base" else "", "warning_text")
            if source in ("wanted", "yours") and choice in (source, "both"):
                return Look("accent_weak", "added_word", "✓", "accent_text")
            return Look("sunken")
        if source == origin or (origin == "both" and source != "base"):
            return Look("added_line", "added_word", "+", "added_text")
        return Look("removed_line", "", "−", "removed_text") if source == "base" else Look()

    def line(self, row: int, source: Source) -> int | None:
        """Return the version's line number in this row, from 0; `None` for a row without a line."""
        index, offset = self._at(row)
        part = self.three.regions[index].of(source)
        return part.start + offset if part.start + offset < part.stop else None

    def is_gap(self, row: int, source: Source) -> bool:
        return self.line(row, source) is None and self.three.regions[self._at(row)[0]].origin != "unchanged"

    def changed_words(self, row: int, source: Source) -> Spans:
        if (row, source) not in self._words:
            if len(self._words) > _MAX_WORDS_KEPT:
                self._words.clear()
            new, old = self.line(row, source), self.line(row, "base")
            words: Spans = ()
            if source != "base" and old is not None and new is not None:
                before, after = self.three.base.lines[old], self.three.lines(source)[new]
                words = changed_words(*(without_ending(text)[:MAX_DRAWN_CHARS] for text in (before, after))).new
            self._words[row, source] = words
        return self._words[row, source]

    def clash_at(self, row: int) -> int | None:
        return self._clash_numbers.get(self._at(row)[0])

    def rows_of(self, clash: int) -> range | None:
        found = (index for index, number in self._clash_numbers.items() if number == clash)
        return next((range(self._starts[index], self._starts[index + 1]) for index in found), None)

    def lines(self, source: Source, first: int, last: int) -> list[int]:
        """Return the lines of a version in the rows from `first` to before `last`."""
        lines: list[int] = []
        for index in range(self._at(first)[0], len(self.three.regions)):
            if self._starts[index] >= last:
                break
            start, part = self._starts[index], self.three.regions[index].of(source)
            lines.extend(range(part.start + max(0, first - start), min(part.stop, part.start + last - start)))
        return lines

    def is_open(self, clash: int) -> bool:
        return self.choices[clash] == "undecided" and clash not in self.edited

    def _at(self, row: int) -> tuple[int, int]:
        index = bisect_right(self._starts, row) - 1
        return index, row - self._starts[index]


_PAD = 8
_SIGN_CHARS = 2
_CONTEXT_ROWS = 3


class ThreeColumns(QAbstractScrollArea):
    clash_clicked = Signal(int)  # its number, from 0

    def __init__(self, theme: Theme, rows: ThreeRows, path: str) -> None:
        super().__init__()
        self._theme = theme
        self._rows = rows
        self._gutter_chars = len(str(max(len(rows.three.lines(source)) for source in SOURCES)))
        self._placed: tuple[int, int] | None = None
        self._colours: dict[Source, Highlighter] = {source: Highlighter(self) for source in SOURCES}
        for source, colours in self._colours.items():
            colours.changed.connect(self.viewport().update)
            colours.set_text(path, (), rows.three.lines(source))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(4 * ROW_HEIGHT)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setCornerWidget(QWidget())
        self._on_theme_changed()
        theme.changed.connect(self._on_theme_changed)
        self._update_scroll_bars()

    def scroll_to_clash(self, number: int) -> None:
        if rows := self._rows.rows_of(number):
            margin = (self.viewport().height() - len(rows) * ROW_HEIGHT) // 2
            bar = self.verticalScrollBar()
            bar.setValue(rows.start * ROW_HEIGHT - max(margin, _CONTEXT_ROWS * ROW_HEIGHT))
            self._placed = (number, bar.value())

    def _columns(self) -> list[QRect]:
        width, height = self.viewport().width(), self.viewport().height()
        edges = [round(width * part / 3) for part in range(4)]
        return [QRect(left, 0, right - left - 1, height) for left, right in pairwise(edges)]

    def _text_left(self) -> int:
        return round(_PAD + (self._gutter_chars + _SIGN_CHARS) * self._char_width + _PAD)

    def _update_scroll_bars(self) -> None:
        height = self.viewport().height()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self._rows.count * ROW_HEIGHT - height))
        bar.setPageStep(height)
        bar.setSingleStep(ROW_HEIGHT)
        room = self._columns()[0].width() - self._text_left()
        across = self.horizontalScrollBar()
        across.setRange(0, max(0, round((self._rows.three.longest_line + 2) * self._char_width) - room))
        across.setPageStep(max(1, room))
        across.setSingleStep(round(self._char_width * 4))

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            painter.fillRect(event.rect(), self._theme.colour("surface"))
            columns, top = self._columns(), self.verticalScrollBar().value()
            first = top // ROW_HEIGHT
            last = min(self._rows.count, (top + self.viewport().height()) // ROW_HEIGHT + 1)
            for row in range(first, last):
                y = row * ROW_HEIGHT - top
                for source, column in zip(SOURCES, columns, strict=True):
                    self._paint_cell(painter, row, source, QRect(column.left(), y, column.width(), ROW_HEIGHT))
            self._paint_frame(painter, top)
            for source, colours in self._colours.items():
                colours.forget_requests()
                colours.request("new", self._rows.lines(source, first, last))
            for column in columns[:2]:
                painter.fillRect(column.right() + 1, 0, 1, self.viewport().height(), self._theme.colour("border"))

    def _paint_cell(self, painter: QPainter, row: int, source: Source, place: QRect) -> None:
        rows = self._rows
        look, number, ground = rows.look(row, source), rows.line(row, source), place.adjusted(0, 0, 1, 0)
        if look.ground:
            painter.fillRect(ground, self._theme.colour(look.ground))
        if rows.is_gap(row, source):
            stripes = self._theme.colour("border")
            stripes.setAlpha(110 if look.ground else 70)
            painter.fillRect(ground, stripes)
        if number is not None:
            painter.setFont(self._font)
            painter.setPen(self._theme.colour("faint"))
            gutter = QRect(place.left() + _PAD, place.top(), round(self._gutter_chars * self._char_width), ROW_HEIGHT)
            painter.drawText(
                gutter, int(Qt.AlignmentFlag.AlignRight) | int(Qt.AlignmentFlag.AlignVCenter), str(number + 1)
            )
            if look.sign:
                painter.setPen(self._theme.colour(look.ink))
                sign = QRect(gutter.right() + 1, place.top(), round(_SIGN_CHARS * self._char_width), ROW_HEIGHT)
                painter.drawText(sign, int(Qt.AlignmentFlag.AlignCenter), look.sign)
            words = rows.changed_words(row, source) if look.word else ()
            text = rows.three.lines(source)[number]
            self._paint_text(painter, text, number, source, words, look, place.adjusted(self._text_left(), 0, 0, 0))

    def _paint_text(
        self, painter: QPainter, text: str, number: int, source: Source, words: Spans, look: Look, area: QRect
    ) -> None:
        scrolled = self.horizontalScrollBar().value()
        seen = Columns(int(scrolled / self._char_width), int(area.width() / self._char_width) + 2)
        line = self._layouts.line(source, number, text, self._colours[source].spans("new", number), seen)
        painter.save()
        painter.setClipRect(area)
        x = area.left() - scrolled
        for start, end in words:
            left, right = line.x(start), line.x(end)
            marked = QRect(round(x + left), area.top() + 2, round(right - left), ROW_HEIGHT - 4)
            painter.fillRect(marked, self._theme.colour(look.word))
        painter.setPen(self._theme.colour("text"))
        line.draw(painter, x, area.top(), ROW_HEIGHT)
        painter.restore()

    def _paint_frame(self, painter: QPainter, top: int) -> None:
        rows = self._rows
        if framed := rows.rows_of(rows.current):
            painter.setPen(QPen(self._theme.colour("warning_text" if rows.is_open(rows.current) else "accent"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            y, height = framed.start * ROW_HEIGHT - top, len(framed) * ROW_HEIGHT
            painter.drawRect(0, y, self.viewport().width() - 1, height - 1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = (round(event.position().y()) + self.verticalScrollBar().value()) // ROW_HEIGHT
        number = self._rows.clash_at(row)
        if number is not None:
            self.clash_clicked.emit(number)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        for colours in self._colours.values():
            colours.stop()  # the next paint event requests them again

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        placed, value = self._placed, self.verticalScrollBar().value()
        self._update_scroll_bars()
        if placed is not None and placed[1] == value:  # not scrolled since: keep it centred
            self.scroll_to_clash(placed[0])

    def _on_theme_changed(self) -> None:
        self._font = self._theme.code_font(self._theme.sizes.diff, grows=False)
        self._char_width = QFontMetricsF(self._font).horizontalAdvance("0")
        self._layouts = LineLayouts(self._theme, self._font)
        self.viewport().update()
