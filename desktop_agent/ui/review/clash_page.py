"""The page for the clashes in one text: three versions side by side, and the text that will be written."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QHideEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShortcut,
    QTextCursor,
)
from PySide6.QtWidgets import QAbstractScrollArea, QButtonGroup, QFrame, QPlainTextEdit, QPushButton, QSplitter, QWidget

from desktop_agent.core.diff.edited_text import editor_text, encode_edited
from desktop_agent.core.diff.intraline import Spans, changed_words
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.merge import Choice, Source, ThreeWay
from desktop_agent.core.protocol.model import Clash, Maker
from desktop_agent.core.undo.refusals import Direction
from desktop_agent.ui.review.diff.diff_layout import ROW_HEIGHT
from desktop_agent.ui.review.diff.highlighter import EditorColours, Highlighter
from desktop_agent.ui.review.diff.line_layouts import Columns, LineLayouts
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import Slot, make_button
from desktop_agent.ui.widgets.labels import ElidedLabel, make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, set_names, vbox
from desktop_agent.ui.widgets.text_colours import cursor_over
from desktop_agent.ui.wording import MAX_DRAWN_CHARS, utf16_length

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


_tr = partial(QCoreApplication.translate, "ClashDialog")


class Names(NamedTuple):
    base: str
    wanted: str
    there: str
    keep: str
    both: str
    keep_all: str


def names_of(purpose: Direction, clash: Clash) -> Names:
    is_undo = purpose == "undo"
    is_mine = bool(clash.yours_by) and all(maker.by == "person" for maker in clash.yours_by)
    version = _version(clash.yours_by)
    return Names(
        base=(_version(clash.base_by) or _tr("Agent's version")) if is_undo else _tr("Without the change"),
        wanted=_tr("After undo") if is_undo else _tr("After redo"),
        there=_tr("{0} (on disk)").format(version) if version else _tr("On disk"),
        keep=_tr("Keep yours") if is_mine else _tr("Keep disk version"),
        both=_tr("Both, yours last") if is_mine else _tr("Both, disk version last"),
        keep_all=_tr("Keep mine") if is_mine else _tr("Keep it as it is"),
    )


def named_by(makers: Sequence[Maker]) -> tuple[str, str] | None:
    """Return names for a sentence, “Undo conflicts with turn 3”, and a title; `None` unless the makers are alike."""
    kinds = {maker.by for maker in makers}
    if len(kinds) != 1:
        return None
    is_single = len(makers) == 1
    words = {
        "person": (_tr("your edit"), _tr("Yours")),
        "agent": (_tr("turn {0}"), _tr("Turn {0}")) if is_single else (_tr("turns {0}"), _tr("Turns {0}")),
        "unknown": (_tr("changes by a server or by you"), _tr("A server's, or yours")),
        "other_session": (_tr("another session"), _tr("Another session's")),
        "undo": (_tr("the undo of turn {0}"), _tr("Undo of turn {0}")),
        "redo": (_tr("the redo of turn {0}"), _tr("Redo of turn {0}")),
    }
    kind = kinds.pop()
    turns = ", ".join(str(maker.turn) for maker in (makers if kind == "agent" else makers[-1:]))
    in_the_way, version = words[kind]
    return in_the_way.format(turns), version.format(turns)


def _version(makers: Sequence[Maker]) -> str:
    if named := named_by(makers):
        return named[1]
    return " + ".join(dict.fromkeys(_version((maker,)) for maker in makers))


class ResultEditor(QPlainTextEdit):
    decided = Signal()

    def __init__(self, theme: Theme, rows: ThreeRows, path: str) -> None:
        super().__init__()
        self._theme = theme
        self._rows = rows
        self._is_choosing = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setProperty("variant", "bare")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.document().setDocumentMargin(Space.S)
        self.setViewportMargins(Space.M, 0, 0, 0)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()
        self._colours = EditorColours(theme, self)
        spans: list[tuple[int, int]] = []
        texts: list[str] = []
        at = 0
        for region, lines in zip(rows.three.regions, rows.three.pieces(rows.choices), strict=True):
            text = editor_text(lines, is_start=at == 0)
            end = at + utf16_length(text)
            if region.origin == "clash":
                spans.append((at, end))
            texts.append(text)
            at = end
        self.setPlainText("".join(texts))
        self._places = [cursor_over(self.document(), *span) for span in spans]
        self.document().contentsChange.connect(self._on_contents_changed)
        self._colours.set_path(path)

    def choose(self, number: int, choice: Choice) -> None:
        """The editor's own undo reverts this."""
        self._rows.choices[number] = choice
        text = self._chosen(number)
        spans = [(place.selectionStart(), place.selectionEnd()) for place in self._places]
        self._is_choosing = True
        self._places[number].insertText(text)
        self._is_choosing = False
        start, end = spans[number]
        length = utf16_length(text)
        # Set again: inserting text at a cursor without a selection moves the cursor.
        for index, (first, last) in enumerate(spans):
            shift = length - (end - start) if index > number else 0
            self._places[index] = cursor_over(self.document(), first + shift, last + shift)
        self._places[number] = cursor_over(self.document(), start, start + length)
        self._rows.edited.discard(number)
        self.decided.emit()

    def show_clash(self, number: int) -> None:
        place = QTextCursor(self._places[number])
        place.setPosition(place.selectionStart())
        self.setTextCursor(place)
        self.centerCursor()
        self.viewport().update()

    def content(self) -> bytes:
        """Return the exact bytes to write. Unedited lines keep every byte."""
        three = self._rows.three
        merged = tuple(chain.from_iterable(three.pieces(self._rows.choices)))
        raw = self.document().toRawText().replace("\u2029", "\n").replace("\u2028", "\n")
        return encode_edited(merged, raw, three.yours.encoding)

    def _chosen(self, number: int) -> str:
        three, choice = self._rows.three, self._rows.choices[number]
        is_start = self._places[number].selectionStart() == 0
        return editor_text(three.chosen(three.clashes[number], choice), is_start=is_start)

    def _on_contents_changed(self, position: int, removed: int, added: int) -> None:
        if self._is_choosing:
            return
        for number, place in enumerate(self._places):
            if place.selectionStart() <= position + added and position <= place.selectionEnd():
                if place.selectedText().replace("\u2029", "\n") == self._chosen(number):
                    self._rows.edited.discard(number)
                else:
                    self._rows.edited.add(number)
        self.decided.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.centerCursor()  # the first clash is shown before the widget has its size

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._colours.stop()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            for number, place in enumerate(self._places):
                is_open = self._rows.is_open(number)
                area = self._area(place)
                if area.intersects(QRectF(event.rect())):
                    painter.fillRect(area, self._theme.colour("warning_bg" if is_open else "accent_weak"))
                    if number == self._rows.current:
                        area.setWidth(3)
                        painter.fillRect(area, self._theme.colour("warning_text" if is_open else "accent"))
        super().paintEvent(event)

    def _area(self, place: QTextCursor) -> QRectF:
        document, offset = self.document(), self.contentOffset()
        first = document.findBlock(place.selectionStart())
        top = self.blockBoundingGeometry(first).translated(offset).top()
        if not place.hasSelection():
            return QRectF(0, top - 1, self.viewport().width(), 2)
        last = document.findBlock(max(place.selectionStart(), place.selectionEnd() - 1))
        bottom = self.blockBoundingGeometry(last).translated(offset).bottom()
        return QRectF(0, top, self.viewport().width(), bottom - top)

    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.code_font(self._theme.sizes.diff, grows=False))
        self.viewport().update()


