"""The changed words of the lines that are painted, found a few milliseconds at a time and kept."""

import time
from typing import Final

from desktop_agent.core.diff.intraline import ChangedWords, Spans, changed_words
from desktop_agent.core.diff.rows import DiffRow, LineSide
from desktop_agent.core.diff.text import without_ending
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS

_MAX_KEPT: Final = 5_000
BUDGET_S: Final = 0.004
"""How long one painting may look for changed words. Long lines take longer: theirs come with the next painting."""


class LineWords:
    """Knows which words of a line differ from the line that took its place."""

    def __init__(self, budget_s: float = BUDGET_S) -> None:
        self._budget_s = budget_s
        self._known: dict[tuple[int, int], ChangedWords] = {}
        self._left_s = budget_s

    def clear(self) -> None:
        """Forget everything about the file: there is another one."""
        self._known.clear()

    def begin(self) -> None:
        """A painting begins: there is time to look again. What else the painting does takes nothing of it."""
        self._left_s = self._budget_s

    def of(self, diff: FileDiff, row: DiffRow, side: LineSide) -> Spans | None:
        """Return what changed in the line that a row shows on a side; `None` when there is no time left to look."""
        old = row.old if row.old is not None else row.peer
        new = row.new if row.new is not None else row.peer
        if old is None or new is None:
            return ()
        words = self._known.get((old, new))
        if words is None:
            if self._left_s <= 0:
                return None
            start = time.monotonic()
            words = self._found(diff.old_lines[old], diff.new_lines[new])
            if len(self._known) >= _MAX_KEPT:
                del self._known[next(iter(self._known))]
            self._known[old, new] = words
            self._left_s -= time.monotonic() - start
        return words.old if side == "old" else words.new

    def _found(self, old: str, new: str) -> ChangedWords:
        return changed_words(without_ending(old)[:MAX_DRAWN_CHARS], without_ending(new)[:MAX_DRAWN_CHARS])
