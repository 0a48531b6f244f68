"""The text of a card: what is shown, found and copied, whether or not there is a widget for it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.terminal.rows import PrintedStyle
from desktop_agent.ui.chat.markdown.blocks import Block, code_parts
from desktop_agent.ui.chat.text.styles import TextMark, Tint
from desktop_agent.ui.wording.visible_text import utf16_length

PARAGRAPH = "\n\n"
SHOWN_LINES = 12
"""How many lines of something long a card shows."""


class Content(NamedTuple):
    """Lines of text with the looks of their parts. `code` is set in the code font and cut at the edge, not wrapped."""

    text: str = ""
    marks: tuple[TextMark, ...] = ()
    kind: Literal["code", "plain"] = "code"
    has_paragraphs: bool = False
    """Whether `PARAGRAPH` separates parts with some room between them."""

    def blocks(self) -> tuple[list[Block], Sequence[Sequence[TextMark]]]:
        """Return the text in blocks small enough to lay out, and the marks of each."""
        if not self.text:
            return [], ()
        blocks: list[Block] = []
        at = 0
        for paragraph in self.text.split(PARAGRAPH) if self.has_paragraphs else (self.text,):
            for part in code_parts(paragraph):
                start = at + part.start
                blocks.append(Block(self.kind, part.text, start, start + len(part.text), part.joint))
            at += len(paragraph) + len(PARAGRAPH)
        if len(blocks) == 1:
            return blocks, (self.marks,)
        marks: list[list[TextMark]] = []
        for block in blocks:
            start = utf16_length(self.text[: block.start])
            end = start + utf16_length(block.content)
            inside = (mark for mark in self.marks if start <= mark.start < end)
            marks.append([mark._replace(start=mark.start - start) for mark in inside])
        return blocks, marks


class ContentWriter:
    """Builds a `Content` piece by piece."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._marks: list[TextMark] = []
        self.at = 0
        """Where the next piece begins, in UTF-16 units."""

    def add(self, text: str, look: PrintedStyle | Tint | None = None, href: str = "") -> None:
        """Append `text`."""
        length = utf16_length(text)
        if length and (look is not None or href):
            self._marks.append(TextMark(self.at, length, look or Tint(), href))
        self._parts.append(text)
        self.at += length

    def mark(self, mark: TextMark) -> None:
        """Mark what was or will be written."""
        self._marks.append(mark)

    def end_line(self) -> None:
        """Begin a new line."""
        self.add("\n")

    def end_paragraph(self) -> None:
        """Leave some room before what comes next, if anything is there. Behind the end of a line."""
        if self.at and self._parts[-1] == "\n":
            self.add("\n")

    def content(self, kind: Literal["code", "plain"] = "code", *, has_paragraphs: bool = False) -> Content:
        """Return what was written."""
        text = "".join(self._parts)
        text = text.rstrip("\n") if has_paragraphs else text.removesuffix("\n")
        return Content(text, tuple(self._marks), kind, has_paragraphs)


def one_line(text: str, limit: int) -> str:
    """Return `text` as one line of at most `limit` characters, with names for what cannot be seen."""
    line = named(text[: limit + 1].replace("\r\n", " ").replace("\n", " ").replace("\t", " "))
    return line if len(line) <= limit else line[: limit - 1] + "…"
