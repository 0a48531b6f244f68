"""The keys that mean something in one part of the window only. `tests/docs` holds them against the guide."""

from typing import Final, NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication
from PySide6.QtGui import QKeySequence


class PlaceKey(NamedTuple):
    """What keys do somewhere. Several that do the same, or opposite things, stand behind each other."""

    place: str
    keys: tuple[str, ...]
    text: str


def _key(place: str, keys: str, text: str) -> PlaceKey:
    return PlaceKey(place, tuple(keys.split()), text)


PLACE_KEYS: Final = (
    _key("composer", "Enter", "Send"),
    _key("composer", "Shift+Enter", "Break the line"),
    _key("composer", "Up Down", "Bring back what was sent"),
    _key("approval dialog", "Ctrl+Enter", "Allow"),
    _key("approval dialog", "Ctrl+Backspace", "Deny"),
    _key("approval card", "Ctrl+Enter", "Allow once"),
    _key("approval card", "Ctrl+E", "Edit the command"),
    _key("diff", "N F7", "Next change"),
    _key("diff", "P Shift+F7", "Previous change"),
    _key("diff", "Enter Space", "Open a folded part"),
    _key("diff", "Ctrl+C", "Copy the selected lines"),
    _key("session list", "Enter", "Open the session"),
    _key("session list", "F2", "Rename the session"),
    _key("file tree", "Enter", "Open the file"),
    _key("file tree", "Right Left", "Open and close a folder"),
    _key("file tree", "Ctrl+C", "Copy the path"),
    _key("file tree", "F2", "Rename the file"),
    _key("file tree", "Del", "Delete the file"),
    _key("viewer", "Ctrl+S", "Save the file"),
    _key("viewer", "Ctrl+F", "Find in the file"),
    _key("viewer", "Ctrl+G", "Go to a line"),
    _key("viewer", "Ctrl+W", "Close the tab"),
    _key("viewer", "Ctrl+Shift+T", "Open the tab again that was closed last"),
    _key("viewer", "Ctrl+Tab", "Next tab"),
    _key("conversation", "Ctrl+A Ctrl+C", "Select all, copy"),
    _key("conversation", "Home End", "Go to its beginning and end"),
    _key("terminal", "Ctrl+Shift+C", "Copy what is selected"),
    _key("terminal", "Ctrl+Shift+V", "Paste"),
    _key("terminal", "Shift+PgUp Shift+PgDown", "Scroll"),
    _key("picture", "Ctrl+0", "Fit the window"),
    _key("picture", "Ctrl+1", "Show the picture in its own size"),
    _key("usage", "Alt+1 Alt+4", "By day, and so on to by folder"),
)
"""In the order of the list."""

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
