"""An editor for the text of a file, in its diff or in the viewer."""

from collections.abc import Iterator

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from desktop_agent.core.diff.edited_text import EditedText
from desktop_agent.ui.part_keys import claims_key
from desktop_agent.ui.theme import Theme

_CHUNK_CHARS = 24_000
"""How much text an editor can insert and paint within a frame."""
_LINES_AROUND = 200
"""More lines than a screen shows. Once so many follow a line, the line can be shown in its final position."""


class FileEditor(QPlainTextEdit):
    save_pressed = Signal()
    cancel_pressed = Signal()

    def __init__(
        self, text: EditedText | str, theme: Theme, parent: QWidget | None = None, *, is_marked: bool = True
    ) -> None:
        """A `text` of type `str` is read-only. `is_marked` draws a bar that shows where editing takes place."""
        super().__init__(parent)
        self._theme = theme
        self._is_marked = is_marked
        self._edited = text if isinstance(text, EditedText) else None
        self._shown = text if isinstance(text, str) else text.shown
        self._line = 0
        self._is_placed = False
        self._chunks: Iterator[str] = iter(())
        self._is_restored = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._insert_chunk)
        self.is_ready = False
        self.setObjectName("fileEditor")
        self.setProperty("variant", "bare")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        option = QTextOption(self.document().defaultTextOption())
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self.document().setDefaultTextOption(option)
        self.document().setDocumentMargin(6)
        self.setCornerWidget(QWidget())
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    @property
    def is_changed(self) -> bool:
        return self.is_ready and self.document().isModified() and self.content() != self._shown

    def fill(self, line: int, content: str | None = None) -> None:
        self._line = line
        shown = self._shown if content is None else content
        self._is_restored = content is not None
        self._chunks = (shown[at : at + _CHUNK_CHARS] for at in range(0, len(shown), _CHUNK_CHARS))
        self.document().setUndoRedoEnabled(False)
        self.setReadOnly(True)
        self._insert_chunk()
        if not self.is_ready:
            self._timer.start(0)

    def content(self) -> str:
        # `toPlainText` would turn non-breaking blanks into plain blanks.
        return self.document().toRawText().replace("\u2029", "\n")

    def encoded(self) -> bytes:
        """Return the edited bytes. Raises `UnicodeEncodeError` if the text cannot be encoded."""
        assert self._edited is not None, "it is only shown"
        return self._edited.encoded(self.content())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Save):
            self.save_pressed.emit()
        elif event.key() == Qt.Key.Key_Escape and self._is_marked:
            self.cancel_pressed.emit()
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        return claims_key(event, _is_own) or super().event(event)

    def _insert_chunk(self) -> None:
        chunk = next(self._chunks, None)
        if chunk is not None:
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(chunk)
            if len(chunk) == _CHUNK_CHARS:
                if self.document().blockCount() > self._line + _LINES_AROUND:
                    self._place()
                return
        self._timer.stop()
        self._place()
        self.is_ready = True
        if self._edited is not None:
            self.setReadOnly(False)
            self.document().setUndoRedoEnabled(True)
        else:
            keyboard = Qt.TextInteractionFlag.TextSelectableByKeyboard
            self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse | keyboard)
        self.document().setModified(self._is_restored)

    def _place(self) -> None:
        """Go to the requested line, but only once, because the user may have moved since."""
        if not self._is_placed:
            self._is_placed = True
            self.setTextCursor(QTextCursor(self.document().findBlockByNumber(self._line)))
            self.centerCursor()

    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.code_font(self._theme.sizes.diff, grows=False))
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        colours = self._theme.colours
        bar = f"2px solid {colours.accent}" if self._is_marked else "none"
        look = f"background: {colours.surface}; border: none; border-left: {bar}; padding: 0;"
        self.setStyleSheet(f"QPlainTextEdit, QPlainTextEdit:focus {{ {look} }}")


def _is_own(key: QKeyEvent) -> bool:
    return key.matches(QKeySequence.StandardKey.Save) or key.key() == Qt.Key.Key_Escape
