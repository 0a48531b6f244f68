"""The content of a file, or why it cannot be shown, read in a thread; and the page of its text.

The page has line numbers, colours, search matches, and a bar to go to a line.
"""

import asyncio
import re
import stat
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QHideEvent,
    QIntValidator,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QPlainTextEdit, QWidget
from shiboken6 import isValid

from desktop_agent.core.base.file_types import HEAD_BYTES, file_type
from desktop_agent.core.diff.edited_text import EditedText
from desktop_agent.core.diff.text import Endings, Text, as_utf8, endings_of, line_count, read_texts
from desktop_agent.core.system.files import digest_of
from desktop_agent.ui.review.diff.highlighter import EditorColours
from desktop_agent.ui.review.diff_source import Spawn
from desktop_agent.ui.review.file_editing import FileEditor
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import core_words, plural
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.find_bar import FindBar, FindTarget, InputBar
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hairline, hbox, set_names, vbox
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture, decode, is_drawn, problem_words, size_words
from desktop_agent.ui.widgets.text_colours import cursor_over, mark_of
from desktop_agent.ui.wording import encoding_name

_tr = partial(QCoreApplication.translate, "Viewer")

MAX_SHOWN_BYTES = 10_000_000
MAX_EDITED_BYTES = 2_000_000
"""The largest file that can be edited: the text of a larger one cannot be taken from the field within a frame."""
MAX_LINE_BYTES = 20_000
"""The longest line of a shown file: laying out a longer one, as in generated files, would freeze the window."""

Obstacle = Literal["", "gone", "outside", "no file", "unreadable", "too large", "binary", "long lines"]


class FileContent(Struct, frozen=True):
    path: str
    """The real path, relative to the workspace. It differs from the requested one if that goes through a symlink."""
    obstacle: Obstacle = ""
    detail: str = ""
    digest: str | None = None
    size_bytes: int = 0
    type_name: str = ""
    text: EditedText | str | None = None
    """The text, if it can be shown. One of type `str` is too long to edit and can only be read."""
    picture: DecodedPicture | None = None
    encoding: str = ""
    endings: Endings = ""
    line_count: int = 0


def read_content(root: Path, path: str) -> FileContent:
    """Read a file to show. Blocks, but releases the GIL often."""
    base = root.resolve()
    file = (base / path).resolve()
    if not file.is_relative_to(base) or path.startswith(("//", "\\\\")):
        return FileContent(path, "outside")
    real = file.relative_to(base).as_posix()
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            return FileContent(real, "no file")
        if status.st_size > MAX_SHOWN_BYTES:
            with file.open("rb") as opened:
                kind = file_type(opened.read(HEAD_BYTES))
            if kind.picture is None:
                return FileContent(real, "too large", size_bytes=status.st_size, type_name=kind.name)
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return FileContent(real, "gone")
    except OSError as error:
        return FileContent(real, "unreadable", error.strerror or str(error))
    return content_of(real, content)


def content_of(path: str, content: bytes) -> FileContent:
    kind = file_type(content[:HEAD_BYTES])
    known = FileContent(path, digest=digest_of(content), size_bytes=len(content), type_name=kind.name)
    if is_drawn(path, kind):
        picture = decode(content)
        if picture.is_shown or kind.picture != "svg":
            return replace(known, picture=picture)
    plain = as_utf8(content)
    if plain is None:
        return replace(known, obstacle="binary")
    if _has_long_line(plain):
        return replace(known, obstacle="long lines")
    (text,) = read_texts(content)
    assert text is not None
    return replace(
        known,
        text=EditedText(text) if len(content) <= MAX_EDITED_BYTES else _shown(text),
        encoding=_encoding_words(text),
        endings=endings_of(plain),
        line_count=line_count(plain),
    )


def _has_long_line(content: bytes) -> bool:
    at, end = 0, len(content)
    while end - at > MAX_LINE_BYTES:
        found = content.rfind(b"\n", at, at + MAX_LINE_BYTES)
        if found < 0:
            return True
        at = found + 1
    return False


def _shown(text: Text) -> str:
    """Return the text with line feeds as line endings, made in pieces so that the GIL is released between them."""
    pieces = (text.content[start:end] for start, end in pieces_of_lines(text.content, 200_000))
    return "".join(piece.replace("\r\n", "\n").replace("\0", "\N{SYMBOL FOR NULL}") for piece in pieces)


