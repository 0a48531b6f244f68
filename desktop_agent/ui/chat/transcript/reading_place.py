"""What is being read, and where it goes when heights change: it stays where it is, or the end is followed."""

from typing import NamedTuple

from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.transcript.rows import EntryRows
from desktop_agent.ui.theme import Space


class Anchor(NamedTuple):
    """A row, a block in it, and how far the view's top edge is below that block's."""

    row: EntryRow
    block: int
    """-1 for the row itself."""
    distance: int


class PagePlace(NamedTuple):
    """Where in a page the view begins, while the page becomes its rows."""

    row: int
    """Which row the page is."""
    distance: int
    """How far below the beginning of the page the view begins."""
    height: int
    """Of the page."""


class ReadingPlace:
    """Knows by an anchor what is read; without one and not following, the view stays at its scroll value."""

    def __init__(self, rows: EntryRows) -> None:
        self._rows = rows
        self._anchor: Anchor | None = None
        self.is_following = True
        """Whether the end is followed."""

    def row_top(self, row: EntryRow) -> int:
        """Return where a row begins in the whole column."""
        return Space.XL + self._rows.heights.top(row.index)

    def row_at(self, y: int) -> EntryRow | None:
        """Return the row at `y` of the whole column, or the nearest; None without any."""
        index = self._rows.heights.at(y - Space.XL)
        return self._rows[index] if index >= 0 else None

    def follow_end(self) -> None:
        """Forget what was read; the end is what is read now."""
        self.is_following = True
        self._anchor = None

    def go_to(self, y: int) -> None:
        """Read on from `y` of the whole column, which is not its end."""
        self.is_following = False
        self.take(y)

    def take(self, y: int) -> None:
        """Take what is at `y` of the whole column for what is read."""
        self._anchor = self._anchor_at(y)

    def forget(self, row: EntryRow) -> None:
        """Take in that a row is no more."""
        if self._anchor is not None and self._anchor.row is row:
            self._anchor = None

    def value(self, shown: int, maximum: int) -> int:
        """Return the scroll value that keeps what is read where it is; it was `shown`, and is at most `maximum`."""
        if self.is_following:
            return maximum
        if self._anchor is None:
            return min(shown, maximum)
        row, block, distance = self._anchor
        y = self.row_top(row) + distance
        if block >= 0 and row.widget is not None:
            y += row.widget.column_origin.y() + row.widget.column.top(block)
        return max(0, min(y, maximum))

    # -- over an exchange of rows --

    def from_end(self) -> tuple[int, int, int] | None:
        """Return what is read, with its row counted from the end; None while the end is followed."""
        if self.is_following or self._anchor is None:
            return None
        return len(self._rows) - self._anchor.row.index, self._anchor.block, self._anchor.distance

    def put_on(self, row: EntryRow, block: int, distance: int) -> None:
        """Read this."""
        self.is_following = False
        self._anchor = Anchor(row, block, distance)

    def hold(self, index: int) -> PagePlace | None:
        """Return what to tell `put_back` when the row at `index`, a page, has become its rows."""
        row = self._rows[index]
        if self._anchor is None or self._anchor.row is not row:
            return None
        return PagePlace(index, self._anchor.distance, self._rows.heights[index])

    def put_back(self, place: PagePlace, count: int, view_height: int) -> None:
        """Let what is read stay where it is: what follows the page if that is in view, else the place in the page."""
        heights, end = self._rows.heights, place.row + count
        is_end_in_view = place.height - place.distance < view_height
        if is_end_in_view and end < len(self._rows):
            self._anchor = Anchor(self._rows[end], -1, place.distance - place.height)
            return
        top, height = heights.top(place.row), heights.top(end) - heights.top(place.row)
        inside = height * place.distance // max(1, place.height)
        self.take(Space.XL + top + inside)

    def _anchor_at(self, y: int) -> Anchor | None:
        row = self.row_at(y)
        if row is None:
            return None
        distance = y - self.row_top(row)
        widget = row.widget
        if widget is None or not widget.is_column_shown or not widget.column.text.blocks:
            return Anchor(row, -1, distance)
        block, inside = widget.column.anchor(distance - widget.column_origin.y())
        return Anchor(row, block, inside)


class KeptPlace(NamedTuple):
    """A place that is found again when the session was closed and opened meanwhile.

    An entry, and how far the view's top edge is below it or below a block in it.
    """

    entry: int
    """Counted from the beginning of the session, whichever pages are loaded."""
    block: int
    """-1 for the entry itself."""
    distance: int


class FoundEntry(NamedTuple):
    """Where an entry is now."""

    row: int
    """The index of its row, or of the row of the page that it is on."""
    page: int | None
    """The page that has to be loaded first."""
    share: float
    """How much of that page is before it."""


def entry_number(transcript: Transcript, index: int) -> int:
    """Count the entry at `index` from the beginning of the session."""
    paged, before = transcript.paged, 0
    for number, page in enumerate(paged.pages):
        span = paged.span_of_page(number)
        if index < span.stop:
            return before + index - span.start
        before += page.entries
    return before + index - paged.base


def find_entry(transcript: Transcript, entry: int) -> FoundEntry | None:
    """Return where the entry with this number is; None when there is none."""
    paged, before = transcript.paged, 0
    for number, page in enumerate(paged.pages):
        if entry < before + page.entries:
            span, inside = paged.span_of_page(number), entry - before
            if paged.is_loaded(number):
                return FoundEntry(min(span.start + inside, span.stop - 1), None, 0.0)
            return FoundEntry(span.start, number, inside / page.entries)
        before += page.entries
    index = paged.base + entry - before
    return FoundEntry(index, None, 0.0) if index < len(paged.entries) else None
