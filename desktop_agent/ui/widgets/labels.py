"""Labels with a role in the theme, and those that give way."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QTextDocumentFragment
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from desktop_agent.core.base.hidden_text import named

_MIN_WIDTH = 32


def make_label(
    text: str = "",
    *,
    role: str = "",
    object_name: str = "",
    parent: QWidget | None = None,
    wraps: bool = False,
    is_plain: bool = False,
    is_selectable: bool = False,
) -> QLabel:
    """Return a label of this role and object name. In one that `is_plain`, nothing is taken for markup."""
    label = QLabel(text, parent, wordWrap=wraps)
    label.setObjectName(object_name)
    if role:
        label.setProperty("role", role)
    if is_plain:
        label.setTextFormat(Qt.TextFormat.PlainText)
    if is_selectable:
        label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
    return label


class ElidedLabel(QLabel):
    """One line of plain text, elided rather than cut off. What cannot be seen is named; it never widens its window."""

    def __init__(self, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)

    def setText(self, arg__1: str) -> None:
        super().setText(named(arg__1))

    def setToolTip(self, arg__1: str) -> None:
        super().setToolTip(arg__1)
        # Who cannot see it would be read the tool tip with its markup.
        self.setAccessibleDescription(QTextDocumentFragment.fromHtml(arg__1).toPlainText())

    def minimumSizeHint(self) -> QSize:
        whole = super().sizeHint()
        return QSize(min(_MIN_WIDTH, whole.width()), whole.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        text = self.fontMetrics().elidedText(self.text(), self._mode, self.width())
        painter.setFont(self.font())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), self.alignment(), text)
        painter.end()
