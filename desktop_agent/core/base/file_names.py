"""Names of files: the folders in them, and how they are written as text.

C quotes, as git writes them, tell apart even names that are not UTF-8 (PEP 383).
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from desktop_agent.core.base.plain_text import HIDING, is_encodable, without_halves
from desktop_agent.core.base.regex import regex

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_WRITTEN = {chr(code): f"\\{letter}" for letter, code in _ESCAPES.items()}
_ESCAPE = regex(rb'\\([0-7]{3}|["\\abtnvfr])')
QUOTED_NAME = regex(r'"((?:[^"\\]|\\.)*)"')


def quoted_name(name: str) -> str:
    """Return the name as git writes it: in C quotes with quotes, backslashes, control characters or invalid UTF-8."""
    escaped = "".join(_WRITTEN.get(char) or _octal(char) for char in name)
    return name if escaped == name else f'"{escaped}"'


def _octal(char: str) -> str:
    if char >= " " and char != "\x7f" and not "\ud800" <= char <= "\udfff":
        return char
    escaped = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", escaped))


def unquoted_name(text: str) -> str:
    """Return the name that `quoted_name` or git wrote as `text`; any other text as it is."""
    quoted = QUOTED_NAME.fullmatch(text.strip())
    if quoted is None:
        return text

    def plain(match: re.Match[bytes]) -> bytes:
        letter = match[1].decode()
        return bytes([_ESCAPES[letter] if letter in _ESCAPES else int(letter, 8) & 0xFF])

    try:
        return _ESCAPE.sub(plain, quoted[1].encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character that stands for no byte, which no name has
        return text


def legible_name(name: str) -> str:
    """Return a name for models and JSON: in C quotes if it is not UTF-8, or itself stands in such quotes."""
    return quoted_name(name) if not is_encodable(name) or (name.startswith('"') and _is_odd(name)) else name


def name_on_a_line(name: str) -> str:
    """Return a name for a line of text: in C quotes also if it has characters that cannot be seen."""
    if not _is_odd(name):
        return name
    text = quoted_name(name)
    text = text if text != name else f'"{name}"'
    return HIDING.sub(lambda match: "".join(f"\\{byte:03o}" for byte in match[0].encode()), text)


def real_name(text: str, *, is_there: Callable[[str], bool] = lambda _: True) -> str:
    """Return the name that `text` means. It may be in C quotes, unless a name with these very quotes `is_there`."""
    if not text.startswith('"'):
        return text
    name = unquoted_name(text)
    return name if _is_odd(name) or "\0" in name or not is_there(text) else text


def real_path_named(text: str) -> Path:
    return Path(real_name(text, is_there=os.path.lexists))


def _is_odd(name: str) -> bool:
    bare = name.strip()
    return bare != name or HIDING.search(name) is not None or QUOTED_NAME.fullmatch(bare) is not None


_NAMED = (
    "path paths moved_from moved_to to new_folders approval_paths edited_files entries file files folder workspace cwd "
    "root log uri"
)
_NAMES = frozenset(_NAMED.split())
_AS_GIVEN = frozenset({"arguments", "input"})
_EXACT_BYTES = frozenset({"patch", "diff"})


def legible_names(document: object, key: str = "") -> Any:
    """Write every path that is not UTF-8 in C quotes. The arguments of calls stay as the model wrote them."""
    match document:
        case str() if key in _NAMES:
            return legible_name(document)
        case str() if key not in _EXACT_BYTES:
            return without_halves(document)
        case dict() if key not in _AS_GIVEN:
            fields = cast("dict[str, object]", document)
            return {legible_name(str(name)): legible_names(value, name) for name, value in fields.items()}
        case list() | tuple():
            return [legible_names(item, key) for item in cast("Iterable[object]", document)]
        case _:
            return document


def real_names(document: object, key: str = "") -> Any:
    """Reverse `legible_names`."""
    match document:
        case str() if key in _NAMES:
            return real_name(document)
        case dict() if key not in _AS_GIVEN:
            return {name: real_names(value, name) for name, value in cast("dict[str, object]", document).items()}
        case list():
            return [real_names(item, key) for item in cast("list[object]", document)]
        case _:
            return document


def parents_of(path: str) -> Iterator[str]:
    """Yield the folders that a relative path is in, innermost first."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def folders_above(path: str) -> tuple[str, ...]:
    """Return the folders that a relative path is in, outermost first."""
    return tuple(parents_of(path))[::-1]


def all_folders_above(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in paths}:
        above = folder
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found
