"""The dialogs of the review panel: send comments, and undo with a message."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QWidget,
)

from desktop_agent.core.protocol.model import LineComment
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import compact_button, make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import (
    STRETCH,
    answer_with_ctrl_enter,
    hbox,
    lay_out_dialog,
    scroll_down,
    set_names,
    set_up_dialog,
    vbox,
)

_WIDTH = 520
_COMMENTS_HEIGHT = 320
_MAX_QUOTED_LINES = 3


class CommentsDialog(QDialog):
    removed = Signal(str)  # the id of a comment
    sent = Signal(str)  # the text before the comments

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        set_up_dialog(self, "commentsDialog", self.tr("Send comments"))
        self.setMinimumWidth(_WIDTH)
        self._heading = make_label(role="title")
        what = self.tr("The agent gets them as one message, with the lines they are about.")
        hint = make_label(what, role="secondary", wraps=True)
        self._area = QScrollArea()
        set_names(self._area, "commentList", self.tr("Comments"))
        scroll_down(self._area, QWidget())
        self._field = QPlainTextEdit(placeholderText=self.tr("Introduction (optional)"), tabChangesFocus=True)
        set_names(self._field, "commentsIntroEdit", self.tr("Introduction to the comments"))
        self._field.setFixedHeight(64)
        cancel = make_button(self.tr("Not now"), clicked=self.reject)
        self._send = make_button(object_name="sendAllCommentsButton", clicked=self._on_send, variant="primary")
        answer_with_ctrl_enter(self, self._send)
        parts = (self._heading, hint, self._area, self._field, Space.XS)
        lay_out_dialog(self, *parts, answers=(cancel, self._send))
        self._field.setFocus()

    def set_comments(self, comments: Sequence[LineComment]) -> None:
        if not comments:
            self.reject()
            return
        count = len(comments)
        self._heading.setText(plural("CommentsDialog", count, "%n comment", "%n comments"))
        self._send.setText(plural("CommentsDialog", count, "Send comment", "Send %n comments"))
        content = QWidget()
        rows = map(self._row, comments)
        vbox(*rows, STRETCH, on=content, margins=(0, Space.S, Space.S, Space.S), spacing=Space.M)
        self._area.setWidget(content)
        content.setAutoFillBackground(False)  # Qt turns it on for whatever it scrolls
        self._area.setFixedHeight(min(_COMMENTS_HEIGHT, content.sizeHint().height() + Space.S))

    def _row(self, comment: LineComment) -> QHBoxLayout:
        place = make_label(self._place_words(comment), role="secondary", wraps=True, is_plain=True)
        quote = make_label(_shortened(comment.quote), role="secondary", is_plain=True)
        quote.setFont(self._theme.code_font())
        quote.setMinimumWidth(1)  # long lines are cut and do not widen the window
        quote.setVisible(bool(quote.text()))
        text = make_label(comment.text, wraps=True, is_plain=True)
        remove = compact_button(self.tr("Remove"), clicked=self._on_remove, variant="flat")
        remove.setAccessibleName(self.tr("Remove the comment on {0}").format(place.text()))
        remove.setProperty("comment", comment.id)
        words = vbox(place, quote, text, spacing=2)
        return hbox((words, 1), (remove, Qt.AlignmentFlag.AlignTop), spacing=Space.S)

    def _place_words(self, comment: LineComment) -> str:
        first, last = comment.start + 1, max(comment.end, comment.start + 1)
        lines = self.tr("line {0}").format(first) if first == last else self.tr("lines {0}–{1}").format(first, last)
        side = self.tr(", before") if comment.side == "old" else ""
        return f"{comment.path or self.tr('Plan')} · {lines}{side}"

    def _on_remove(self) -> None:
        sender = self.sender()
        if isinstance(sender, QPushButton):
            self.removed.emit(str(sender.property("comment")))

    def _on_send(self) -> None:
        self.sent.emit(self._field.toPlainText().strip())
        self.accept()


def _shortened(quote: str) -> str:
    lines = quote.rstrip("\n").split("\n")
    return "\n".join(lines[:_MAX_QUOTED_LINES]) + ("\n…" if len(lines) > _MAX_QUOTED_LINES else "")


class WordDialog(QDialog):
    given = Signal(str)

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        """`what` names what is undone, such as `Undo turn` or a path."""
        super().__init__(parent)
        set_up_dialog(self, "undoWordDialog", what)
        self.setMinimumWidth(440)
        heading = make_label(what, role="title", wraps=True, is_plain=True)
        why = self.tr("The agent reads this with your next message, so that it does not try the same again.")
        hint = make_label(why, role="secondary", wraps=True)
        self._field = QPlainTextEdit(placeholderText=self.tr("Why are you undoing this?"), tabChangesFocus=True)
        set_names(self._field, "undoWordEdit", self.tr("Message to the agent"))
        self._field.setFixedHeight(84)
        cancel = make_button(self.tr("Cancel"), clicked=self.reject)
        undo = make_button(self.tr("Undo"), "undoWithWordButton", clicked=self._give, variant="primary")
        answer_with_ctrl_enter(self, undo)
        lay_out_dialog(self, heading, hint, self._field, Space.XS, answers=(cancel, undo))
        self._field.setFocus()

    def _give(self) -> None:
        self.given.emit(self._field.toPlainText().strip())
        self.accept()
