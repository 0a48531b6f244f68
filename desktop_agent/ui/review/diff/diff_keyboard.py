"""The keys of a diff: they move the mark, select, copy and unfold."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from desktop_agent.ui.review.diff.diff_document import DiffDocument
from desktop_agent.ui.review.diff.diff_navigation import DiffNavigation
from desktop_agent.ui.review.diff.diff_scroller import DiffScroller


class DiffKeyboard:
    """Turns keys into moves. `open_gap` unfolds the row that it is given."""

    def __init__(
        self,
        document: DiffDocument,
        scroller: DiffScroller,
        navigation: DiffNavigation,
        open_gap: Callable[[int], None],
    ) -> None:
        self._document = document
        self._scroller = scroller
        self._navigation = navigation
        self._open_gap = open_gap

    def claims(self, event: QKeyEvent) -> bool:
        """Whether the key belongs to the diff, also where the window has a shortcut for it: letters and copying."""
        is_letter = event.key() in (Qt.Key.Key_N, Qt.Key.Key_P) and not event.modifiers()
        standard = (QKeySequence.StandardKey.Copy, QKeySequence.StandardKey.SelectAll)
        return is_letter or any(event.matches(key) for key in standard)

    def act(self, event: QKeyEvent) -> bool:
        """Whether the key did something to the diff."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self._navigation.copy()
            return True
        if event.matches(QKeySequence.StandardKey.SelectAll):
            self._navigation.select_all()
            return True
        if event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier):
            return False
        navigation = self._navigation
        is_shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        match event.key():
            case Qt.Key.Key_F7:
                navigation.previous_change() if is_shifted else navigation.next_change()
            case Qt.Key.Key_N if not is_shifted:
                navigation.next_change()
            case Qt.Key.Key_P if not is_shifted:
                navigation.previous_change()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space if self._document.rows.gap(navigation.row):
                self._open_gap(navigation.row)
            case Qt.Key.Key_Left:
                self._scroller.scroll_sideways(-1)
            case Qt.Key.Key_Right:
                self._scroller.scroll_sideways(1)
            case Qt.Key.Key_Escape if navigation.selection:
                navigation.select(None)
            case _:
                return False
        return True

    def move(self, event: QKeyEvent) -> bool:
        """Whether the key moved the marked row."""
        row, page = self._navigation.row, self._scroller.rows_per_page()
        targets = {
            Qt.Key.Key_Up: row - 1,
            Qt.Key.Key_Down: row + 1,
            Qt.Key.Key_PageUp: row - page,
            Qt.Key.Key_PageDown: row + page,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(self._document.rows) - 1,
        }
        target = targets.get(Qt.Key(event.key()))
        if target is None:
            return False
        self._navigation.go_to(target, is_selecting=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        return True
