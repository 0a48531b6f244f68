"""The command in question: shown as it is, and edited in place once the person wants to."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from desktop_agent.ui.chat.text.passage import count_lines
from desktop_agent.ui.chat.text.styles import TextStyles

_MAX_LINES = 8
_FRAME = 14
"""Height of border and padding together."""
_SIDES = 22
"""Width of border, padding and margins together."""


class CardCommand(QPlainTextEdit):
    """A field as high as its command, read-only at first."""

    def __init__(self, command: str, styles: TextStyles, parent: QWidget) -> None:
        super().__init__(command, parent)
        self._styles = styles
        self.setFont(styles.code)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTabChangesFocus(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Command"))
        self.document().setDocumentMargin(2)

    def set_editable(self, *, is_editable: bool) -> None:
        """Let the person change the command, or not."""
        self.setReadOnly(not is_editable)

    def mark(self, parts: Sequence[str]) -> None:
        """Underline these parts of the command: what the question is about."""
        text_format = QTextCharFormat()
        text_format.setFontUnderline(True)
        text_format.setUnderlineColor(QColor(self._styles.colours.warning_text))
        marks: list[QTextEdit.ExtraSelection] = []
        for part in parts:
            cursor = self.document().find(part, 0)
            if not cursor.isNull():
                mark = QTextEdit.ExtraSelection()
                mark.cursor = QTextCursor(cursor)
                mark.format = text_format
                marks.append(mark)
        self.setExtraSelections(marks)

    def place(self, area: QRect, reserved: int) -> int:
        """Stand at the top of `area`, keeping `reserved` pixels free on the right; return the height."""
        self.setViewportMargins(0, 0, reserved, 0)
        lines = count_lines(self.toPlainText(), self.font(), area.width() - reserved - _SIDES, _MAX_LINES)
        is_long = lines == _MAX_LINES
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if is_long else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        height = lines * self.fontMetrics().lineSpacing() + _FRAME + 4
        self.setGeometry(area.x(), area.y(), area.width(), height)
        return height
