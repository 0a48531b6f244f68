"""A field that shows a text exactly, and gives back exactly that text.

`QPlainTextEdit.toPlainText` turns U+2028, U+2029, U+FDD0, U+FDD1 and carriage returns into line feeds, and no-break
spaces into spaces: a command read back from it is another command. Here such characters never enter the document.
Stand-ins are in their places (`stand_ins`), each known by a number in its format; `text` puts back what they stand for.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from PySide6.QtCore import QMimeData, QTimer, Signal
from PySide6.QtGui import (
    QInputMethodEvent,
    QKeyEvent,
    QPaintEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from desktop_agent.core.base.hidden_text import has_hidden
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.wording.seen_parts import SeenParts
from desktop_agent.ui.wording.stand_ins import TextPiece, pieces
from desktop_agent.ui.wording.visible_text import utf16_length

_NUMBER = int(QTextFormat.Property.UserProperty) + 1
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


class _Part(NamedTuple):
    """A part of the document: where it is, what it stands for, and which stand-in it is (0: none)."""

    start: int
    length: int
    original: str
    number: int
    is_whole: bool


class ExactField(QPlainTextEdit):
    """Shows a text with nothing hidden in it, knows which parts of it were in sight, and can be edited.

    Signals:
        seen: more of it was in sight than before, or it is another text.
    """

    seen = Signal()

    def __init__(self, theme: Theme, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._known: dict[int, TextPiece] = {}
        self._seen = SeenParts()
        self._text: str | None = None
        """Read once after each change: a key makes a dozen ask for it."""
        self._is_mending = False
        self._is_changed = False
        self._causes: tuple[str, ...] = ()
        self.most_lines = 8
        """How many lines it shows at once."""
        self._tell_seen = QTimer(self, interval=0, singleShot=True)
        self._tell_seen.timeout.connect(self.seen)
        document = self.document()
        document.setUndoRedoEnabled(False)
        self._insert(QTextCursor(document), text)
        document.setUndoRedoEnabled(True)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        document.contentsChange.connect(self._forget_text)  # before anything asks for the new one
        document.contentsChange.connect(self._seen.change)
        self.textChanged.connect(self._mend)
        self.textChanged.connect(self._mark)
        self.textChanged.connect(self._on_changed)
        theme.changed.connect(self._mark)
        self._mark()

    # -- the text --

    @property
    def text(self) -> str:
        """The text, character by character as it was given or typed."""
        if self._text is None:
            self._text = "\n".join("".join(part.original for part in self._parts(block)) for block in self._blocks())
        return self._text

    def set_text(self, text: str) -> None:
        """Put `text` in place of all there is. Can be undone like typing."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        self._insert(cursor, text)

    def setPlainText(self, text: str) -> None:
        """Do what `set_text` does: Qt's own method would lose characters."""
        self.set_text(text)

    def mark(self, causes: "tuple[str, ...]") -> None:
        """Mark these parts of the text, for as long as they stand there: what a question is about."""
        self._causes = causes
        self._mark()

    def insertFromMimeData(self, source: QMimeData) -> None:
        self._insert(self.textCursor(), source.text())

    def createMimeDataFromSelection(self) -> QMimeData:
        cursor, data = self.textCursor(), QMimeData()
        start, end = cursor.selectionStart(), cursor.selectionEnd()
        taken: list[str] = []
        for block in self._blocks():
            for part in self._parts(block):
                first, last = max(start, part.start), min(end, part.start + part.length)
                if first < last:
                    is_cut = not part.number
                    units = part.original.encode("utf-16-le", "surrogatepass")
                    cut = units[2 * (first - part.start) : 2 * (last - part.start)]
                    taken.append(cut.decode("utf-16-le", "replace") if is_cut else part.original)
            if start <= block.position() + block.length() - 1 < end:
                taken.append("\n")
        data.setText("".join(taken).encode("utf-8", "replace").decode())
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
        if self.isReadOnly() or not is_typing or not cursor.charFormat().hasProperty(_NUMBER):
            yield
            return
        cursor.beginEditBlock()
        cursor.removeSelectedText()
        self.setTextCursor(cursor)
        self.setCurrentCharFormat(QTextCharFormat())
        yield
        cursor.endEditBlock()

    def _insert(self, cursor: QTextCursor, text: str) -> None:
        cursor.beginEditBlock()
        cursor.removeSelectedText()
        for piece in pieces(text):
            cursor.insertText(piece.shown, self._format(piece))
        cursor.setCharFormat(QTextCharFormat())
        cursor.endEditBlock()

    def _format(self, piece: TextPiece) -> QTextCharFormat:
        text_format = QTextCharFormat()
        if piece.is_stand_in:
            number = len(self._known) + 1
            self._known[number] = piece
            text_format.setProperty(_NUMBER, number)
        return text_format

    def _blocks(self) -> Iterator[QTextBlock]:
        block = self.document().firstBlock()
        while block.isValid():
            yield block
            block = block.next()

    def _forget_text(self) -> None:
        self._text = None

    def _parts(self, block: QTextBlock) -> Iterator[_Part]:
        if not self._known:  # nothing stands for anything: Qt's formats need not be asked for, which is slow
            if text := block.text():
                yield _Part(block.position(), utf16_length(text), text.replace("\u2028", "\n"), 0, is_whole=False)
            return
        units = block.text().encode("utf-16-le", "surrogatepass")
        for found in block.textFormats():
            start, length, number = _place(found)
            shown = units[2 * start : 2 * (start + length)].decode("utf-16-le", "surrogatepass")
            piece = self._known.get(number)
            is_whole = piece is not None and piece.shown == shown
            original = piece.original if piece is not None and is_whole else shown.replace("\u2028", "\n")
            yield _Part(block.position() + start, length, original, number if piece is not None else 0, is_whole)

    def _mend(self) -> None:
        """Put the document in order after a change: no stand-in is there in part, nothing unseen as it is."""
        if self._is_mending:
            return
        self._is_mending = True
        try:
            for part in [part for block in self._blocks() for part in self._parts(block)][::-1]:
                if part.number and not part.is_whole:
                    piece = self._known[part.number]
                    self._replace(part, part.original.replace(piece.shown, piece.original, 1), is_kept=piece.shown)
                elif not part.number and has_hidden(part.original):
                    self._replace(part, part.original)
        finally:
            self._is_mending = False

    def _replace(self, part: _Part, text: str, is_kept: str = "") -> None:
        """Write a part anew, as one step with what changed it. A stand-in of which some is gone goes as a whole."""
        if is_kept and is_kept not in part.original:
            text = ""
        cursor = QTextCursor(self.document())
        cursor.joinPreviousEditBlock()
        cursor.setPosition(part.start)
        cursor.setPosition(part.start + part.length, QTextCursor.MoveMode.KeepAnchor)
        self._insert(cursor, text)
        cursor.endEditBlock()

    # -- what was in sight --

    def unseen(self) -> Unseen:
        """Return what was not in sight yet."""
        first, document = self._seen.first_unseen(), self.document()
        if first >= document.characterCount() - 1:
            cut = next((piece for piece in self._known.values() if piece.is_cut), None)
            is_cut = cut is not None and cut.shown in self.toPlainText()
            return Unseen(0, len(cut.original)) if cut is not None and is_cut else Unseen()
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
        if self._is_mending:
            return
        parts = [part for block in self._blocks() for part in self._parts(block)]
        named = QTextCharFormat()
        named.setForeground(self._theme.colour("warning_text"))
        named.setBackground(self._theme.colour("warning_bg"))
        stand_ins = [part for part in parts if part.number and part.is_whole][:_MOST_MARKED]
        marks = [self._selection(part.start, part.start + part.length, named) for part in stand_ins]
        cause = QTextCharFormat()
        cause.setBackground(self._theme.colour("warning_bg"))
        cause.setForeground(self._theme.colour("warning_text"))
        cause.setFontUnderline(True)
        cause.setUnderlineColor(self._theme.colour("warning_text"))
        text = self.text
        for words in self._causes:
            if words and (at := text.find(words)) >= 0:
                ends = self._position(parts, at), self._position(parts, at + len(words))
                marks.append(self._selection(*ends, cause))
        self.setExtraSelections(marks)

    def _position(self, parts: list[_Part], offset: int) -> int:
        """Return where the character at `offset` of the text is in the document."""
        passed, end = 0, 0
        for part in parts:
            passed += part.start - end  # the line feeds between
            if passed + len(part.original) > offset:
                inside = part.original[: max(0, offset - passed)]
                return part.start + (0 if part.number else utf16_length(inside))
            passed += len(part.original)
            end = part.start + part.length
        return end

    def _selection(self, start: int, end: int, text_format: QTextCharFormat) -> QTextEdit.ExtraSelection:
        cursor = QTextCursor(self.document())
        cursor.setPosition(start)
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        mark = QTextEdit.ExtraSelection()
        mark.cursor = cursor
        mark.format = text_format
        return mark


def _place(found: Any) -> tuple[int, int, int]:
    """Return start, length and number of a format range, whose fields PySide6's stubs leave out."""
    return int(found.start), int(found.length), int(found.format.intProperty(_NUMBER))
