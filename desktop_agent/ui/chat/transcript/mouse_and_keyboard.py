"""Mouse and keyboard in a transcript: selection across entries and its copied text, links, scrolling, the order of Tab,
and the context menu.
"""

from functools import partial
from typing import Literal, NamedTuple, cast

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QColor, QFocusEvent, QGuiApplication, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QMenu, QWidget

from desktop_agent.core.base.regex import regex
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
from desktop_agent.ui.chat.entries.entry import EntryActions, EntryRow, EntryWidget
from desktop_agent.ui.chat.entries.prompt import PromptWidget
from desktop_agent.ui.chat.markdown.parser import LINE_BREAK, PICTURE, is_web_address, utf16_slice
from desktop_agent.ui.chat.text.column_text import END, TextPosition
from desktop_agent.ui.chat.transcript.navigation import Navigation
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.runtime.pacing import run_while
from desktop_agent.ui.translation import answer_words
from desktop_agent.ui.wording import utf16_length

Unit = Literal["letter", "word", "line"]
START = TextPosition(0, 0)
_WORDS = regex(r"\w+|\s+|[^\w\s]")


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


_SCROLL_SHARE = 4
"""While dragging, a pointer outside the area scrolls at each step by its distance in pixels divided by this."""


class Pointer(QObject):
    def __init__(self, area: QAbstractScrollArea, layout: RowLayout, selected: SelectedText) -> None:
        super().__init__(area)
        self._area = area
        self._layout = layout
        self._selected = selected
        self._pressed_link = ""
        self._at = QPoint()
        self._since_double_click = QElapsedTimer()
        self._scroll_timer = QTimer(self, interval=30)
        self._scroll_timer.timeout.connect(self._scroll)

    def cancel(self) -> None:
        """Cancel a mouse press whose release will not arrive."""
        self._layout.widgets.held_row = None
        self._scroll_timer.stop()

    def press(self, event: QMouseEvent) -> None:
        self._at = event.position().toPoint()
        spot = self.spot_at(self._at)
        if event.button() != Qt.MouseButton.LeftButton or spot is None:
            return
        self._layout.widgets.held_row = spot.row
        is_double = event.type() == QEvent.Type.MouseButtonDblClick
        self._pressed_link = "" if is_double else self.link_at(self._at)
        since_double = self._since_double_click
        is_triple = since_double.isValid() and since_double.elapsed() < QApplication.doubleClickInterval()
        if is_double:
            since_double.start()
            self._selected.begin(spot, "word")
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._selected.extend(spot)
        else:
            self._selected.begin(spot, "line" if is_triple else "letter")

    def move(self, event: QMouseEvent) -> None:
        self._at = event.position().toPoint()
        if self._layout.widgets.held_row is None or not event.buttons() & Qt.MouseButton.LeftButton:
            shape, widget = Qt.CursorShape.ArrowCursor, self._widget_at(self._at)
            if self.link_at(self._at):
                shape = Qt.CursorShape.PointingHandCursor
            elif widget is not None and widget.is_column_shown and widget.column.text.blocks:
                shape = Qt.CursorShape.IBeamCursor if widget.geometry().contains(self._at) else shape
            self._area.viewport().setCursor(shape)
            return
        self._extend()
        run_while(self._scroll_timer, is_wanted=not 0 <= self._at.y() < self._area.viewport().height())

    def release(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        link = self.link_at(event.position().toPoint())
        if link and link == self._pressed_link and self._selected.is_empty:
            row = self._layout.widgets.held_row
            if row is not None and row.widget is not None:
                row.widget.follow(link)
        self.cancel()
        self._pressed_link = ""

    def spot_at(self, at: QPoint) -> TranscriptPosition | None:
        reading = self._layout.reading
        y = at.y() + self._layout.top_edge
        row = reading.row_at(y)
        if row is None:
            return None
        widget = row.widget
        if widget is None:
            return TranscriptPosition(row, START)
        x, inside = at.x() - widget.x(), y - reading.row_top(row)
        if not widget.is_column_shown or not widget.column.text.blocks:
            return TranscriptPosition(row, START if inside < widget.height() / 2 else END)
        origin = widget.column_origin
        return TranscriptPosition(row, widget.column.place_at(x - origin.x(), inside - origin.y()))

    def link_at(self, at: QPoint) -> str:
        widget = self._widget_at(at)
        if widget is None or not widget.is_column_shown:
            return ""
        point = at - widget.pos() - widget.column_origin
        found = widget.column.span_at(point.x(), point.y())
        return found[1].href if found is not None else ""

    def _widget_at(self, at: QPoint) -> EntryWidget | None:
        row = self._layout.reading.row_at(at.y() + self._layout.top_edge)
        return row.widget if row is not None else None

    def _extend(self) -> None:
        spot = self.spot_at(self._at)
        if spot is not None:
            self._selected.extend(spot)

    def _scroll(self) -> None:
        height = self._area.viewport().height()
        beyond = self._at.y() if self._at.y() < 0 else self._at.y() - height
        bar = self._area.verticalScrollBar()
        bar.setValue(bar.value() + beyond // _SCROLL_SHARE + (1 if beyond > 0 else -1))
        self._extend()


_BAR_WIDTH = 2
_BAR_AWAY = 10

_BY_MOUSE = (Qt.FocusReason.MouseFocusReason, Qt.FocusReason.PopupFocusReason)


class _Bar(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.colour = QColor()
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(event.rect(), self.colour)


class KeyboardOrder(QObject):
    """Keeps Tab in the order of the rows, not of the making of their widgets, and the focused widget in view."""

    def __init__(self, start: QAbstractScrollArea, layout: RowLayout) -> None:
        """`start` is the widget before the first row in the tab order."""
        super().__init__(start)
        self._start = start
        self._layout = layout
        self._order: tuple[tuple[int, int, int], ...] = ()
        self._asking: ToolEntry | None = None
        self._is_held = False
        self._bar = _Bar(start.viewport())
        self._is_by_keyboard = False
        """Whether the keyboard brought the focus to the transcript itself. Only then is a mark shown."""
        start.installEventFilter(self)
        cast("QApplication", QApplication.instance()).focusChanged.connect(self._on_focus_changed)

    def arrange(self) -> None:
        rows = sorted(self._layout.widgets.live, key=lambda row: row.index)
        asked, self._asking = self._asking, None
        for row in rows:  # only the oldest question has keys; one that just became that ignores answers for a moment
            if isinstance(row.entry, ToolEntry) and row.entry.is_waiting and row.widget is not None:
                row.widget.set_shortcut(is_enabled=self._asking is None and not self._is_held)
                self._asking = self._asking or row.entry
                if asked is not None and self._asking is not asked:
                    row.widget.rearm()
        order = tuple((row.index, id(row.widget), len(row.widget.children()) if row.widget else 0) for row in rows)
        if order != self._order:  # also when a row gets a question, buttons or links later
            self._order = order
            before: QWidget = self._start
            for row in rows:
                for child in row.widget.tab_stops() if row.widget is not None else ():
                    if child.focusPolicy() & Qt.FocusPolicy.TabFocus:
                        QWidget.setTabOrder(before, child)
                        before = child

    def hold_answers(self, is_held: bool) -> None:
        """Hold back the keys that answer questions here, while another list of questions has them."""
        self._is_held = is_held
        self._layout.lay_out_gently()

    def mark(self) -> None:
        entry = QApplication.focusWidget()
        self._bar.colour = self._layout.widgets.styles.colour("accent")
        if entry is self._start and self._is_by_keyboard:
            self._bar.setGeometry(0, 0, _BAR_WIDTH, self._start.viewport().height())
            self._bar.show()
        elif isinstance(entry, EntryWidget) and entry.parentWidget() is self._start.viewport():
            self._bar.setGeometry(entry.x() - _BAR_AWAY, entry.y(), _BAR_WIDTH, entry.height())
            self._bar.show()
        else:
            self._bar.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent) and event.type() == QEvent.Type.FocusIn:
            self._is_by_keyboard = event.reason() not in _BY_MOUSE
            self.mark()
        return False

    def _on_focus_changed(self, _old: object, new: object) -> None:
        self.mark()
        viewport = self._start.viewport()
        if not isinstance(new, QWidget) or not viewport.isAncestorOf(new):
            return
        area = new.rect().translated(new.mapTo(viewport, QPoint(0, 0)))
        if area.top() < 0 or area.bottom() > viewport.height():
            self._layout.reveal(self._layout.top_edge + area.top())


class MessageMenu(QObject):
    """Acts on the selection in `area`, otherwise on the message with the focus or under the pointer."""

    def __init__(
        self,
        area: QAbstractScrollArea,
        layout: RowLayout,
        selected: SelectedText,
        pointer: Pointer,
        actions: EntryActions,
        navigation: Navigation,
    ) -> None:
        super().__init__(area)
        self._area = area
        self._layout = layout
        self._selected = selected
        self._pointer = pointer
        self._actions = actions
        self._navigation = navigation

    def copy(self) -> None:
        if not self._selected.is_empty:
            self._selected.copy()
        elif (row := self._focused()) is not None:
            _copy(copied_row(row))

    def quote(self) -> None:
        rows = reversed(list(self._layout.rows))
        answers = (row for row in rows if isinstance(row.entry, TextEntry) and row.entry.kind == "text")
        row = self._focused() or next(answers, None)
        self._quote(self._selected.text() or (copied_row(row) if row is not None else ""))

    def open(self, at: QPoint, global_at: QPoint, keys: PartKeys) -> None:
        menu = QMenu(self._area)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        has_selection = not self._selected.is_empty
        copy = menu.addAction(self.tr("Copy"), self._selected.copy)
        copy.setShortcuts(keys.sequences("copy"))
        copy.setEnabled(has_selection)
        if has_selection:
            menu.addAction(self.tr("Quote in your message"), self.quote)
        self.add_actions(menu, at, quotes=not has_selection)
        select_all = menu.addAction(self.tr("Select all"), self._selected.select_all)
        select_all.setShortcuts(keys.sequences("select_all"))
        menu.popup(global_at)

    def add_actions(self, menu: QMenu, at: QPoint, *, quotes: bool = True) -> None:
        if link := self._pointer.link_at(at).removeprefix(PICTURE):
            name = self.tr("Copy link address") if is_web_address(link) else self.tr("Copy path")
            menu.addAction(name, partial(_copy, link))
        spot = self._pointer.spot_at(at)
        if spot is None:
            return
        menu.addAction(self.tr("Copy message"), lambda: _copy(copied_row(spot.row)))
        if quotes:
            menu.addAction(self.tr("Quote message"), lambda: self._quote(copied_row(spot.row)))
        if isinstance(spot.row.entry, PromptSubmitted):
            menu.addAction(self.tr("Edit and send again…"), partial(_edit, spot.row))
            go_back = partial(self._actions.rewind_requested.emit, spot.row.entry.turn)
            back = menu.addAction(self.tr("Go back to before this…"), go_back)
            back.setEnabled(self._navigation.can_rewind)

    def _quote(self, text: str) -> None:
        if text.strip():
            self._actions.quote_requested.emit(text)

    def _focused(self) -> EntryRow | None:
        shown = ((row, row.widget) for row in self._layout.widgets.live if row.widget is not None)
        return next((row for row, widget in shown if widget.is_pinned or widget.hasFocus()), None)


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)


def _edit(row: EntryRow) -> None:
    if isinstance(row.widget, PromptWidget):  # it may have been replaced since the menu was opened
        row.widget.begin_edit()
