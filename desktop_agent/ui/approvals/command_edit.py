"""The command that asks to run, to read and to change."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QTextLayout, QTextOption
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from desktop_agent.ui.open_question import OpenQuestion
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.exact_field import ExactField, FoldBar
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox
from desktop_agent.ui.wording.visible_text import visible

_MOST_LINES = 10
_MEASURED_CHARS = 4_000
"""More would fill the highest field at any width."""
_FRAME = 14
"""Border and padding together, including what must stay free below the last line."""
_SIDES = 18


class CommandEdit(QWidget):
    """Shows a command and lets the user edit it; says so while it differs from the agent's."""

    changed = Signal()

    def __init__(self, theme: Theme, question: OpenQuestion) -> None:
        super().__init__()
        self.field: ExactField = _CommandField(theme, question.request.command or "")
        self.fold = FoldBar(self.field)
        self._question = question
        question.take_command(self.field)
        question.folds.append(self.fold)
        self.mark(question.request.cause)
        words = self.tr("Modified by you. The agent sees your change.")
        self._mark = make_label(words, role="warning", object_name="commandModifiedMark")
        self._restore = make_button(self.tr("Restore"), object_name="restoreCommandButton", clicked=self._on_restore)
        self._restore.setProperty("size", "small")
        self._restore.setToolTip(self.tr("Go back to the agent's command"))
        marks = hbox(self._mark, STRETCH, self._restore, spacing=Space.XS)
        vbox(self.field, self.fold, marks, on=self, spacing=Space.XS)
        self.field.textChanged.connect(self._on_text_changed)
        self.fold.resize_wanted.connect(self.field.updateGeometry)
        self._show_mark()

    def mark(self, cause: str) -> None:
        self.field.mark((cause,) if cause else ())
        said = self.tr("You are asked because of: {0}").format(visible(cause)) if cause else ""
        self.field.setAccessibleDescription(said)

    def _on_restore(self) -> None:
        self.field.set_text(self._question.request.command or "")  # can be undone like typing

    def _on_text_changed(self) -> None:
        self._show_mark()
        self.changed.emit()

    def _show_mark(self) -> None:
        is_edited = self._question.edited is not None
        self._mark.setVisible(is_edited)
        self._restore.setVisible(is_edited)


class _CommandField(ExactField):
    """As high as its text, up to a limit. Tab leaves it; text always runs from left to right."""

    def __init__(self, theme: Theme, command: str) -> None:
        super().__init__(theme, command)
        self.most_lines = _MOST_LINES
        self.setObjectName("approvalCommandEdit")
        self.setAccessibleName(self.tr("Command"))
        self.setFont(theme.code_font(theme.sizes.code, grows=False))
        self.setTabChangesFocus(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        option = self.document().defaultTextOption()
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self.document().setDefaultTextOption(option)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self.updateGeometry)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        lines = _count_lines(self.toPlainText(), self.font(), width - _SIDES, self.most_lines)
        return lines * QFontMetrics(self.font()).lineSpacing() + _FRAME

    def sizeHint(self) -> QSize:
        return QSize(400, self.heightForWidth(max(self.width(), 400)))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, QFontMetrics(self.font()).lineSpacing() + _FRAME)


def _count_lines(text: str, font: QFont, width: int, most: int) -> int:
    """Return how many lines `text` takes at this width, up to `most`. The field may not have its width yet."""
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAnywhere)
    count = 0
    for paragraph in text.split("\n", most)[:most]:
        layout = QTextLayout(paragraph[:_MEASURED_CHARS], font)
        layout.setTextOption(option)
        layout.beginLayout()
        while count < most and (line := layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            count += 1
        layout.endLayout()
    return max(1, min(count, most))
