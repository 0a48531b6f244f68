"""What the model wrote: markdown that grows, with buttons on every fence and links for the keyboard."""

from typing import ClassVar

from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.events import CommandRun
from desktop_agent.core.transcript import TextEntry
from desktop_agent.ui.chat.entries.base import EntryPlace
from desktop_agent.ui.chat.entries.fence_buttons import FenceAct, FenceButtons
from desktop_agent.ui.chat.entries.linked import LinkedEntry
from desktop_agent.ui.chat.markdown.blocks import bounded
from desktop_agent.ui.chat.markdown.code_targets import is_for_a_file, named_paths
from desktop_agent.ui.chat.markdown.stream import MarkdownStream
from desktop_agent.ui.chat.text.column import Column, Slice
from desktop_agent.ui.chat.transcript.row_state import RowState
from desktop_agent.ui.translation.core_words import answer_words

SPOKEN_CHARS = 4_000
"""How much of a text is its accessible name: a screen reader reads all of it in one go."""
READ_S = 0.003
"""How long one step of the window reads a text that came in one piece. The rest is for the next frames."""
_PIECE_CHARS = 1_024
_PIECE_LINES = 64
"""How much is read without a look at the time; little, because what a stream has not settled it parses again."""
_FIRST_CHARS = 8_192
_FIRST_LINES = 80
"""So much is read at first in any case: nearly every answer is shown whole at once."""


def read_on(row: RowState, entry: TextEntry | CommandRun, time: Slice | None = None) -> int:
    """Bring the row's stream up to date with its entry; return the first block that changed.

    With a `time`, only until that is over: call it again while `is_behind`.
    """
    if row.stream is None:
        row.stream = MarkdownStream()
    stream = row.stream
    text, is_open = _text_of(entry)
    changed = len(stream.blocks)
    at = start = stream.consumed
    while at < len(text):
        if time is not None and at > start and time.is_over():
            return changed
        end = bounded(text, at, _PIECE_CHARS, _PIECE_LINES) if at else bounded(text, 0, _FIRST_CHARS, _FIRST_LINES)
        changed = min(changed, stream.feed(text[at:end]))
        at = stream.consumed
    if not is_open and not stream.is_closed:
        changed = min(changed, stream.close())
    return changed


def is_behind(row: RowState, entry: TextEntry | CommandRun) -> bool:
    """Whether there is more of the entry than its stream has read."""
    stream = row.stream
    text, is_open = _text_of(entry)
    return stream is not None and (stream.consumed < len(text) or not (is_open or stream.is_closed))


def _text_of(entry: TextEntry | CommandRun) -> tuple[str, bool]:
    """Return the text, and whether more may come."""
    return (answer_words(entry.output), False) if isinstance(entry, CommandRun) else (entry.text, entry.is_open)


class MarkdownWidget(LinkedEntry):
    """Markdown in an entry."""

    writes_files: ClassVar[bool] = False
    """Whether its code can be applied to a file."""

    def __init__(self, place: EntryPlace, *, ink: str = "text") -> None:
        super().__init__(place, Column(place.styles, ink=ink))
        self._is_new = True
        self._arranged: object = None
        self._fences = FenceButtons(self)
        self._fences.wanted.connect(self._on_wanted)
        self._fences.changed.connect(self._arrange_again)
        self._wanted: tuple[FenceAct, int] | None = None
        """What will be done with a fence when all of it is read."""

    @property
    def is_behind(self) -> bool:
        return is_behind(self.row, self._written())

    def _written(self) -> TextEntry | CommandRun:
        entry = self.row.entry
        assert isinstance(entry, TextEntry | CommandRun)
        return entry

    def read(self) -> None:
        """Take in what was added to the entry."""
        changed = 0 if self._is_new else len(self.column.text.blocks)
        changed = min(changed, read_on(self.row, self._written(), Slice(READ_S)))
        self._is_new = False
        stream = self.row.stream
        assert stream is not None
        self.column.set_blocks(stream.blocks, stream.references, changed)
        top = self.column_origin.y() + self.column.top(max(0, changed - 1))
        self.update(0, top, self.width(), max(0, self.height() - top))
        self._do_wanted()

    def source(self) -> str:
        return self.row.stream.source if self.row.stream is not None else ""

    # -- buttons on fences --

    def arrange(self) -> None:
        """Put the buttons on every fence that is laid out."""
        state = (self.column.revision, self.is_column_shown, self.column_origin.y())
        if state == self._arranged:
            return
        self._arranged = state
        frames = self.column.code_frames() if self.is_column_shown else []
        self._fences.place(self.column_origin, [(index, frame, self._is_for_file(index)) for index, frame in frames])
        self.offer_links()

    def tab_stops(self) -> list[QWidget]:
        buttons = self._fences.in_order()
        return [*(each for each in super().tab_stops() if each not in buttons), *buttons]

    def _arrange_again(self) -> None:
        self._arranged = None
        self.arrange()

    def _is_for_file(self, index: int) -> bool:
        if not self.writes_files or self._written_is_open():
            return False
        block = self.column.text.blocks[index]
        return is_for_a_file(block.language, named_paths(self.source(), block.start, block.content))

    def _written_is_open(self) -> bool:
        return _text_of(self._written())[1]

    def _on_wanted(self, act: FenceAct, index: int) -> None:
        self._wanted = (act, index)
        self._do_wanted()

    def _do_wanted(self) -> None:
        """Do what was asked for with a fence, unless a long answer is still being read: then when it was."""
        if self._wanted is None or self.is_behind:
            return
        (act, index), self._wanted = self._wanted, None
        code = self.column.text.code(index)
        if act == "apply":
            paths = named_paths(self.source(), self.column.text.blocks[index].start, code)
            self.entry_actions.apply_requested.emit(code, paths)
            return
        QGuiApplication.clipboard().setText(code)
        self._fences.say_copied(index)

    def hideEvent(self, event: QHideEvent) -> None:
        self._fences.stop()
        super().hideEvent(event)


class TextWidget(MarkdownWidget):
    """An answer of the model."""

    writes_files: ClassVar[bool] = True
    is_tab_stop: ClassVar[bool] = True

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place)
        self.refresh()

    def refresh(self) -> None:
        self.read()
        entry = self.row.entry_as(TextEntry)
        if entry.is_open:
            self.setAccessibleName(self.tr("Answer, being written"))
        else:
            self.setAccessibleName(self.tr("Answer: {text}").format(text=" ".join(entry.text[:SPOKEN_CHARS].split())))
