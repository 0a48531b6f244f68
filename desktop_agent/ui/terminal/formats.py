"""How looks are drawn: a program's colours as character formats, legible on their ground in the theme in use."""

from collections.abc import Iterable

from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextLayout

from desktop_agent.core.terminal.rows import PrintedStyle
from desktop_agent.ui.theme.ansi import ansi_colours
from desktop_agent.ui.theme.contrast import legible, mixed
from desktop_agent.ui.theme.tokens import Palette

_DIM = 0.35
"""How much of the ground is in dim text."""


def format_ranges(ranges: Iterable[tuple[int, int, QTextCharFormat]]) -> list[QTextLayout.FormatRange]:
    """Return Qt's form of (start, length, format) triples."""
    found: list[QTextLayout.FormatRange] = []
    for start, length, text_format in ranges:
        item = QTextLayout.FormatRange()
        item.start, item.length, item.format = start, length, text_format
        found.append(item)
    return found


class LookFormats:
    """Formats for looks in one state of the theme, on one ground. Made once each."""

    def __init__(self, palette: Palette, ground: str) -> None:
        self._palette = palette
        self._ground = ground
        self._ansi = ansi_colours(palette)
        self._made: dict[PrintedStyle, QTextCharFormat] = {}

    def format(self, look: PrintedStyle) -> QTextCharFormat:
        """Return the format of a look."""
        made = self._made.get(look)
        if made is None:
            made = self._made[look] = self._make(look)
        return made

    def colours(self, look: PrintedStyle) -> tuple[str, str]:
        """Return the colours of text and ground, as `#RRGGBB`; the ground is empty when it is the usual one."""
        text = self._colour(look.foreground) or self._palette.text
        ground = self._colour(look.background)
        if look.is_inverse:
            text, ground = ground or self._ground, text
        under = ground or self._ground
        if look.is_dim:
            text = mixed(text, under, _DIM)
        return legible(text, under, self._palette.text_ratio), ground

    def _colour(self, name: str) -> str:
        return self._ansi[int(name[4:])] if name.startswith("ansi") else name

    def _make(self, look: PrintedStyle) -> QTextCharFormat:
        made = QTextCharFormat()
        text, ground = self.colours(look)
        made.setForeground(QColor(text))
        if ground:
            made.setBackground(QColor(ground))
        if look.is_bold:
            made.setFontWeight(QFont.Weight.Bold)
        if look.is_italic:
            made.setFontItalic(True)
        if look.is_underlined:
            made.setFontUnderline(True)
        if look.is_struck:
            made.setFontStrikeOut(True)
        return made
