"""The message field. By default Enter sends, Shift+Enter breaks the line, Up recalls earlier prompts."""

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QImage,
    QInputMethodEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from desktop_agent.ui.chat.text.passage import x_in
from desktop_agent.ui.part_keys import PartKeys
from desktop_agent.ui.widgets.text_colours import count_lines, cursor_over, mark_of
from desktop_agent.ui.wording import index_of

_LIMIT = 200


class PromptHistory:
    """Earlier prompts, newest last, and the current position in them. The draft follows the newest prompt."""

    def __init__(self, prompts: Sequence[str] = ()) -> None:
        self._prompts = list(prompts)[-_LIMIT:]
        self._at = len(self._prompts)
        self._draft = ""
        self._added: list[str] = []

    def exchanged(self, prompts: Sequence[str]) -> "PromptHistory":
        """Return a history of `prompts`, which were loaded again, and of sent prompts that `prompts` lacks."""
        history = PromptHistory(prompts)
        for prompt in self._added:
            if prompt not in prompts:
                history.add(prompt)
        return history

    def add(self, prompt: str) -> None:
        self._added = [*self._added, prompt][-_LIMIT:]
        if not self._prompts or self._prompts[-1] != prompt:
            self._prompts = [*self._prompts, prompt][-_LIMIT:]
        self._at = len(self._prompts)
        self._draft = ""

    def is_showing(self, text: str) -> bool:
        return self._at < len(self._prompts) and self._prompts[self._at] == text

    def older(self, current: str) -> str | None:
        """Return the previous prompt; `None` at the oldest. `current` is the text in the field."""
        if self._at == 0:
            return None
        if self._at == len(self._prompts):
            self._draft = current
        self._at -= 1
        return self._prompts[self._at]

    def newer(self) -> str | None:
        if self._at == len(self._prompts):
            return None
        self._at += 1
        return self._draft if self._at == len(self._prompts) else self._prompts[self._at]


_RADIUS = 4


class FieldMarks:
    def __init__(self, edit: QPlainTextEdit) -> None:
        self._edit = edit
        self._ground = QColor()
        self._coloured: list[QTextEdit.ExtraSelection] = []
        self._underlined: list[QTextEdit.ExtraSelection] = []
        self.spans: Sequence[tuple[int, int]] = ()

    def show(self, spans: Sequence[tuple[int, int]], ground: QColor, colour: QColor) -> None:
        self.spans, self._ground = spans, ground
        text_format = QTextCharFormat()
        text_format.setForeground(colour)
        self._coloured = self._selections(spans, text_format)
        self._apply()

    def underline(self, spans: Sequence[tuple[int, int]], colour: QColor) -> None:
        text_format = QTextCharFormat()
        text_format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        text_format.setUnderlineColor(colour)
        self._underlined = self._selections(spans, text_format)
        self._apply()

    def _apply(self) -> None:
        self._edit.setExtraSelections([*self._coloured, *self._underlined])

    def _selections(
        self, spans: Sequence[tuple[int, int]], text_format: QTextCharFormat
    ) -> list[QTextEdit.ExtraSelection]:
        document = self._edit.document()
        return [mark_of(cursor_over(document, start, end), text_format) for start, end in spans]

    def paint_grounds(self, viewport: QWidget, offset: QPointF) -> None:
        """Paint the marks' backgrounds. `offset` is the position of the text's origin in the viewport."""
        with QPainter(viewport) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._ground)
            for start, end in self.spans:
                for area in self._areas_of(start, end):
                    painter.drawRoundedRect(area.translated(offset), _RADIUS, _RADIUS)

    def _areas_of(self, start: int, end: int) -> Iterator[QRectF]:
        block = self._edit.document().findBlock(start)
        layout, first = block.layout(), block.position()
        top = self._edit.blockBoundingGeometry(block).topLeft()
        for number in range(layout.lineCount()):
            line = layout.lineAt(number)
            begin = max(start - first, line.textStart())
            stop = min(end - first, line.textStart() + line.textLength())
            if begin >= stop:
                continue
            left, right = x_in(line, begin), x_in(line, stop)
            yield QRectF(top.x() + left - 2, top.y() + line.y(), right - left + 4, line.height())


MIN_LINES = 2
MAX_LINES = 10
LONGEST_PASTED = 20_000
"""The longest pasted text, in characters, that is inserted. Longer ones become a mention, as the field is small."""

_MARGIN = 2
_WRITING = ("", "send", "send_at_once", "break_line")


