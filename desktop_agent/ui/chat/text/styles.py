"""The look of the transcript's text: fonts, colours, line heights and spaces, made from the theme once."""

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtGui import QColor, QFont, QFontMetricsF, QTextCharFormat

from desktop_agent.core.terminal.rows import PrintedStyle
from desktop_agent.ui.chat.markdown.blocks import Block
from desktop_agent.ui.chat.markdown.parser import BOLD, CODE, ITALIC, LINK, MUTED, STRIKE, InlineSpan
from desktop_agent.ui.chat.text.file_links import KnownFiles
from desktop_agent.ui.terminal.printed_text import LookFormats
from desktop_agent.ui.theme import Density, Space, Theme, TypeSize
from desktop_agent.ui.widgets.text_colours import foreground


class Tint(NamedTuple):
    """A style in colours of the theme, by role. An empty role keeps the default colour."""

    text: str = ""
    ground: str = ""
    is_bold: bool = False
    is_struck: bool = False
    is_underlined: bool = False
    is_secondary: bool = False
    is_spaced: bool = False


MUTED_TINT = Tint("muted")
LINK_TINT = Tint("accent_text")


class TextMark(NamedTuple):
    """A style for `length` units from `start`. `href` links to a web address or a place in a file."""

    start: int
    length: int
    look: PrintedStyle | Tint
    href: str = ""


LIST_INDENT = 22
QUOTE_INDENT = 16
QUOTE_BAR = 3
MOST_INDENTS = 10
CODE_PADDING_X = 12
CODE_PADDING_Y = 10
CODE_HEADER = 30

PILL_PADDING = 4.0

TEXT_LINE = 20
CODE_LINE = 18
_TITLE_LEVEL = 2


class _Spaces(NamedTuple):
    text_line: int
    code_line: int
    title_line: int
    card_line: int
    entry: int
    title: int
    heading: int
    block: int
    item: int


_SPACES: dict[Density, _Spaces] = {
    "comfortable": _Spaces(
        TEXT_LINE,
        CODE_LINE,
        title_line=24,
        card_line=32,
        entry=Space.ENTRY,
        title=18,
        heading=Space.L,
        block=10,
        item=Space.XS,
    ),
    "compact": _Spaces(17, 16, title_line=21, card_line=26, entry=Space.S, title=Space.M, heading=10, block=6, item=1),
}