def pieces_of_lines(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of pieces of about this size. Each piece ends with a line, so no line is split."""
    at = 0
    while at < len(text):
        end = text.rfind("\n", at, at + size) + 1 or text.find("\n", at) + 1 or len(text)
        yield at, end
        at = end


def _encoding_words(text: Text) -> str:
    name = encoding_name(text.encoding)
    if not text.is_valid:
        return f"{name}?"
    return f"{name} BOM" if text.has_bom and text.encoding == "utf-8" else name


def obstacle_words(content: FileContent) -> str:
    if content.picture is not None:
        return problem_words(content.picture.problem)
    words: dict[Obstacle, str] = {
        "": "",
        "gone": _tr("This file is no longer there. It was moved or deleted."),
        "outside": _tr("This file is outside the open folder, so it is not shown."),
        "no file": _tr("This is not a regular file: it is a folder, a device or a pipe."),
        "unreadable": _tr("This file cannot be read: {detail}."),
        "too large": _tr(
            "Too large to be shown here: {size}, where {most} is the limit. Open it with its application."
        ),
        "binary": _tr("This file is not text: {kind}, {size}. Open it with its application."),
        "long lines": _tr("Its lines are too long to be shown here: {size}. Open it with its application."),
    }
    size, most = size_words(content.size_bytes), size_words(MAX_SHOWN_BYTES)
    return words[content.obstacle].format(
        detail=content.detail, size=size, most=most, kind=core_words(content.type_name)
    )


MAX_PLACES = 20_000
_PIECE_CHARS = 100_000
"""How many characters one call searches, because each call holds the interpreter lock."""


class TextPlace(NamedTuple):
    """A match. Positions in a document count UTF-16 units."""

    start: int
    end: int


def find_places(text: str, wanted: str) -> tuple[TextPlace, ...]:
    """Return at most `MAX_PLACES` matches of `wanted`, which is one line. Ignores case."""
    if not wanted:
        return ()
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    found: list[tuple[int, int]] = []
    wide: list[int] = []
    plain = wanted.lower() if wanted.isascii() else ""
    for start, end in pieces_of_lines(text, _PIECE_CHARS):
        piece = text[start:end]
        if piece.isascii():
            found += ((start + at, start + at + len(plain)) for at in _indices(piece.lower(), plain))
        else:
            found += (match.span() for match in pattern.finditer(text, start, end))
            wide += (start + index for index, char in enumerate(piece) if char > "\uffff")
        if len(found) >= MAX_PLACES:
            break
    return tuple(
        TextPlace(start + bisect_left(wide, start), end + bisect_left(wide, end)) for start, end in found[:MAX_PLACES]
    )


def _indices(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))


_TYPING_MS = 60
_REST_MS = 250
_MOST_MARKED = 160


class TextFinder(FindTarget):
    """Searches the text of an editor in a thread. The function `text` returns the text."""

    def __init__(self, theme: Theme, editor: QPlainTextEdit, text: Callable[[], str], spawn: Spawn) -> None:
        super().__init__(editor)
        self._theme = theme
        self._editor = editor
        self._text = text
        self._spawn = spawn
        self._wanted = ""
        self._places: tuple[TextPlace, ...] = ()
        self._current = -1
        self._asked = 0
        self._is_edited = False
        """Whether the search is repeated because of an edit. Then it goes to no match: the user did not ask for it."""
        self._timer = one_shot(self, 0, self._begin)
        editor.document().contentsChange.connect(self._on_contents_changed)
        self._marking = one_shot(self, 0, self._mark)
        editor.verticalScrollBar().valueChanged.connect(self._mark_soon)
        theme.changed.connect(self._mark_soon)

    def find(self, text: str) -> None:
        self._wanted = text
        self._is_edited = False
        if text:
            self._timer.start(_TYPING_MS)
        else:
            self._timer.stop()
            self._asked += 1
            self._show((), -1)

    def step(self, by: int) -> None:
        if self._places:
            self._go_to((max(self._current, 0) + by) % len(self._places) if self._current >= 0 else 0)

    def _on_contents_changed(self) -> None:
        if self._wanted and not self._timer.isActive():
            self._is_edited = True
            self._timer.start(_REST_MS)

    def _begin(self) -> None:
        self._asked += 1
        self._spawn(self._search(self._wanted, self._asked))

    async def _search(self, wanted: str, asked: int) -> None:
        places = await asyncio.to_thread(find_places, self._text(), wanted)
        if not isValid(self) or asked != self._asked:
            return
        at = self._editor.textCursor().selectionStart()
        first = bisect_left(places, at, key=lambda place: place.start)
        if not places or self._is_edited:
            self._show(places, -1)
        else:
            self._places = places
            self._go_to(first % len(places))

    def _go_to(self, number: int) -> None:
        place = self._places[number]
        end = self._editor.document().characterCount() - 1
        self._editor.setTextCursor(cursor_over(self._editor.document(), min(place.start, end), min(place.end, end)))
        rect = self._editor.cursorRect()
        if not self._editor.viewport().rect().adjusted(0, 40, 0, -40).contains(rect.center()):
            self._editor.centerCursor()
        self._show(self._places, number)

    def _show(self, places: tuple[TextPlace, ...], current: int) -> None:
        self._places, self._current = places, current
        self._marking.start()
        self.found.emit(current + 1, len(places))

    def _mark_soon(self) -> None:
        if self._places:
            self._marking.start()

    def _mark(self) -> None:
        marked = QTextCharFormat()
        marked.setBackground(self._theme.colour("warning_bg"))
        top = self._editor.cursorForPosition(self._editor.viewport().rect().topLeft()).position()
        first = max(0, bisect_left(self._places, top, key=lambda place: place.start) - _MOST_MARKED // 4)
        document = self._editor.document()
        near = self._places[first : first + _MOST_MARKED]
        places = [place for place in near if place.end < document.characterCount()]
        self._editor.setExtraSelections([mark_of(cursor_over(document, *place), marked) for place in places])


_MAX_LINE = 99_999_999


class LineBar(InputBar):
    chosen = Signal(int)  # from 1

    def __init__(self, view: QWidget) -> None:
        super().__init__(view, "viewerLineBar", "lineField", self.tr("Line to go to"))
        self._field.setValidator(QIntValidator(1, _MAX_LINE, self))
        self._field.setFixedWidth(110)
        label = make_label(self.tr("Go to line"))
        label.setBuddy(self._field)
        self._of = make_label(role="secondary")
        close = make_button("✕", clicked=self.close_bar, variant="flat", accessible_name=self.tr("Close"))
        close.setProperty("compact", True)
        close.setToolTip(self.tr("Close (Esc)"))
        margins = (Space.M, Space.XS, Space.M, Space.XS)
        hbox(label, self._field, self._of, STRETCH, close, on=self, margins=margins, spacing=Space.S)

    def open_bar(self, current: int, count: int) -> None:
        self._of.setText(self.tr("of {0}").format(count))
        self._field.setText(str(current))
        self._open()

    def _on_enter(self, *, is_back: bool) -> None:
        if self._field.hasAcceptableInput():
            self.chosen.emit(int(self._field.text()))
        self.close_bar()


_MIN_DIGITS = 3


class LineNumbers(QWidget):
    def __init__(self, theme: Theme, editor: QPlainTextEdit) -> None:
        super().__init__()
        self._theme = theme
        self._editor = editor
        self._digits = _MIN_DIGITS
        editor.updateRequest.connect(self._on_update)
        editor.blockCountChanged.connect(self._fit)
        editor.cursorPositionChanged.connect(self.update)
        theme.changed.connect(self._fit)
        self._fit()

    def sizeHint(self) -> QSize:
        wide = self._editor.fontMetrics().horizontalAdvance("0") * self._digits
        return QSize(Space.M + wide + Space.S, 0)

    def _fit(self) -> None:
        self._digits = max(_MIN_DIGITS, len(str(self._editor.blockCount())))
        self.setFixedWidth(self.sizeHint().width())
        self.update()

    def _on_update(self, _area: QRect, _scrolled: int) -> None:
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = self._editor.viewport().mapFromGlobal(event.globalPosition().toPoint())
        at.setX(0)
        self._editor.setTextCursor(self._editor.cursorForPosition(at))
        self._editor.setFocus()

    def paintEvent(self, event: QPaintEvent) -> None:
        editor = self._editor
        with QPainter(self) as painter:
            painter.fillRect(event.rect(), self._theme.colour("surface"))
            painter.setFont(editor.font())
            current = editor.textCursor().blockNumber()
            block = editor.cursorForPosition(editor.viewport().rect().topLeft()).block()
            shift = editor.viewport().mapTo(editor, QPointF(0, 0)).y()
            height = editor.fontMetrics().height()
            width = self.width() - Space.S
            top = editor.cursorRect(QTextCursor(block)).top() + shift
            layout = editor.document().documentLayout()
            while block.isValid() and top <= self.height():
                painter.setPen(self._theme.colour("text" if block.blockNumber() == current else "faint"))
                number = str(block.blockNumber() + 1)
                painter.drawText(QRectF(0, top, width, height), Qt.AlignmentFlag.AlignRight, number)
                top += layout.blockBoundingRect(block).height()  # asking for each position takes ten times as long
                block = block.next()


class TextPage(QWidget):
    def __init__(self, theme: Theme, content: FileContent, spawn: Spawn, line: int) -> None:
        super().__init__()
        assert content.text is not None
        self._content = content
        self._shown = content.text.shown if isinstance(content.text, EditedText) else content.text
        self.editor = FileEditor(content.text, theme, is_marked=False)
        set_names(self.editor, "viewerText", self.tr("Text of {0}").format(content.path))
        self._colours = EditorColours(theme, self.editor)
        self._finder = TextFinder(theme, self.editor, self._text, spawn)
        self.find_bar = FindBar(self._finder, self.editor, self.tr("Find in this file"), name="viewerFindBar")
        self.line_bar = LineBar(self.editor)
        self._where = make_label(role="secondary", object_name="viewerWhere")
        self._facts = make_label(role="secondary", object_name="viewerFacts")
        self.show_facts(content)
        foot = hbox((self._where, 1), self._facts, margins=(Space.M, Space.XS, Space.M, Space.XS), spacing=Space.M)
        text = hbox(LineNumbers(theme, self.editor), (self.editor, 1))
        vbox(self.find_bar, self.line_bar, (text, 1), hairline(), foot, on=self)
        self.setFocusProxy(self.editor)
        self.editor.cursorPositionChanged.connect(self._show_where)
        self.line_bar.chosen.connect(self.go_to)
        self.editor.fill(line - 1)
        self._colours.set_path(content.path)
        self._show_where()

    @property
    def is_editable(self) -> bool:
        return isinstance(self._content.text, EditedText)

    @property
    def is_dirty(self) -> bool:
        return self.editor.is_ready and self.editor.document().isModified()

    def encode(self, written: str) -> bytes:
        """Return the bytes to save. Untouched parts keep theirs. Call this in a thread. Raises `UnicodeEncodeError`."""
        assert isinstance(self._content.text, EditedText)
        return self._content.text.encoded(written)

    @property
    def line(self) -> int:
        return self.editor.textCursor().blockNumber() + 1

    def go_to(self, line: int) -> None:
        last = self.editor.blockCount()
        self.editor.setTextCursor(QTextCursor(self.editor.document().findBlockByNumber(min(line, last) - 1)))
        self.editor.centerCursor()

    def open_find(self) -> None:
        self.line_bar.hide()
        self.find_bar.open_bar()

    def open_line(self) -> None:
        self.find_bar.close_bar()
        self.line_bar.open_bar(self.line, self.editor.blockCount())

    def _text(self) -> str:
        """Return the text to search. Returning an unmodified text costs nothing."""
        is_as_read = not self.editor.is_ready or not self.editor.document().isModified()
        return self._shown if is_as_read else self.editor.content()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        opened = next((bar for bar in (self.find_bar, self.line_bar) if bar.isVisible()), None)
        if event.key() == Qt.Key.Key_Escape and opened is not None:
            opened.close_bar()
        else:
            super().keyPressEvent(event)

    def _show_where(self) -> None:
        cursor = self.editor.textCursor()
        self._where.setText(
            self.tr("Line {0}, column {1}").format(cursor.blockNumber() + 1, cursor.positionInBlock() + 1)
        )

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._colours.stop()

    def show_facts(self, content: FileContent) -> None:
        count = content.line_count
        lines = "" if content.obstacle else plural("TextPage", count, "%n line", "%n lines")
        facts = [content.encoding, content.endings, lines, size_words(content.size_bytes)]
        if not self.is_editable:
            facts.insert(0, self.tr("Too long to be edited here"))
        self._facts.setText(" · ".join(filter(None, facts)))
