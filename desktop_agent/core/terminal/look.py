"""How a program wants a piece of text to look: colours and styles as SGR escape sequences set them."""

import re
from functools import lru_cache
from typing import NamedTuple

SGR = re.compile(r"\x1b\[([0-9;:]*)m")
"""An escape sequence that changes how what follows looks."""

_CUBE = (0, 95, 135, 175, 215, 255)
_SEPARATORS = re.compile("[;:]")


class PrintedStyle(NamedTuple):
    """Colours and styles. A colour is `""` for the usual one, `ansi3` for one of the theme's 16, or `#RRGGBB`."""

    foreground: str = ""
    background: str = ""
    is_bold: bool = False
    is_dim: bool = False
    is_italic: bool = False
    is_underlined: bool = False
    is_struck: bool = False
    is_inverse: bool = False


PLAIN = PrintedStyle()

_SET: dict[int, dict[str, bool]] = {
    1: {"is_bold": True},
    2: {"is_dim": True},
    3: {"is_italic": True},
    4: {"is_underlined": True},
    7: {"is_inverse": True},
    9: {"is_struck": True},
    21: {"is_underlined": True},
    22: {"is_bold": False, "is_dim": False},
    23: {"is_italic": False},
    24: {"is_underlined": False},
    27: {"is_inverse": False},
    29: {"is_struck": False},
}


@lru_cache(maxsize=4_096)
def changed(look: PrintedStyle, parameters: str) -> PrintedStyle:
    """Return `look` after an SGR sequence with these parameters; what is unknown in them changes nothing."""
    if parameters in ("", "0"):
        return PLAIN
    # `4:0` is "no underline" and `4:3` a curly one; elsewhere a colon only separates.
    parameters = parameters.replace("4:0", "24") if "4:" in parameters else parameters
    codes = [int(code) if code.isdecimal() else 0 for code in _SEPARATORS.split(parameters[:200])]
    at = 0
    while at < len(codes):
        code = codes[at]
        at += 1
        if code in (38, 48):
            colour, used = _extended(codes[at:])
            at += used
            if colour:
                look = look._replace(foreground=colour) if code == 38 else look._replace(background=colour)
        else:
            look = _simple(look, code)
    return look


def _simple(look: PrintedStyle, code: int) -> PrintedStyle:
    if code == 0:
        return PLAIN
    if code in _SET:
        return look._replace(**_SET[code])
    if 30 <= code <= 37:
        return look._replace(foreground=f"ansi{code - 30}")
    if 90 <= code <= 97:
        return look._replace(foreground=f"ansi{code - 82}")
    if 40 <= code <= 47:
        return look._replace(background=f"ansi{code - 40}")
    if 100 <= code <= 107:
        return look._replace(background=f"ansi{code - 92}")
    if code == 39:
        return look._replace(foreground="")
    if code == 49:
        return look._replace(background="")
    return look


def _extended(codes: list[int]) -> tuple[str, int]:
    """Read a colour of 256 (`5;n`) or of all (`2;r;g;b`); return it and how many codes it took."""
    match codes:
        case [5, number, *_]:
            return _of_256(number), 2
        case [2, 0, red, green, blue, *rest] if not rest and max(red, green, blue) < 256:
            return f"#{red:02X}{green:02X}{blue:02X}", 5  # 38:2::r:g:b, with an empty colour space
        case [2, red, green, blue, *_]:
            return (f"#{red:02X}{green:02X}{blue:02X}" if max(red, green, blue) < 256 else ""), 4
        case _:
            return "", len(codes)


def _of_256(number: int) -> str:
    if number < 16:
        return f"ansi{number}"
    if number < 232:
        red, rest = divmod(number - 16, 36)
        green, blue = divmod(rest, 6)
        return f"#{_CUBE[red]:02X}{_CUBE[green]:02X}{_CUBE[blue]:02X}"
    if number < 256:
        grey = 8 + 10 * (number - 232)
        return f"#{grey:02X}{grey:02X}{grey:02X}"
    return ""


def look_after(text: str, look: PrintedStyle) -> PrintedStyle:
    """Return how text behind `text` looks. Costs nothing for what stands before the last reset."""
    reset = max(text.rfind("\x1b[0m"), text.rfind("\x1b[m"))
    for sequence in SGR.finditer(text, max(reset, 0)):
        look = changed(look, sequence[1])
    return look