class MessageEdit(QPlainTextEdit):
    submitted = Signal()
    submitted_at_once = Signal()  # into the running turn
    focus_changed = Signal()
    picture_given = Signal(QImage)
    long_text_given = Signal(str)  # too long to read in a few lines
    files_given = Signal(object)  # absolute paths
    composing_changed = Signal()  # the unfinished text of an input method changed

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.keys = PartKeys("composer", self)
        self.history = PromptHistory()
        self.refuses: Callable[[QMimeData], bool] = lambda _data: False
        self.key_takers: list[Callable[[QKeyEvent], bool]] = []
        """Functions of the lists above the field. Each gets every key first and returns whether it handled the key."""
        self.escape_takers: list[Callable[[], bool]] = []
        """Functions that return whether Escape is for a list above the field and not for the window's shortcut."""
        self.gives_contents = False
        """Whether files, pictures and long texts are emitted by signals; otherwise they are treated as in any field."""
        self.marks = FieldMarks(self)
        self._placeholder = ""
        self.setProperty("variant", "bare")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Message"))
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(_MARGIN)

    def wanted_height(self, width: int) -> int:
        is_empty = self.document().isEmpty()
        lines = 0 if is_empty else count_lines(self.toPlainText(), self.font(), width - 2 * _MARGIN, MAX_LINES + 1)
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines > MAX_LINES else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        shown = max(MIN_LINES, min(lines, MAX_LINES))
        return shown * self.fontMetrics().lineSpacing() + 2 * _MARGIN + 2

    def replace_text(self, text: str) -> None:
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.setTextCursor(cursor)

    def event(self, event: QEvent) -> bool:
        # Here and not in keyPressEvent, because Tab would move the focus before.
        is_press = event.type() == QEvent.Type.KeyPress
        if is_press and isinstance(event, QKeyEvent) and any(takes(event) for takes in self.key_takers):
            return True
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            # A sending key does nothing else, even if there is nothing to send, because it may be pressed twice.
            if self.keys.peek(event) in _WRITING or _is_enter(event):
                event.accept()
                return True
            if event.key() == Qt.Key.Key_Escape and any(takes() for takes in self.escape_takers):
                event.accept()  # it arrives again as a key press
                return True
            # Ctrl+Shift+Z undoes a turn, but redoes text on most systems: redo comes first if available.
            if event.matches(QKeySequence.StandardKey.Redo) and not self.document().isRedoAvailable():
                event.ignore()
                return True
        return super().event(event)

    @property
    def is_composing(self) -> bool:
        return bool(self.textCursor().block().layout().preeditAreaText())

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        super().inputMethodEvent(event)
        self._show_placeholder()
        self.composing_changed.emit()

    def setPlaceholderText(self, placeholderText: str) -> None:
        self._placeholder = placeholderText
        self._show_placeholder()

    def _show_placeholder(self) -> None:
        # A QPlainTextEdit (Qt 6.11) paints its placeholder across the text of an input method.
        shown = "" if self.is_composing else self._placeholder
        if shown != self.placeholderText():
            super().setPlaceholderText(shown)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.is_composing and (_is_enter(event) or event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down)):
            event.accept()  # meant for the list of the input method, which passes it on in some systems
            return
        match self.keys.read(event):
            case "":
                pass  # more keys are to follow
            case "send":
                self.submitted.emit()
            case "send_at_once":
                self.submitted_at_once.emit()
            case "break_line":
                self.insertPlainText("\N{LINE SEPARATOR}")  # as Shift+Enter does in every field
            case "older" if _is_at_edge(self.textCursor(), QTextCursor.MoveOperation.Up):
                self._show_prompt(self.history.older(self.toPlainText()))
            case "newer" if _is_at_edge(self.textCursor(), QTextCursor.MoveOperation.Down):
                self._show_prompt(self.history.newer())
            case _:
                super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        is_content = self.gives_contents and (bool(_files_in(source)) or source.hasImage())
        return is_content or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if self.gives_contents and self._gives(source):
            return
        if not self.refuses(source):
            super().insertFromMimeData(source)

    def _gives(self, source: QMimeData) -> bool:
        if files := _files_in(source):
            self.files_given.emit(files)
        elif source.hasImage() and not source.hasText():  # a table cell is both, and wanted as text
            self.picture_given.emit(QImage(source.imageData()))
        elif len(text := source.text()) > LONGEST_PASTED:
            self.long_text_given.emit(text)
        else:
            return False
        return True

    def insert_word(self, word: str) -> None:
        cursor = self.textCursor()
        text = self.toPlainText()
        start, end = index_of(text, cursor.selectionStart()), index_of(text, cursor.selectionEnd())
        before = "" if start == 0 or text[start - 1].isspace() else " "
        after = "" if text[end : end + 1].isspace() else " "
        cursor.insertText(f"{before}{word}{after}")
        if not after:
            cursor.movePosition(QTextCursor.MoveOperation.NextCharacter)
        self.setTextCursor(cursor)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.marks.spans:
            self.marks.paint_grounds(self.viewport(), self.contentOffset())
        super().paintEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit()

    def _show_prompt(self, prompt: str | None) -> None:
        if prompt is not None:
            self.replace_text(prompt)


def _files_in(data: QMimeData) -> tuple[str, ...]:
    urls = data.urls() if data.hasUrls() else []
    return tuple(url.toLocalFile() for url in urls) if all(url.isLocalFile() for url in urls) else ()


def _is_enter(event: QKeyEvent) -> bool:
    return event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)


def _is_at_edge(cursor: QTextCursor, direction: QTextCursor.MoveOperation) -> bool:
    line = _line_of(cursor)
    cursor.movePosition(direction)
    return _line_of(cursor) == line


def _line_of(cursor: QTextCursor) -> tuple[int, int]:
    block = cursor.block()
    return block.blockNumber(), block.layout().lineForTextPosition(cursor.positionInBlock()).lineNumber()
