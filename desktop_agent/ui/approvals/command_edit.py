"""The command that asks to run, to read and to change."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QTextCharFormat, QTextCursor, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.ui.theme import Space, Theme

_MAX_LINES = 10
_MEASURED_CHARS = 4_000
"""More fills the highest field at any width."""
_FRAME = 14
"""Height of border and padding together, and what the last line must have below."""
_SIDES = 18
"""Width of border and padding together."""


class CommandEdit(QWidget):
    """Shows a command and lets the person edit it, saying so as long as it is not the agent's.

    Signals:
        changed: the command is another one now.
    """

    changed = Signal()

    def __init__(self, theme: Theme, command: str, cause: str = "", parent: QWidget | None = None) -> None:
        """`cause` is the part of the command that made it a question; it is marked for as long as it stands there."""
        super().__init__(parent)
        self._theme = theme
        self._cause = cause
        self._edit = _CommandField(theme)
        self._edit.setPlainText(command)
        if cause:
            self._edit.setAccessibleDescription(self.tr("You are asked because of: {0}").format(cause))
        self._original = self._edit.toPlainText()
        self._mark = QLabel(self.tr("Modified by you. The agent will be told."))
        self._mark.setObjectName("commandModifiedMark")
        self._mark.setProperty("role", "warning")
        self._restore = QPushButton(self.tr("Restore"))
        self._restore.setObjectName("restoreCommandButton")
        self._restore.setProperty("size", "small")
        self._restore.setAutoDefault(False)
        self._restore.setToolTip(self.tr("Go back to the agent's command"))
        self._restore.clicked.connect(self.restore)
        row = QHBoxLayout()
        row.addWidget(self._mark)
        row.addStretch()
        row.addWidget(self._restore)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.XS)
        layout.addWidget(self._edit)
        layout.addLayout(row)
        self._edit.textChanged.connect(self._on_text_changed)
        theme.changed.connect(self._show_cause)
        self._show_mark()
        self._show_cause()

    @property
    def text(self) -> str:
        """The command as it is in the field."""
        return self._edit.toPlainText()

    @property
    def field(self) -> QPlainTextEdit:
        """The field itself."""
        return self._edit

    @property
    def edited_command(self) -> str | None:
        """The person's command; `None` while it is the agent's."""
        return None if self.text == self._original else self.text

    def restore(self) -> None:
        """Go back to the agent's command. Can be undone like typing."""
        self._edit.selectAll()
        self._edit.insertPlainText(self._original)

    @property
    def marked_text(self) -> str:
        """The part that is marked as what the question is about; empty when it is not there any more."""
        return next((mark.cursor.selectedText() for mark in self._edit.extraSelections()), "")  # pyright: ignore[reportAttributeAccessIssue] - PySide6 leaves the fields of ExtraSelection out

    def _on_text_changed(self) -> None:
        self._show_mark()
        self._show_cause()
        self.changed.emit()

    def _show_cause(self) -> None:
        start = self.text.find(self._cause) if self._cause else -1
        if start < 0:
            self._edit.setExtraSelections([])
            return
        text_format = QTextCharFormat()
        text_format.setBackground(self._theme.colour("warning_bg"))
        text_format.setForeground(self._theme.colour("warning_text"))
        text_format.setFontUnderline(True)
        text_format.setUnderlineColor(self._theme.colour("warning_text"))
        cursor = QTextCursor(self._edit.document())
        cursor.setPosition(_utf16_length(self.text[:start]))
        end = cursor.position() + _utf16_length(self._cause)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        mark = QTextEdit.ExtraSelection()
        mark.cursor = cursor
        mark.format = text_format
        self._edit.setExtraSelections([mark])

    def _show_mark(self) -> None:
        is_edited = self.edited_command is not None
        self._mark.setVisible(is_edited)
        self._restore.setVisible(is_edited)


class _CommandField(QPlainTextEdit):
    """As high as its text, up to a limit. Tab leaves it; the text runs from left to right whatever is in it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("approvalCommandEdit")
        self.setAccessibleName(self.tr("Command"))
        self.setFont(theme.code_font(theme.sizes.code))
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
        lines = _count_lines(self.toPlainText(), self.font(), width - _SIDES)
        return lines * QFontMetrics(self.font()).lineSpacing() + _FRAME

    def sizeHint(self) -> QSize:
        return QSize(400, self.heightForWidth(max(self.width(), 400)))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, QFontMetrics(self.font()).lineSpacing() + _FRAME)


def _count_lines(text: str, font: QFont, width: int) -> int:
    """How many lines `text` takes in this width, up to the limit. The field itself may not have its width yet."""
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAnywhere)
    count = 0
    for paragraph in text.split("\n", _MAX_LINES)[:_MAX_LINES]:
        layout = QTextLayout(paragraph[:_MEASURED_CHARS], font)
        layout.setTextOption(option)
        layout.beginLayout()
        while count < _MAX_LINES and (line := layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            count += 1
        layout.endLayout()
    return max(1, min(count, _MAX_LINES))


def _utf16_length(text: str) -> int:
    """How many positions of a Qt document `text` takes."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
