"""The numbers beside the lines of an editor that are in view."""

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.ui.theme import Space, Theme

_MIN_DIGITS = 3


class LineNumbers(QWidget):
    """Stands at the left of `editor`, and follows it. A click goes to the line."""

    def __init__(self, theme: Theme, editor: QPlainTextEdit) -> None:
        super().__init__()
        self._theme = theme
        self._editor = editor
        self._digits = _MIN_DIGITS
        editor.updateRequest.connect(self._on_update)
        editor.blockCountChanged.connect(self._fit)
        editor.cursorPositionChanged.connect(self.update)
        theme.changed.connect(self._fit)
        self._fit()

    def sizeHint(self) -> QSize:
        wide = self._editor.fontMetrics().horizontalAdvance("0") * self._digits
        return QSize(Space.M + wide + Space.S, 0)

    def _fit(self) -> None:
        self._digits = max(_MIN_DIGITS, len(str(self._editor.blockCount())))
        self.setFixedWidth(self.sizeHint().width())
        self.update()

    def _on_update(self, _area: QRect, _scrolled: int) -> None:
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self._editor.viewport().mapFromGlobal(event.globalPosition().toPoint())
        at.setX(0)
        self._editor.setTextCursor(self._editor.cursorForPosition(at))
        self._editor.setFocus()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, editor = QPainter(self), self._editor
        painter.fillRect(event.rect(), self._theme.colour("surface"))
        painter.setFont(editor.font())
        current = editor.textCursor().blockNumber()
        block = editor.cursorForPosition(editor.viewport().rect().topLeft()).block()
        shift = editor.viewport().mapTo(editor, QPointF(0, 0)).y()
        height = editor.fontMetrics().height()
        width = self.width() - Space.S
        top = editor.cursorRect(QTextCursor(block)).top() + shift
        layout = editor.document().documentLayout()
        while block.isValid() and top <= self.height():
            painter.setPen(self._theme.colour("text" if block.blockNumber() == current else "faint"))
            number = str(block.blockNumber() + 1)
            painter.drawText(QRectF(0, top, width, height), Qt.AlignmentFlag.AlignRight, number)
            top += layout.blockBoundingRect(block).height()  # to ask for each line's place takes ten times as long
            block = block.next()
        painter.end()