class ClashPage(QWidget):
    def __init__(self, theme: Theme, path: str, three: ThreeWay, purpose: Direction, names: Names) -> None:
        super().__init__()
        self.rows = ThreeRows(three)
        is_undo = purpose == "undo"
        self._columns = ThreeColumns(theme, self.rows, path)
        set_names(self._columns, "clashColumns", self.tr("The three versions"))
        self.editor = ResultEditor(theme, self.rows, path)
        set_names(self.editor, "clashResultEdit", self.tr("The result to be written"))
        self._previous = enter_button(
            "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}", "previousClashButton", partial(self._step, -1)
        )
        self._previous.setAccessibleName(self.tr("Previous clash"))
        self._previous.setToolTip(self.tr("Previous clash (Shift+F7)"))
        self._next = enter_button(
            "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}", "nextClashButton", partial(self._step, 1)
        )
        self._next.setAccessibleName(self.tr("Next clash"))
        self._next.setToolTip(self.tr("Next clash (F7)"))
        self._where = make_label(role="secondary")
        take = self.tr("Take the undo") if is_undo else self.tr("Take the redo")
        self._buttons: dict[Choice, QPushButton] = {
            "wanted": enter_button(take, "takeWantedButton"),
            "yours": enter_button(names.keep, "keepYoursButton"),
            "both": enter_button(names.both, "takeBothButton"),
        }
        self._group = QButtonGroup(self)
        self._lay_out(names)
        self._columns.clash_clicked.connect(self._show_clash)
        self.editor.decided.connect(self._show_decisions)
        self._group.buttonClicked.connect(self._on_chosen)
        choices = [(f"Alt+{number}", each.click) for number, each in enumerate(self._buttons.values(), 1)]
        for keys, slot in (("F7", partial(self._step, 1)), ("Shift+F7", partial(self._step, -1)), *choices):
            QShortcut(QKeySequence(keys), self).activated.connect(slot)  # wherever the focus is in the dialog
        self.go_to(0)

    def _step(self, by: int) -> None:
        self.go_to((self.rows.current + by) % len(self.rows.choices))

    def go_to(self, number: int) -> None:
        self._show_clash(number)
        self._columns.scroll_to_clash(number)

    def _show_clash(self, number: int) -> None:
        self.rows.current = number
        self.editor.show_clash(number)
        self._show_decisions()

    def _show_decisions(self) -> None:
        current, count = self.rows.current, len(self.rows.choices)
        is_edited = current in self.rows.edited
        self._group.setExclusive(False)
        for choice, button in self._buttons.items():
            button.setChecked(choice == self.rows.choices[current] and not is_edited)
        self._group.setExclusive(True)
        self._columns.viewport().update()
        words = self.tr("Clash {0} of {1}").format(current + 1, count)
        state = self.tr("edited by hand") if is_edited else ""
        self._where.setText(f"{words} · {state}" if state else words)
        self._columns.setAccessibleDescription(self._where.text())
        for button in (self._previous, self._next):
            button.setEnabled(count > 1)

    def _on_chosen(self, pressed: QPushButton) -> None:
        number = self.rows.current
        self.editor.choose(number, next(choice for choice, button in self._buttons.items() if button is pressed))

    def _lay_out(self, names: Names) -> None:
        for number, button in enumerate(self._buttons.values(), 1):
            button.setCheckable(True)
            button.setToolTip(f"Alt+{number}")
            self._group.addButton(button)
        margins = (Space.XL, Space.S, Space.XL, Space.S)
        choices = hbox(
            self._previous, self._next, self._where, STRETCH, *self._buttons.values(), margins=margins, spacing=Space.S
        )
        head = make_label(self.tr("Result to be written"), role="heading")
        head.setContentsMargins(Space.XL, Space.S, Space.XL, Space.XS)
        above, below = QWidget(), QWidget()
        heads = version_heads(names.base, names.wanted, names.there)
        vbox(heads, hairline(), (self._columns, 1), on=above)
        vbox(choices, hairline(), head, hairline(), (self.editor, 1), on=below)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.addWidget(above)
        split.addWidget(below)
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 2)
        vbox(split, on=self)


def version_heads(*titles: str) -> QWidget:
    heads = QWidget()
    labels = [(ElidedLabel(text=title, role="heading", takes_room=True), 1) for title in titles]
    hbox(*labels, on=heads, margins=(Space.S, Space.XS, Space.S, Space.XS), spacing=Space.S)
    return heads


def enter_button(text: str, name: str, clicked: Slot | None = None) -> QPushButton:
    """Return a button that Enter presses when focused, instead of the dialog's default button."""
    button = make_button(text, name, clicked=clicked)
    button.setAutoDefault(True)
    return button
