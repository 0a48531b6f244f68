"""Converts keys and pasted text to bytes, as xterm does."""

import re
from typing import Final, NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from desktop_agent.core.base.plain_text import HIDING, named

_Key = Qt.Key
_Modifier = Qt.KeyboardModifier

_LETTERS: Final = {
    _Key.Key_Up: "A", _Key.Key_Down: "B", _Key.Key_Right: "C", _Key.Key_Left: "D", _Key.Key_End: "F",
    _Key.Key_Home: "H", _Key.Key_F1: "P", _Key.Key_F2: "Q", _Key.Key_F3: "R", _Key.Key_F4: "S",
}  # fmt: skip
_NUMBERS: Final = {
    _Key.Key_Insert: 2, _Key.Key_Delete: 3, _Key.Key_PageUp: 5, _Key.Key_PageDown: 6, _Key.Key_F5: 15,
    _Key.Key_F6: 17, _Key.Key_F7: 18, _Key.Key_F8: 19, _Key.Key_F9: 20, _Key.Key_F10: 21, _Key.Key_F11: 23,
    _Key.Key_F12: 24,
}  # fmt: skip
_PLAIN: Final = {
    _Key.Key_Return: "\r", _Key.Key_Enter: "\r", _Key.Key_Backspace: "\x7f", _Key.Key_Tab: "\t",
    _Key.Key_Backtab: "\x1b[Z", _Key.Key_Escape: "\x1b",
}  # fmt: skip
_CONTROLS: Final = {
    _Key.Key_Space: "\x00", _Key.Key_At: "\x00", _Key.Key_BracketLeft: "\x1b", _Key.Key_Backslash: "\x1c",
    _Key.Key_BracketRight: "\x1d", _Key.Key_AsciiCircum: "\x1e", _Key.Key_Underscore: "\x1f", _Key.Key_Slash: "\x1f",
    _Key.Key_Backspace: "\x08",
}  # fmt: skip
_ENTER = re.compile(r"\r\n|[\r\n]")
_UNTYPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def belongs_to_the_shell(event: QKeyEvent) -> bool:
    """The window keeps Ctrl+Alt, Ctrl+Shift without cursor and function keys, and Ctrl with digits and most signs."""
    modifiers = event.modifiers() & ~(_Modifier.KeypadModifier | _Modifier.ShiftModifier)
    if modifiers != _Modifier.ControlModifier:
        return modifiers in (_Modifier.NoModifier, _Modifier.AltModifier)
    if event.modifiers() & _Modifier.ShiftModifier:
        return event.key() in _LETTERS or event.key() in _NUMBERS
    return _control(event.key()) != "" or event.key() in _LETTERS or event.key() in _NUMBERS


def typed(event: QKeyEvent, *, cursor_keys: bool) -> bytes:
    """Return the bytes for a pressed key; empty for a key that types nothing."""
    key, modifiers = _Key(event.key()), event.modifiers()
    is_alt, is_ctrl = bool(modifiers & _Modifier.AltModifier), bool(modifiers & _Modifier.ControlModifier)
    if key in _LETTERS or key in _NUMBERS:
        return _special(key, 1 + bool(modifiers & _Modifier.ShiftModifier) + 2 * is_alt + 4 * is_ctrl, cursor_keys)
    text = _control(key) if is_ctrl else _PLAIN.get(key, event.text())
    if is_ctrl and not text:
        text = _PLAIN.get(key, "")
    return ("\x1b" * (is_alt and bool(text)) + text).encode("utf-8", "replace")


def _special(key: Qt.Key, modifier: int, cursor_keys: bool) -> bytes:
    if key in _NUMBERS:
        return f"\x1b[{_NUMBERS[key]}{f';{modifier}' if modifier > 1 else ''}~".encode()
    letter = _LETTERS[key]
    if modifier > 1:
        return f"\x1b[1;{modifier}{letter}".encode()
    return f"\x1b{'O' if cursor_keys or letter in 'PQRS' else '['}{letter}".encode()


def _control(key: int) -> str:
    if _Key.Key_A <= key <= _Key.Key_Z:
        return chr(key - _Key.Key_A + 1)
    return _CONTROLS.get(_Key(key), "") if key in _CONTROLS else ""


class PasteRisk(NamedTuple):
    lines: int
    has_hidden: bool


def paste_risk(text: str, *, is_bracketed: bool) -> PasteRisk:
    """Return the effects of a paste. The program runs each line as if typed, unless `is_bracketed`."""
    lines = 0 if is_bracketed else len(_ENTER.findall(text))
    return PasteRisk(lines, any(match.group() not in "\t\n\r" for match in HIDING.finditer(text)))


def paste_shown(text: str) -> str:
    *lines, last = _ENTER.split(text)
    return "\n".join([*(f"{named(line)}⏎" for line in lines), named(last)]).removesuffix("\n")


def pasted(text: str, *, is_bracketed: bool) -> bytes:
    """Return the bytes for pasted text without control characters, so that the text cannot end its own bracket."""
    text = _UNTYPED.sub("", text.replace("\r\n", "\n").replace("\n", "\r"))
    return (f"\x1b[200~{text}\x1b[201~" if is_bracketed else text).encode("utf-8", "replace")


def wheel_keys(rows: int, *, cursor_keys: bool) -> bytes:
    """Return the arrow keys that scroll a full-screen program by `rows`; negative is up."""
    return _special(_Key.Key_Up if rows < 0 else _Key.Key_Down, 1, cursor_keys) * abs(rows)
