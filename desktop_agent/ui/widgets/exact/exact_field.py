"""A field that shows a text exactly, gives back exactly that text, and knows how much of it was in sight."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from PySide6.QtCore import QMimeData, QTimer, Signal
from PySide6.QtGui import QInputMethodEvent, QKeyEvent, QPaintEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.exact.exact_text import ExactText, is_stand_in, position_of
from desktop_agent.ui.wording.seen_parts import SeenParts

_MOST_MARKED = 500
"""So many stand-ins are coloured; more of them have their words alone."""
_SLACK = 3
"""How many pixels of a line may be cut off while it still counts as seen."""
_GROWN_LINES = 24


class Unseen(NamedTuple):
    """How much of a text was not in sight yet."""

    lines: int = 0
    """How many whole lines."""
    characters: int = 0
    """How far the line goes on of which the beginning was seen."""

    @property
    def is_nothing(self) -> bool:
        """Whether all of it was in sight."""
        return not (self.lines or self.characters)


class ExactField(QPlainTextEdit):
    """Shows a text with nothing hidden in it, knows which parts of it were in sight, and can be edited.

    Signals:
        seen: more of it was in sight than before, or it is another text.
    """

    seen = Signal()

    def __init__(self, theme: Theme, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._seen = SeenParts()
        self._is_changed = False
        self._causes: tuple[str, ...] = ()
        self.most_lines = 8
        """How many lines it shows at once."""
        self._tell_seen = QTimer(self, interval=0, singleShot=True)
        self._tell_seen.timeout.connect(self.seen)
        self._exact = ExactText(self.document(), text, self)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self.document().contentsChange.connect(self._seen.change)
        self.textChanged.connect(self._exact.mend)
        self.textChanged.connect(self._mark)
        self.textChanged.connect(self._on_changed)
        theme.changed.connect(self._mark)
        self._mark()

    # -- the text --

    @property
    def text(self) -> str:
        """The text, character by character as it was given or typed."""
        return self._exact.text

    def set_text(self, text: str) -> None:
        """Put `text` in place of all there is. Can be undone like typing."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        self._exact.insert(cursor, text)

    def setPlainText(self, text: str) -> None:
        """Do what `set_text` does: Qt's own method would lose characters."""
        self.set_text(text)

    def mark(self, causes: tuple[str, ...]) -> None:
        """Mark these parts of the text, for as long as they stand there: what a question is about."""
        self._causes = causes
        self._mark()

    def insertFromMimeData(self, source: QMimeData) -> None:
        self._exact.insert(self.textCursor(), source.text())

    def createMimeDataFromSelection(self) -> QMimeData:
        cursor, data = self.textCursor(), QMimeData()
        taken = self._exact.between(cursor.selectionStart(), cursor.selectionEnd())
        data.setText(taken.encode("utf-8", "replace").decode())
        return data

    def keyPressEvent(self, e: QKeyEvent) -> None:
        with self._plainly(is_typing=bool(e.text()) and e.text().isprintable()):
            super().keyPressEvent(e)

    def inputMethodEvent(self, arg__1: QInputMethodEvent) -> None:
        with self._plainly(is_typing=bool(arg__1.commitString())):
            super().inputMethodEvent(arg__1)

    @contextmanager
    def _plainly(self, *, is_typing: bool) -> Generator[None]:
        """Keep what is typed from taking over the format of a stand-in before it, and so from being one."""
        cursor = self.textCursor()
        if self.isReadOnly() or not is_typing or not is_stand_in(cursor.charFormat()):
            yield
            return
        cursor.beginEditBlock()
        cursor.removeSelectedText()
        self.setTextCursor(cursor)
        self.setCurrentCharFormat(QTextCharFormat())
        yield
        cursor.endEditBlock()

    # -- what was in sight --

    @property
    def is_cut(self) -> bool:
        """Whether it is too long to be shown whole."""
        return bool(self._exact.unshown_chars)

    def unseen(self) -> Unseen:
        """Return what was not in sight yet."""
        first, document = self._seen.first_unseen(), self.document()
        if first >= document.characterCount() - 1:
            return Unseen(0, self._exact.unshown_chars)
        block = document.findBlock(first)
        is_begun = first > block.position()
        characters = block.position() + block.length() - 1 - first if is_begun else 0
        return Unseen(document.blockCount() - block.blockNumber() - is_begun, characters)

    def show_more(self) -> bool:
        """Bring what was not in sight yet into sight; return whether it wants to be higher for that."""
        if self.most_lines < _GROWN_LINES:
            self.most_lines = _GROWN_LINES
            return True
        cursor = QTextCursor(self.document())
        cursor.setPosition(min(self._seen.first_unseen(), self.document().characterCount() - 1))
        rows = self.cursorRect(cursor).top() // self.fontMetrics().lineSpacing()
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + rows)
        return False

    def paintEvent(self, e: QPaintEvent) -> None:
        super().paintEvent(e)
        if self._note_seen() or self._is_changed:
            self._is_changed = False
            self._tell_seen.start()

    def _on_changed(self) -> None:
        self._is_changed = True  # what is gone need not be seen; what is new is seen when it has been painted

    def _note_seen(self) -> bool:
        area = self.viewport().visibleRegion().boundingRect()
        block, offset, is_new = self.firstVisibleBlock(), self.contentOffset(), False
        while block.isValid():
            rect = self.blockBoundingGeometry(block).translated(offset)
            if rect.top() > area.bottom():
                break
            layout = block.layout()
            for index in range(layout.lineCount()):
                line = layout.lineAt(index)
                top = rect.top() + line.y()
                if top >= area.top() - _SLACK and top + line.height() <= area.bottom() + 1 + _SLACK:
                    start = block.position() + line.textStart()
                    is_new |= self._seen.add(start, start + line.textLength() + (index == layout.lineCount() - 1))
            block = block.next()
        return is_new

    # -- marks --

    @property
    def marked(self) -> list[str]:
        """What is marked as the cause of the question."""
        text = self.text
        return [cause for cause in self._causes if cause in text]

    def _mark(self) -> None:
        if self._exact.is_mending:
            return
        parts = self._exact.parts()
        named = QTextCharFormat()
        named.setForeground(self._theme.colour("warning_text"))
        named.setBackground(self._theme.colour("warning_bg"))
        stand_ins = [part for part in parts if part.number and part.is_whole][:_MOST_MARKED]
        marks = [self._selection(part.start, part.end, named) for part in stand_ins]
        cause = QTextCharFormat(named)
        cause.setFontUnderline(True)
        cause.setUnderlineColor(self._theme.colour("warning_text"))
        text = self.text
        for words in self._causes:
            if words and (at := text.find(words)) >= 0:
                start, end = position_of(parts, at), position_of(parts, at + len(words))
                marks.append(self._selection(start, end, cause))
        self.setExtraSelections(marks)

    def _selection(self, start: int, end: int, text_format: QTextCharFormat) -> QTextEdit.ExtraSelection:
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        mark = QTextEdit.ExtraSelection()
        mark.cursor = cursor
        mark.format = text_format
        return mark
