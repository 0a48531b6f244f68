"""Bytes of two files beside each other, as many to a line as there is room for, with those that differ marked."""

from PySide6.QtGui import QColor, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit

from desktop_agent.core.diff.binary_files import HexExcerpt, printable
from desktop_agent.ui.theme import Theme, TypeSize

_OFFSET_CHARS = 10
_GAP = "  "
_PADDING_PX = 40


class HexText(QPlainTextEdit):
    """A read-only text: it can be selected, copied, searched by a screen reader and scrolled by keyboard."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._excerpt = HexExcerpt(0, b"", b"")
        self._row_bytes = 0
        self._has_text: bool = True
        self.setReadOnly(True)
        self.setProperty("variant", "bare")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.document().setDocumentMargin(12)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def show_excerpt(self, shown: HexExcerpt) -> None:
        """Show these bytes; a side without any is left out."""
        self._excerpt = shown
        self._row_bytes = 0
        self._fill()

    def _sides(self) -> list[bytes]:
        return [side for side in (self._excerpt.before, self._excerpt.after) if side]

    def _fitting(self) -> tuple[int, bool]:
        """How many bytes to a line, and whether their text fits beside them."""
        chars = (self.viewport().width() - _PADDING_PX) // max(1, self.fontMetrics().horizontalAdvance("0"))
        count = max(1, len(self._sides()))
        for row_bytes, has_text in ((16, True), (8, True), (16, False), (8, False)):
            if _OFFSET_CHARS + count * _side_chars(row_bytes, has_text=has_text) <= chars:
                return row_bytes, has_text
        return 8, False

    def _fill(self) -> None:
        fitting = self._fitting()
        if fitting == (self._row_bytes, self._has_text):
            return
        self._row_bytes, self._has_text = fitting
        sides = self._sides()
        length = max(map(len, sides), default=0)
        rows = range(0, length, self._row_bytes)
        self.setPlainText("\n".join(self._row(sides, at) for at in rows))
        self._mark(sides)

    def _row(self, sides: list[bytes], at: int) -> str:
        text = f"{self._excerpt.start + at:08x}  "
        for side in sides:
            data = side[at : at + self._row_bytes]
            text += data.hex(" ").ljust(3 * self._row_bytes - 1) + _GAP
            if self._has_text:
                text += printable(data).ljust(self._row_bytes) + _GAP
        return text.rstrip()

    def _mark(self, sides: list[bytes]) -> None:
        """Colour the bytes that differ: the old ones as removed, the new ones as added."""
        marks: list[QTextEdit.ExtraSelection] = []
        if len(sides) == 2:
            for number, role in ((0, "removed_word"), (1, "added_word")):
                side, other = sides[number], sides[1 - number]
                different = [at for at in range(len(side)) if side[at : at + 1] != other[at : at + 1]]
                for first, last in _runs(different, self._row_bytes):
                    marks += self._selections(number, first, last, self._theme.colour(role))
        self.setExtraSelections(marks)

    def _selections(self, number: int, first: int, last: int, colour: QColor) -> list[QTextEdit.ExtraSelection]:
        row, column = divmod(first, self._row_bytes)
        count = last - first + 1
        left = _OFFSET_CHARS + number * _side_chars(self._row_bytes, has_text=self._has_text)
        found = [self._selection(row, left + 3 * column, 3 * count - 1, colour)]
        if self._has_text:
            text_left = left + 3 * self._row_bytes - 1 + len(_GAP)
            found.append(self._selection(row, text_left + column, count, colour))
        return found

    def _selection(self, row: int, start: int, length: int, colour: QColor) -> QTextEdit.ExtraSelection:
        cursor = QTextCursor(self.document().findBlockByNumber(row))
        cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.MoveAnchor, start)
        cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.KeepAnchor, length)
        look = QTextCharFormat()
        look.setBackground(colour)
        found = QTextEdit.ExtraSelection()
        found.cursor = cursor  # pyright: ignore[reportAttributeAccessIssue] - the stubs do not know it
        found.format = look  # pyright: ignore[reportAttributeAccessIssue] - the stubs do not know it
        return found

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fill()

    def _on_theme_changed(self) -> None:
        self.setFont(self._theme.code_font(TypeSize.DIFF))
        self._row_bytes = 0
        self._fill()


def _side_chars(row_bytes: int, *, has_text: bool) -> int:
    return 3 * row_bytes - 1 + len(_GAP) + (row_bytes + len(_GAP) if has_text else 0)


def _runs(offsets: list[int], row_bytes: int) -> list[tuple[int, int]]:
    """Return the first and the last offset of each run that stays in one row."""
    runs: list[tuple[int, int]] = []
    for at in offsets:
        if runs and runs[-1][1] == at - 1 and at % row_bytes:
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
    return runs
