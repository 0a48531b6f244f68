"""Syntax colours for the visible lines of a diff or an editor, found by Pygments in small slices.

Pygments cannot start in the middle of a file. Each chunk is therefore lexed from some lines before it, enough for
strings and comments of usual length.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from PySide6.QtCore import QObject, QRect, QTimer, Signal
from PySide6.QtGui import QTextBlock, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.ui.runtime.pacing import BackgroundCall, one_shot
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.text_colours import (
    Lexer,
    LineSpans,
    foreground,
    format_ranges,
    in_utf16,
    lexer_for_path,
    spans_by_line,
)

CHUNK_LINES = 64
BACK_SYNC_LINES = 160
"""How many lines before a chunk lexing starts, to reach the right state."""
SLICE_S = 0.002
_LEXER_POLL_MS = 10
_STILL_S = 0.04
"""How long requests must have paused before a lexer is imported: importing would halve the speed of scrolling."""

_Chunk = tuple[LineSide, int]


class Coloured(NamedTuple):
    side: LineSide
    lines: range


class Lines(Protocol):
    def __getitem__(self, part: slice, /) -> Sequence[str]: ...


class Highlighter(QObject):
    """Finds the colours of the requested lines. Drops all colours when another file is set."""

    changed = Signal(object)  # a `Coloured`

    def __init__(self, parent: QObject, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(parent)
        self._clock = clock
        self._lines: dict[LineSide, Lines] = {}
        self._spans: dict[_Chunk, dict[int, LineSpans]] = {}
        self._wanted: list[_Chunk] = []
        self._steps: Iterator[dict[int, LineSpans]] | None = None
        self._search: BackgroundCall[Lexer | None] | None = None
        """The search for a lexer, in a thread because importing the first one for a language takes up to 100 ms."""
        self._lexer: Lexer | None = None
        self._in_view: dict[LineSide, tuple[int, ...]] = {}
        self._still_since = 0.0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._work)

    @property
    def is_busy(self) -> bool:
        return bool(self._wanted)

    def set_text(self, path: str, old_lines: Lines, new_lines: Lines) -> None:
        self._lines = {"old": old_lines, "new": new_lines}
        self._spans.clear()
        self._in_view.clear()
        self._lexer = None
        self._search = BackgroundCall(partial(lexer_for_path, path), None)
        self.stop()

    def request(self, side: LineSide, lines: Sequence[int]) -> None:
        """Find the colours of these lines soon. Call `forget_requests` first if earlier lines are no longer visible."""
        if self._search is None or not lines:
            return
        numbers = tuple(dict.fromkeys(line // CHUNK_LINES for line in lines))
        if self._in_view.get(side) != numbers:
            self._in_view[side] = numbers
            self._still_since = self._clock()
        for number in numbers:
            chunk = (side, number)
            if chunk not in self._spans and chunk not in self._wanted:
                self._wanted.append(chunk)
        if self._wanted and not self._timer.isActive():
            self._timer.start(0 if self._lexer else _LEXER_POLL_MS)

    def forget_requests(self) -> None:
        del self._wanted[1 if self._steps else 0 :]

    def stop(self) -> None:
        """Drop all requests. Colours that were found stay."""
        self._timer.stop()
        self._wanted.clear()
        self._steps = None

    def spans(self, side: LineSide, line: int) -> LineSpans:
        chunk = self._spans.get((side, line // CHUNK_LINES))
        return chunk.get(line, ()) if chunk else ()

    def _work(self) -> None:
        if not self._has_lexer():
            return
        deadline = self._clock() + SLICE_S
        found: list[Coloured] = []
        while self._wanted and self._clock() < deadline:
            side, number = self._wanted[0]
            if self._work_on((side, number), deadline):
                found.append(Coloured(side, range(number * CHUNK_LINES, (number + 1) * CHUNK_LINES)))
        if not self._wanted:
            self._timer.stop()
        for coloured in found:
            self.changed.emit(coloured)

    def _work_on(self, chunk: _Chunk, deadline: float) -> bool:
        """Return whether the chunk is finished."""
        assert self._lexer is not None
        side, number = chunk
        start = number * CHUNK_LINES
        first = max(0, start - BACK_SYNC_LINES)
        if self._steps is None:
            lines = self._lines[side][first : start + CHUNK_LINES]
            self._steps = spans_by_line(self._lexer, lines, skip=start - first)
        for found in self._steps:
            if found:
                self._spans[chunk] = {first + index: spans for index, spans in found.items()}
                break
            if self._clock() > deadline:
                return False
        self._steps = None
        self._wanted.pop(0)
        return any(self._spans.get(chunk, {}).values())

    def _has_lexer(self) -> bool:
        """Whether the lexer is available. Drops all requests if the file has no lexer."""
        if self._lexer is not None:
            return True
        if self._search is None:
            return False
        if not self._search.is_done:
            if self._clock() - self._still_since >= _STILL_S:
                self._search.start()
            return False
        self._timer.setInterval(0)
        self._lexer = self._search.result
        if self._lexer is None:
            self._wanted.clear()
            self._search = None
            self._timer.stop()
        return self._lexer is not None


_REST_MS = 80
"""The delay from the last typed letter until colours are updated. Until then the previous ones stay."""


class _DocumentLines:
    """The lines of a document, read on demand, so that only visible lines of a long document are read."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document

    def __getitem__(self, part: slice) -> list[str]:
        numbers = range(*part.indices(self._document.blockCount()))
        return [self._document.findBlockByNumber(number).text() for number in numbers]


