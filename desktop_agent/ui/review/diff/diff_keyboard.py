"""The keys of a diff: they move the mark, select, copy and unfold."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from desktop_agent.ui.review.diff.diff_navigation import DiffNavigation


class DiffKeyboard:
    """Turns keys into moves. `open_gap` unfolds the row that it is given."""

    def __init__(self, navigation: DiffNavigation, open_gap: Callable[[int], None]) -> None:
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
        is_gap = navigation.document.rows.gap(navigation.row) is not None
        match event.key():
            case Qt.Key.Key_F7:
                navigation.previous_change() if is_shifted else navigation.next_change()
            case Qt.Key.Key_N if not is_shifted:
                navigation.next_change()
            case Qt.Key.Key_P if not is_shifted:
                navigation.previous_change()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_Space if is_gap:
                self._open_gap(navigation.row)
            case Qt.Key.Key_Left:
                navigation.scroller.scroll_sideways(-1)
            case Qt.Key.Key_Right:
                navigation.scroller.scroll_sideways(1)
            case Qt.Key.Key_Escape if navigation.selection:
                navigation.select(None)
            case _:
                return False
        return True

    def move(self, event: QKeyEvent) -> bool:
        """Whether the key moved the marked row."""
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
