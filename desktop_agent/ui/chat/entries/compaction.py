"""A compaction: one line that says what was summarised, and unfolds to the summary that the agent reads instead."""

from typing import ClassVar

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter

from desktop_agent.core.context.summaries import summary_text
from desktop_agent.core.transcript import CompactionEntry
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.entries.base import EntryPlace, EntryWidget
from desktop_agent.ui.chat.entries.fold import INDENT, LabelLine
from desktop_agent.ui.chat.markdown.stream import MarkdownStream
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.theme import Height, Space
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import flow


class CompactionWidget(EntryWidget):
    """The line, and below it the summary with what can be done to it while it is in force."""

    is_folding: ClassVar[bool] = True

    def __init__(self, place: EntryPlace) -> None:
        super().__init__(place, Column(place.styles, ink="muted"))
        self._width = 0
        self._buttons_height = 0
        self._source = ""
        self._line = LabelLine(self)
        edit, undo = place.actions.summary_edit_requested, place.actions.summary_undo_requested
        self._edit = make_button(
            self.tr("Edit…"), object_name="editSummaryButton", clicked=edit, parent=self, is_compact=True
        )
        self._undo = make_button(
            self.tr("Undo"),
            object_name="undoCompactionButton",
            clicked=undo,
            accessible_name=self.tr("Undo the summary"),
            parent=self,
            is_compact=True,
        )
        self._undo.setToolTip(self.tr("The agent sees the older turns word by word again"))
        self.column_origin = QPoint(INDENT, Height.SMALL_BUTTON + Space.XS)
        self.refresh()

    def refresh(self) -> None:
        entry = self.row.entry_as(CompactionEntry)
        self._line.say(entry_words.compaction(entry))
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
        super().set_width(width)
        buttons = [button for button in (self._edit, self._undo) if not button.isHidden()]
        area = QRect(INDENT, super().entry_height() + Space.S, width - INDENT, 0)
        self._buttons_height = Space.S + flow(buttons, area) if buttons else 0

    def entry_height(self) -> int:
        return super().entry_height() + self._buttons_height if self.is_column_shown else Height.SMALL_BUTTON

    def arrange(self) -> None:
        self.set_width(self._width)  # what is above the buttons may have been laid out only now

    def source(self) -> str:
        return self._source

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        self._line.paint_rule(painter)
