"""How keys are written: `Ctrl+Shift+F`, with modifiers in one order. Qt's portable text, known without Qt."""

import re
from collections.abc import Mapping
from typing import Final, cast

_MODIFIERS: Final[Mapping[str, str]] = {
    "meta": "Meta",
    "ctrl": "Ctrl",
    "control": "Ctrl",
    "alt": "Alt",
    "option": "Alt",
    "shift": "Shift",
}
"""In the order in which Qt writes them."""

_ORDER: Final = tuple(dict.fromkeys(_MODIFIERS.values()))

NAMED_KEYS: Final = (
    *("Esc", "Tab", "Backspace", "Return", "Enter", "Ins", "Del", "Pause", "Print", "Home", "End"),
    *("Left", "Up", "Right", "Down", "PgUp", "PgDown", "Space", "Menu", "Help", "Back", "Forward"),
    *(f"F{number}" for number in range(1, 36)),
)
"""The keys that have a name instead of a sign."""

_NAMES: Final = {name.lower(): name for name in NAMED_KEYS} | {
    "escape": "Esc",
    "insert": "Ins",
    "delete": "Del",
    "pageup": "PgUp",
    "pagedown": "PgDown",
}
_FUNCTION_KEY: Final = re.compile(r"F[0-9]+")
_BLANKS_INSIDE: Final = re.compile(r"(?<=\w)\s*\+\s*(?=\w)")

ANY: Final = ("any",)
"""Stands for all keys, where nothing is written."""

_MOST_STROKES: Final = 4
"""As many as Qt can tell apart."""


def written_key(text: str, plain: tuple[str, ...] = ()) -> str:
    """Return keys as they are kept: `ctrl+shift+f` as `Ctrl+Shift+F`, `ctrl+k ctrl+s` as `Ctrl+K, Ctrl+S`.

    `plain` are those that may be pressed first although people write with them. Raises `ValueError` that says why it is
    none, or why nothing may be done with it: it would take a key away that the user writes with.
    """
    strokes = [_without_comma(stroke) for stroke in _BLANKS_INSIDE.sub("+", text).split()] or [""]
    if len(strokes) > _MOST_STROKES:
        raise ValueError(f"{text!r} is too long: no more than {_MOST_STROKES} keys one after the other")
    kept = [_written_stroke(stroke, text) for stroke in strokes]
    if plain:  # where Enter can be a key, both keys of that name are
        kept = [stroke.replace("Return", "Enter") for stroke in kept]
    held, key = _halves(kept[0])
    is_plain = set(held.split("+")) <= {"", "Shift"} and not _FUNCTION_KEY.fullmatch(key)
    if is_plain and plain != ANY and kept[0] not in plain:
        raise ValueError(f"{text!r} is used for writing: hold Ctrl, Alt or Meta with it, or take a function key")
    return ", ".join(kept)


def _without_comma(stroke: str) -> str:
    """Return one of several keys without the comma behind it, which is no key."""
    return stroke[:-1] if stroke.endswith(",") and not stroke.endswith("+,") and stroke != "," else stroke


def _written_stroke(stroke: str, text: str) -> str:
    rest, name = (stroke[:-1], "+") if stroke == "+" or stroke.endswith("++") else _halves(stroke)
    key = _key(name)
    if key is None:
        raise ValueError(f"{text!r} is no key: write it as Ctrl+Shift+F, one key with those held before it")
    held: set[str] = set()
    for modifier in filter(None, rest.removesuffix("+").split("+")):
        known = _MODIFIERS.get(modifier.strip().lower())
        if known is None:
            raise ValueError(f"{modifier.strip()!r} in {text!r} is none of {', '.join(_ORDER)}")
        held.add(known)
    return "+".join((*(name for name in _ORDER if name in held), key))


def written_keys(value: object, plain: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return a list of keys, each once, as it is kept; one text is one of them. Raises `ValueError` as above."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in cast("list[object]", items)):
        raise ValueError(f"{value!r} is not a list of keys")
    found = (written_key(text, plain) for text in cast("list[str]", items) if text.strip())
    return tuple(dict.fromkeys(found))


def _halves(text: str) -> tuple[str, str]:
    rest, _, name = text.rpartition("+")
    return rest, name


def _key(name: str) -> str | None:
    """Return the name of a key; None for what is none."""
    plain = name.strip()
    if len(plain) == 1:
        return plain.upper() if plain.isprintable() and len(plain.upper()) == 1 else None
    return _NAMES.get(plain.lower())
