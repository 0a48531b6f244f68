"""What the model wrote: markdown that grows, with a Copy button on every fence and links for the keyboard."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QGuiApplication, QHideEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QWidget

from desktop_agent.core.transcript import TextEntry
from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.chat.markdown.stream import MarkdownStream
from desktop_agent.ui.chat.row import Row
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.text.styles import CODE_HEADER, TextStyles
from desktop_agent.ui.theme import Space

if TYPE_CHECKING:
    from desktop_agent.ui.chat.markdown.inline import Span

_SPOKEN_CHARS = 4_000
"""How much of a text is its accessible name: nobody listens to more in one go."""
_COPIED_MS = 1_500


def read_on(row: Row, entry: TextEntry) -> int:
    """Bring the row's stream up to date with its entry; return the first block that changed."""
    if row.stream is None:
        row.stream = MarkdownStream()
    stream = row.stream
    text = entry.text
    changed = stream.feed(text[stream.consumed :]) if stream.consumed < len(text) else len(stream.blocks)
    if not entry.is_open and not stream.is_closed:
        changed = min(changed, stream.close())
    return changed


class MarkdownWidget(EntryWidget):
    """Markdown in an entry, below `top` pixels of something else.

    Signals:
        link_activated: a link was opened with the keyboard.
    """

    link_activated = Signal(str)

    def __init__(self, row: Row, styles: TextStyles, parent: QWidget, *, colour: str = "text") -> None:
        super().__init__(row, styles, parent, Column(styles, text=colour))
        self._is_new = True
        self._arranged: object = None
        self._copy_buttons: dict[int, QPushButton] = {}
        self._spare_buttons: list[QPushButton] = []
        self._copied_timer = QTimer(self, interval=_COPIED_MS, singleShot=True)
        self._copied_timer.timeout.connect(self._on_copied_seen)
        self._focused_link: tuple[int, Span] | None = None

    def entry(self) -> TextEntry:
        """The entry it shows."""
        entry = self.row.entry
        assert isinstance(entry, TextEntry)
        return entry

    def read(self) -> None:
        """Take in what was added to the entry."""
        changed = 0 if self._is_new else len(self.column.blocks)
        changed = min(changed, read_on(self.row, self.entry()))
        self._is_new = False
        stream = self.row.stream
        assert stream is not None
        self.column.set_blocks(stream.blocks, stream.references, changed)
        top = self.column_origin.y() + self.column.top(max(0, changed - 1))
        self.update(0, top, self.width(), max(0, self.height() - top))

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
        has_links = self.is_column_shown and bool(self.column.links())
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if has_links else Qt.FocusPolicy.NoFocus)

    def _take_button(self, index: int) -> QPushButton:
        if self._spare_buttons:
            button = self._spare_buttons.pop()
        else:
            button = QPushButton(self.tr("Copy"), self)
            button.setProperty("variant", "flat")
            button.setProperty("compact", True)
            button.setAccessibleName(self.tr("Copy code"))
            button.clicked.connect(self._on_copy)
        self._copy_buttons[index] = button
        button.show()
        return button

    def _on_copy(self) -> None:
        for index, button in self._copy_buttons.items():
            if button is self.sender():
                QGuiApplication.clipboard().setText(self.column.code(index))
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

    # -- links by keyboard --

    def focusInEvent(self, event: QFocusEvent) -> None:
        links = self.column.links()
        if links:
            self._focused_link = links[-1 if event.reason() == Qt.FocusReason.BacktabFocusReason else 0]
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._focused_link = None
        super().focusOutEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002 - Qt's name
        if self._focused_link is not None and self.hasFocus():
            links = self.column.links()
            at = links.index(self._focused_link) + (1 if next else -1) if self._focused_link in links else -1
            if 0 <= at < len(links):
                self._focused_link = links[at]
                self.update()
                return True
        return super().focusNextPrevChild(next)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._focused_link is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.link_activated.emit(self._focused_link[1].href)
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._focused_link is None:
            return
        index, span = self._focused_link
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(self.column_origin)
        painter.setPen(QPen(self.colour("accent"), 2))
        for rect in self.column.rects(index, span.start, span.start + span.length):
            painter.drawRoundedRect(QRectF(rect).adjusted(-2, -1, 2, 1), 3, 3)
        painter.end()


class TextWidget(MarkdownWidget):
    """An answer of the model."""

    def __init__(self, row: Row, styles: TextStyles, parent: QWidget) -> None:
        super().__init__(row, styles, parent)
        self.refresh()

    def refresh(self) -> None:
        self.read()
        entry = self.entry()
        if entry.is_open:
            self.setAccessibleName(self.tr("Answer, being written"))
        else:
            self.setAccessibleName(self.tr("Answer: {text}").format(text=entry.text[:_SPOKEN_CHARS]))

    def set_width(self, width: int) -> None:
        self.column.set_width(width)

    def entry_height(self) -> int:
        return self.column.height
