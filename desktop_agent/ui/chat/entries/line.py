"""One quiet line: how a turn ended, or what an undo did."""

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.protocol.events import Rewound, SessionForked, TurnEnded
from desktop_agent.core.transcript import UndoEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.entries.base import EntryPlace, EntryWidget
from desktop_agent.ui.chat.markdown.inline import RichText
from desktop_agent.ui.chat.text.passage import TextPassage
from desktop_agent.ui.chat.text.styles import CODE_LINE
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import make_button

_INDENT = 20


class LineWidget(EntryWidget):
    """A sentence with a sign in front."""

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place)
        self._sign = ""
        """In front of the text; a turn's end has a small square instead."""
        self._text = ""
        self._passage: TextPassage | None = None
        self._open = self._open_button() if isinstance(place.row.entry, SessionForked) else None
        self.refresh()

    def _open_button(self) -> QPushButton:
        button = make_button(
            self.tr("Open it"),
            object_name="openSourceButton",
            clicked=self._on_open,
            variant="flat",
            parent=self,
            is_compact=True,
        )
        button.setAccessibleName(self.tr("Open the conversation this is a copy of"))
        return button

    def _on_open(self) -> None:
        if isinstance(self.row.entry, SessionForked):
            self.entry_actions.session_requested.emit(self.row.entry.source)

    def refresh(self) -> None:
        match self.row.entry:
            case UndoEntry() as entry:
                self._sign, self._text = "↶" if entry.purpose == "undo" else "↷", entry_words.undo(entry)
            case Rewound() as entry:
                self._sign, self._text = "⟲", entry_words.rewind(entry)
            case SessionForked() as entry:
                self._sign, self._text = "↳", entry_words.fork(entry)
            case TurnEnded() as entry:
                self._sign, self._text = "", entry_words.turn_end(entry)
            case entry:
                raise AssertionError(entry)
        self.setAccessibleName(self._text)

    def set_width(self, width: int) -> None:
        font = self.styles.secondary
        room = width - _INDENT
        if self._open is not None:
            size = self._open.sizeHint()
            text_width = int(QFontMetricsF(font).horizontalAdvance(self._text)) + 2
            room = max(0, min(room - size.width() - Space.S, text_width))
            self._open.setGeometry(_INDENT + room + Space.S, 0, size.width(), CODE_LINE)
        self._passage = TextPassage(RichText(self._text), font, (), width=room, line_height=CODE_LINE)

    def entry_height(self) -> int:
        return self._passage.height if self._passage is not None else CODE_LINE

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self._passage is None:
            return
        painter.setFont(self.styles.secondary)
        painter.setPen(self.styles.colour("muted"))
        if self._sign:
            painter.drawText(QPointF(1, 13), self._sign)
        else:
            painter.fillRect(QRectF(3, 6, 7, 7), self.styles.colour("faint"))
        painter.translate(_INDENT, 0)
        self._passage.draw(painter, ())
        painter.translate(-_INDENT, 0)
