"""A saved comment, as it stands between the lines of a diff."""

from PySide6.QtCore import QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QPen, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QWidget

from desktop_agent.core.protocol.model import LineComment
from desktop_agent.ui.review.diff.diff_words import comment_label
from desktop_agent.ui.theme import Radius, Space, Theme, TypeSize
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import STRETCH, hbox

_HEAD_HEIGHT = 30
_PAD = 12
_BOTTOM = 10
_LINE_SPACING = 1.35


class WrappedText:
    """A user's text in lines of some width; words too long for a line are broken."""

    def __init__(self, text: str, font: QFont, width: float) -> None:
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._layout = QTextLayout(text.replace("\n", "\u2028"), font)
        self._layout.setTextOption(option)
        self._layout.setCacheEnabled(True)
        self.height = 0.0
        self._layout.beginLayout()
        while (line := self._layout.createLine()).isValid():
            line.setLineWidth(max(width, 40))
            line.setPosition(QPointF(0, self.height))
            self.height += line.height() * _LINE_SPACING
        self._layout.endLayout()

    def draw(self, painter: QPainter, left: float, top: float) -> None:
        """Paint the lines with the painter's pen."""
        self._layout.draw(painter, QPointF(left, top))


def card_height(text: str, theme: Theme, width: int) -> int:
    """Return how high the card of a comment is, without making it."""
    wrapped = WrappedText(text, theme.text_font(TypeSize.SECONDARY), width - 2 * _PAD)
    return _HEAD_HEIGHT + round(wrapped.height) + _BOTTOM


class CommentCard(QWidget):
    """Shows one comment, with buttons to edit and to remove it.

    Signals:
        edit_clicked, remove_clicked: the user wants it.
    """

    edit_clicked = Signal()
    remove_clicked = Signal()

    def __init__(self, comment: LineComment, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.comment = comment
        self._theme = theme
        self._heading = comment_label(comment)
        self._wrapped: WrappedText | None = None
        self.setObjectName("commentCard")
        self.setAccessibleName(f"{self._heading}: {comment.text}")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._edit = make_button(
            self.tr("Edit"), object_name="editCommentButton", clicked=self.edit_clicked, variant="flat", is_compact=True
        )
        self._edit.setAccessibleName(self.tr("Edit the comment: {0}").format(self._heading))
        remove = make_button(
            self.tr("Remove"),
            object_name="removeCommentButton",
            clicked=self.remove_clicked,
            variant="flat",
            is_compact=True,
        )
        remove.setAccessibleName(self.tr("Remove the comment: {0}").format(self._heading))
        top = Qt.AlignmentFlag.AlignTop
        hbox(STRETCH, (self._edit, top), (remove, top), on=self, margins=(_PAD, Space.XS, Space.XS, 0))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.colour("accent"), 1))
        painter.setBrush(self._theme.colour("accent_weak"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), Radius.CARD, Radius.CARD)
        heading = self._theme.text_font(TypeSize.SECONDARY)
        heading.setBold(True)
        painter.setFont(heading)
        painter.setPen(self._theme.colour("text"))
        head = QRect(_PAD, 0, max(0, self._edit.x() - _PAD - Space.XS), _HEAD_HEIGHT)
        text = painter.fontMetrics().elidedText(self._heading, Qt.TextElideMode.ElideRight, head.width())
        painter.drawText(head, Qt.AlignmentFlag.AlignVCenter, text)
        self._wrapped = self._wrapped or WrappedText(
            self.comment.text, self._theme.text_font(TypeSize.SECONDARY), self.width() - 2 * _PAD
        )
        self._wrapped.draw(painter, _PAD, _HEAD_HEIGHT)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._wrapped = None
        super().resizeEvent(event)