class TextStyles:
    def __init__(self, theme: Theme, files: KnownFiles | None = None) -> None:
        self.theme = theme
        self.files = files if files is not None else KnownFiles()  # one without files is false
        self.colours = theme.colours
        self.body = theme.text_font(theme.sizes.chat, grows=False)
        self.strong = theme.strong_font(theme.sizes.chat, grows=False)
        self.code = theme.code_font(theme.sizes.code, grows=False)
        self._growth = theme.sizes.chat / TypeSize.BODY
        self._spaces = _SPACES[theme.density]
        self.text_line = round(self._spaces.text_line * self._growth)
        self.code_line = round(self._spaces.code_line * theme.sizes.code / TypeSize.CODE)
        self.card_line = self._spaces.card_line
        self.entry_gap = self._spaces.entry
        self.small = theme.text_font(TypeSize.HEAD, grows=False)
        self.secondary = theme.text_font(TypeSize.SECONDARY, grows=False)
        self.text_width = QFontMetricsF(self.body).averageCharWidth()
        self.code_width = QFontMetricsF(self.code).horizontalAdvance("0")
        self._formats: dict[tuple[int, int], QTextCharFormat] = {}
        self._headings: dict[int, QFont] = {}
        self._tints: dict[Tint, QTextCharFormat] = {}
        self._looks: LookFormats | None = None
        self._spaced = QTextCharFormat()
        self._spaced.setFontLetterSpacingType(QFont.SpacingType.AbsoluteSpacing)
        self._spaced.setFontLetterSpacing(PILL_PADDING)

    def font(self, block: Block) -> QFont:
        match block.kind:
            case "heading":
                return self.heading_font(block.level)
            case "code":
                return self.code
            case _:
                return self.body

    def heading_font(self, level: int) -> QFont:
        if level not in self._headings:
            size = TypeSize.TITLE * self._growth if level <= _TITLE_LEVEL else self.theme.sizes.chat
            font = self.theme.text_font(size, grows=False)
            font.setWeight(QFont.Weight.Bold if level == 1 else QFont.Weight.DemiBold)
            self._headings[level] = font
        return self._headings[level]

    def line_height(self, block: Block) -> int:
        match block.kind:
            case "heading":
                return round(self._spaces.title_line * self._growth) if block.level <= _TITLE_LEVEL else self.text_line
            case "code":
                return self.code_line
            case _:
                return self.text_line

    def format(self, style: int, level: int = 0) -> QTextCharFormat:
        """Return the character format of a sum of inline styles, in body text or in a heading of `level`."""
        key = (style, level)
        if key not in self._formats:
            text_format = QTextCharFormat()
            font = QFont(self.code if style & CODE else self.heading_font(level) if level else self.body)
            if style & BOLD:
                font.setWeight(QFont.Weight.Bold)
            if style & ITALIC:
                font.setItalic(True)
            if style & STRIKE:
                font.setStrikeOut(True)
            text_format.setFont(font)
            if style & LINK:
                text_format.setForeground(QColor(self.colours.accent_text))
                text_format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
                text_format.setUnderlineColor(QColor(self.colours.accent))
            elif style & MUTED:
                text_format.setForeground(QColor(self.colours.muted))
            self._formats[key] = text_format
        return self._formats[key]

    def formats(
        self, spans: Sequence[InlineSpan], level: int = 0, *, is_isolated: bool = False
    ) -> list[tuple[int, int, QTextCharFormat]]:
        """Return the formats of inline spans, with space on both sides of code for its background."""
        found: list[tuple[int, int, QTextCharFormat]] = []
        for span in spans:
            found.append((span.start, span.length, self.format(span.style, level)))
            if span.style & CODE and not is_isolated:
                # Letter spacing comes to the right of a letter: one on the left of the code, and one at its end.
                if span.start:
                    found.append((span.start - 1, 1, self._spaced))
                found.append((span.start + span.length - 1, 1, self._spaced))
        return found

    def colour(self, role: str) -> QColor:
        return QColor(getattr(self.colours, role))

    def foreground(self, role: str) -> QTextCharFormat:
        return foreground(self.colour(role))

    def mark(self, look: PrintedStyle | Tint) -> QTextCharFormat:
        if isinstance(look, Tint):
            if look not in self._tints:
                made = QTextCharFormat()
                if look.is_secondary:
                    made.setFont(self.secondary)
                if look.text:
                    made.setForeground(self.colour(look.text))
                if look.ground:
                    made.setBackground(self.colour(look.ground))
                if look.is_bold:
                    made.setFontWeight(QFont.Weight.DemiBold)
                if look.is_spaced:
                    made.merge(self._spaced)
                made.setFontStrikeOut(look.is_struck)
                made.setFontUnderline(look.is_underlined)
                self._tints[look] = made
            return self._tints[look]
        if self._looks is None:
            self._looks = LookFormats(self.colours, self.colours.sunken)
        return self._looks.format(look)

    def highlight(self, background: str, foreground: str) -> QTextCharFormat:
        text_format = self.foreground(foreground)
        text_format.setBackground(self.colour(background))
        return text_format

    def gap(self, before: Block | None, block: Block) -> int:
        if before is None or block.joint is not None:
            return 0
        spaces = self._spaces
        if block.kind == "heading":
            return spaces.title if block.level <= _TITLE_LEVEL else spaces.heading
        if before.kind == "heading":
            return spaces.block - Space.XS // 2
        if "l" in before.containers and "l" in block.containers and "code" not in (before.kind, block.kind):
            return spaces.item
        return spaces.block

    def indent(self, containers: str) -> int:
        near = containers[:MOST_INDENTS]
        return near.count("l") * LIST_INDENT + near.count("q") * QUOTE_INDENT


def code_padding(block: Block, *, is_continued: bool) -> tuple[int, int]:
    """Return the space above and below the text in a block of a fence, within the fence's background."""
    return (CODE_HEADER if block.joint is None else 0), (0 if is_continued else CODE_PADDING_Y)
