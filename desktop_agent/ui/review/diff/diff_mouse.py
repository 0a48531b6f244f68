"""The mouse in a diff: marks rows, selects, unfolds, and opens the context menu."""

import re
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QAbstractScrollArea, QMenu, QToolTip

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.ui.review.diff.diff_document import DiffPosition, DiffSelection, line_of, text_of
from desktop_agent.ui.review.diff.diff_layout import Pane
from desktop_agent.ui.review.diff.diff_navigation import DiffNavigation
from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay
from desktop_agent.ui.review.diff.diff_words import notes_label
from desktop_agent.ui.review.diff.line_layouts import LaidLine
from desktop_agent.ui.runtime.pacing import run_while

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


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
