"""Where a comment on lines of a diff is written, below these lines."""

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.ui.theme import Radius, Space, Theme, TypeSize
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox

_MIN_LINES = 2
_MAX_LINES = 10
_FRAME_HEIGHT = 24
"""Of the field: borders, padding and margins around its lines."""
_REST_HEIGHT = 70
"""The heading, the buttons, and the room between."""


class CommentEditor(QWidget):
    """A field with Save and Cancel. Ctrl+Enter saves, Esc cancels; it grows with its text.

    Signals:
        saved: the user is done; ask `text`.
        cancelled: the user does not want it now.
        height_changed: it wants another height; ask `wanted_height`.
    """

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
        cancel = make_button(
            self.tr("Cancel"), object_name="cancelCommentButton", clicked=self.cancelled, is_compact=True
        )
        cancel.setToolTip(self.tr("Cancel (Esc)"))
        self._save = make_button(
            self.tr("Add comment"),
            object_name="saveCommentButton",
            clicked=self._on_save,
            variant="primary",
            is_compact=True,
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
        """What is written, without blanks around it."""
        return self._field.toPlainText().strip()

    def wanted_height(self) -> int:
        """Return how high it wants to be: as its text, within limits."""
        line = self._field.fontMetrics().lineSpacing()
        return round(self._lines * line) + _FRAME_HEIGHT + _REST_HEIGHT

    def edit(self, heading: str, text: str, *, is_new: bool) -> None:
        """Write a comment on what the heading says, starting with `text`."""
        self._heading.setText(heading)
        self._field.setAccessibleName(heading)
        self._save.setText(self.tr("Add comment") if is_new else self.tr("Save"))
        self._field.setPlainText(text)
        self._field.selectAll() if not is_new else self._field.moveCursor(self._field.textCursor().MoveOperation.End)

    def focus_field(self) -> None:
        """Let the user write."""
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
