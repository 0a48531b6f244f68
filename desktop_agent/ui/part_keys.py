"""The keys of single parts of the window: their defaults, the action of a pressed key, and changes."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple, cast

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.regex import regex


class PlaceKey(NamedTuple):
    place: str
    keys: tuple[str, ...]
    text: str
    action: str = ""
    """The name of the action in the settings; empty if the keys cannot be changed."""

    @property
    def name(self) -> str:
        return f"{self.place}.{self.action}" if self.action else ""


def _key(place: str, keys: str, text: str, action: str = "") -> PlaceKey:
    return PlaceKey(place, tuple(keys.split()), text, action)


ALLOW_KEYS: Final = "Ctrl+Shift+A"
DENY_KEYS: Final = "Ctrl+Shift+D"
"""The keys that answer a question. No key that sends a message is one of them: see `can_send`."""

_SENDING: Final = ("composer.send", "composer.send_at_once")

PLACE_KEYS: Final = (
    _key("composer", "Enter", "Send", "send"),
    _key("composer", "Ctrl+Enter", "Send into the running turn", "send_at_once"),
    _key("composer", "Shift+Enter", "Break the line", "break_line"),
    _key("composer", "Up", "Recall the previous message", "older"),
    _key("composer", "Down", "Recall the next message", "newer"),
    _key("approval dialog", ALLOW_KEYS, "Allow"),
    _key("approval dialog", DENY_KEYS, "Deny"),
    _key("approval card", ALLOW_KEYS, "Allow once"),
    _key("approval card", DENY_KEYS, "Deny"),
    _key("approval card", "Ctrl+E", "Edit the command"),
    _key("diff", "N F7", "Next change", "next_change"),
    _key("diff", "P Shift+F7", "Previous change", "previous_change"),
    _key("diff", "Enter Space", "Open a folded part", "open"),
    _key("diff", "K", "Keep the change, or leave it undecided", "keep"),
    _key("diff", "U", "Undo the change", "undo"),
    _key("diff", "R", "Redo the change", "redo"),
    _key("diff", "C", "Comment on the lines", "comment"),
    _key("diff", "W", "Wrap long lines", "wrap"),
    _key("diff", "E", "Edit the file here", "edit"),
    _key("diff", "Ctrl+F", "Find in the changes of this file", "find"),
    _key("diff", "Ctrl+C Ctrl+Ins", "Copy the selected lines", "copy"),
    _key("session list", "Enter", "Open the session"),
    _key("session list", "F2", "Rename the session"),
    _key("file tree", "Enter", "Open the file"),
    _key("file tree", "Right Left", "Open and close a folder"),
    _key("file tree", "Ctrl+C", "Copy the path"),
    _key("file tree", "F2", "Rename the file"),
    _key("file tree", "Del", "Delete the file"),
    _key("viewer", "Ctrl+S", "Save the file", "save"),
    _key("viewer", "Ctrl+F", "Find in the file", "find"),
    _key("viewer", "Ctrl+G", "Go to a line", "go_to_line"),
    _key("viewer", "Ctrl+W", "Close the tab", "close_tab"),
    _key("viewer", "Ctrl+Shift+T", "Reopen the last closed tab", "reopen_tab"),
    _key("viewer", "Ctrl+Tab", "Next tab", "next_tab"),
    _key("viewer", "Ctrl+Shift+Tab", "Previous tab", "previous_tab"),
    _key("conversation", "Ctrl+A", "Select all", "select_all"),
    _key("conversation", "Ctrl+C Ctrl+Ins", "Copy what is selected", "copy"),
    _key("conversation", "Home", "Go to the beginning", "go_to_start"),
    _key("conversation", "End", "Go to the end", "go_to_end"),
    _key("terminal", "Ctrl+Shift+C Ctrl+Ins", "Copy what is selected", "copy"),
    _key("terminal", "Ctrl+Shift+V Shift+Ins", "Paste", "paste"),
    _key("terminal", "Ctrl+Shift+F", "Find in the terminal", "find"),
    _key("terminal", "Shift+PgUp", "Scroll up", "scroll_up"),
    _key("terminal", "Shift+PgDown", "Scroll down", "scroll_down"),
    _key("picture", "Ctrl+0", "Fit the window"),
    _key("picture", "Ctrl+1", "Show the picture at its actual size"),
    _key("usage", "Alt+1 Alt+4", "By day, model, tool or folder"),
)
"""The keys of each place, in the order of the shown list. `core/settings/keyboard.py` also has those with an action."""


def can_send(action: str, keys: str) -> bool:
    """Whether this action may have these keys. Keys that answer a question must not send a message."""
    return action not in _SENDING or keys.partition(", ")[0] not in (ALLOW_KEYS, DENY_KEYS)


@cache
def default_keys_of_parts() -> Mapping[str, tuple[str, ...]]:
    return {each.name: each.keys for each in PLACE_KEYS if each.action}


_PLACES: Final = {
    "composer": QT_TRANSLATE_NOOP("Palette", "In the message"),
    "approval dialog": QT_TRANSLATE_NOOP("Palette", "In the approval dialog"),
    "approval card": QT_TRANSLATE_NOOP("Palette", "While an approval card waits"),
    "diff": QT_TRANSLATE_NOOP("Palette", "In a diff"),
    "session list": QT_TRANSLATE_NOOP("Palette", "In the list of sessions"),
    "file tree": QT_TRANSLATE_NOOP("Palette", "In the file tree"),
    "viewer": QT_TRANSLATE_NOOP("Palette", "In the file viewer"),
    "conversation": QT_TRANSLATE_NOOP("Palette", "In the conversation"),
    "terminal": QT_TRANSLATE_NOOP("Palette", "In the terminal"),
    "picture": QT_TRANSLATE_NOOP("Palette", "In a picture"),
    "usage": QT_TRANSLATE_NOOP("Palette", "In the usage window"),
}


def place_title(place: str) -> str:
    return QCoreApplication.translate("Palette", str(_PLACES[place]))


def place_text(key: PlaceKey) -> str:
    return QCoreApplication.translate("Palette", key.text)


def native_keys(keys: str) -> str:
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def claims_key(event: QEvent, wants: Callable[[QKeyEvent], bool]) -> bool:
    """Keep a key from the window's shortcuts if the widget `wants` it. Return whether the widget does."""
    is_wanted = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and wants(event)
    if is_wanted:
        event.accept()
    return is_wanted


