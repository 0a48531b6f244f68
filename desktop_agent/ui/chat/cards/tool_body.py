"""The base class of tool card bodies, their text, and the source of contents outside the transcript.

A body provides its text, whether it is open at first, and widgets around the text. The text exists without a widget,
because it is also searched and copied.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeVar

from PySide6.QtCore import QObject, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol.model import BlobRef, FileChange, FileDiff
from desktop_agent.core.terminal.rows import PrintedStyle
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.entries.entry import EntryRow, EntryWidget
from desktop_agent.ui.chat.markdown.blocks import Block, code_parts
from desktop_agent.ui.chat.text.styles import TextMark, Tint
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.layouts import discard, flow
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture, decode
from desktop_agent.ui.widgets.text_colours import Lexers
from desktop_agent.ui.wording import utf16_length

Result = TypeVar("Result")


class CardSource(Protocol):
    """Reads contents and compares files off the window's thread. Raises `AgentError` if content cannot be read."""

    async def change_diff(self, change: FileChange) -> FileDiff: ...

    async def blob(self, ref: BlobRef) -> bytes: ...

    async def named_picture(self, folder: str, address: str) -> bytes:
        """Return what is at a web address, or at a path in `folder`."""
        ...


class CardLoader(NamedTuple):
    source: CardSource
    spawn: Callable[[Coroutine[object, object, None]], None]

    def fetch(
        self, row: EntryRow, key: str, work: Coroutine[object, object, object], owner: QObject, then: Callable[[], None]
    ) -> None:
        """Store the result of `work`, or its `AgentError`, in the row under `key`; then tell `owner` if it exists."""

        async def run() -> None:
            try:
                row.loaded[key] = await work
            except AgentError as error:
                row.loaded[key] = error
            if isValid(owner):
                then()

        self.spawn(run())


async def in_thread(work: Callable[[], Result]) -> Result:
    import asyncio  # not before the window is painted (ADR 5)

    return await asyncio.to_thread(work)


async def decoded(content: bytes, most: QSize) -> DecodedPicture:
    """Decode a picture from a model or the web. Drawings are not, because they could refer to other files."""
    return await in_thread(partial(decode, content, most, with_drawings=False))


async def picture_of(source: CardSource, ref: BlobRef, most: QSize) -> DecodedPicture:
    return await decoded(await source.blob(ref), most)


PARAGRAPH = "\n\n"
SHOWN_LINES = 12


class Content(NamedTuple):
    """Lines of text with their styles. `code` uses the code font and is cut at the edge instead of wrapped."""

    text: str = ""
    marks: tuple[TextMark, ...] = ()
    kind: Literal["code", "plain"] = "code"
    has_paragraphs: bool = False
    """Whether `PARAGRAPH` separates parts with some room between them."""

    def blocks(self) -> tuple[list[Block], Sequence[Sequence[TextMark]]]:
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
        """Where the next added text begins, in UTF-16 units."""

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
        """Leave a gap before the next text, if there is text already. Call this after `end_line`."""
        if self.at and self._parts[-1] == "\n":
            self.add("\n")

    def content(self, kind: Literal["code", "plain"] = "code", *, has_paragraphs: bool = False) -> Content:
        text = "".join(self._parts)
        text = text.rstrip("\n") if has_paragraphs else text.removesuffix("\n")
        return Content(text, tuple(self._marks), kind, has_paragraphs)


def short_line(text: str, limit: int) -> str:
    line = named(text[: limit + 1].replace("\r\n", " ").replace("\n", " ").replace("\t", " "))
    return line if len(line) <= limit else line[: limit - 1] + "…"


class Bar(NamedTuple):
    text: str = ""
    button: str = ""
    is_above: bool = False


_BAR = 26


