"""Colours for the lines on screen, a few milliseconds at a time, after they have been painted without."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from pygments.lexer import Lexer
from PySide6.QtCore import QObject, QTimer, Signal

from desktop_agent.core.diff.rows import LineSide
from desktop_agent.ui.review.diff.syntax import LineSpans, lexer_for_path, spans_by_line
from desktop_agent.ui.runtime.background_call import BackgroundCall

CHUNK_LINES = 64
BACK_SYNC_LINES = 160
"""How far before a chunk lexing starts, to get into the right state."""
SLICE_S = 0.002
"""How long to work before the event loop has its turn."""
_LEXER_POLL_MS = 10
_STILL_S = 0.04
"""How long nothing else is asked for before a lexer is looked for: its import would halve the speed of scrolling."""

_Chunk = tuple[LineSide, int]


class Coloured(NamedTuple):
    """Lines of a side that have colours now."""

    side: LineSide
    lines: range


class Highlighter(QObject):
    """Finds the colours of the lines that were asked for last, and forgets them with the next file.

    Signals:
        changed: more lines have colours now; carries a `Coloured`.
    """

    changed = Signal(object)

    def __init__(self, parent: QObject, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns the time in seconds."""
        super().__init__(parent)
        self._clock = clock
        self._lines: dict[LineSide, Sequence[str]] = {}
        self._spans: dict[_Chunk, dict[int, LineSpans]] = {}
        self._wanted: list[_Chunk] = []
        self._steps: Iterator[dict[int, LineSpans]] | None = None
        self._search: BackgroundCall[Lexer | None] | None = None
        """For a lexer: the first of a language takes up to 100 ms to import."""
        self._lexer: Lexer | None = None
        self._in_view: dict[LineSide, tuple[int, ...]] = {}
        self._still_since = 0.0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._work)

    @property
    def is_busy(self) -> bool:
        """Whether lines still wait for their colours."""
        return bool(self._wanted)

    def set_text(self, path: str, old_lines: Sequence[str], new_lines: Sequence[str]) -> None:
        """Forget everything and start with this file."""
        self._lines = {"old": old_lines, "new": new_lines}
        self._spans.clear()
        self._in_view.clear()
        self._lexer = None
        self._search = BackgroundCall(partial(lexer_for_path, path), None)
        self.stop()

    def request(self, side: LineSide, lines: Sequence[int]) -> None:
        """Find the colours of these lines soon. Call `forget_requests` first when others are no longer seen."""
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
        """Drop what was asked for and has not been begun."""
        del self._wanted[1 if self._steps else 0 :]

    def stop(self) -> None:
        """Drop everything that was asked for; what is known stays known."""
        self._timer.stop()
        self._wanted.clear()
        self._steps = None

    def spans(self, side: LineSide, line: int) -> LineSpans:
        """Return the colours of a line, as far as they are known."""
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
        """Go on with one chunk; whether its lines have colours now."""
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
        """Whether there is a lexer by now. Gives up when there will be none."""
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
