"""A binary file before and after: what it is, how long, and the first bytes that differ."""

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QColor, QResizeEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QGridLayout, QPlainTextEdit, QTextEdit, QWidget

from desktop_agent.core.base.file_types import HEAD_BYTES, file_type
from desktop_agent.core.diff.binary_files import HexExcerpt, excerpt, printable
from desktop_agent.ui.review.media.picture_decoding import exact_size_words, short_hash
from desktop_agent.ui.theme import Space, Theme, TypeSize
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import hairline, set_names, vbox
from desktop_agent.ui.widgets.text_colours import mark_of


class VersionFacts(Struct, frozen=True):
    type_name: str
    size_bytes: int
    hash: str


class BinaryFacts(Struct, frozen=True):
    """Two versions (`None`: absent), and the bytes where they first differ."""

    before: VersionFacts | None
    after: VersionFacts | None
    excerpt: HexExcerpt
    is_same: bool


def binary_facts(before: bytes | None, after: bytes | None) -> BinaryFacts:
    shown = excerpt(before, after)
    is_same = before is not None and after is not None and shown.difference is None
    return BinaryFacts(version_facts(before), version_facts(after), shown, is_same)


def version_facts(content: bytes | None) -> VersionFacts | None:
    if content is None:
        return None
    return VersionFacts(file_type(content[:HEAD_BYTES]).name, len(content), short_hash(content))


def version_words(version: VersionFacts | None) -> tuple[str, str, str]:
    if version is None:
        return QCoreApplication.translate("Media", "There is no file"), "", ""
    return version.type_name, exact_size_words(version.size_bytes), version.hash


_OFFSET_CHARS = 10
_GAP = "  "
_PADDING_PX = 40


class HexText(QPlainTextEdit):
    """Read-only text that can be selected, copied, read by a screen reader, and scrolled by keyboard."""

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
        self._excerpt = shown
        self._row_bytes = 0
        self._fill()

    def _sides(self) -> list[bytes]:
        return [side for side in (self._excerpt.before, self._excerpt.after) if side]

    def _fitting(self) -> tuple[int, bool]:
        """Return how many bytes fit in a line, and whether their text fits beside them."""
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
        return mark_of(cursor, look)

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
    """Return the first and last offset of each run; runs are split at the ends of rows."""
    runs: list[tuple[int, int]] = []
    for at in offsets:
        if runs and runs[-1][1] == at - 1 and at % row_bytes:
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
    return runs


class BinaryView(QWidget):
    """A small table of facts, and the bytes below it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setProperty("role", "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        grid = QGridLayout()
        grid.setContentsMargins(Space.M, Space.M, Space.M, Space.M)
        grid.setHorizontalSpacing(Space.L)
        grid.setVerticalSpacing(Space.XS)
        for place, head in enumerate(("", self.tr("Before"), self.tr("After"))):
            grid.addWidget(make_label(head, role="heading"), 0, place)
            grid.setColumnStretch(place, 1 if head else 0)
        names = (self.tr("Type"), self.tr("Size"), self.tr("BLAKE2"))
        self._values = [[make_label(wraps=True, is_plain=True, is_selectable=True) for _ in range(2)] for _ in names]
        for row, (name, values) in enumerate(zip(names, self._values, strict=True), 1):
            grid.addWidget(make_label(name, role="heading"), row, 0)
            for place, value in enumerate(values, 1):
                grid.addWidget(value, row, place)
        self._where = make_label(role="heading")
        self._where.setContentsMargins(Space.M, Space.S, Space.M, 0)
        self._bytes = HexText(theme)
        set_names(self._bytes, "hexText", self.tr("Bytes before and after"))
        vbox(grid, hairline(), self._where, (self._bytes, 1), on=self)
        self.setFocusProxy(self._bytes)
        theme.changed.connect(self._on_theme_changed)
        self._on_theme_changed()

    def show_facts(self, facts: BinaryFacts) -> None:
        for place, version in enumerate((facts.before, facts.after)):
            for row, text in enumerate(version_words(version)):
                self._values[row][place].setText(text)
        self._where.setText(self._where_words(facts))
        self._bytes.show_excerpt(facts.excerpt)
        self._bytes.setVisible(bool(facts.excerpt.before or facts.excerpt.after))

    def _where_words(self, facts: BinaryFacts) -> str:
        shown = facts.excerpt
        if facts.is_same:
            return self.tr("The same bytes; they begin with")
        if facts.before is None or facts.after is None:
            return self.tr("It begins with") if shown.before or shown.after else self.tr("It is empty")
        return self.tr("First difference at byte {0}").format(shown.difference)

    def _on_theme_changed(self) -> None:
        for digest in self._values[-1]:
            digest.setFont(self._theme.code_font(TypeSize.CODE))
