"""The base of every tool card's body, its text, and the source of contents that the transcript only names.

A body provides its text, whether it is open at first, and what is placed around the text. The text exists whether or
not a widget shows it, because it is also searched and copied.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeVar

from PySide6.QtCore import QObject, QRect, QSize, Signal
from PySide6.QtGui import QPainter
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import BlobRef, FileChange, FileDiff
from desktop_agent.core.terminal.rows import PrintedStyle
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.content_chip import CardPicture, read_picture
from desktop_agent.ui.chat.entries.entry import EntryRow, EntryWidget
from desktop_agent.ui.chat.markdown.blocks import Block, code_parts
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.styles import TextMark, Tint
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.text_colours import Lexers
from desktop_agent.ui.wording.visible_text import utf16_length

Result = TypeVar("Result")


class CardSource(Protocol):
    """Reads and compares off the window's thread. Raises `AgentError` when content cannot be read."""

    async def change_diff(self, change: FileChange) -> FileDiff: ...

    async def blob(self, ref: BlobRef) -> bytes: ...


class CardLoader(NamedTuple):
    """A source, and what runs its coroutines and reports their errors."""

    source: CardSource
    spawn: Callable[[Coroutine[object, object, None]], None]


async def in_thread(work: Callable[[], Result]) -> Result:
    import asyncio  # not before the window is painted (ADR 5)

    return await asyncio.to_thread(work)


async def picture_of(source: CardSource, ref: BlobRef, most: QSize) -> CardPicture:
    return await in_thread(partial(read_picture, await source.blob(ref), most))


PARAGRAPH = "\n\n"
SHOWN_LINES = 12


class Content(NamedTuple):
    """Lines of text with their styles. `code` uses the code font and is cut at the edge, not wrapped."""

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
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._marks: list[TextMark] = []
        self.at = 0
        """Where the next piece begins, in UTF-16 units."""

    def add(self, text: str, look: PrintedStyle | Tint | None = None, href: str = "") -> None:
        length = utf16_length(text)
        if length and (look is not None or href):
            self._marks.append(TextMark(self.at, length, look or Tint(), href))
        self._parts.append(text)
        self.at += length

    def mark(self, mark: TextMark) -> None:
        self._marks.append(mark)

    def end_line(self) -> None:
        self.add("\n")

    def end_paragraph(self) -> None:
        """Leave some room before what comes next, if there is text already. Call it after `end_line`."""
        if self.at and self._parts[-1] == "\n":
            self.add("\n")

    def content(self, kind: Literal["code", "plain"] = "code", *, has_paragraphs: bool = False) -> Content:
        text = "".join(self._parts)
        text = text.rstrip("\n") if has_paragraphs else text.removesuffix("\n")
        return Content(text, tuple(self._marks), kind, has_paragraphs)


def one_line(text: str, limit: int) -> str:
    """Return `text` as one line of at most `limit` characters, with invisible characters named."""
    line = named(text[: limit + 1].replace("\r\n", " ").replace("\n", " ").replace("\t", " "))
    return line if len(line) <= limit else line[: limit - 1] + "…"


class Bar(NamedTuple):
    """A line above or below the text that says what is hidden, with a button to show it."""

    text: str = ""
    button: str = ""
    is_above: bool = False


class ToolBody(QObject):
    """The inside of one card. What it says comes from the entry; what the user opened in it is kept in the row."""

    changed = Signal()  # it says something else now, by itself
    unfolded = Signal()  # it says more or less now, because the user wanted it

    ground: ClassVar[str] = "sunken"
    """The colour role of its background."""
    is_result: ClassVar[bool] = False
    """Whether the result is what the user wants to see: it unfolds even if all went well."""

    def __init__(self, card: EntryWidget, loader: CardLoader | None) -> None:
        super().__init__(card)
        self.row = card.row
        self.styles = card.styles
        self.actions = card.entry_actions
        self._loader = loader
        self._loading: set[str] = set()

    # -- what it says; needs no widget --

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        raise NotImplementedError

    @classmethod
    def read(cls, row: EntryRow) -> Content:
        raise NotImplementedError

    @classmethod
    def copied(cls, row: EntryRow) -> str:
        return cls.read(row).text

    @classmethod
    def is_open_at_first(cls, row: EntryRow) -> bool:
        return cls.is_result or entry_of(row).state != "completed"

    # -- around the text --

    @property
    def left(self) -> int:
        return Space.M

    def bar(self) -> Bar | None:
        return None

    def on_bar_clicked(self) -> None:
        """Show what the bar offers: by default the whole output."""
        self.actions.output_requested.emit(entry_of(self.row))

    def load(self) -> None:
        """Load what it needs; emits `changed` when it is there. Called whenever it is unfolded."""

    def fetch(self, key: str, work: Callable[[CardSource], Coroutine[object, object, object]]) -> None:
        """Keep the result of `work`, or its `AgentError`, in the row under `key`; only once per key."""
        if self._loader is not None and key not in self.row.loaded and key not in self._loading:
            self._loading.add(key)
            self._loader.spawn(self._fetch(key, work(self._loader.source)))

    async def _fetch(self, key: str, work: Coroutine[object, object, object]) -> None:
        try:
            self.row.loaded[key] = await work
        except AgentError as error:
            self.row.loaded[key] = error
        finally:
            self._loading.discard(key)
        if isValid(self):
            self.changed.emit()

    def place(self, area: QRect) -> int:
        return 0

    def set_shown(self, *, is_shown: bool) -> None: ...

    @property
    def has_widgets(self) -> bool:
        return False

    def paint(self, painter: QPainter, column: Column, width: int) -> None:
        """Paint below and beside the text; the painter's origin is the card's left edge, at the top of the text."""

    def follow(self, href: str) -> None: ...

    def colour(self, lexers: Lexers) -> bool:
        """Colour visible code if its lexer is loaded; return whether colours were added."""
        return False


def entry_of(row: EntryRow) -> ToolEntry:
    return row.entry_as(ToolEntry)