class ToolBody(QObject):
    """Puts its text, computed from the entry, into the card's column. The row stores what the user opened."""

    changed = Signal()  # the content changed without the user
    unfolded = Signal()  # the user folded or unfolded a part

    ground: ClassVar[str] = "sunken"
    is_result: ClassVar[bool] = False
    """Whether the result is what the user wants to see. If so, it is unfolded at first even if all went well."""

    def __init__(self, card: EntryWidget, loader: CardLoader | None) -> None:
        super().__init__(card)
        self.row = card.row
        self.styles = card.styles
        self.actions = card.entry_actions
        self.column = card.column
        self.content = Content()
        self.widgets: Sequence[QWidget] = ()
        self._loader = loader
        self._loading: set[str] = set()
        self._bar: Bar | None = None
        self._widgets_height = 0
        self._text_top = 0
        self._more = compact_button(self.tr("Show all output"), variant="flat", parent=card)
        self._more.clicked.connect(self.on_bar_clicked)
        self._more.hide()

    def drop(self) -> None:
        self._set_shown(is_shown=False)
        discard(self._more)
        self.deleteLater()

    # -- what a family says; needs no widget --

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

    @property
    def left(self) -> int:
        return Space.M

    def bar(self) -> Bar | None:
        return None

    def on_bar_clicked(self) -> None:
        """Show the hidden content; by default, request the whole output."""
        self.actions.output_requested.emit(entry_of(self.row))

    def load(self) -> None:
        """Load the body's contents, then emit `changed`. Called whenever the body is unfolded."""

    def place_widgets(self, area: QRect) -> int:
        return flow(self.widgets, area)

    def paint_beside(self, painter: QPainter, width: int) -> None:
        """Paint below and beside the text. The painter's origin is the card's left edge, at the top of the text."""

    def follow(self, href: str) -> None: ...

    def colour(self, lexers: Lexers) -> bool:
        """Colour visible code if its lexer is loaded. Return whether colours were added."""
        return False

    def fetch(self, key: str, work: Callable[[CardSource], Coroutine[object, object, object]]) -> None:
        """Run `work` once for each key, and store its result or its `AgentError` in the row under `key`."""
        loader = self._loader
        if loader is not None and key not in self.row.loaded and key not in self._loading:
            self._loading.add(key)
            loader.fetch(self.row, key, work(loader.source), self, partial(self._on_fetched, key))

    def _on_fetched(self, key: str) -> None:
        self._loading.discard(key)
        self.changed.emit()

    def show_content(self) -> None:
        self.content = self.read(self.row)
        blocks, marks = self.content.blocks()
        self.column.set_blocks(blocks, {}, 0, marks)

    def show(self, *, is_asked_about: bool) -> None:
        is_shown = self.is_shown and not is_asked_about
        self._bar = self.bar() if is_shown else None
        self._set_shown(is_shown=is_shown)
        if self._is_wanted and not is_asked_about:
            self.load()

    def _set_shown(self, *, is_shown: bool) -> None:
        for widget in self.widgets:
            widget.setVisible(is_shown)

    @property
    def _is_there(self) -> bool:
        return bool(self.content.text or self.widgets)

    @property
    def _is_wanted(self) -> bool:
        unfolded = self.row.is_unfolded
        return self.is_open_at_first(self.row) if unfolded is None else unfolded

    @property
    def is_foldable(self) -> bool:
        return self._is_there or bool(entry_words.asked(entry_of(self.row)))

    @property
    def is_unfolded(self) -> bool:
        """Whether the body is unfolded. For an empty body, whether the rest of the card is."""
        return self._is_wanted if self._is_there else bool(self.row.is_unfolded)

    @property
    def is_shown(self) -> bool:
        return self._is_there and self._is_wanted

    def place(self, width: int) -> QPoint:
        self.column.set_width(width - self.left - Space.M)
        above = _BAR if self._bar is not None and self._bar.is_above else 0
        self._text_top = self.styles.card_line + Space.S + above
        self._widgets_height = 0
        if self.is_shown and self.widgets:
            area = QRect(Space.M, self.styles.card_line + Space.M, width - 2 * Space.M, 0)
            self._widgets_height = self.place_widgets(area) + Space.S
        return QPoint(self.left, self._text_top)

    @property
    def bottom(self) -> int:
        if not self.is_shown:
            return self.styles.card_line
        bar = _BAR if self._bar is not None else 0
        return self.styles.card_line + 2 * Space.S + self.column.height + self._widgets_height + bar

    def arrange(self, width: int) -> None:
        offer = self._bar.button if self._bar is not None else ""
        if offer:
            if self._more.text() != offer:
                self._more.setText(offer)
                self._more.setAccessibleName(offer)
            size = self._more.sizeHint()
            self._more.setGeometry(QRect(QPoint(width - size.width() - Space.XS, self._bar_top()), size))
        self._more.setVisible(bool(offer))

    def _bar_top(self) -> int:
        is_above = self._bar is not None and self._bar.is_above
        return self.styles.card_line + Space.XS if is_above else self.bottom - _BAR - Space.XS // 2

    def paint(self, painter: QPainter, width: int) -> None:
        top = self.styles.card_line
        ground = QRectF(0, top, width, self.bottom - top)
        painter.fillRect(ground, self.styles.colour(self.ground))
        painter.save()
        painter.translate(0, self._text_top)
        self.paint_beside(painter, width)
        painter.restore()
        painter.setPen(self.styles.colour("border"))
        painter.drawLine(ground.topLeft(), ground.topRight())
        if self._bar is not None:
            painter.setFont(self.styles.secondary)
            painter.setPen(self.styles.colour("muted"))
            line = QRectF(Space.M, self._bar_top(), width, 22)
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter, self._bar.text)


def entry_of(row: EntryRow) -> ToolEntry:
    return row.entry_as(ToolEntry)
