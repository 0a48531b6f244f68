"""A comment below the lines of a diff: the card of a saved comment, and the field to write one."""

from PySide6.QtCore import QEvent, QObject, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.core.protocol.model import LineComment
from desktop_agent.ui.review.diff.diff_words import comment_label
from desktop_agent.ui.theme import Radius, Space, Theme, TypeSize
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, set_names, vbox

_HEAD_HEIGHT = 30
_PAD = 12
_BOTTOM = 10
_LINE_SPACING = 1.35


class WrappedText:
    """A user's text wrapped to a width; overlong words are broken."""

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
        self._layout.draw(painter, QPointF(left, top))


def card_height(text: str, theme: Theme, width: int) -> int:
    wrapped = WrappedText(text, theme.text_font(TypeSize.SECONDARY), width - 2 * _PAD)
    return _HEAD_HEIGHT + round(wrapped.height) + _BOTTOM


class CommentCard(QWidget):
    """Shows one comment, with buttons to edit and to remove it."""

    edit_clicked = Signal()
    remove_clicked = Signal()

    def __init__(self, comment: LineComment, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.comment = comment
        self._theme = theme
        self._heading = comment_label(comment)
        self._wrapped: WrappedText | None = None
        set_names(self, "commentCard", f"{self._heading}: {comment.text}")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._edit = compact_button(self.tr("Edit"), "editCommentButton", clicked=self.edit_clicked, variant="flat")
        self._edit.setAccessibleName(self.tr("Edit the comment: {0}").format(self._heading))
        remove = compact_button(self.tr("Remove"), "removeCommentButton", clicked=self.remove_clicked, variant="flat")
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


_MIN_LINES = 2
_MAX_LINES = 10
_FRAME_HEIGHT = 24
"""Of the field, in pixels: borders, padding and margins around its lines."""
_REST_HEIGHT = 70
"""The heading, the buttons and the spacing, in pixels."""


class CommentEditor(QWidget):
    """A field with Save and Cancel. Ctrl+Enter saves, Esc cancels; it grows with its text."""

    saved = Signal()
    cancelled = Signal()
    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._heading = make_label(role="secondary")
        self._field = QPlainTextEdit()
        self._field.setObjectName("commentEdit")
        self._field.setTabChangesFocus(True)
        self._field.setPlaceholderText(self.tr("What should be different?"))
        self._field.setFont(theme.text_font(TypeSize.BODY))
        self._field.textChanged.connect(self._on_text_changed)
        self._field.installEventFilter(self)
        cancel = compact_button(self.tr("Cancel"), "cancelCommentButton", clicked=self.cancelled)
        cancel.setToolTip(self.tr("Cancel (Esc)"))
        self._save = compact_button(
            self.tr("Add comment"), "saveCommentButton", clicked=self._on_save, variant="primary"
        )
        self._save.setToolTip(self.tr("Save the comment (Ctrl+Enter)"))
        buttons = hbox(
            STRETCH, make_label(self.tr("Ctrl+Enter"), role="secondary"), cancel, self._save, spacing=Space.S
        )
        margins = (Space.M, Space.S, Space.M, Space.S)
        vbox(self._heading, (self._field, 1), buttons, on=self, margins=margins, spacing=Space.XS + 2)
        self._lines = 0
        self._on_text_changed()

    @property
    def text(self) -> str:
        return self._field.toPlainText().strip()

    def wanted_height(self) -> int:
        line = self._field.fontMetrics().lineSpacing()
        return round(self._lines * line) + _FRAME_HEIGHT + _REST_HEIGHT

    def edit(self, heading: str, text: str, *, is_new: bool) -> None:
        self._heading.setText(heading)
        self._field.setAccessibleName(heading)
        self._save.setText(self.tr("Add comment") if is_new else self.tr("Save"))
        self._field.setPlainText(text)
        self._field.selectAll() if not is_new else self._field.moveCursor(self._field.textCursor().MoveOperation.End)

    def focus_field(self) -> None:
        self._field.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_key = event.type() in (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride)
        if not (is_key and isinstance(event, QKeyEvent)):
            return super().eventFilter(watched, event)
        is_save = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and bool(
            event.modifiers() & Qt.KeyboardModifier.ControlModifier
        )
        if not is_save and event.key() != Qt.Key.Key_Escape:
            return super().eventFilter(watched, event)
        event.accept()
        if event.type() == QEvent.Type.KeyPress:
            self._on_save() if is_save else self.cancelled.emit()
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.colour("accent"), 1))
        painter.setBrush(self._theme.colour("bg"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), Radius.CARD, Radius.CARD)
        painter.end()

    def _on_save(self) -> None:
        if self.text:
            self.saved.emit()

    def _on_text_changed(self) -> None:
        self._save.setEnabled(bool(self.text))
        wrapped = round(self._field.document().size().height())  # a plain text document counts in lines
        lines = max(_MIN_LINES, min(wrapped, _MAX_LINES))
        if lines != self._lines:
            self._lines = lines
            self.height_changed.emit()
