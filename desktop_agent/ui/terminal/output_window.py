"""A window with the whole output of a command: searchable, selectable, and fast at any length."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from PySide6.QtCore import QMimeData, QRectF, QSize, Qt
from PySide6.QtGui import QKeySequence, QPainter, QPaintEvent, QShortcut, QTextCursor, QTextDocument
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QWidget

from desktop_agent.core.terminal.printout import Printout
from desktop_agent.core.terminal.rows import PrintedRow, Run
from desktop_agent.ui.terminal.printed_text import LookFormats, in_positions
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button, make_line
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hbox, resize_within_screen, vbox
from desktop_agent.ui.widgets.text_colours import cursor_over, format_ranges
from desktop_agent.ui.wording import index_of, lowered, utf16_length

MAX_CHARS = 20_000_000
"""How much text is shown. It is the end of the output, which matters most; to lay out more would freeze the window."""


class PrintedDocument(NamedTuple):
    text: str
    runs: Mapping[int, tuple[Run, ...]]
    """The formats of the parts of rows, in Qt positions. Only rows with colours have an entry."""
    continued: frozenset[int]
    starts: Sequence[int]
    """Where each row begins in the text whose lines are not divided into rows; empty when no line is divided."""
    searched: str
    """The text with undivided lines in lower case, for the search; empty when no line is divided."""

    @classmethod
    def read(cls, printed: str) -> "PrintedDocument":
        """Read printed text. Call this in a thread: the time grows with the length."""
        rows = _rows_of(printed)
        continued = frozenset(number for number, row in enumerate(rows[:-1], start=1) if row.is_continued)
        texts = [row.text.replace("\u2028", " ").replace("\u2029", " ") for row in rows]  # these would break the line
        runs = {number: in_positions(row.text, row.runs) for number, row in enumerate(rows) if row.runs}
        if not continued:
            return cls("\n".join(texts), runs, continued, (), "")
        lengths = (len(row) + (number + 1 not in continued) for number, row in enumerate(texts))
        starts = list(accumulate(lengths, initial=0))[:-1]
        whole = "".join(row if number + 1 in continued else row + "\n" for number, row in enumerate(texts))[:-1]
        return cls("\n".join(texts), runs, continued, starts, lowered(whole))

    def find(self, text: str, row: int, offset: int) -> tuple[int, int, int, int] | None:
        """Return row and offset of both ends. Ignores case and wraps around. Only for documents with divided lines."""
        sought = lowered(text)
        start = self.starts[row] + offset
        at = self.searched.find(sought, start)
        at = at if at >= 0 else self.searched.find(sought, 0, start + len(sought))
        if not sought or at < 0:
            return None
        first = bisect_right(self.starts, at) - 1
        last = bisect_right(self.starts, at + len(sought) - 1) - 1
        return first, at - self.starts[first], last, at + len(sought) - self.starts[last]


def _rows_of(printed: str) -> list[PrintedRow]:
    rows: list[PrintedRow] = []
    chars = 0

    def take(more: Sequence[PrintedRow]) -> None:
        nonlocal chars
        rows.extend(more)
        chars += sum(len(row.text) + 1 for row in more)
        if chars > 2 * MAX_CHARS:
            while chars > MAX_CHARS and rows:
                half = len(rows) // 2 + 1
                chars -= sum(len(row.text) + 1 for row in rows[:half])
                del rows[:half]

    printout = Printout(take)
    printout.feed(printed)
    take(printout.standing())
    return rows


_SIGN = "↪"
_SIGN_WIDTH = 18


class PrintedView(QPlainTextEdit):
    def __init__(self, theme: Theme, document: PrintedDocument, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._printed = document
        self._theme = theme
        self._formats = self._new_formats()
        self._generation = 1
        """The number of the current formats. Blocks that were coloured with them have this number as their state."""
        self.setPlainText(document.text)
        if document.continued:
            self.document().setDocumentMargin(_SIGN_WIDTH)
        theme.changed.connect(self._on_theme_changed)

    def _new_formats(self) -> LookFormats:
        return LookFormats(self._theme.colours, self._theme.colours.surface)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._printed.runs:
            block = self.firstVisibleBlock()
            top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
            while block.isValid() and top < self.viewport().height():
                if block.userState() != self._generation:
                    block.setUserState(self._generation)
                    runs = self._printed.runs.get(block.blockNumber(), ())
                    formats = ((run.start, run.length, self._formats.format(run.look)) for run in runs)
                    block.layout().setFormats(format_ranges(formats))
                top += self.blockBoundingRect(block).height()
                block = block.next()
        super().paintEvent(event)
        if self._printed.continued:
            with QPainter(self.viewport()) as painter:
                painter.setFont(self.font())
                block = self.firstVisibleBlock()
                area = self.blockBoundingGeometry(block).translated(self.contentOffset())
                while block.isValid() and area.top() < self.viewport().height():
                    if block.blockNumber() in self._printed.continued:
                        place = QRectF(0, area.top(), _SIGN_WIDTH - 2, area.height())
                        painter.fillRect(place, self._theme.colour("surface"))
                        painter.setPen(self._theme.colour("muted"))
                        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, _SIGN)
                    block = block.next()
                    area = self.blockBoundingGeometry(block).translated(self.contentOffset())

    def createMimeDataFromSelection(self) -> QMimeData:
        if not self._printed.continued:
            return super().createMimeDataFromSelection()
        cursor, data = self.textCursor(), QMimeData()
        start, end = cursor.selectionStart(), cursor.selectionEnd()
        block = first = self.document().findBlock(start)
        parts: list[str] = []
        while block.isValid() and block.position() <= end:
            if block != first and block.blockNumber() not in self._printed.continued:
                parts.append("\n")
            text, at = block.text(), block.position()
            parts.append(text[index_of(text, max(0, start - at)) : index_of(text, end - at)])
            block = block.next()
        data.setText("".join(parts))
        return data

    def find_next(self, text: str) -> bool:
        if self._printed.continued:
            cursor = self.textCursor()
            end = self.document().findBlock(cursor.selectionEnd())
            offset = index_of(end.text(), cursor.selectionEnd() - end.position())
            found = self._printed.find(text, end.blockNumber(), offset)
            if found is None:
                return False
            row, start, last, stop = found
            self.setTextCursor(cursor_over(self.document(), self._position(row, start), self._position(last, stop)))
            return True
        if self.find(text, QTextDocument.FindFlag(0)):
            return True
        self.moveCursor(QTextCursor.MoveOperation.Start)
        return self.find(text, QTextDocument.FindFlag(0))

    def _position(self, row: int, offset: int) -> int:
        block = self.document().findBlockByNumber(row)
        return block.position() + utf16_length(block.text()[:offset])

    def _on_theme_changed(self) -> None:
        self._formats = self._new_formats()
        self._generation += 1
        self.viewport().update()


class OutputWindow(QDialog):
    def __init__(
        self, theme: Theme, title: str, printed: PrintedDocument, parent: QWidget | None = None, *, is_cut: bool = False
    ) -> None:
        """`is_cut` means that `printed` is only the end of the output; see `MAX_CHARS`."""
        super().__init__(parent)
        self.setObjectName("outputWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Output of {0}").format(title))
        self._text = PrintedView(theme, printed, self)
        self._text.setFont(theme.code_font())
        self._text.setAccessibleName(self.windowTitle())
        notes = [self.tr("Only the end is shown: the output is very long.")] if is_cut else []
        if printed.continued:
            notes.append(self.tr("↪ continues the line above; it is copied as one line."))
        note = make_label("  ".join(notes), role="secondary", parent=self)
        note.setVisible(bool(notes))
        self._field = make_line("", self.tr("Find in the output"), self.tr("Find"), parent=self)
        self._field.returnPressed.connect(self._find_next)
        close = make_button(self.tr("Close"), clicked=self.close, parent=self)
        foot = hbox((self._field, 1), note, close, spacing=Space.S)
        vbox((self._text, 1), foot, on=self, margins=(Space.M, Space.M, Space.M, Space.M), spacing=Space.S)
        QShortcut(QKeySequence.StandardKey.Find, self).activated.connect(self._field.setFocus)
        resize_within_screen(self, QSize(900, 640))

    def _find_next(self) -> None:
        self._text.find_next(self._field.text())
