"""What the model wrote: markdown that grows, with a Copy button on every fence and links for the keyboard."""

from PySide6.QtCore import QPoint, QRect, QTimer
from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.protocol.events import CommandRun
from desktop_agent.core.transcript import TextEntry
from desktop_agent.ui.chat.entries.base import EntryPlace
from desktop_agent.ui.chat.entries.linked import LinkedEntry
from desktop_agent.ui.chat.markdown.blocks import bounded
from desktop_agent.ui.chat.markdown.stream import MarkdownStream
from desktop_agent.ui.chat.slices import Slice
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.styles import CODE_HEADER
from desktop_agent.ui.chat.transcript.row_state import RowState
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button

SPOKEN_CHARS = 4_000
"""How much of a text is its accessible name: a screen reader reads all of it in one go."""
_COPIED_MS = 1_500


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
    return (entry.output, False) if isinstance(entry, CommandRun) else (entry.text, entry.is_open)


class MarkdownWidget(LinkedEntry):
    """Markdown in an entry."""

    def __init__(self, place: EntryPlace, *, ink: str = "text") -> None:
        super().__init__(place, Column(place.styles, ink=ink))
        self._is_new = True
        self._arranged: object = None
        self._copy_buttons: dict[int, QPushButton] = {}
        self._spare_buttons: list[QPushButton] = []
        self._wanted: int | None = None
        """The fence that will be copied when all of it is read."""
        self._copied_timer = QTimer(self, interval=_COPIED_MS, singleShot=True)
        self._copied_timer.timeout.connect(self._on_copied_seen)

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
        self._copy_wanted()

    def source(self) -> str:
        return self.row.stream.source if self.row.stream is not None else ""

    # -- buttons on fences --

    def arrange(self) -> None:
        """Put a Copy button on every fence that is laid out."""
        state = (self.column.revision, self.is_column_shown, self.column_origin.y())
        if state == self._arranged:
            return
        self._arranged = state
        frames = self.column.code_frames() if self.is_column_shown else []
        known = {index for index, _ in frames}
        for index in [index for index in self._copy_buttons if index not in known]:
            button = self._copy_buttons.pop(index)
            button.hide()
            self._spare_buttons.append(button)
        for index, frame in frames:
            button = self._copy_buttons.get(index) or self._take_button(index)
            size = button.sizeHint()
            at = self.column_origin + QPoint(
                frame.right() - size.width() - Space.XS, frame.top() + (CODE_HEADER - size.height()) // 2
            )
            button.setGeometry(QRect(at, size))
        self.offer_links()

    def _take_button(self, index: int) -> QPushButton:
        if self._spare_buttons:
            button = self._spare_buttons.pop()
        else:
            button = make_button(
                self.tr("Copy"),
                clicked=self._on_copy,
                variant="flat",
                accessible_name=self.tr("Copy code"),
                parent=self,
                is_compact=True,
            )
        self._copy_buttons[index] = button
        button.show()
        return button

    def _on_copy(self) -> None:
        self._wanted = next(index for index, button in self._copy_buttons.items() if button is self.sender())
        self._copy_wanted()

    def _copy_wanted(self) -> None:
        """Copy the fence that was asked for, unless a long answer is still being read: then when it was."""
        if self._wanted is None or self.is_behind:
            return
        index, self._wanted = self._wanted, None
        QGuiApplication.clipboard().setText(self.column.text.code(index))
        if (button := self._copy_buttons.get(index)) is not None:
            button.setText(self.tr("Copied"))
            self._arranged = None
            self.arrange()
            self._copied_timer.start()

    def _on_copied_seen(self) -> None:
        for button in [*self._copy_buttons.values(), *self._spare_buttons]:
            button.setText(self.tr("Copy"))
        self._arranged = None
        self.arrange()

    def hideEvent(self, event: QHideEvent) -> None:
        self._copied_timer.stop()
        super().hideEvent(event)


class TextWidget(MarkdownWidget):
    """An answer of the model."""

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place)
        self.refresh()

    def refresh(self) -> None:
        self.read()
        entry = self.row.entry_as(TextEntry)
        if entry.is_open:
            self.setAccessibleName(self.tr("Answer, being written"))
        else:
            self.setAccessibleName(self.tr("Answer: {text}").format(text=entry.text[:SPOKEN_CHARS]))
