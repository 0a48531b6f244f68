"""Goes to a call, a turn or the end of a conversation, and requests pages in or near the viewport."""

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QAbstractScrollArea, QPushButton

from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.core.transcript import Patch, ToolEntry, Transcript
from desktop_agent.ui.chat.conversation_search import Finder
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.runtime.pacing import one_shot
from desktop_agent.ui.theme import Space

_NEAR = 2

_NEAR_END = 4
"""A divisor of the view's height. Nearer to the end than the quotient, no button covers the text."""


class KeptPlace(NamedTuple):
    """A reading position for the reopened session. `distance` is from the block's top to the view's top edge."""

    entry: int
    """The entry, counted from the beginning of the session, whichever pages are loaded."""
    block: int
    """The block in the entry; -1 for the entry itself."""
    distance: int


class FoundEntry(NamedTuple):
    row: int
    """The index of its row, or of the row of the page that it is on."""
    page: int | None
    """The page that must be loaded before the entry can be shown; None if it is loaded."""
    share: float


class Navigation(QObject):
    """Scrolls to a call, turn or position once it is loaded. A button leads to the end if that is far away."""

    pages_wanted = Signal(object)  # numbers of pages in view or near it, loaded or not, the most urgent first

    def __init__(self, area: QAbstractScrollArea, layout: RowLayout, finder: Finder) -> None:
        super().__init__(layout)
        self._area = area
        self._layout = layout
        self._finder = finder
        self._wanted: tuple[int, ...] = ()
        self._sought_call = ""
        self._sought_place: KeptPlace | None = None
        self._reached: KeptPlace | None = None
        self._continue_timer = one_shot(layout, 0, self._continue)
        layout.laid_out.connect(self._on_laid_out)
        layout.patched.connect(self._on_patched)
        finder.page_sought.connect(self.ask_for_pages)
        self._jump = QPushButton(self.tr("Jump to latest ↓"), area)
        self._jump.setObjectName("jumpToLatestButton")
        self._jump.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._jump.hide()
        self._jump.clicked.connect(layout.scroll_to_bottom)
        finder.found.connect(self._update_jump)

    def forget(self) -> None:
        self._wanted = ()
        self._sought_call = ""
        self._sought_place = self._reached = None

    @property
    def can_rewind(self) -> bool:
        return not self._layout.transcript.turns.is_running

    def _on_patched(self, patches: Sequence[Patch]) -> None:
        if any(patch.kind != "expand" for patch in patches):
            return
        if self._sought_call:
            self.show_call(self._sought_call)
        elif self._sought_place is not None:
            self.go_to(self._sought_place)

    @property
    def is_at_end(self) -> bool:
        return self._layout.reading.is_following

    @property
    def place(self) -> KeptPlace | None:
        """The reading position; `None` at the end."""
        found = self._layout.reading.from_end()
        if found is None:
            return None
        from_end, block, distance = found
        return KeptPlace(entry_number(self._layout.transcript, len(self._layout.rows) - from_end), block, distance)

    def go_to(self, place: KeptPlace) -> None:
        """Go to `place` once its page is loaded and parsed. Do nothing if the entry does not exist."""
        self._sought_place = self._reached = None
        layout = self._layout
        found = find_entry(layout.transcript, place.entry)
        if found is None or found.row >= len(layout.rows):
            return
        if found.page is not None:
            self._sought_place = place
            inside = int(found.share * layout.rows.heights[found.row])
            layout.scroll_to(layout.reading.row_top(layout.rows[found.row]) + inside)
            return
        layout.go_to_place_from_end((len(layout.rows) - found.row, place.block, place.distance))
        if self._is_behind(found.row):
            self._sought_place, self._reached = place, self.place

    def _on_laid_out(self) -> None:
        self._update_jump()
        if self._reached is not None:
            self._continue_timer.start()

    def _update_jump(self) -> None:
        bar = self._area.verticalScrollBar()
        is_end_away = bar.maximum() - bar.value() > self._area.viewport().height() // _NEAR_END
        is_needed = is_end_away and not self.is_at_end and not self._finder.is_searching
        if is_needed:
            area, size = self._area.rect(), self._jump.sizeHint()
            left, top = area.center().x() - size.width() // 2, area.bottom() - size.height() - Space.M
            self._jump.setGeometry(left, top, size.width(), size.height())
            self._jump.raise_()
        self._jump.setVisible(is_needed)

    def _continue(self) -> None:
        """Continue to a position in a long text as more of it is parsed, unless the user has scrolled."""
        if self._reached is None or self._sought_place is None:
            return
        if self.place != self._reached:
            self._sought_place = self._reached = None
        elif not self._is_behind(len(self._layout.rows) - (self._layout.reading.from_end() or (0,))[0]):
            place, self._reached = self._sought_place, None
            self.go_to(place)

    def _is_behind(self, index: int) -> bool:
        rows = self._layout.rows
        widget = rows[index].widget if index < len(rows) else None
        return widget is not None and widget.is_behind

    def show_call(self, call_id: str) -> None:
        self._sought_call = ""
        layout = self._layout
        paged = layout.transcript.paged
        if paged.tool_of(call_id) is None:
            return
        number = paged.page_of_call(call_id)
        if number is not None and not paged.is_loaded(number):
            self._sought_call = call_id
            layout.scroll_to(layout.reading.row_top(layout.rows[paged.page_start(number)]))
            return
        self._reveal(self._card_of(call_id))

    def show_turn(self, turn: int, call_id: str = "") -> None:
        asked = [row for row in self._layout.rows if isinstance(row.entry, PromptSubmitted) and row.entry.turn == turn]
        self._reveal(self._card_of(call_id) or (asked[-1] if asked else None))

    def _card_of(self, call_id: str) -> EntryRow | None:
        calls = (row for row in self._layout.rows if isinstance(row.entry, ToolEntry) and row.entry.call.id == call_id)
        return next(calls, None)

    def _reveal(self, row: EntryRow | None) -> None:
        if row is not None:
            self._layout.reveal(self._layout.reading.row_top(row))

    def ask_for_pages(self) -> None:
        height = self._area.viewport().height()
        in_view = self._pages_between(0, height)
        near = self._pages_between(-_NEAR * height, (1 + _NEAR) * height)
        wanted = tuple(dict.fromkeys((*in_view, *self._finder.wanted_pages, *near)))
        if wanted != self._wanted:
            self._wanted = wanted
            self.pages_wanted.emit(wanted)

    def _pages_between(self, top: int, bottom: int) -> list[int]:
        rows = self._layout.rows
        if not len(rows):
            return []
        start = self._layout.top_edge - Space.XL
        first, last = rows.heights.at(start + top), rows.heights.at(start + bottom)
        pages = (rows[index].page for index in range(max(0, first), last + 1))
        return list(dict.fromkeys(page for page in pages if page is not None))


def entry_number(transcript: Transcript, index: int) -> int:
    """Return the number of the entry at `index`, counted from the beginning of the session."""
    paged, before = transcript.paged, 0
    for number, page in enumerate(paged.pages):
        span = paged.span_of_page(number)
        if index < span.stop:
            return before + index - span.start
        before += page.entries
    return before + index - paged.base


def find_entry(transcript: Transcript, entry: int) -> FoundEntry | None:
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
