"""Goes from one place where a text stands in a diff to the next."""

from collections.abc import Callable

from desktop_agent.ui.review.diff.diff_navigation import DiffNavigation
from desktop_agent.ui.review.diff.diff_search import DiffMatch, DiffSearch
from desktop_agent.ui.review.diff.diff_selection import DiffPosition, DiffSelection


class DiffFinder:
    """Finds text in the diff, and selects it. `open_gap` unfolds the row that it is given."""

    def __init__(self, navigation: DiffNavigation, open_gap: Callable[[int], None]) -> None:
        self._navigation = navigation
        self._open_gap = open_gap
        self._rows = navigation.document.rows
        self._search = DiffSearch(self._rows.diff)
        self._found: DiffMatch | None = None
        """Where the text was found last, in `_rows`."""

    def find(self, text: str) -> bool:
        """Select the next place where `text` stands, unfolding lines to show it; starts over at the end."""
        rows = self._navigation.document.rows
        if rows.diff is not self._rows.diff:
            self._search = DiffSearch(rows.diff)
        if rows is not self._rows:
            self._found = None
        after = self._found or DiffMatch(self._navigation.row, -1, -1, -1)
        match = self._search.find(rows, text, after)
        if match and rows.gap(match.row):
            self._open_gap(match.row)
            rows = self._navigation.document.rows
            match = match._replace(row=rows.find(match.side, match.line))
        self._rows, self._found = rows, match
        if match is None:
            return False
        side = None if rows.mode == "unified" else match.side
        end = DiffPosition(match.row, match.offset + len(text))
        self._navigation.go_to(match.row)
        self._navigation.select(DiffSelection(side, DiffPosition(match.row, match.offset), end))
        return True
