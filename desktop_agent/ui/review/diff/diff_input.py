"""The keyboard and the mouse in a diff: they move the mark, select, copy, unfold, and open the context menu."""

import re
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QAbstractScrollArea, QMenu, QToolTip

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.review.diff.diff_document import DiffPosition, DiffSelection, line_of, text_of
from desktop_agent.ui.review.diff.diff_layout import Pane
from desktop_agent.ui.review.diff.diff_navigation import DiffNavigation
from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay, OverlayStack
from desktop_agent.ui.review.diff.diff_words import notes_label
from desktop_agent.ui.review.diff.line_layouts import LaidLine

_OWN = ("copy", "next_change", "previous_change", "open")


class DiffKeyboard:
    def __init__(
        self, keys: PartKeys, navigation: DiffNavigation, overlays: DiffOverlay, open_gap: Callable[[int], None]
    ) -> None:
        self._keys = keys
        self._navigation = navigation
        self._overlays = overlays
        self._open_gap = open_gap

    def claims(self, event: QKeyEvent) -> bool:
        """Whether the key belongs to the diff, also where the window has a shortcut for it."""
        if event.matches(QKeySequence.StandardKey.SelectAll):
            return True
        action = self._keys.peek(event)
        return action is not None and (not action or action in _OWN or self._overlays.takes(action))

    def act(self, event: QKeyEvent) -> bool:
        """Whether the key did something."""
        action = self._keys.read(event)
        is_done = action is not None and (not action or self._do(action) or self._overlays.do(action))
        return is_done or self._act_always(event) or self._move(event)

    def _do(self, action: str) -> bool:
        navigation = self._navigation
        match action:
            case "copy":
                navigation.copy()
            case "next_change":
                navigation.next_change()
            case "previous_change":
                navigation.previous_change()
            case "open" if navigation.document.rows.gap(navigation.row) is not None:
                self._open_gap(navigation.row)
            case _:
                return False
        return True

    def _act_always(self, event: QKeyEvent) -> bool:
        """Whether this is a key with a meaning that nobody can change."""
        navigation = self._navigation
        if event.matches(QKeySequence.StandardKey.SelectAll):
            navigation.select_all()
            return True
        if event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier):
            return False
        match event.key():
            case Qt.Key.Key_Left:
                navigation.scroller.scroll_sideways(-1)
            case Qt.Key.Key_Right:
                navigation.scroller.scroll_sideways(1)
            case Qt.Key.Key_Escape if navigation.selection:
                navigation.select(None)
            case _:
                return False
        return True

    def _move(self, event: QKeyEvent) -> bool:
        navigation = self._navigation
        row, page = navigation.row, navigation.scroller.rows_per_page()
        targets = {
            Qt.Key.Key_Up: row - 1,
            Qt.Key.Key_Down: row + 1,
            Qt.Key.Key_PageUp: row - page,
            Qt.Key.Key_PageDown: row + page,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(navigation.document.rows) - 1,
        }
        target = targets.get(Qt.Key(event.key()))
        if target is None:
            return False
        navigation.go_to(target, is_selecting=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        return True


_DRAG_SCROLL_MS = 40
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class DiffMouse(QObject):
    """Turns what the mouse does in the viewport into moves, after the overlays had it.

    `lay_line` returns a line of a pane as it is painted, `open_gap` unfolds the row that it is given.
    """

    def __init__(
        self,
        area: QAbstractScrollArea,
        navigation: DiffNavigation,
        overlays: OverlayStack,
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
        self._lay_line = lay_line
        self._open_gap = open_gap
        self._pressed_gap: int | None = None
        self._drag_timer = QTimer(self, interval=_DRAG_SCROLL_MS)
        self._drag_timer.timeout.connect(self._on_drag_outside)

    def handle(self, event: QEvent) -> bool:
        """Whether the event of the viewport was for the mouse and needs nothing more."""
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
        """Offer to copy and to select, unless the point is in a block."""
        if self._scroller.is_in_block(event.pos()):
            return
        menu = QMenu(self._area)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        selection = self._navigation.selection
        copy = menu.addAction(self.tr("Copy"))
        copy.setShortcuts(copy_keys)
        copy.setEnabled(bool(selection and not selection.is_empty))
        copy.triggered.connect(self._navigation.copy)
        select_all = menu.addAction(self.tr("Select all"))
        select_all.setShortcut(QKeySequence(QKeySequence.StandardKey.SelectAll))
        select_all.triggered.connect(self._navigation.select_all)
        menu.popup(event.globalPos())

    def _press(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._scroller.is_in_block(point) or self._overlays.mouse_pressed(event):
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
        navigation.go_to(row)
        anchor = kept.anchor if kept and kept.side == side else place
        navigation.select(DiffSelection(side, anchor, place))

    def _move(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if self._overlays.has_mouse:
            self._overlays.mouse_moved(point)
            return
        if not event.buttons() & Qt.MouseButton.LeftButton:
            self._hover(point)
            return
        self._drag_to(point)
        is_outside = not 0 <= point.y() < self._viewport.height()
        if is_outside and not self._drag_timer.isActive():
            self._drag_timer.start()
        elif not is_outside:
            self._drag_timer.stop()

    def _release(self, point: QPoint) -> None:
        self._drag_timer.stop()
        pressed, self._pressed_gap = self._pressed_gap, None
        if self._overlays.has_mouse:
            self._overlays.mouse_released(point)
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
        if words := self._overlays.tool_tip():
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
        laid = self._lay_line(pane, *found)
        return DiffPosition(row, laid.offset(point.x() - pane.text_left + self._scroller.position.x()))

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
        if self._overlays.hover(point) or hovered is not None:
            self._viewport.setCursor(Qt.CursorShape.PointingHandCursor)
        else:
            is_text = row is not None and rows[row].kind != "hunk"
            self._viewport.setCursor(Qt.CursorShape.IBeamCursor if is_text else Qt.CursorShape.ArrowCursor)