class EditorColours(QObject):
    """Colours the visible lines of an editor. Highlighting a long document as a whole would freeze the window."""

    def __init__(self, theme: Theme, editor: QPlainTextEdit) -> None:
        super().__init__(editor)
        self._theme = theme
        self._editor = editor
        self._path = ""
        self._is_outdated = False
        self._highlighter = Highlighter(self)
        self._highlighter.changed.connect(self._paint)
        self._rest = one_shot(self, _REST_MS, self._start_over)
        editor.document().contentsChange.connect(self._on_contents_changed)
        editor.updateRequest.connect(self._on_update)
        theme.changed.connect(self._paint)

    def set_path(self, path: str) -> None:
        self._path = path
        self._start_over()

    def stop(self) -> None:
        """Pause until the editor is painted again."""
        self._highlighter.stop()
        self._is_outdated |= self._rest.isActive()
        self._rest.stop()

    def _on_contents_changed(self) -> None:
        if self._editor.isVisible():
            self._rest.start()
        else:
            self._is_outdated = True

    def _on_update(self, _area: QRect, scrolled: int) -> None:
        if not self._editor.isVisible():
            return
        if self._is_outdated:
            self._is_outdated = False
            self._rest.start()
        elif not self._rest.isActive():
            self._request()
            if scrolled:  # newly visible lines may have colours that were not applied yet
                self._paint()

    def _start_over(self) -> None:
        self._highlighter.set_text(self._path, (), _DocumentLines(self._editor.document()))
        self._request()

    def _request(self) -> None:
        self._highlighter.forget_requests()
        self._highlighter.request("new", [block.blockNumber() for block in self._in_view()])

    def _in_view(self) -> list[QTextBlock]:
        editor, found = self._editor, list["QTextBlock"]()
        block = editor.cursorForPosition(editor.viewport().rect().topLeft()).block()
        room = editor.viewport().height() // max(1, editor.fontMetrics().height()) + 2
        while block.isValid() and len(found) < room:
            found.append(block)
            block = block.next()
        return found

    def _paint(self) -> None:
        for block in self._in_view():
            colours = in_utf16(block.text(), self._highlighter.spans("new", block.blockNumber()))
            ranges = format_ranges((at, length, foreground(self._theme.colour(role))) for at, length, role in colours)
            if ranges != block.layout().formats():
                block.layout().setFormats(ranges)
                self._editor.document().markContentsDirty(block.position(), block.length())
