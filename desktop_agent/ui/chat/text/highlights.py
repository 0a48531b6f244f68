"""What is selected in a column, and what a search found there."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from desktop_agent.ui.chat.text.column_text import TextPosition
from desktop_agent.ui.chat.text.passage import Highlight
from desktop_agent.ui.chat.text.styles import TextStyles

_MOST_MARKED = 60
"""So many matches of a block are marked, those around the current one."""


class TextMatch(NamedTuple):
    """A found piece of text."""

    block: int
    start: int
    end: int


class ColumnHighlights:
    """Says which parts of each block are painted as selected or found."""

    def __init__(self, styles: TextStyles) -> None:
        self._styles = styles
        self._selection: tuple[TextPosition, TextPosition] | None = None
        self._matches: Sequence[TextMatch] = ()
        self._current: TextMatch | None = None

    def select(self, selection: tuple[TextPosition, TextPosition] | None) -> bool:
        """Show this range as selected. Whether that is different from before."""
        if selection == self._selection:
            return False
        self._selection = selection
        return True

    def show_matches(self, matches: Sequence[TextMatch], current: TextMatch | None) -> None:
        """Show these pieces, in the order of reading, as found, one of them as the one that was asked for."""
        self._matches = matches
        self._current = current

    def of_block(self, index: int, length: int) -> tuple[list[Highlight], object]:
        """Return what is highlighted in a block of this length, and a key: the same again while that is."""
        selected = self._selected_range(index, length)
        first = bisect_left(self._matches, (index,))
        matches = self._near_current(self._matches[first : bisect_left(self._matches, (index + 1,), first)])
        if selected is None and not matches:
            return [], None
        highlights: list[Highlight] = []
        for match in matches:
            background = "found_current" if match == self._current else "warning_bg"
            highlights.append(Highlight(match.start, match.end, self._styles.highlight(background, "text")))
        if selected is not None:
            highlights.append(Highlight(*selected, self._styles.highlight("accent", "on_accent")))
        return highlights, (selected, tuple(matches), self._current)

    def _near_current(self, matches: Sequence[TextMatch]) -> Sequence[TextMatch]:
        """Return the matches of a block that are shown as such: Qt paints the text once more for each of them."""
        at = bisect_left(matches, self._current) if self._current is not None else 0
        first = max(0, min(at - _MOST_MARKED // 2, len(matches) - _MOST_MARKED))
        return matches[first : first + _MOST_MARKED]

    def _selected_range(self, index: int, length: int) -> tuple[int, int] | None:
        if self._selection is None:
            return None
        start, end = self._selection
        first = max(start, TextPosition(index, 0)).offset if start.block <= index else -1
        last = length if end.block > index else end.offset if end.block == index else -1
        return (first, last) if 0 <= first < last else None
