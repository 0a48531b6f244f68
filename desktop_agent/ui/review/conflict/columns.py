"""Three versions of a text in three columns that scroll together, with the places that clash marked."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QHideEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.core.diff.intraline import Spans, changed_words
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.merge.three_way import Choice, Source, Stretch, ThreeWay
from desktop_agent.ui.review.diff.diff_geometry import ROW_HEIGHT
from desktop_agent.ui.review.diff.highlighter import Highlighter
from desktop_agent.ui.review.diff.line_layouts import Columns, LineLayouts
from desktop_agent.ui.theme import Theme, TypeSize
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS

_SOURCES: tuple[Source, ...] = ("base", "wanted", "yours")
_HEAD_HEIGHT = 24
_PAD = 8
_SIGN_CHARS = 2
_MAX_WORDS_KEPT = 2_000
_CONTEXT_ROWS = 3


class _Look(NamedTuple):
    """How the lines of one version are marked in one stretch: roles of the palette, and a sign for the gutter."""

    ground: str = ""
    word: str = ""
    sign: str = ""
    ink: str = "muted"


class ThreeColumns(QAbstractScrollArea):
    """Paints the rows that can be seen. Read-only; the result is put together elsewhere.

    Signals:
        clash_clicked: the user clicked into a clash; carries its number, from 0.
    """

    clash_clicked = Signal(int)

    def __init__(self, theme: Theme, titles: Sequence[str], parent: QWidget | None = None) -> None:
        """`titles` are those of base, wanted and yours."""
        super().__init__(parent)
        self._theme = theme
        self._titles = tuple(titles)
        self._three: ThreeWay | None = None
        self._choices: tuple[Choice, ...] = ()
        self._edited: frozenset[int] = frozenset()
        self._current = 0
        self._starts: list[int] = [0]
        self._clash_numbers: dict[int, int] = {}
        self._words: dict[tuple[int, int, Source], Spans] = {}
        self._gutter_chars = 3
        self._placed: tuple[int, int] | None = None
        """The clash that was brought into view last, and where that put the view."""
        self._colours: dict[Source, Highlighter] = {source: self._new_highlighter() for source in _SOURCES}
        self._head = _Head(theme, self._titles, self)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setViewportMargins(0, _HEAD_HEIGHT, 0, 0)
        self.setMinimumHeight(_HEAD_HEIGHT + 4 * ROW_HEIGHT)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setCornerWidget(QWidget())
        self._on_theme_changed()
        theme.changed.connect(self._on_theme_changed)

    def show_three(self, three: ThreeWay, path: str = "") -> None:
        """Show these versions from their start, with the colours of the language of `path`."""
        self._three = three
        self._placed = None
        for source, colours in self._colours.items():
            colours.set_text(path, (), three.lines(source))
        self._starts = list(accumulate((stretch.row_count for stretch in three.stretches), initial=0))
        clashes = (index for index, stretch in enumerate(three.stretches) if stretch.origin == "clash")
        self._clash_numbers = {index: number for number, index in enumerate(clashes)}
        self._choices = ("undecided",) * len(self._clash_numbers)
        self._edited = frozenset()
        self._words.clear()
        self._layouts.clear()
        self._gutter_chars = len(str(max(len(three.lines(source)) for source in _SOURCES)))
        self._update_scroll_bars()
        self.viewport().update()

    def show_decisions(self, choices: Sequence[Choice], edited: frozenset[int], current: int) -> None:
        """Mark what was chosen for each clash, which were edited by hand, and which one it is about now."""
        self._choices, self._edited, self._current = tuple(choices), edited, current
        self.viewport().update()

    def scroll_to_clash(self, number: int) -> None:
        """Show this clash in the middle; from some lines above it when it is higher than the view."""
        for index, clash in self._clash_numbers.items():
            if clash == number:
                rows = self._three.stretches[index].row_count if self._three else 0
                margin = (self.viewport().height() - rows * ROW_HEIGHT) // 2
                bar = self.verticalScrollBar()
                bar.setValue(self._starts[index] * ROW_HEIGHT - max(margin, _CONTEXT_ROWS * ROW_HEIGHT))
                self._placed = (number, bar.value())

    # -- where things are --

    def _columns(self) -> list[QRect]:
        width, height = self.viewport().width(), self.viewport().height()
        edges = [round(width * part / 3) for part in range(4)]
        return [QRect(left, 0, right - left - 1, height) for left, right in pairwise(edges)]

    def _text_left(self) -> int:
        return round(_PAD + (self._gutter_chars + _SIGN_CHARS) * self._char_width + _PAD)

    def _update_scroll_bars(self) -> None:
        height = self.viewport().height()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self._starts[-1] * ROW_HEIGHT - height))
        bar.setPageStep(height)
        bar.setSingleStep(ROW_HEIGHT)
        longest = self._three.longest_line if self._three else 0
        room = self._columns()[0].width() - self._text_left()
        across = self.horizontalScrollBar()
        across.setRange(0, max(0, round((longest + 2) * self._char_width) - room))
        across.setPageStep(max(1, room))
        across.setSingleStep(round(self._char_width * 4))

    # -- painting --

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), self._theme.colour("surface"))
        columns = self._columns()
        if self._three:
            top = self.verticalScrollBar().value()
            first = top // ROW_HEIGHT
            last = min(self._starts[-1], (top + self.viewport().height()) // ROW_HEIGHT + 1)
            for row in range(first, last):
                at = bisect_right(self._starts, row) - 1
                y = row * ROW_HEIGHT - top
                for source, column in zip(_SOURCES, columns, strict=True):
                    self._paint_row(
                        painter, at, row - self._starts[at], source, QRect(column.left(), y, column.width(), ROW_HEIGHT)
                    )
            self._paint_frame(painter, top)
            self._request_colours(first, last)
        for column in columns[:2]:
            painter.fillRect(column.right() + 1, 0, 1, self.viewport().height(), self._theme.colour("border"))
        painter.end()

    def _paint_row(self, painter: QPainter, at: int, offset: int, source: Source, place: QRect) -> None:
        assert self._three is not None
        stretch = self._three.stretches[at]
        part = stretch.of(source)
        look = self._look(at, stretch, source)
        if look.ground:
            painter.fillRect(place.adjusted(0, 0, 1, 0), self._theme.colour(look.ground))
        number = part.start + offset
        if number >= part.stop:
            if stretch.origin != "nobody":
                painter.fillRect(place.adjusted(0, 0, 1, 0), self._stripes_brush(look.ground))
            return
        painter.setFont(self._font)
        painter.setPen(self._theme.colour("faint"))
        gutter = QRect(place.left() + _PAD, place.top(), round(self._gutter_chars * self._char_width), ROW_HEIGHT)
        painter.drawText(gutter, int(Qt.AlignmentFlag.AlignRight) | int(Qt.AlignmentFlag.AlignVCenter), str(number + 1))
        if look.sign:
            painter.setPen(self._theme.colour(look.ink))
            sign = QRect(gutter.right() + 1, place.top(), round(_SIGN_CHARS * self._char_width), ROW_HEIGHT)
            painter.drawText(sign, int(Qt.AlignmentFlag.AlignCenter), look.sign)
        self._paint_text(painter, at, offset, source, place, look)

    def _paint_text(self, painter: QPainter, at: int, offset: int, source: Source, place: QRect, look: _Look) -> None:
        assert self._three is not None
        number = self._three.stretches[at].of(source).start + offset
        text = self._three.lines(source)[number]
        area = place.adjusted(self._text_left(), 0, 0, 0)
        scrolled = self.horizontalScrollBar().value()
        seen = Columns(int(scrolled / self._char_width), int(area.width() / self._char_width) + 2)
        spans = self._colours[source].spans("new", number)
        line = self._layouts.line(source, number, text, spans, seen)
        painter.save()
        painter.setClipRect(area)
        x = area.left() - scrolled
        if look.word:
            for start, end in self._changed(at, offset, source):
                left, right = line.x(start), line.x(end)
                marked = QRect(round(x + left), place.top() + 2, round(right - left), ROW_HEIGHT - 4)
                painter.fillRect(marked, self._theme.colour(look.word))
        painter.setPen(self._theme.colour("text"))
        line.draw(painter, x, place.top(), ROW_HEIGHT)
        painter.restore()

    def _changed(self, at: int, offset: int, source: Source) -> Spans:
        """What differs from the line of the base in the same row."""
        key = (at, offset, source)
        if key not in self._words:
            if len(self._words) > _MAX_WORDS_KEPT:
                self._words.clear()
            self._words[key] = self._compared(at, offset, source)
        return self._words[key]

    def _compared(self, at: int, offset: int, source: Source) -> Spans:
        assert self._three is not None
        stretch = self._three.stretches[at]
        if source == "base" or stretch.base.start + offset >= stretch.base.stop:
            return ()
        old = without_ending(self._three.base.lines[stretch.base.start + offset])
        new = without_ending(self._three.lines(source)[stretch.of(source).start + offset])
        return changed_words(old[:MAX_DRAWN_CHARS], new[:MAX_DRAWN_CHARS]).new

    def _look(self, at: int, stretch: Stretch, source: Source) -> _Look:
        if stretch.origin == "nobody":
            return _Look()
        if stretch.origin == "clash":
            return self._clash_look(self._clash_numbers[at], source)
        if source == stretch.origin or (stretch.origin == "both" and source != "base"):
            return _Look("added_line", "added_word", "+", "added_text")
        return _Look("removed_line", "", "−", "removed_text") if source == "base" else _Look()

    def _clash_look(self, number: int, source: Source) -> _Look:
        choice = self._choices[number]
        if number in self._edited:
            return _Look("sunken")
        if choice == "undecided":
            return _Look("warning_bg", "warning_border", "≠" if source != "base" else "", "warning_text")
        if source in ("wanted", "yours") and choice in (source, "both"):
            return _Look("accent_weak", "added_word", "✓", "accent_text")
        return _Look("sunken")

    def _paint_frame(self, painter: QPainter, top: int) -> None:
        """A frame around the clash that it is about now."""
        for index, number in self._clash_numbers.items():
            if number == self._current:
                is_open = self._choices[number] == "undecided" and number not in self._edited
                painter.setPen(QPen(self._theme.colour("warning_text" if is_open else "accent"), 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                rows = self._starts[index + 1] - self._starts[index]
                y = self._starts[index] * ROW_HEIGHT - top
                painter.drawRect(0, y, self.viewport().width() - 1, rows * ROW_HEIGHT - 1)

    def _new_highlighter(self) -> Highlighter:
        colours = Highlighter(self)
        colours.changed.connect(self._on_colours_found)
        return colours

    def _request_colours(self, first: int, last: int) -> None:
        """Ask for the colours of these rows, and of nothing that has been scrolled by."""
        assert self._three is not None
        for source, colours in self._colours.items():
            lines: list[int] = []
            for at in range(bisect_right(self._starts, first) - 1, len(self._three.stretches)):
                if self._starts[at] >= last:
                    break
                start, part = self._starts[at], self._three.stretches[at].of(source)
                lines.extend(range(part.start + max(0, first - start), min(part.stop, part.start + last - start)))
            colours.forget_requests()
            colours.request("new", lines)

    def _on_colours_found(self) -> None:
        self.viewport().update()

    def _stripes_brush(self, ground: str) -> QColor:
        colour = self._theme.colour("border")
        colour.setAlpha(110 if ground else 70)
        return colour

    # -- what happens to it --

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = (round(event.position().y()) + self.verticalScrollBar().value()) // ROW_HEIGHT
        number = self._clash_numbers.get(bisect_right(self._starts, row) - 1)
        if number is not None:
            self.clash_clicked.emit(number)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        for colours in self._colours.values():
            colours.stop()  # asked for again by the next paint event

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._head.setGeometry(0, 0, self.viewport().width(), _HEAD_HEIGHT)
        placed, value = self._placed, self.verticalScrollBar().value()
        self._update_scroll_bars()
        if placed is not None and placed[1] == value:  # not scrolled since: it stays in the middle
            self.scroll_to_clash(placed[0])

    def _on_theme_changed(self) -> None:
        self._font = self._theme.code_font(self._theme.sizes.diff)
        self._char_width = QFontMetricsF(self._font).horizontalAdvance("0")
        self._layouts = LineLayouts(self._theme, self._font)
        self.viewport().update()


class _Head(QWidget):
    """Names the columns."""

    def __init__(self, theme: Theme, titles: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._titles = titles

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.colour("sunken"))
        font = self._theme.text_font(TypeSize.HEAD)
        font.setWeight(font.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(self._theme.colour("muted"))
        for number, title in enumerate(self._titles):
            left, right = (round(self.width() * part / 3) for part in (number, number + 1))
            room = QRect(QPoint(left + _PAD, 0), QPoint(right - _PAD, self.height() - 1))
            text = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, room.width())
            painter.drawText(room, int(Qt.AlignmentFlag.AlignVCenter), text)
            if number:
                painter.fillRect(left - 1, 0, 1, self.height(), self._theme.colour("border"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.colour("border"))
        painter.end()
