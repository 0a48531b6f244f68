"""The field of a prompt: Enter sends, Shift+Enter breaks the line, Up and Down bring earlier prompts back."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QTextCursor, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from desktop_agent.ui.chat.composer.prompt_history import PromptHistory

MIN_LINES = 2
MAX_LINES = 10
_MARGIN = 2


class MessageEdit(QPlainTextEdit):
    """Plain text of a few lines.

    Signals:
        submitted: Enter was pressed.
        focus_changed: it got or lost the focus.
    """

    submitted = Signal()
    focus_changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.history = PromptHistory()
        self.refuses: Callable[[QMimeData], bool] = lambda _data: False
        """Whether pasted or dropped data is not for this field."""
        self.takes_key: Callable[[QKeyEvent], bool] = lambda _event: False
        """Whether a list above the field, which is asked first about every key, has acted on it."""
        self.takes_escape: Callable[[], bool] = lambda: False
        """Whether Escape is for that list, and not for the window's shortcut."""
        self.setProperty("variant", "bare")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Message"))
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(_MARGIN)

    def wanted_height(self, width: int) -> int:
        """Return how high it wants to be at this width: two lines to ten."""
        lines = self._count_lines(width - 2 * _MARGIN)
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines > MAX_LINES else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        shown = max(MIN_LINES, min(lines, MAX_LINES))
        return shown * self.fontMetrics().lineSpacing() + 2 * _MARGIN + 2

    def _count_lines(self, width: int) -> int:
        if self.document().isEmpty():
            return 0
        from desktop_agent.ui.chat.text.passage import count_lines  # not for an empty window

        return count_lines(self.toPlainText(), self.font(), width, MAX_LINES + 1)

    def replace_text(self, text: str) -> None:
        """Put `text` there, with the cursor behind it. Can be taken back with Undo."""
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.setTextCursor(cursor)

    def event(self, event: QEvent) -> bool:
        # Here and not in keyPressEvent: Tab would have moved the focus before that.
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and self.takes_key(event):
            return True
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            # Ctrl+Enter is a shortcut elsewhere in the window; while something is written here, it sends.
            if _is_enter(event) and self.toPlainText().strip():
                event.accept()
                return True
            if event.key() == Qt.Key.Key_Escape and self.takes_escape():
                event.accept()  # it comes as a key, too
                return True
            # Ctrl+Shift+Z undoes a turn, and repeats text on most systems: that comes first while there is some.
            if event.matches(QKeySequence.StandardKey.Redo) and not self.document().isRedoAvailable():
                event.ignore()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_enter(event) and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.submitted.emit()
        elif event.key() == Qt.Key.Key_Up and self._is_at_edge(QTextCursor.MoveOperation.Up):
            self._show_prompt(self.history.older(self.toPlainText()))
        elif event.key() == Qt.Key.Key_Down and self._is_at_edge(QTextCursor.MoveOperation.Down):
            self._show_prompt(self.history.newer())
        else:
            super().keyPressEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if not self.refuses(source):
            super().insertFromMimeData(source)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit()

    def _is_at_edge(self, direction: QTextCursor.MoveOperation) -> bool:
        """Whether there is no further line in this direction."""
        cursor = QTextCursor(self.textCursor())
        line = self._line_of(cursor)
        cursor.movePosition(direction)
        return self._line_of(cursor) == line

    def _line_of(self, cursor: QTextCursor) -> tuple[int, int]:
        block = cursor.block()
        return block.blockNumber(), block.layout().lineForTextPosition(cursor.positionInBlock()).lineNumber()

    def _show_prompt(self, prompt: str | None) -> None:
        if prompt is not None:
            self.replace_text(prompt)


def _is_enter(event: QKeyEvent) -> bool:
    return event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
