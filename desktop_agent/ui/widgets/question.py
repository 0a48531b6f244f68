"""A question before an action, and cards to choose one of several answers."""

from collections.abc import Callable

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QMessageBox, QPushButton, QSizePolicy, QWidget

from desktop_agent.ui.theme import Radius, Space, Theme, TypeSize
from desktop_agent.ui.widgets.labels import restyle
from desktop_agent.ui.widgets.rows import draw_box


class Question(QMessageBox):
    def __init__(self, parent: QWidget, name: str, title: str, text: str, more: str = "") -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setWindowTitle(title)
        self.setTextFormat(Qt.TextFormat.PlainText)  # names may look like markup
        self.setText(text)
        self.setInformativeText(more)
        self._answers: list[tuple[QPushButton, Callable[[], object]]] = []
        self.finished.connect(self._on_finished)

    def add_answer(self, words: str, name: str, then: Callable[[], object], *, takes_most: bool = False) -> QPushButton:
        """`takes_most` marks the destructive answer."""
        role = QMessageBox.ButtonRole.DestructiveRole if takes_most else QMessageBox.ButtonRole.AcceptRole
        button = self.addButton(words, role)
        button.setObjectName(name)
        if takes_most:
            restyle(button, "variant", "destructive")  # the box has already styled it
        self._answers.append((button, then))
        return button

    def ask(self, default: QPushButton | None = None) -> None:
        cancel = self.addButton(self.tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        self.setDefaultButton(default or cancel)
        self.setEscapeButton(cancel)
        self.open()

    def _on_finished(self) -> None:
        pressed = self.clickedButton()
        self.deleteLater()
        for button, then in self._answers:
            if button is pressed:
                then()


_PADDING_X = Space.L
_PADDING_Y = Space.M + 2
_LEADING = 1.5


class ChoiceCard(QAbstractButton):
    confirmed = Signal()  # by a double click

    def __init__(self, theme: Theme, title: str, explanation: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._explanation = explanation
        self.setText(title)
        self.setAccessibleName(title)
        self.setAccessibleDescription(explanation)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        # Not `Fixed`: a layout would limit a narrow card to the height of the size hint.
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._title_font = theme.strong_font()
        self._text_font = theme.text_font(TypeSize.SECONDARY)
        theme.changed.connect(self.update)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return 2 * _PADDING_Y + _line_height(self._title_font) + len(self._lines(width)) * _line_height(self._text_font)

    def sizeHint(self) -> QSize:
        return QSize(420, self.heightForWidth(420))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.heightForWidth(max(self.width(), 200)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()  # its minimum height depends on its width

    def _lines(self, width: int) -> list[str]:
        metrics = QFontMetrics(self._text_font)
        room = width - 2 * _PADDING_X
        lines = [""]
        for word in self._explanation.split():
            longer = f"{lines[-1]} {word}".strip()
            if lines[-1] and metrics.horizontalAdvance(longer) > room:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            is_chosen = self.isChecked()
            ground = "accent_weak" if is_chosen else "sunken" if self.underMouse() else "surface"
            border = "accent" if is_chosen or self.hasFocus() else "border"
            colour, width = self._theme.colour, 2 if self.hasFocus() else 1
            draw_box(painter, QRectF(self.rect()), colour(border), colour(ground), Radius.CARD, width)
            line = QRect(_PADDING_X, _PADDING_Y, self.width() - 2 * _PADDING_X, _line_height(self._title_font))
            painter.setFont(self._title_font)
            painter.setPen(self._theme.colour("text"))
            painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text())
            painter.setFont(self._text_font)
            painter.setPen(self._theme.colour("muted"))
            for text in self._lines(self.width()):
                line = QRect(line.left(), line.bottom() + 1, line.width(), _line_height(self._text_font))
                painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(event)
        self.confirmed.emit()


def _line_height(font: QFont) -> int:
    return round(font.pixelSize() * _LEADING) if font.pixelSize() > 0 else QFontMetrics(font).height()
