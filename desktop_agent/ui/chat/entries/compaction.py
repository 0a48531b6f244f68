"""A compaction: one line that says what was summarised, and unfolds to the summary that the agent reads instead."""

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter

from desktop_agent.core.context.summaries import summary_text
from desktop_agent.core.transcript import CompactionEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.entries.base import EntryPlace, EntryWidget
from desktop_agent.ui.chat.entries.fold import INDENT, LabelLine
from desktop_agent.ui.chat.flow import flow
from desktop_agent.ui.chat.markdown.stream import MarkdownStream
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.widgets.buttons import SmallButton


class CompactionWidget(EntryWidget):
    """The line, and below it the summary with what can be done to it while it is in force."""

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place, Column(place.styles, ink="muted"))
        self._width = 0
        self._buttons_height = 0
        self._source = ""
        self._line = LabelLine(place.styles, self)
        self._line.clicked.connect(self._on_clicked)
        edit, undo = place.actions.summary_edit_requested, place.actions.summary_undo_requested
        spoken = self.tr("Undo the summary")
        self._edit = SmallButton(self.tr("Edit…"), self, name="editSummaryButton", clicked=edit)
        self._undo = SmallButton(self.tr("Undo"), self, name="undoCompactionButton", spoken=spoken, clicked=undo)
        self._undo.setToolTip(self.tr("The agent sees the older turns word by word again"))
        self.column_origin = QPoint(INDENT, Height.SMALL_BUTTON + Space.XS)
        self.refresh()

    @property
    def is_column_shown(self) -> bool:
        return bool(self.row.is_unfolded)

    def refresh(self) -> None:
        entry = self.row.entry_as(CompactionEntry)
        self._line.say(entry_words.compaction(entry), is_unfolded=self.is_column_shown)
        self.setAccessibleName(self._line.text())
        source = summary_text(entry.summary)
        if self.is_column_shown and source != self._source:
            self._source = source
            stream = MarkdownStream()
            stream.feed(source)
            stream.close()
            self.column.set_blocks(stream.blocks, stream.references, 0)
        for button in (self._edit, self._undo):
            button.setVisible(self.is_column_shown and entry.is_in_force)
        if self._width:
            self.set_width(self._width)
        self.update()

    def set_width(self, width: int) -> None:
        self._width = width
        self._line.setGeometry(0, 0, width, Height.SMALL_BUTTON)
        self.column.set_width(width - INDENT)
        buttons = [button for button in (self._edit, self._undo) if not button.isHidden()]
        area = QRect(INDENT, self._text_bottom() + Space.S, width - INDENT, 0)
        self._buttons_height = Space.S + flow(buttons, area) if buttons else 0

    def entry_height(self) -> int:
        return self._text_bottom() + self._buttons_height if self.is_column_shown else Height.SMALL_BUTTON

    def arrange(self) -> None:
        self.set_width(self._width)  # what is above the buttons may have been laid out only now

    def source(self) -> str:
        return self._source

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        if self.is_column_shown:
            self._line.paint_rule(painter, self.column_origin.y(), self._text_bottom())

    def _text_bottom(self) -> int:
        return self.column_origin.y() + self.column.height

    def _on_clicked(self) -> None:
        self.row.is_unfolded = not self.row.is_unfolded
        self.refresh()
        self.resized.emit()