_HELD = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)
_MODIFIERS = ("Ctrl+", "Alt+", "Meta+")
_FUNCTION_KEY = regex(r"(Shift\+)?F[0-9]+\b")


class PartKeys(QObject):
    """The keys of one part of the window: the defaults until `use` is called. Return and Enter are the same key."""

    changed = Signal()

    def __init__(self, part: str, owner: QWidget) -> None:
        super().__init__(owner)
        self._part = part
        self._keys = {each.action: each.keys for each in PLACE_KEYS if each.place == part and each.action}
        self._begun = ""
        self._bound: list[tuple[str, QShortcut]] = []

    def use(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Use these keys. Names are like `part.action`; those of other parts are ignored."""
        self._begun = ""
        mine = {
            action: tuple(each.replace("Return", "Enter") for each in keys.get(f"{self._part}.{action}", now))
            for action, now in self._keys.items()
        }
        if mine != self._keys:
            self._keys = mine
            for action, shortcut in self._bound:
                shortcut.setKeys(self._bindable(action))
            self.changed.emit()

    def read(self, event: QKeyEvent) -> str | None:
        """Return the action for a pressed key: `None` without an action, empty within an unfinished sequence."""
        if event.key() in _HELD:
            return None
        action, self._begun = self._found(event)
        return action

    def peek(self, event: QKeyEvent) -> str | None:
        """Return the result of `read` without side effects, to decide in advance who handles the key."""
        return self._found(event)[0]

    def shown(self, action: str) -> str:
        return native_keys(self._keys[action][0]) if self._keys[action] else ""

    def hint(self, words: str, action: str) -> str:
        return f"{words} ({keys})" if (keys := self.shown(action)) else words

    def sequences(self, action: str) -> list[QKeySequence]:
        return [QKeySequence(each) for each in self._keys[action]]

    def bind(self, action: str, slot: Callable[[], object], on: QWidget) -> None:
        shortcut = QShortcut(on)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.setKeys(self._bindable(action))
        shortcut.activated.connect(slot)
        self._bound.append((action, shortcut))

    def _bindable(self, action: str) -> list[QKeySequence]:
        keys = [each for each in self._keys[action] if _is_no_writing(each)]
        both = [*keys, *(each.replace("Enter", "Return") for each in keys if "Enter" in each)]
        return [QKeySequence(each) for each in both]

    def _found(self, event: QKeyEvent) -> tuple[str | None, str]:
        """Return the action, and the unfinished sequence. A key continues a sequence or begins a new one."""
        stroke = _stroke(event)
        for before in filter(None, (self._begun and f"{self._begun}, {stroke}", stroke)):
            for action, keys in self._keys.items():
                if before in keys:
                    return action, ""
            if any(each.startswith(f"{before}, ") for keys in self._keys.values() for each in keys):
                return "", before
        return None, ""


def _stroke(event: QKeyEvent) -> str:
    if event.key() in _HELD or event.key() in (0, Qt.Key.Key_unknown):
        return ""
    combination = event.keyCombination()
    held = combination.keyboardModifiers() & ~Qt.KeyboardModifier.KeypadModifier
    keys = QKeySequence(held | combination.key()).toString(QKeySequence.SequenceFormat.PortableText)
    return keys.replace("Return", "Enter").replace("Backtab", "Tab")


def _is_no_writing(keys: str) -> bool:
    """Whether the first key of this sequence neither writes text nor moves a cursor."""
    first = keys.partition(", ")[0]
    return any(modifier in first for modifier in _MODIFIERS) or _FUNCTION_KEY.match(first) is not None


class KeysOfParts(QObject):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.in_force: Mapping[str, tuple[str, ...]] = default_keys_of_parts()
        self._told: list[PartKeys] = []
        cast("QApplication", QApplication.instance()).focusChanged.connect(self._on_focus_changed)

    def use(self, keys: Mapping[str, tuple[str, ...]]) -> None:
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
