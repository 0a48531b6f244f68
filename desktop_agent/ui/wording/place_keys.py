"""The keys that mean something in one part of the window only. `tests/docs` holds them against the guide."""

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication
from PySide6.QtGui import QKeySequence


class PlaceKey(NamedTuple):
    """What keys do somewhere. Several that do the same, or opposite things, stand behind each other."""

    place: str
    keys: tuple[str, ...]
    text: str
    action: str = ""
    """What the settings call it; empty where the keys are always these."""

    @property
    def name(self) -> str:
        """The action with its part, as the settings have it; empty for keys that cannot be changed."""
        return f"{self.place}.{self.action}" if self.action else ""


def _key(place: str, keys: str, text: str, action: str = "") -> PlaceKey:
    return PlaceKey(place, tuple(keys.split()), text, action)


ALLOW_KEYS: Final = "Ctrl+Shift+A"
DENY_KEYS: Final = "Ctrl+Shift+D"
"""The keys that answer a question. Keys that send a message never do: see `can_send`."""

_SENDING: Final = ("composer.send", "composer.send_at_once")

PLACE_KEYS: Final = (
    _key("composer", "Enter", "Send", "send"),
    _key("composer", "Ctrl+Enter", "Send into the running turn", "send_at_once"),
    _key("composer", "Shift+Enter", "Break the line", "break_line"),
    _key("composer", "Up", "Bring back what was sent", "older"),
    _key("composer", "Down", "Go on to what was sent later", "newer"),
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
    _key("viewer", "Ctrl+Shift+T", "Open the tab again that was closed last", "reopen_tab"),
    _key("viewer", "Ctrl+Tab", "Next tab", "next_tab"),
    _key("viewer", "Ctrl+Shift+Tab", "Previous tab", "previous_tab"),
    _key("conversation", "Ctrl+A", "Select all", "select_all"),
    _key("conversation", "Ctrl+C Ctrl+Ins", "Copy what is selected", "copy"),
    _key("conversation", "Home", "Go to its beginning", "go_to_start"),
    _key("conversation", "End", "Go to its end", "go_to_end"),
    _key("terminal", "Ctrl+Shift+C Ctrl+Ins", "Copy what is selected", "copy"),
    _key("terminal", "Ctrl+Shift+V Shift+Ins", "Paste", "paste"),
    _key("terminal", "Ctrl+Shift+F", "Find in the terminal", "find"),
    _key("terminal", "Shift+PgUp", "Scroll up", "scroll_up"),
    _key("terminal", "Shift+PgDown", "Scroll down", "scroll_down"),
    _key("picture", "Ctrl+0", "Fit the window"),
    _key("picture", "Ctrl+1", "Show the picture in its own size"),
    _key("usage", "Alt+1 Alt+4", "By day, and so on to by folder"),
)
"""In the order of the list. Those with an action are declared in `core/settings/keyboard.py`, too."""


def can_send(action: str, keys: str) -> bool:
    """Whether this action may have these keys: keys that answer a question may not send a message."""
    return action not in _SENDING or keys.partition(", ")[0] not in (ALLOW_KEYS, DENY_KEYS)


@cache
def default_keys_of_parts() -> Mapping[str, tuple[str, ...]]:
    """Return the default keys of each action of a part, by `part.action`."""
    return {each.name: each.keys for each in PLACE_KEYS if each.action}


def default_part_keys(part: str) -> Mapping[str, tuple[str, ...]]:
    """Return the default keys of the actions of one part."""
    return {each.action: each.keys for each in PLACE_KEYS if each.place == part and each.action}


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
    """Return where in the window such a place is."""
    return QCoreApplication.translate("Palette", str(_PLACES[place]))


def place_text(key: PlaceKey) -> str:
    """Return what keys do there."""
    return QCoreApplication.translate("Palette", key.text)


def native_keys(keys: str) -> str:
    """Return keys as people of this system read them."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
