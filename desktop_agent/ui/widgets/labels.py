"""Labels that have a theme role, elide, wrap or explain."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QTextDocumentFragment
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from desktop_agent.core.base.plain_text import named
from desktop_agent.ui.wording import quoted

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
    """Return a label. With `is_plain`, its text is not parsed as markup."""
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


def show_text(label: QLabel, text: str) -> None:
    label.setText(text)
    label.setVisible(bool(text))


def restyle(widget: QWidget, name: str, value: str) -> None:
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class ElidedLabel(QLabel):
    """One line of plain text, elided rather than clipped. Names hidden characters, and never widens its window."""

    def __init__(
        self,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        *,
        text: str = "",
        role: str = "",
        object_name: str = "",
        takes_room: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """With `takes_room`, the label takes all the width that its layout offers, whatever its text."""
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText)
        self._mode = mode
        self.setObjectName(object_name)
        if role:
            self.setProperty("role", role)
        width = QSizePolicy.Policy.Ignored if takes_room else QSizePolicy.Policy.Maximum
        self.setSizePolicy(width, QSizePolicy.Policy.Preferred)
        self.setText(text)

    def setText(self, arg__1: str) -> None:
        super().setText(named(arg__1))

    def setToolTip(self, arg__1: str) -> None:
        super().setToolTip(arg__1)
        # Screen readers would read the tool tip with its markup.
        self.setAccessibleDescription(QTextDocumentFragment.fromHtml(arg__1).toPlainText())

    def minimumSizeHint(self) -> QSize:
        whole = super().sizeHint()
        return QSize(min(_MIN_WIDTH, whole.width()), whole.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            text = self.fontMetrics().elidedText(self.text(), self._mode, self.width())
            painter.setFont(self.font())
            painter.setPen(self.palette().color(self.foregroundRole()))
            painter.drawText(self.rect(), self.alignment(), text)


class Note(QLabel):
    """A note in plain text. Nothing is parsed as markup, and backticks become quotation marks."""

    def __init__(self, text: str = "", role: str = "secondary", object_name: str = "") -> None:
        super().__init__(quoted(text))
        self._heights: dict[int, int] = {}
        """The heights that were asked for, by width. They stay valid, because the margins no longer change by then."""
        self.setObjectName(object_name)
        self.setProperty("role", role)
        self.setProperty("note", True)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)

    def setText(self, arg__1: str) -> None:
        self._heights = {}
        super().setText(quoted(arg__1))

    def heightForWidth(self, arg__1: int) -> int:
        height = self._heights.get(arg__1)
        if height is None:
            height = self._heights[arg__1] = super().heightForWidth(arg__1)
        return height

    def changeEvent(self, arg__1: QEvent) -> None:
        if arg__1.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._heights = {}
        super().changeEvent(arg__1)

    def say(self, text: str, role: str = "secondary") -> None:
        self.setText(text)
        restyle(self, "role", role)
