"""A text view for outputs of any length: colours are put on what is in sight, when it is painted."""

from PySide6.QtCore import QMimeData, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.ui.terminal.document import PrintedDocument
from desktop_agent.ui.terminal.formats import LookFormats, format_ranges
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.wording.visible_text import utf16_length

_SIGN = "↪"
_SIGN_WIDTH = 18


class PrintedView(QPlainTextEdit):
    """Read-only text with the colours its program gave it. A sign stands before what goes on with the row above."""

    def __init__(self, theme: Theme, document: PrintedDocument, parent: QWidget | None = None) -> None:
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
        if document.continued:
            self.document().setDocumentMargin(_SIGN_WIDTH)
        theme.changed.connect(self._on_theme_changed)

    def _new_formats(self) -> LookFormats:
        return LookFormats(self._theme.colours, self._theme.colours.surface)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._printed.runs:
            self._colour_what_is_seen()
        super().paintEvent(event)
        if self._printed.continued:
            self._paint_signs()

    def _paint_signs(self) -> None:
        """Paint the sign at the left edge, wherever the text is scrolled to."""
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        block = self.firstVisibleBlock()
        area = self.blockBoundingGeometry(block).translated(self.contentOffset())
        while block.isValid() and area.top() < self.viewport().height():
            if block.blockNumber() in self._printed.continued:
                place = QRectF(0, area.top(), _SIGN_WIDTH - 2, area.height())
                painter.fillRect(place, self._theme.colour("surface"))
                painter.setPen(self._theme.colour("muted"))
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter, _SIGN)
            block = block.next()
            area = self.blockBoundingGeometry(block).translated(self.contentOffset())
        painter.end()

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy what was printed as one line as one line."""
        if not self._printed.continued:
            return super().createMimeDataFromSelection()
        cursor, data = self.textCursor(), QMimeData()
        start, end = cursor.selectionStart(), cursor.selectionEnd()
        block = first = self.document().findBlock(start)
        parts: list[str] = []
        while block.isValid() and block.position() <= end:
            if block != first and block.blockNumber() not in self._printed.continued:
                parts.append("\n")
            text, at = block.text(), block.position()
            parts.append(text[_characters(text, max(0, start - at)) : _characters(text, end - at)])
            block = block.next()
        data.setText("".join(parts))
        return data

    def find_next(self, text: str) -> bool:
        """Select the next place with `text`, not minding case, from the beginning again after the last."""
        if self._printed.continued:
            return self._find_over_rows(text)
        if self.find(text, QTextDocument.FindFlag(0)):
            return True
        self.moveCursor(QTextCursor.MoveOperation.Start)
        return self.find(text, QTextDocument.FindFlag(0))

    def _find_over_rows(self, text: str) -> bool:
        cursor = self.textCursor()
        end = self.document().findBlock(cursor.selectionEnd())
        offset = _characters(end.text(), cursor.selectionEnd() - end.position())
        found = self._printed.find(text, end.blockNumber(), offset)
        if found is None:
            return False
        row, start, last, stop = found
        cursor.setPosition(self._position(row, start))
        cursor.setPosition(self._position(last, stop), QTextCursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)
        return True

    def _position(self, row: int, offset: int) -> int:
        block = self.document().findBlockByNumber(row)
        return block.position() + utf16_length(block.text()[:offset])

    def _colour_what_is_seen(self) -> None:
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top < self.viewport().height():
            if block.userState() != self._generation:
                block.setUserState(self._generation)
                runs = self._printed.runs.get(block.blockNumber(), ())
                formats = ((run.start, run.length, self._formats.format(run.look)) for run in runs)
                block.layout().setFormats(format_ranges(formats))
            top += self.blockBoundingRect(block).height()
            block = block.next()

    def _on_theme_changed(self) -> None:
        self._formats = self._new_formats()
        self._generation += 1
        self.viewport().update()


def _characters(text: str, units: int) -> int:
    """Return how many characters the first UTF-16 units of `text` are."""
    if text.isascii():
        return min(units, len(text))
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))
