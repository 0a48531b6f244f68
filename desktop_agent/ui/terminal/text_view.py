"""A text view for outputs of any length: colours are put on what is in sight, when it is painted."""

from typing import TYPE_CHECKING

from PySide6.QtGui import QPaintEvent, QTextLayout
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.ui.terminal.formats import LookFormats

if TYPE_CHECKING:
    from desktop_agent.ui.terminal.document import PrintedDocument
    from desktop_agent.ui.theme import Theme


class PrintedView(QPlainTextEdit):
    """Read-only text with the colours its program gave it."""

    def __init__(self, theme: "Theme", document: "PrintedDocument", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._printed = document
        self._theme = theme
        self._formats = self._new_formats()
        self._generation = 1
        """Of the formats. A block that was coloured with those in use has it as its state."""
        self.setPlainText(document.text)
        theme.changed.connect(self._on_theme_changed)

    def _new_formats(self) -> LookFormats:
        return LookFormats(self._theme.colours, self._theme.colours.surface)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._printed.has_colours:
            self._colour_what_is_seen()
        super().paintEvent(event)

    def _colour_what_is_seen(self) -> None:
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top < self.viewport().height():
            if block.userState() != self._generation:
                block.setUserState(self._generation)
                found: list[QTextLayout.FormatRange] = []
                for run in self._printed.line(block.blockNumber()).runs:
                    item = QTextLayout.FormatRange()
                    item.start, item.length, item.format = run.start, run.length, self._formats.format(run.look)
                    found.append(item)
                block.layout().setFormats(found)
            top += self.blockBoundingRect(block).height()
            block = block.next()

    def _on_theme_changed(self) -> None:
        self._formats = self._new_formats()
        self._generation += 1
        self.viewport().update()
