"""The keys of a diff: they move the mark, select, copy and unfold."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from desktop_agent.ui.keys.part_keys import PartKeys
from desktop_agent.ui.review.diff.diff_navigation import DiffNavigation
from desktop_agent.ui.review.diff.diff_overlay import DiffOverlay

_OWN = ("copy", "next_change", "previous_change", "open")


class DiffKeyboard:
    """Turns keys into moves and into what the overlays do. `open_gap` unfolds the row that it is given."""

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
        """Whether this is an action of the diff itself that can be done now."""
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
