"""How parts of a card's text look and where they lead. Positions are UTF-16 offsets in the text of a block."""

from typing import NamedTuple

from desktop_agent.core.terminal.rows import PrintedStyle


class Tint(NamedTuple):
    """A look in colours of the theme, by role; an empty role leaves the usual one."""

    text: str = ""
    ground: str = ""
    is_bold: bool = False
    is_struck: bool = False
    is_underlined: bool = False
    is_secondary: bool = False
    """In the size of secondary text."""
    is_spaced: bool = False
    """With a little room behind each letter."""


MUTED = Tint("muted")
LINK = Tint("accent_text")


class TextMark(NamedTuple):
    """`length` units from `start` with one look. With `href` it leads to a web address or a place in a file."""

    start: int
    length: int
    look: PrintedStyle | Tint
    href: str = ""
