"""A document that shows a text exactly, and gives back exactly that text.

`QPlainTextEdit.toPlainText` turns U+2028, U+2029, U+FDD0, U+FDD1 and carriage returns into line feeds, and no-break
spaces into spaces: a command read back from it is another command. Here such characters never enter the document.
Stand-ins are in their places (`stand_ins`), each known by a number in its format; `text` puts back what they stand for.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from PySide6.QtCore import QObject
from PySide6.QtGui import QTextBlock, QTextCharFormat, QTextCursor, QTextDocument, QTextFormat

from desktop_agent.core.base.plain_text import has_hidden
from desktop_agent.ui.wording.stand_ins import TextPiece, pieces
from desktop_agent.ui.wording.visible_text import utf16_length

_NUMBER = int(QTextFormat.Property.UserProperty) + 1


class ShownPart(NamedTuple):
    """A part of the document: where it is, what it stands for, and which stand-in it is (0: none)."""

    start: int
    length: int
    original: str
    number: int
    is_whole: bool

    @property
    def end(self) -> int:
        """The position after it."""
        return self.start + self.length


class ExactText(QObject):
    """The text of a document with stand-ins, which go and come as a whole. Call `mend` after each change of it."""

    def __init__(self, document: QTextDocument, text: str, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._known: dict[int, TextPiece] = {}
        self._text: str | None = None
        """Read once after each change: a key makes a dozen ask for it."""
        self.is_mending = False
        """Whether the document is between a change and the order that follows."""
        document.setUndoRedoEnabled(False)
        self.insert(QTextCursor(document), text)
        document.setUndoRedoEnabled(True)
        document.contentsChange.connect(self._forget_text)  # before anything asks for the new one

    @property
    def text(self) -> str:
        """The text, character by character as it was given or typed."""
        if self._text is None:
            blocks = ("".join(part.original for part in self._parts_of(block)) for block in self._blocks())
            self._text = "\n".join(blocks)
        return self._text

    @property
    def unshown_chars(self) -> int:
        """How many characters at the end of a long text are not shown at all."""
        cut = next((piece for piece in self._known.values() if piece.is_cut), None)
        return len(cut.original) if cut is not None and cut.shown in self._document.toPlainText() else 0

    def parts(self) -> list[ShownPart]:
        """Return all parts, from the first to the last."""
        return [part for block in self._blocks() for part in self._parts_of(block)]

    def insert(self, cursor: QTextCursor, text: str) -> None:
        """Put `text` in place of what is selected."""
        cursor.beginEditBlock()
        cursor.removeSelectedText()
        for piece in pieces(text):
            cursor.insertText(piece.shown, self._format(piece))
        cursor.setCharFormat(QTextCharFormat())
        cursor.endEditBlock()

    def between(self, start: int, end: int) -> str:
        """Return what stands between two positions; a stand-in of which a part does, is there as a whole."""
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
        """Put the document in order after a change: no stand-in is there in part, nothing unseen as it is."""
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
        """Write a part anew, as one step with what changed it. A stand-in of which some is gone goes as a whole."""
        if is_kept and is_kept not in part.original:
            text = ""
        cursor = QTextCursor(self._document)
        cursor.joinPreviousEditBlock()
        cursor.setPosition(part.start)
        cursor.setPosition(part.end, QTextCursor.MoveMode.KeepAnchor)
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
        if not self._known:  # nothing stands for anything: Qt's formats need not be asked for, which is slow
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
    """Whether characters of this format are a stand-in, or part of one."""
    return text_format.hasProperty(_NUMBER)


def position_of(parts: list[ShownPart], offset: int) -> int:
    """Return where the character at `offset` of the text is in the document."""
    passed, end = 0, 0
    for part in parts:
        passed += part.start - end  # the line feeds between
        if passed + len(part.original) > offset:
            inside = part.original[: max(0, offset - passed)]
            return part.start + (0 if part.number else utf16_length(inside))
        passed += len(part.original)
        end = part.end
    return end


def _place(found: Any) -> tuple[int, int, int]:
    """Return start, length and number of a format range, whose fields PySide6's stubs leave out."""
    return int(found.start), int(found.length), int(found.format.intProperty(_NUMBER))
