"""One file's diff, side by side or unified: the view of the review panel and of the approval dialog."""

import re
from bisect import bisect_left, bisect_right

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
)
from PySide6.QtWidgets import QMenu, QToolTip, QWidget

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.diff.diff_canvas import DiffCanvas
from desktop_agent.ui.review.diff.diff_search import DiffMatch, DiffSearch
from desktop_agent.ui.review.diff.diff_selection import DiffPosition, DiffSelection, everything, line_of, text_of
from desktop_agent.ui.review.diff.diff_words import notes_label, row_words
from desktop_agent.ui.theme import Theme

_DRAG_SCROLL_MS = 40
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class DiffView(DiffCanvas):
    """A diff to read, move about in, select from and copy.

    Keys: arrows, page keys, Home and End move the marked row, with Shift they select; F7 and Shift+F7 (or N and P) go
    from change to change; Enter unfolds; Left and Right scroll sideways. Screen readers get the marked row.

    Signals:
        current_change_moved: the marked row is in another change now; carries its number, from 0.
    """

    current_change_moved = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._search: DiffSearch | None = None
        self._found: DiffMatch | None = None
        self._side: LineSide = "new"
        """Where the user last was: what the keyboard selects from."""
        self._select_from: int | None = None
        self._pressed_gap: int | None = None
        self._drag_timer = QTimer(self)
        self._drag_timer.setInterval(_DRAG_SCROLL_MS)
        self._drag_timer.timeout.connect(self._on_drag_outside)
        self.show_diff(None)

    # -- what it can be asked --

    @property
    def current_change(self) -> int:
        """The number of the change that the marked row is in, from 0; -1 above the first."""
        return self._rows.change_at(self._current_row)

    def show_diff(self, diff: FileDiff | None, *, keep_place: bool = False) -> None:
        """Show `diff` from its start, or where the view is when it is the same file; `None` shows nothing."""
        super().show_diff(diff, keep_place=keep_place)
        self._search = None
        self._found = None
        self._select_from = None
        self._describe_row()

    def go_to(self, row: int) -> None:
        """Mark the row and bring it into view."""
        self._move_to(row)

    def next_change(self) -> bool:
        """Go to the next change; whether there is one."""
        return self._go_to_change(bisect_right(self._rows.changes, self._current_row))

    def previous_change(self) -> bool:
        """Go to the change before this one; whether there is one."""
        return self._go_to_change(bisect_left(self._rows.changes, self._current_row) - 1)

    def find_text(self, text: str) -> bool:
        """Select the next place where `text` stands, unfolding lines to show it; starts over at the end."""
        self._search = self._search or DiffSearch(self._rows.diff)
        after = self._found or DiffMatch(self._current_row, -1, -1, -1)
        match = self._search.find(self._rows, text, after)
        if match and self._rows.gap(match.row):
            self.open_gap(match.row)
            match = match._replace(row=self._rows.find(match.side, match.line))
        self._found = match
        if match is None:
            return False
        side = None if self.mode == "unified" else match.side
        end = DiffPosition(match.row, match.offset + len(text))
        self._move_to(match.row)
        self._select(DiffSelection(side, DiffPosition(match.row, match.offset), end))
        return True

    def selected_text(self) -> str:
        """Return what is selected, exactly as it is in the file."""
        return self._selection.text(self._rows) if self._selection else ""

    def copy(self) -> None:
        """Put what is selected on the clipboard."""
        if text := self.selected_text():
            QGuiApplication.clipboard().setText(text)

    def select_all(self) -> None:
        """Select everything on the side where the user last was."""
        if len(self._rows):
            self._select(everything(self._rows, self._selecting_side()))

    # -- moving about --

    def _go_to_change(self, number: int) -> bool:
        if not 0 <= number < len(self._rows.changes):
            return False
        self._move_to(self._rows.changes[number])
        self.ensure_visible(self._current_row, margin_rows=5)
        return True

    def _move_to(self, row: int, *, is_selecting: bool = False) -> None:
        """Mark a row, see that it is visible, and say what it is."""
        if not len(self._rows):
            return
        before, change = self._current_row, self.current_change
        self._current_row = max(0, min(row, len(self._rows) - 1))
        if is_selecting:
            self._select_from = before if self._select_from is None else self._select_from
            self._select(self._lines_selected(self._select_from, self._current_row))
        else:
            self._select_from = None
            self._select(None)
        self.ensure_visible(self._current_row)
        self._describe_row()
        if self.current_change != change:
            self.current_change_moved.emit(self.current_change)

    def _lines_selected(self, start: int, end: int) -> DiffSelection:
        side = self._selecting_side()
        upper, lower = DiffPosition(min(start, end), 0), max(start, end)
        below = DiffPosition(lower, len(text_of(self._rows, lower, side) or ""))
        return DiffSelection(side, upper, below) if start <= end else DiffSelection(side, below, upper)

    def _selecting_side(self) -> LineSide | None:
        return None if self.mode == "unified" else self._side

    def _select(self, selection: DiffSelection | None) -> None:
        self._selection = selection
        self.viewport().update()

    def _describe_row(self) -> None:
        words = self._words_of(self._current_row) if len(self._rows) else ""
        self.setAccessibleDescription(words)
        if QAccessible.isActive() and words and self.hasFocus():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    def _words_of(self, row: int) -> str:
        return row_words(self._rows, row)

    # -- keyboard --

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif not self._act_on(event) and not self._move_on(event):
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        # Letters and copying belong to the diff while it has the focus, also where the window has shortcuts for them.
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            is_letter = event.key() in (Qt.Key.Key_N, Qt.Key.Key_P) and not event.modifiers()
            standard = (QKeySequence.StandardKey.Copy, QKeySequence.StandardKey.SelectAll)
            if is_letter or any(event.matches(key) for key in standard):
                event.accept()
                return True
        return super().event(event)

    def _act_on(self, event: QKeyEvent) -> bool:
        """Whether the key did something to the diff."""
        is_shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier):
            return False
        match event.key():
            case Qt.Key.Key_F7:
                self.previous_change() if is_shifted else self.next_change()
            case Qt.Key.Key_N if not is_shifted:
                self.next_change()
            case Qt.Key.Key_P if not is_shifted:
                self.previous_change()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space if self._rows.gap(self._current_row):
                self._open(self._current_row)
            case Qt.Key.Key_Left:
                self._scroll_sideways(-1)
            case Qt.Key.Key_Right:
                self._scroll_sideways(1)
            case Qt.Key.Key_Escape if self._selection:
                self._select(None)
            case _:
                return False
        return True

    def _move_on(self, event: QKeyEvent) -> bool:
        """Whether the key moved the marked row."""
        page = max(1, self.viewport().height() // self._geometry.row_height - 1)
        targets = {
            Qt.Key.Key_Up: self._current_row - 1,
            Qt.Key.Key_Down: self._current_row + 1,
            Qt.Key.Key_PageUp: self._current_row - page,
            Qt.Key.Key_PageDown: self._current_row + page,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(self._rows) - 1,
        }
        target = targets.get(Qt.Key(event.key()))
        if target is None:
            return False
        self._move_to(target, is_selecting=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        return True

    def _scroll_sideways(self, steps: int) -> None:
        bar = self.horizontalScrollBar()
        bar.setValue(bar.value() + steps * bar.singleStep())

    def _open(self, row: int) -> None:
        self.open_gap(row)
        self._found = None
        self._describe_row()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    # -- mouse --

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or not len(self._rows):
            return
        point = event.position().toPoint()
        row = self._row_at(point)
        if self._rows.gap(row):
            self._pressed_gap = row
            return
        side = self._side_at(point)
        self._side = side or self._side
        place = self._place_at(point, side)
        is_extending = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        kept = self._selection if is_extending else None
        self._move_to(row)
        anchor = kept.anchor if kept and kept.side == side else place
        self._select(DiffSelection(side, anchor, place))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._drag_to(point)
            is_outside = not 0 <= point.y() < self.viewport().height()
            if is_outside and not self._drag_timer.isActive():
                self._drag_timer.start()
            elif not is_outside:
                self._drag_timer.stop()
        else:
            self._hover(point)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag_timer.stop()
        pressed, self._pressed_gap = self._pressed_gap, None
        if pressed is not None and self._row_at(event.position().toPoint()) == pressed:
            self._move_to(pressed)
            self._open(pressed)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        row, side = self._row_at(point), self._side_at(point)
        text = text_of(self._rows, row, side) if len(self._rows) else None
        if not text or self._rows.gap(row):
            self.mousePressEvent(event)
            return
        offset = min(self._place_at(point, side).offset, len(text) - 1)
        word = next(found for found in _WORD.finditer(text) if found.start() <= offset < found.end())
        self._select(DiffSelection(side, DiffPosition(row, word.start()), DiffPosition(row, word.end())))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(self.tr("Copy"))
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setEnabled(bool(self._selection and not self._selection.is_empty))
        copy.triggered.connect(self.copy)
        select_all = menu.addAction(self.tr("Select all"))
        select_all.setShortcut(QKeySequence(QKeySequence.StandardKey.SelectAll))
        select_all.triggered.connect(self.select_all)
        menu.popup(event.globalPos())

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(QPoint(-1, -1))
        elif isinstance(event, QHelpEvent) and self._rows.notes:
            is_on_notes = event.pos().y() + self._scroll().y() < self._geometry.notes_height
            QToolTip.showText(event.globalPos(), notes_label(self._rows.notes) if is_on_notes else "", self)
            return True
        return super().viewportEvent(event)

    def _row_at(self, point: QPoint) -> int:
        return self._geometry.row_at(point.y() + self._scroll().y())

    def _side_at(self, point: QPoint) -> LineSide | None:
        pane = next((pane for pane in self._panes if point.x() < pane.right), self._panes[-1])
        return pane.side

    def _place_at(self, point: QPoint, side: LineSide | None) -> DiffPosition:
        row = self._row_at(point)
        pane = next(pane for pane in self._panes if pane.side == side)
        found = line_of(self._rows[row], side)
        if found is None:
            return DiffPosition(row, 0)
        laid = self._painter.laid_line(self._scene(), pane, *found)
        return DiffPosition(row, laid.offset(point.x() - pane.text_left + self._scroll().x()))

    def _drag_to(self, point: QPoint) -> None:
        if self._selection and self._pressed_gap is None:
            self._select(self._selection._replace(caret=self._place_at(point, self._selection.side)))

    def _on_drag_outside(self) -> None:
        point = self.viewport().mapFromGlobal(self.cursor().pos())
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + (-1 if point.y() < 0 else 1) * self._geometry.row_height)
        self._drag_to(point)

    def _hover(self, point: QPoint) -> None:
        row = self._row_at(point) if len(self._rows) and point.y() >= 0 else None
        hovered = row if row is not None and self._rows.gap(row) else None
        if hovered != self._hovered_row:
            self._hovered_row = hovered
            self.viewport().update()
        is_text = row is not None and hovered is None and self._rows[row].kind != "hunk"
        shape = Qt.CursorShape.PointingHandCursor if hovered is not None else Qt.CursorShape.ArrowCursor
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor if is_text else shape)
