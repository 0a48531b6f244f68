"""The keys that one part of the window has: what a pressed key asks for there."""

import re
from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.wording.place_keys import default_part_keys, native_keys

_HELD = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)
_MODIFIERS = ("Ctrl+", "Alt+", "Meta+")
_FUNCTION_KEY = re.compile(r"(Shift\+)?F[0-9]+\b")


class PartKeys(QObject):
    """Has the default keys until it is told others, which happens when the keyboard comes to its widget.

    Keys of several strokes are followed from stroke to stroke. Return and Enter are the same key.

    Signals:
        changed: an action has other keys than before.
    """

    changed = Signal()

    def __init__(self, part: str, owner: QWidget) -> None:
        super().__init__(owner)
        self._part = part
        self._keys = default_part_keys(part)
        self._begun = ""
        self._bound: list[tuple[str, QShortcut]] = []

    def use(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Have these keys from now on; those of other parts are among them, by `part.action`."""
        self._begun = ""
        mine = {action: _alike(keys.get(f"{self._part}.{action}", now)) for action, now in self._keys.items()}
        if mine != self._keys:
            self._keys = mine
            for action, shortcut in self._bound:
                shortcut.setKeys(self._bindable(action))
            self.changed.emit()

    def read(self, event: QKeyEvent) -> str | None:
        """Return the action that a pressed key asks for; `None` for none, empty if more keys are to follow."""
        if event.key() in _HELD:
            return None
        action, self._begun = self._found(event)
        return action

    def peek(self, event: QKeyEvent) -> str | None:
        """Return what `read` will return of this key: whose it is, is asked before."""
        return self._found(event)[0]

    def shown(self, action: str) -> str:
        """Return the first keys of an action as people read them; empty if it has none."""
        return native_keys(self._keys[action][0]) if self._keys[action] else ""

    def hint(self, words: str, action: str) -> str:
        """Return words with the keys of an action behind them, if it has any."""
        return f"{words} ({keys})" if (keys := self.shown(action)) else words

    def sequences(self, action: str) -> list[QKeySequence]:
        """Return the keys of an action, as menus show them."""
        return [QKeySequence(each) for each in self._keys[action]]

    def bind(self, action: str, slot: Callable[[], object], on: QWidget) -> QShortcut:
        """Call `slot` for the keys of an action wherever the keyboard is in the window of `on`."""
        shortcut = QShortcut(on)
        shortcut.setKeys(self._bindable(action))
        shortcut.activated.connect(slot)
        self._bound.append((action, shortcut))
        return shortcut

    def _bindable(self, action: str) -> list[QKeySequence]:
        """Return the keys that take nothing from who writes, on both Enter keys."""
        keys = [each for each in self._keys[action] if _is_no_writing(each)]
        both = [*keys, *(each.replace("Enter", "Return") for each in keys if "Enter" in each)]
        return [QKeySequence(each) for each in both]

    def _found(self, event: QKeyEvent) -> tuple[str | None, str]:
        """Return the action and what is begun with this key: behind those before, else anew."""
        stroke = _stroke(event)
        for before in filter(None, (self._begun and f"{self._begun}, {stroke}", stroke)):
            for action, keys in self._keys.items():
                if before in keys:
                    return action, ""
            if any(each.startswith(f"{before}, ") for keys in self._keys.values() for each in keys):
                return "", before
        return None, ""


def _stroke(event: QKeyEvent) -> str:
    """Return a pressed key as it is kept; empty for a modifier alone."""
    if event.key() in _HELD or event.key() in (0, Qt.Key.Key_unknown):
        return ""
    combination = event.keyCombination()
    held = combination.keyboardModifiers() & ~Qt.KeyboardModifier.KeypadModifier
    keys = QKeySequence(held | combination.key()).toString(QKeySequence.SequenceFormat.PortableText)
    return keys.replace("Return", "Enter").replace("Backtab", "Tab")


def _alike(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return keys with one name for both Enter keys."""
    return tuple(each.replace("Return", "Enter") for each in keys)


def _is_no_writing(keys: str) -> bool:
    """Whether the first of these keys writes nothing and moves no cursor."""
    first = keys.partition(", ")[0]
    return any(modifier in first for modifier in _MODIFIERS) or _FUNCTION_KEY.match(first) is not None
