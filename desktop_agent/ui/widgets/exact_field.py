"""A field that shows a text with nothing hidden, returns exactly that text, and records which parts were visible."""

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

from PySide6.QtCore import QMimeData, QObject, Qt, Signal
from PySide6.QtGui import (
    QInputMethodEvent,
    QKeyEvent,
    QPaintEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QPushButton, QSizePolicy, QWidget

from desktop_agent.core.base.plain_text import has_hidden
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import compact_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox
from desktop_agent.ui.widgets.text_colours import cursor_over, mark_of
from desktop_agent.ui.wording import TextPiece, pieces, utf16_length


class SeenParts:
    """A set of positions, stored as disjoint ranges that do not touch."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> bool:
        first = bisect_left(self._ends, start)
        last = bisect_right(self._starts, end)
        if last - first == 1 and self._starts[first] <= start and end <= self._ends[first]:
            return False
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        return True

    def first_unseen(self) -> int:
        return self._ends[0] if self._starts and self._starts[0] <= 0 else 0

    def change(self, position: int, removed: int, added: int) -> None:
        end, by = position + removed, added - removed
        parts = list(zip(self._starts, self._ends, strict=True))
        kept = [(start, min(stop, position)) for start, stop in parts if start < position]
        kept += [(max(start, end) + by, stop + by) for start, stop in parts if stop > end]
        self._starts, self._ends = [start for start, _ in kept], [stop for _, stop in kept]


_NUMBER = int(QTextFormat.Property.UserProperty) + 1


class ShownPart(NamedTuple):
    """A part of the document, and the original text that it shows. `number` is 0 unless the part is a placeholder."""

    start: int
    length: int
    original: str
    number: int
    is_whole: bool

    @property
    def end(self) -> int:
        return self.start + self.length


class ExactText(QObject):
    """The text of a field. Placeholders show what would be invisible or too long. Call `mend` after each change."""

    def __init__(self, document: QTextDocument, text: str, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._known: dict[int, TextPiece] = {}
        self._text: str | None = None
        self.is_mending = False
        document.setUndoRedoEnabled(False)
        self.insert(QTextCursor(document), text)
        document.setUndoRedoEnabled(True)
        document.contentsChange.connect(self._forget_text)  # before anything reads the new text

    @property
    def text(self) -> str:
        """The text as it was given or typed, without placeholders."""
        if self._text is None:
            blocks = ("".join(part.original for part in self._parts_of(block)) for block in self._blocks())
            self._text = "\n".join(blocks)
        return self._text

    @property
    def unshown_chars(self) -> int:
        cut = next((piece for piece in self._known.values() if piece.is_cut), None)
        return len(cut.original) if cut is not None and cut.shown in self._document.toPlainText() else 0

    def parts(self) -> list[ShownPart]:
        return [part for block in self._blocks() for part in self._parts_of(block)]

    def insert(self, cursor: QTextCursor, text: str) -> None:
        cursor.beginEditBlock()
        cursor.removeSelectedText()
        for piece in pieces(text):
            cursor.insertText(piece.shown, self._format(piece))
        cursor.setCharFormat(QTextCharFormat())
        cursor.endEditBlock()

    def between(self, start: int, end: int) -> str:
        """Return the original text in this range. A placeholder that is partly inside counts as a whole."""
        taken: list[str] = []
        for block in self._blocks():
            for part in self._parts_of(block):
                first, last = max(start, part.start), min(end, part.end)
                if first < last:
                    units = part.original.encode("utf-16-le", "surrogatepass")
                    cut = units[2 * (first - part.start) : 2 * (last - part.start)]
                    taken.append(part.original if part.number else cut.decode("utf-16-le", "replace"))
            if start <= block.position() + block.length() - 1 < end:
                taken.append("\n")
        return "".join(taken)

    def mend(self) -> None:
        """Repair the document after a change: restore damaged placeholders, and add them for new hidden characters."""
        if self.is_mending:
            return
        self.is_mending = True
        try:
            for part in reversed(self.parts()):
                if part.number and not part.is_whole:
                    piece = self._known[part.number]
                    self._replace(part, part.original.replace(piece.shown, piece.original, 1), is_kept=piece.shown)
                elif not part.number and has_hidden(part.original):
                    self._replace(part, part.original)
        finally:
            self.is_mending = False

    def _replace(self, part: ShownPart, text: str, is_kept: str = "") -> None:
        """Replace a part in the same undo step as the user's change. Remove a damaged placeholder as a whole."""
        if is_kept and is_kept not in part.original:
            text = ""
        cursor = cursor_over(self._document, part.start, part.end)
        cursor.joinPreviousEditBlock()
        self.insert(cursor, text)
        cursor.endEditBlock()

    def _format(self, piece: TextPiece) -> QTextCharFormat:
        text_format = QTextCharFormat()
        if piece.is_stand_in:
            number = len(self._known) + 1
            self._known[number] = piece
            text_format.setProperty(_NUMBER, number)
        return text_format

    def _blocks(self) -> Iterator[QTextBlock]:
        block = self._document.firstBlock()
        while block.isValid():
            yield block
            block = block.next()

    def _parts_of(self, block: QTextBlock) -> Iterator[ShownPart]:
        if not self._known:  # without placeholders, skip Qt's formats, which are slow to read
            if text := block.text():
                yield ShownPart(block.position(), utf16_length(text), text.replace("\u2028", "\n"), 0, is_whole=False)
            return
        units = block.text().encode("utf-16-le", "surrogatepass")
        for found in block.textFormats():
            start, length, number = _place(found)
            shown = units[2 * start : 2 * (start + length)].decode("utf-16-le", "surrogatepass")
            piece = self._known.get(number)
            is_whole = piece is not None and piece.shown == shown
            original = piece.original if piece is not None and is_whole else shown.replace("\u2028", "\n")
            known_number = number if piece is not None else 0
            yield ShownPart(block.position() + start, length, original, known_number, is_whole)

    def _forget_text(self) -> None:
        self._text = None


def is_stand_in(text_format: QTextCharFormat) -> bool:
    return text_format.hasProperty(_NUMBER)


def position_of(parts: list[ShownPart], offset: int) -> int:
    passed, end = 0, 0
    for part in parts:
        passed += part.start - end  # the line feeds in between
        if passed + len(part.original) > offset:
            inside = part.original[: max(0, offset - passed)]
            return part.start + (0 if part.number else utf16_length(inside))
        passed += len(part.original)
        end = part.end
    return end


def _place(found: Any) -> tuple[int, int, int]:
    """Return start, length and placeholder number of a format range. PySide6's stubs lack these fields."""
    return int(found.start), int(found.length), int(found.format.intProperty(_NUMBER))


_MOST_MARKED = 500
_SLACK = 3
_GROWN_LINES = 24


class Unseen(NamedTuple):
    lines: int = 0
    characters: int = 0
    """If only the beginning of a line was seen, how many of its characters were not."""

    @property
    def is_nothing(self) -> bool:
        return not (self.lines or self.characters)


class ExactField(QPlainTextEdit):
    seen = Signal()  # more of the text was visible, or the text changed

    def __init__(self, theme: Theme, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent, tabChangesFocus=True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # else it can cover the last line
        self._theme = theme
        self._seen = SeenParts()
        self._is_changed = False
        self._causes: tuple[str, ...] = ()
        self.most_lines = 8
        self._tell_seen = one_shot(self, 0, self.seen.emit)
        self._exact = ExactText(self.document(), text, self)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self.document().contentsChange.connect(self._seen.change)
        self.textChanged.connect(self._exact.mend)
        self.textChanged.connect(self._mark)
        self.textChanged.connect(self._on_changed)
        theme.changed.connect(self._mark)
        self._mark()

    @property
    def text(self) -> str:
        return self._exact.text

    def set_text(self, text: str) -> None:
        """Replace the text. The user can undo the replacement."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        self._exact.insert(cursor, text)

    def setPlainText(self, text: str) -> None:
        self.set_text(text)

    def mark(self, causes: tuple[str, ...]) -> None:
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
        """Keep typed text from inheriting the format of the placeholder before it, and so from becoming part of it."""
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

    @property
    def is_cut(self) -> bool:
        return bool(self._exact.unshown_chars)

    def unseen(self) -> Unseen:
        first, document = self._seen.first_unseen(), self.document()
        if first >= document.characterCount() - 1:
            return Unseen(0, self._exact.unshown_chars)
        block = document.findBlock(first)
        is_begun = first > block.position()
        characters = block.position() + block.length() - 1 - first if is_begun else 0
        return Unseen(document.blockCount() - block.blockNumber() - is_begun, characters)

    def show_more(self) -> bool:
        """Bring unseen text into view. Return whether the field must grow to do so."""
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
        self._is_changed = True  # removed text need not be seen; new text is seen once it is painted

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

    def _mark(self) -> None:
        if self._exact.is_mending:
            return
        parts = self._exact.parts()
        named = QTextCharFormat()
        named.setForeground(self._theme.colour("warning_text"))
        named.setBackground(self._theme.colour("warning_bg"))
        stand_ins = [part for part in parts if part.number and part.is_whole][:_MOST_MARKED]
        marks = [mark_of(cursor_over(self.document(), part.start, part.end), named) for part in stand_ins]
        cause = QTextCharFormat(named)
        cause.setFontUnderline(True)
        cause.setUnderlineColor(self._theme.colour("warning_text"))
        text = self.text
        for words in self._causes:
            if words and (at := text.find(words)) >= 0:
                start, end = position_of(parts, at), position_of(parts, at + len(words))
                marks.append(mark_of(cursor_over(self.document(), start, end), cause))
        self.setExtraSelections(marks)


def unseen_words(unseen: Unseen) -> str:
    parts: list[str] = []
    if unseen.characters:
        one, many = "1 line continues for another %n character", "1 line continues for another %n characters"
        parts.append(plural("FoldBar", unseen.characters, one, many))
    if unseen.lines:
        parts.append(plural("FoldBar", unseen.lines, "%n more line", "%n more lines"))
    return " · ".join(parts)


class FoldBar(QWidget):
    """A bar below a field that shows only a part of its text. Hidden if all of the text is visible."""

    resize_wanted = Signal()  # the field wants to be higher, or this bar was shown or hidden
    changed = Signal()  # the user saw another part of the text

    def __init__(self, field: ExactField, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("approvalFoldBar")
        self._field = field
        self._is_folded = False
        self.hide()
        field.seen.connect(self._on_seen)

    @cached_property
    def _parts(self) -> tuple[QLabel, QPushButton]:
        words = make_label(role="warning", parent=self)
        # Its text is cut in a narrow window, and never widens it.
        words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        more = compact_button(self.tr("Show more"), "approvalShowMoreButton", clicked=self._on_more, parent=self)
        hbox((words, 1), more, on=self, spacing=Space.S)
        return words, more

    @property
    def is_all_seen(self) -> bool:
        return self._field.unseen().is_nothing

    @property
    def obstacle(self) -> str:
        if self._field.is_cut:
            return self.tr("This is too long to be shown whole, so it can only be denied")
        return "" if self.is_all_seen else self.tr("Scroll through all of it to enable Allow")

    def stay_away(self) -> None:
        self._field.seen.disconnect(self._on_seen)
        self.hide()

    def text(self) -> str:
        return self._parts[0].text()

    def _on_seen(self) -> None:
        unseen = self._field.unseen()
        # A field that shows all of its text was too low only until its layout.
        is_higher = self._field.verticalScrollBar().maximum() > 0
        self._is_folded = not unseen.is_nothing or (self._is_folded and is_higher)
        if self._is_folded:
            words, more = self._parts
            said = self.tr("You have seen all of it")
            if not unseen.is_nothing:
                said = self.obstacle if self._field.is_cut else f"{unseen_words(unseen)} · {self.obstacle}"
            words.setText(said)
            words.setAccessibleName(said)
            words.setToolTip(said)
            words.setProperty("role", "secondary" if unseen.is_nothing else "warning")
            words.style().polish(words)
            more.setVisible(not unseen.is_nothing)
        if self._is_folded == self.isHidden():
            self.setVisible(self._is_folded)
            self.resize_wanted.emit()
        self.changed.emit()

    def _on_more(self) -> None:
        if self._field.show_more():
            self.resize_wanted.emit()
