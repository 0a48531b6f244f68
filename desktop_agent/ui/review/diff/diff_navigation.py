"""The marked row, selection, search matches and mouse of a diff. A search also finds text in folded lines."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QHelpEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QAbstractScrollArea, QMenu, QToolTip

from desktop_agent.core.base.regex import regex
from desktop_agent.core.diff.rows import LineSide
from desktop_agent.ui.review.diff.diff_document import DiffDocument, DiffPosition, DiffSelection, line_of, text_of
from desktop_agent.ui.review.diff.diff_layout import DiffScroller, Pane
from desktop_agent.ui.review.diff.diff_painter import DiffOverlay
from desktop_agent.ui.review.diff.diff_words import notes_label
from desktop_agent.ui.review.diff.line_layouts import LaidLine
from desktop_agent.ui.runtime.pacing import run_while
from desktop_agent.ui.widgets.find_bar import FindTarget
from desktop_agent.ui.wording import lowered


class DiffNavigation(QObject):
    moved = Signal()  # also emitted for the same row

    def __init__(self, document: DiffDocument, scroller: DiffScroller, parent: QObject) -> None:
        super().__init__(parent)
        self.document = document
        self.scroller = scroller
        self._select_from: int | None = None
        self.row = 0
        self.side: LineSide = "new"
        self.selection: DiffSelection | None = None
        self.hovered_row: int | None = None

    @property
    def change(self) -> int:
        return self.document.rows.change_at(self.row)

    @property
    def selecting_side(self) -> LineSide | None:
        return None if self.document.mode == "unified" else self.side

    def reset(self, row: int) -> None:
        """Mark this row of a new diff, without a signal."""
        self.row = max(0, min(row, len(self.document.rows) - 1))
        self.selection = None
        self.hovered_row = None
        self._select_from = None

    def go_to(self, row: int, *, is_selecting: bool = False, scrolls: bool = True) -> None:
        """Mark a row. Without `scrolls`, the view stays where it is, because the user clicked there."""
        if not len(self.document.rows):
            return
        before = self.row
        self.row = max(0, min(row, len(self.document.rows) - 1))
        if is_selecting:
            self._select_from = before if self._select_from is None else self._select_from
            self.select_lines(self._select_from, self.row)
        else:
            self._select_from = None
            self.select(None)
        if scrolls:
            self.scroller.ensure_visible(self.row)
        self.moved.emit()

    def next_change(self) -> bool:
        return self.go_to_change(bisect_right(self.document.rows.changes, self.row))

    def previous_change(self) -> bool:
        return self.go_to_change(bisect_left(self.document.rows.changes, self.row) - 1)

    def go_to_change(self, number: int) -> bool:
        changes = self.document.rows.changes
        if not 0 <= number < len(changes):
            return False
        self.go_to(changes[number])
        rows = self.document.rows.rows_of(number)
        self.scroller.ensure_visible(rows.start, rows.stop, margin_rows=5)
        return True

    def select(self, selection: DiffSelection | None) -> None:
        self.selection = selection
        self.scroller.repaint()

    def select_lines(self, start: int, end: int) -> None:
        side = self.selecting_side
        upper, lower = DiffPosition(min(start, end), 0), max(start, end)
        below = DiffPosition(lower, len(text_of(self.document.rows, lower, side) or ""))
        self.select(DiffSelection(side, upper, below) if start <= end else DiffSelection(side, below, upper))

    def select_all(self) -> None:
        if last := len(self.document.rows):
            self.select_lines(0, last - 1)

    def selected_text(self) -> str:
        return self.selection.text(self.document.rows) if self.selection else ""

    def copy(self) -> None:
        if text := self.selected_text():
            QGuiApplication.clipboard().setText(text)


_ORDER: dict[LineSide, int] = {"old": 0, "new": 1}


class DiffMatch(NamedTuple):
    """The position of a match. Matches are ordered by row, the old side before the new side."""

    row: int
    order: int
    line: int
    offset: int

    @property
    def side(self) -> LineSide:
        return "old" if self.order == _ORDER["old"] else "new"


MAX_MATCHES = 2_000


class DiffFinder(FindTarget):
    """Selects each match, and unfolds lines to show it. An unchanged line matches once, as new."""

    def __init__(
        self,
        navigation: DiffNavigation,
        open_gap: Callable[[int], None],
        show: Callable[[DiffPosition, LineSide, int], None],
    ) -> None:
        """`show` scrolls to the position of a match, given with its side and line."""
        super().__init__(navigation)
        self._show = show
        self._navigation = navigation
        self._open_gap = open_gap
        self._rows = navigation.document.rows
        self._texts: dict[LineSide, tuple[str, list[int]]] = {}
        """All lines of a side as one string, which is searched in C, and the offset at which each line starts."""
        self._text = ""
        self._matches: list[DiffMatch] = []
        self._current: DiffMatch | None = None

    @property
    def has_unread(self) -> bool:
        return len(self._matches) >= MAX_MATCHES

    def find(self, text: str) -> None:
        self._text = text
        self._current = None
        self._read()
        self.step(1)

    def step(self, by: int) -> None:
        if self._navigation.document.rows is not self._rows:
            self._read()
        if not self._matches:
            self.found.emit(0, 0)
            return
        if self._current is not None and self._current in self._matches:
            at = self._matches.index(self._current) + by
        else:
            at = bisect_left(self._matches, DiffMatch(self._navigation.row, -1, -1, -1)) - (by < 0)
        self._select(self._matches[at % len(self._matches)])
        self.found.emit(at % len(self._matches) + 1, len(self._matches))

    def _read(self) -> None:
        rows, current = self._navigation.document.rows, self._current
        if rows.diff is not self._rows.diff:
            self._texts, current = {}, None
        self._rows = rows
        rows, wanted = self._rows, lowered(self._text.partition("\n")[0])
        removed = [(edit.old_start, edit.old_end) for edit in rows.diff.edits]
        sides: dict[LineSide, list[tuple[int, int]]] = {"old": removed, "new": [(0, len(rows.diff.new_lines))]}
        self._matches = sorted(
            DiffMatch(rows.find(side, line), _ORDER[side], line, offset)
            for side, ranges in sides.items()
            for line, offset in islice(self._on_side(side, ranges, wanted), MAX_MATCHES)
        )
        self._current = current._replace(row=rows.find(current.side, current.line)) if current else None

    def _on_side(self, side: LineSide, ranges: Sequence[tuple[int, int]], wanted: str) -> Iterator[tuple[int, int]]:
        if side not in self._texts:
            diff = self._rows.diff
            lines = diff.old_lines if side == "old" else diff.new_lines
            self._texts[side] = lowered("".join(lines)), list(accumulate(map(len, lines), initial=0))
        content, starts = self._texts[side]
        for first, end in ranges if wanted else ():
            at, stop = starts[first], starts[end]
            while (at := content.find(wanted, at, stop)) >= 0:
                line = bisect_right(starts, at) - 1
                yield line, at - starts[line]
                at += len(wanted)

    def _select(self, match: DiffMatch) -> None:
        if self._rows.gap(match.row):
            self._open_gap(match.row)
            match = match._replace(row=self._navigation.document.rows.find(match.side, match.line))
        self._current = match
        side = None if self._rows.mode == "unified" else match.side
        start, end = (DiffPosition(match.row, match.offset + size) for size in (0, len(self._text)))
        self._navigation.go_to(match.row)
        self._navigation.select(DiffSelection(side, start, end))
        self._show(start, match.side, match.line)


_WORD = regex(r"\w+|\s+|[^\w\s]")


class DiffMouse(QObject):
    """Handles the mouse. `lay_line` returns the layout of a line in a pane; `open_gap` unfolds the given row."""

    def __init__(
        self,
        area: QAbstractScrollArea,
        navigation: DiffNavigation,
        overlays: Sequence[DiffOverlay],
        lay_line: Callable[[Pane, LineSide, int], LaidLine],
        open_gap: Callable[[int], None],
    ) -> None:
        super().__init__(area)
        self._area = area
        self._viewport = area.viewport()
        self._document = navigation.document
        self._scroller = navigation.scroller
        self._navigation = navigation
        self._overlays = overlays
        self._pressed_overlay: DiffOverlay | None = None
        self._lay_line = lay_line
        self._open_gap = open_gap
        self._pressed_gap: int | None = None
        self._drag_timer = QTimer(self, interval=40)
        self._drag_timer.timeout.connect(self._on_drag_outside)

    def handle(self, event: QEvent) -> bool:
        """Return whether the event needs no further handling."""
        if isinstance(event, QMouseEvent) and self._viewport.isEnabled():
            match event.type():
                case QEvent.Type.MouseButtonPress:
                    self._press(event)
                case QEvent.Type.MouseMove:
                    self._move(event)
                case QEvent.Type.MouseButtonRelease:
                    self._release(event.position().toPoint())
                case QEvent.Type.MouseButtonDblClick:
                    self._double_click(event)
                case _:
                    return False
            return True
        if event.type() == QEvent.Type.Leave:
            self._hover(QPoint(-1, -1))
        return isinstance(event, QHelpEvent) and self._show_tool_tip(event)

    def open_menu(self, event: QContextMenuEvent, copy_keys: list[QKeySequence]) -> None:
        if self._scroller.is_in_block(event.pos()):
            return
        menu = QMenu(self._area)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        selection = self._navigation.selection
        copy = menu.addAction(self.tr("Copy"), self._navigation.copy)
        copy.setShortcuts(copy_keys)
        copy.setEnabled(bool(selection and not selection.is_empty))
        select_all = menu.addAction(self.tr("Select all"), self._navigation.select_all)
        select_all.setShortcut(QKeySequence(QKeySequence.StandardKey.SelectAll))
        menu.popup(event.globalPos())

    def _press(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._scroller.is_in_block(point):
            return
        self._pressed_overlay = next((each for each in self._overlays if each.mouse_pressed(event)), None)
        if self._pressed_overlay is not None:
            return
        if event.button() != Qt.MouseButton.LeftButton or not len(self._document.rows):
            return
        row, navigation = self._scroller.row_at(point), self._navigation
        if self._document.rows.gap(row):
            self._pressed_gap = row
            return
        side = self._side_at(point)
        navigation.side = side or navigation.side
        place = self._place_at(point, side)
        is_extending = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        kept = navigation.selection if is_extending else None
        navigation.go_to(row, scrolls=False)
        anchor = kept.anchor if kept and kept.side == side else place
        navigation.select(DiffSelection(side, anchor, place))

    def _move(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._pressed_overlay is not None:
            self._pressed_overlay.mouse_moved(point)
            return
        if not event.buttons() & Qt.MouseButton.LeftButton:
            self._hover(point)
            return
        self._drag_to(point)
        run_while(self._drag_timer, is_wanted=not 0 <= point.y() < self._viewport.height())

    def _release(self, point: QPoint) -> None:
        self._drag_timer.stop()
        pressed, self._pressed_gap = self._pressed_gap, None
        overlay, self._pressed_overlay = self._pressed_overlay, None
        if overlay is not None:
            overlay.mouse_released(point)
            return
        if pressed is not None and self._scroller.row_at(point) == pressed:
            self._navigation.go_to(pressed)
            self._open_gap(pressed)

    def _double_click(self, event: QMouseEvent) -> None:
        rows, point = self._document.rows, event.position().toPoint()
        row, side = self._scroller.row_at(point), self._side_at(point)
        text = text_of(rows, row, side) if len(rows) else None
        if not text or rows.gap(row):
            self._press(event)
            return
        offset = min(self._place_at(point, side).offset, len(text) - 1)
        word = next(found for found in _WORD.finditer(text) if found.start() <= offset < found.end())
        self._navigation.select(DiffSelection(side, DiffPosition(row, word.start()), DiffPosition(row, word.end())))

    def _show_tool_tip(self, event: QHelpEvent) -> bool:
        if words := next(filter(None, (overlay.tool_tip() for overlay in self._overlays)), ""):
            QToolTip.showText(self._area.cursor().pos(), words, self._area)
            return True
        if notes := self._document.rows.notes:
            is_on_notes = event.pos().y() + self._scroller.position.y() < self._scroller.geometry.notes_height
            QToolTip.showText(event.globalPos(), notes_label(notes) if is_on_notes else "", self._area)
            return True
        return False

    def _side_at(self, point: QPoint) -> LineSide | None:
        return (self._scroller.pane_at(point) or self._scroller.panes[-1]).side

    def _place_at(self, point: QPoint, side: LineSide | None) -> DiffPosition:
        row = self._scroller.row_at(point)
        pane = next(pane for pane in self._scroller.panes if pane.side == side)
        found = line_of(self._document.rows[row], side)
        if found is None:
            return DiffPosition(row, 0)
        laid, scrolled = self._lay_line(pane, *found), self._scroller.position
        part = self._scroller.geometry.part_at(row, point.y() + scrolled.y())
        return DiffPosition(row, laid.offset(point.x() - pane.text_left + scrolled.x(), part))

    def _drag_to(self, point: QPoint) -> None:
        selection = self._navigation.selection
        if selection and self._pressed_gap is None:
            self._navigation.select(selection._replace(caret=self._place_at(point, selection.side)))

    def _on_drag_outside(self) -> None:
        point = self._viewport.mapFromGlobal(self._area.cursor().pos())
        self._scroller.scroll_rows(-1 if point.y() < 0 else 1)
        self._drag_to(point)

    def _hover(self, point: QPoint) -> None:
        rows = self._document.rows
        row = self._scroller.row_at(point) if len(rows) and point.y() >= 0 else None
        hovered = row if row is not None and rows.gap(row) else None
        if hovered != self._navigation.hovered_row:
            self._navigation.hovered_row = hovered
            self._viewport.update()
        hits = [overlay.hover(point) for overlay in self._overlays]  # ask all overlays, even after the first hit
        if any(hits) or hovered is not None:
            self._viewport.setCursor(Qt.CursorShape.PointingHandCursor)
        else:
            is_text = row is not None and rows[row].kind != "hunk"
            self._viewport.setCursor(Qt.CursorShape.IBeamCursor if is_text else Qt.CursorShape.ArrowCursor)
