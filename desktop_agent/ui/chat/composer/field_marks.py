"""What stands out in the field of a prompt: coloured on a rounded ground, or underlined."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

if TYPE_CHECKING:
    from PySide6.QtWidgets import QTextEdit

_RADIUS = 4


class FieldMarks:
    """The parts of one field's text that stand out."""

    def __init__(self, edit: QPlainTextEdit) -> None:
        self._edit = edit
        self._ground = QColor()
        self._coloured: list[QTextEdit.ExtraSelection] = []
        self._underlined: list[QTextEdit.ExtraSelection] = []
        """Their cursors go along with the text while it is changed."""
        self.spans: Sequence[tuple[int, int]] = ()
        """From where to where each part on a ground goes, in the order of the text."""

    def show(self, spans: Sequence[tuple[int, int]], ground: QColor, colour: QColor) -> None:
        """Let these parts stand out, and no others: text of this colour on a rounded ground."""
        self.spans, self._ground = spans, ground
        text_format = QTextCharFormat()
        text_format.setForeground(colour)
        self._coloured = self._selections(spans, text_format)
        self._apply()

    def underline(self, spans: Sequence[tuple[int, int]], colour: QColor) -> None:
        """Underline these parts, and no others, with waves of this colour, as programs do with misspelled words."""
        text_format = QTextCharFormat()
        text_format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        text_format.setUnderlineColor(colour)
        self._underlined = self._selections(spans, text_format)
        self._apply()

    def _apply(self) -> None:
        self._edit.setExtraSelections([*self._coloured, *self._underlined])

    def _selections(
        self, spans: Sequence[tuple[int, int]], text_format: QTextCharFormat
    ) -> "list[QTextEdit.ExtraSelection]":
        from PySide6.QtWidgets import QTextEdit  # 3 ms, not for an empty window

        selections: list[QTextEdit.ExtraSelection] = []
        for start, end in spans:
            selection = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self._edit.document())
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            selection.cursor = cursor  # pyright: ignore[reportAttributeAccessIssue] - the stubs do not know it
            selection.format = text_format  # pyright: ignore[reportAttributeAccessIssue] - the stubs do not know it
            selections.append(selection)
        return selections

    def paint_grounds(self, viewport: QWidget, offset: QPointF) -> None:
        """Paint what lies under them. `offset` is where the text begins in the viewport."""
        painter = QPainter(viewport)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._ground)
        for start, end in self.spans:
            for area in self._areas_of(start, end):
                painter.drawRoundedRect(area.translated(offset), _RADIUS, _RADIUS)
        painter.end()

    def _areas_of(self, start: int, end: int) -> Iterator[QRectF]:
        """Yield where a part of one paragraph stands, line by line."""
        from desktop_agent.ui.chat.text.passage import x_in  # not for an empty window

        block = self._edit.document().findBlock(start)
        layout, first = block.layout(), block.position()
        top = self._edit.blockBoundingGeometry(block).topLeft()
        for number in range(layout.lineCount()):
            line = layout.lineAt(number)
            begin = max(start - first, line.textStart())
            stop = min(end - first, line.textStart() + line.textLength())
            if begin >= stop:
                continue
            left, right = x_in(line, begin), x_in(line, stop)
            yield QRectF(top.x() + left - 2, top.y() + line.y(), right - left + 4, line.height())
