"""The remarks that were collected: read once more, taken back, and sent to the agent as one message."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.protocol.model import LineComment
from desktop_agent.ui.review.buttons import compact_button
from desktop_agent.ui.theme import Space, Theme, TypeSize

_WIDTH = 520
_LIST_HEIGHT = 320
_FIELD_HEIGHT = 64
_MAX_QUOTED_LINES = 3


class CommentsDialog(QDialog):
    """Lists the remarks that wait to be sent. Open it with `open()`; tell it with `set_comments` what is left.

    Signals:
        removed: the user takes the remark of this id back.
        sent: the user wants them sent, with this text in front.
    """

    removed = Signal(str)
    sent = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setObjectName("commentsDialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Send comments"))
        self.setAccessibleName(self.windowTitle())
        self.setMinimumWidth(_WIDTH)
        self._heading = QLabel()
        self._heading.setProperty("role", "title")
        hint = QLabel(self.tr("The agent gets them as one message, with the lines they are about."))
        hint.setProperty("role", "secondary")
        hint.setWordWrap(True)
        self._area = QScrollArea()
        self._area.setObjectName("commentList")
        self._area.setAccessibleName(self.tr("Comments"))
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.viewport().setAutoFillBackground(False)
        self._field = QPlainTextEdit()
        self._field.setObjectName("commentsIntroEdit")
        self._field.setAccessibleName(self.tr("Introduction to the comments"))
        self._field.setPlaceholderText(self.tr("Introduction (optional)"))
        self._field.setFixedHeight(_FIELD_HEIGHT)
        self._field.setTabChangesFocus(True)
        self._cancel = QPushButton(self.tr("Not yet"))
        self._cancel.setAutoDefault(False)
        self._cancel.clicked.connect(self.reject)
        self._send = QPushButton()
        self._send.setObjectName("sendAllCommentsButton")
        self._send.setProperty("variant", "primary")
        self._send.setDefault(True)
        self._send.clicked.connect(self._on_send)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            QShortcut(QKeySequence(keys), self).activated.connect(self._on_send)
        self._send.setToolTip(QKeySequence("Ctrl+Return").toString(QKeySequence.SequenceFormat.NativeText))
        self._lay_out(hint)
        self._field.setFocus()

    def set_comments(self, comments: Sequence[LineComment]) -> None:
        """List these; without any there is nothing to send, and the dialog closes."""
        if not comments:
            self.reject()
            return
        count = len(comments)
        self._heading.setText(self.tr("1 comment") if count == 1 else self.tr("{0} comments").format(count))
        self._send.setText(self.tr("Send comment") if count == 1 else self.tr("Send {0} comments").format(count))
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, Space.S, Space.S, Space.S)
        column.setSpacing(Space.M)
        for comment in comments:
            column.addLayout(self._row(comment))
        column.addStretch()
        self._area.setWidget(content)
        content.setAutoFillBackground(False)  # Qt turns it on for whatever it scrolls
        self._area.setFixedHeight(min(_LIST_HEIGHT, content.sizeHint().height() + Space.S))

    def _row(self, comment: LineComment) -> QHBoxLayout:
        words = QVBoxLayout()
        words.setSpacing(2)
        place = QLabel(self._place_words(comment))
        place.setProperty("role", "secondary")
        quote = QLabel(_shortened(comment.quote))
        quote.setFont(self._theme.code_font(TypeSize.HEAD))
        quote.setStyleSheet(f"color: {self._theme.colours.muted};")
        text = QLabel(comment.text)
        for label in (place, quote, text):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(label is not quote)
            label.setVisible(bool(label.text()))
            words.addWidget(label)
        quote.setMinimumWidth(1)  # long lines are cut, not the reason for a wide window
        remove = compact_button(self.tr("Remove"), variant="flat")
        remove.setAccessibleName(self.tr("Remove the comment on {0}").format(place.text()))
        remove.setProperty("comment", comment.id)
        remove.clicked.connect(self._on_remove)
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        row.addLayout(words, 1)
        row.addWidget(remove, 0, Qt.AlignmentFlag.AlignTop)
        return row

    def _place_words(self, comment: LineComment) -> str:
        first, last = comment.start + 1, max(comment.end, comment.start + 1)
        lines = self.tr("line {0}").format(first) if first == last else self.tr("lines {0}–{1}").format(first, last)
        side = self.tr(", before") if comment.side == "old" else ""
        return f"{comment.path} · {lines}{side}"

    def _on_remove(self) -> None:
        sender = self.sender()
        if isinstance(sender, QPushButton):
            self.removed.emit(str(sender.property("comment")))

    def _on_send(self) -> None:
        self.sent.emit(self._field.toPlainText().strip())
        self.accept()

    def _lay_out(self, hint: QLabel) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.S)
        buttons.addStretch()
        buttons.addWidget(self._cancel)
        buttons.addWidget(self._send)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.L)
        layout.setSpacing(Space.S)
        layout.addWidget(self._heading)
        layout.addWidget(hint)
        layout.addWidget(self._area)
        layout.addWidget(self._field)
        layout.addSpacing(Space.XS)
        layout.addLayout(buttons)


def _shortened(quote: str) -> str:
    lines = quote.rstrip("\n").split("\n")
    return "\n".join(lines[:_MAX_QUOTED_LINES]) + ("\n…" if len(lines) > _MAX_QUOTED_LINES else "")
