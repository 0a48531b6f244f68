"""Tells the parts of the window which keys they have."""

from collections.abc import Mapping
from typing import cast

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from desktop_agent.ui.keys.part_keys import PartKeys
from desktop_agent.ui.wording.place_keys import can_send, default_keys_of_parts


class KeysOfParts(QObject):
    """Gives its keys to each part that the keyboard comes to, and to those that it was in when they change.

    A part has them before its first key is pressed, whenever and by whom it was made; in other windows, too.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.in_force: Mapping[str, tuple[str, ...]] = default_keys_of_parts()
        """The keys of each action, by `part.action`."""
        self._told: list[PartKeys] = []
        cast("QApplication", QApplication.instance()).focusChanged.connect(self._on_focus_changed)

    def use(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Hand these out from now on; others are among them."""
        wanted = {action: keys.get(action, default) for action, default in default_keys_of_parts().items()}
        self.in_force = {
            action: tuple(each for each in mine if can_send(action, each)) for action, mine in wanted.items()
        }
        self._told = [part for part in self._told if isValid(part)]
        for part in self._told:
            part.use(self.in_force)

    def _on_focus_changed(self, _old: QWidget | None, now: QWidget | None) -> None:
        widget: object = now
        while isinstance(widget, QWidget):
            for part in widget.findChildren(PartKeys, options=Qt.FindChildOption.FindDirectChildrenOnly):
                part.use(self.in_force)
                if part not in self._told:
                    self._told.append(part)
            widget = widget.parentWidget()
