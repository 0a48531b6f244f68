"""The selected text of a transcript: drawn by the rows, put on the clipboard. Imported with the first entry."""

from PySide6.QtGui import QGuiApplication

from desktop_agent.ui.chat.text.column_text import END
from desktop_agent.ui.chat.transcript.copying import copied_selection
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.chat.transcript.selection import START, TranscriptPosition, TranscriptSelection

_MOST_ROWS = 8
"""Selecting more than these does not copy by itself: that would take long."""


class SelectedText:
    """Shows a `TranscriptSelection` and copies it."""

    def __init__(self, layout: RowLayout) -> None:
        self.selection = TranscriptSelection()
        """What is selected. Call `show` after changing it."""
        self._layout = layout

    def select_all(self) -> None:
        """Select the whole conversation."""
        rows = self._layout.rows
        if len(rows):
            last = TranscriptPosition(rows[len(rows) - 1], END)
            self.selection.select(TranscriptPosition(rows[0], START), last)
            self.show()

    def clear(self) -> None:
        """Select nothing."""
        self.selection.clear()
        self.show()

    def text(self) -> str:
        """Return what copying gives: text as shown within a paragraph, markdown source beyond."""
        widgets = self._layout.widgets
        return copied_selection(self.selection, self._layout.rows, lambda row: row.widget or widgets.create(row))

    def copy(self) -> None:
        """Put the selected text on the clipboard."""
        if text := self.text():
            QGuiApplication.clipboard().setText(text)

    def show(self) -> None:
        """Draw the selection as it is now; where selecting is copying already, as on X11, copy it."""
        for row in self._layout.widgets.live:
            if row.widget is not None and row.widget.column.highlights.select(self.selection.range_in(row)):
                row.widget.update()
        clipboard, ends = QGuiApplication.clipboard(), self.selection.ends()
        if not clipboard.supportsSelection() or ends is None or ends[1].row.index - ends[0].row.index >= _MOST_ROWS:
            return
        if text := self.text():
            clipboard.setText(text, clipboard.Mode.Selection)
