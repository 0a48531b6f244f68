"""The entries of a transcript as rows in a scrolling column, with widgets only near the viewport.

Heights are exact for rows that were on screen, and estimated for others. The reading position (`ReadingPlace`) stays
while they become exact.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QElapsedTimer, QObject, QRect, Signal
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.core.transcript import Entry, PageEntry, Patch, SpendingEntry, ToolEntry, Transcript
from desktop_agent.ui.chat.entries.entry import EntryRow, EntryWidget
from desktop_agent.ui.chat.entries.prompt import EDIT
from desktop_agent.ui.chat.text.column import Heights, Slice
from desktop_agent.ui.chat.text.file_links import KnownFiles
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.chat.transcript.height_estimates import HeightEstimates
from desktop_agent.ui.runtime.pacing import Throttle, one_shot
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.layouts import discard
from desktop_agent.ui.widgets.text_colours import Lexers


class EntryRows:
    """The rows of a transcript. A row's height includes the gap below it."""

    def __init__(self) -> None:
        self.heights = Heights()
        self._rows: list[EntryRow] = []
        self.estimates = HeightEstimates()
        self.changed: dict[EntryRow, None] = {}
        """The rows whose entries the last patches changed."""

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> EntryRow:
        return self._rows[index]

    def __iter__(self) -> Iterator[EntryRow]:
        return iter(self._rows)

    def reset(self, transcript: Transcript) -> None:
        self._rows = _rows_of(transcript.entries)
        self._number_pages(transcript)
        self.changed.clear()
        self.measure(self.estimates.width, None)

    def exchange(self, transcript: Transcript) -> list[EntryRow]:
        """Show a transcript with the same last entries, which keep their widgets. Return the removed rows."""
        before, entries = self._rows, transcript.entries
        pairs = zip((row.entry for row in reversed(before)), reversed(entries), strict=False)
        kept = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(before), len(entries)))
        stay, gone = before[len(before) - kept :], before[: len(before) - kept]
        heights = [self.heights[row.index] for row in stay]
        first = len(entries) - kept
        self._rows = _rows_of(entries[:first])
        for index, row in enumerate(stay, start=first):
            row.entry, row.index, row.page = entries[index], index, None
        self._rows += stay
        self._number_pages(transcript)
        self.changed.clear()
        self.heights.replace(0, [*map(self.estimates.of, self._rows[:first]), *heights])
        return gone

    def _number_pages(self, transcript: Transcript) -> None:
        for number in transcript.paged.loaded_pages:
            for index in transcript.paged.span_of_page(number):
                self._rows[index].page = number

    def measure(self, width: int, styles: TextStyles | None) -> None:
        self.estimates.use(width, styles)
        for row in self._rows:
            row.height_hint = 0
        self.heights.replace(0, map(self.estimates.of, self._rows))

    def apply(  # noqa: C901 - one closed vocabulary
        self, entries: Sequence[Entry], patches: Sequence[Patch]
    ) -> list[EntryRow]:
        """Apply patches. `entries` are those after the patches. Return the removed rows."""
        self.changed.clear()
        if not entries:
            removed, self._rows = self._rows, []
            self.heights.replace(0, ())
            return removed
        removed: list[EntryRow] = []
        added: list[EntryRow] = []
        for patch in patches:
            match patch.kind:
                case "append":
                    added.append(EntryRow(entries[-1], patch.index))
                    self._rows.append(added[-1])
                    self.heights.splice(patch.index, 0, (0,))
                case "remove":
                    removed.append(self._rows.pop(patch.index))
                    self.heights.splice(patch.index, 1, ())
                case "update" | "text" | "output":
                    self.changed[self._rows[patch.index]] = None
                case "expand":
                    removed += self._expand(patch, entries)
                case "collapse":
                    removed += self._collapse(patch, entries)
                case "changes" | "status":
                    pass
        if removed:
            self._number_from(0)
            for row in removed:
                self.changed.pop(row, None)
        for row in added:
            if row.index < len(self._rows) and self._rows[row.index] is row:
                row.entry = entries[row.index]
                self.heights.set(row.index, self.estimates.of(row))
        return removed

    def _number_from(self, start: int) -> None:
        for index in range(start, len(self._rows)):
            self._rows[index].index = index

    def _expand(self, patch: Patch, entries: Sequence[Entry]) -> list[EntryRow]:
        start, gone = patch.index, self._rows[patch.index]
        rows = [
            EntryRow(entry, index, gone.page)
            for index, entry in enumerate(entries[start : start + patch.count], start=start)
        ]
        self._rows[start : start + 1] = rows
        self._number_from(start + len(rows))
        self.heights.splice(start, 1, map(self.estimates.of, rows))
        return [gone]

    def _collapse(self, patch: Patch, entries: Sequence[Entry]) -> list[EntryRow]:
        start, end = patch.index, patch.index + patch.count
        gone = self._rows[start:end]
        row = EntryRow(entries[start], start, gone[0].page if gone else None)
        row.height_hint = self.heights.top(end) - self.heights.top(start)
        self._rows[start:end] = [row]
        self.heights.splice(start, patch.count, (row.height_hint,))
        return gone


def _rows_of(entries: Sequence[Entry]) -> list[EntryRow]:
    return [
        EntryRow(entry, index, entry.number if isinstance(entry, PageEntry) else None)
        for index, entry in enumerate(entries)
    ]


class Anchor(NamedTuple):
    row: EntryRow
    block: int
    """The block in the row; -1 for the row itself."""
    distance: int


class PagePlace(NamedTuple):
    row: int
    distance: int
    height: int


class ReadingPlace:
    """Keeps the reading position by an anchor. Without one, the scroll value stays, unless the end is followed."""

    def __init__(self, rows: EntryRows) -> None:
        self._rows = rows
        self._anchor: Anchor | None = None
        self.is_following = True

    def row_top(self, row: EntryRow) -> int:
        return Space.XL + self._rows.heights.top(row.index)

    def row_at(self, y: int) -> EntryRow | None:
        index = self._rows.heights.at(y - Space.XL)
        return self._rows[index] if index >= 0 else None

    def follow_end(self) -> None:
        self.is_following = True
        self._anchor = None

    def take(self, y: int) -> None:
        row = self.row_at(y)
        if row is None:
            self._anchor = None
            return
        distance, widget = y - self.row_top(row), row.widget
        self._anchor = Anchor(row, -1, distance)
        if widget is not None and widget.is_column_shown and widget.column.text.blocks:
            self._anchor = Anchor(row, *widget.column.anchor(distance - widget.column_origin.y()))

    def forget(self, row: EntryRow) -> None:
        if self._anchor is not None and self._anchor.row is row:
            self._anchor = None

    def value(self, shown: int, maximum: int) -> int:
        """Return the scroll value that keeps the reading position, at most `maximum`. `shown` is the current value."""
        if self.is_following:
            return maximum
        if self._anchor is None:
            return min(shown, maximum)
        row, block, distance = self._anchor
        y = self.row_top(row) + distance
        if block >= 0 and row.widget is not None:
            y += row.widget.column_origin.y() + row.widget.column.top(block)
        return max(0, min(y, maximum))

    def from_end(self) -> tuple[int, int, int] | None:
        """Return the anchor's row counted from the end, its block and its distance; `None` while following the end."""
        if self.is_following or self._anchor is None:
            return None
        return len(self._rows) - self._anchor.row.index, self._anchor.block, self._anchor.distance

    def put_on(self, row: EntryRow, block: int, distance: int) -> None:
        self.is_following = False
        self._anchor = Anchor(row, block, distance)

    def hold(self, index: int) -> PagePlace | None:
        """Return the position in the page at `index`, for `put_back` once the page's rows are loaded."""
        row = self._rows[index]
        if self._anchor is None or self._anchor.row is not row:
            return None
        return PagePlace(index, self._anchor.distance, self._rows.heights[index])

    def put_back(self, place: PagePlace, count: int, view_height: int) -> None:
        """Restore the reading position: at the row after the page if it was visible, otherwise within the page."""
        heights, end = self._rows.heights, place.row + count
        is_end_in_view = place.height - place.distance < view_height
        if is_end_in_view and end < len(self._rows):
            self._anchor = Anchor(self._rows[end], -1, place.distance - place.height)
            return
        top, height = heights.top(place.row), heights.top(end) - heights.top(place.row)
        inside = height * place.distance // max(1, place.height)
        self.take(Space.XL + top + inside)


_SHELF = 64

MAX_WIDTH = 840

_NARROW = 480


class RowWidgets(QObject):
    made = Signal(object)  # an `EntryRow`
    changed = Signal(object)  # an `EntryRow`
    resized = Signal(object, bool)  # an `EntryRow`, and whether the end stays in view if it was

    def __init__(
        self,
        rows: EntryRows,
        reading: ReadingPlace,
        styles: TextStyles,
        make: Callable[[EntryRow], EntryWidget],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._rows = rows
        self._reading = reading
        self._make = make
        self.styles = styles
        self.live: list[EntryRow] = []
        self._shelf: OrderedDict[EntryRow, None] = OrderedDict()
        self.width = 0
        self._view_top = self._view_height = 0
        self.held_row: EntryRow | None = None
        """A row whose widget is kept at any distance from the view, because a selection is being dragged from it."""

    def restyle(self, styles: TextStyles) -> None:
        self.styles = styles
        self._drop_widgets()
        self.width = 0  # fonts may be different now

    def fit(self, available: int) -> None:
        """Fit the rows into a width. `available` is the view's width in pixels, including its scroll bar."""
        padding = Space.XXL if available >= _NARROW else Space.L
        width = max(120, min(MAX_WIDTH, available - 2 * padding))
        if width == self.width:
            return
        self.width = width
        self._rows.measure(width, self.styles)
        for row in self.live:
            assert row.widget is not None
            row.widget.set_width(width)
            self.measure(row)

    def measure(self, row: EntryRow) -> bool:
        if row.widget is None:
            self._rows.heights.set(row.index, self._rows.estimates.of(row))
            return True
        height = row.widget.entry_height() + self.styles.entry_gap
        is_changed = height != self._rows.heights[row.index]
        self._rows.heights.set(row.index, height)
        return is_changed

    def create(self, row: EntryRow) -> EntryWidget:
        widget = self._make(row)
        widget.resized.connect(partial(self._on_resized, row, is_by_itself=False))
        widget.body_changed.connect(partial(self._on_resized, row, is_by_itself=True))
        widget.set_width(self.width)
        row.widget = widget
        self.live.append(row)
        self._shelf.pop(row, None)
        self.made.emit(row)
        return widget

    def realise(self, top: int, bottom: int, time: Slice, *, is_upwards: bool) -> tuple[bool, bool]:
        """Lay out rows, the last first if `is_upwards`. Return whether a height changed, and whether rows are left."""
        is_changed = has_made = is_put_off = False
        for index in self._indices(top, bottom, is_upwards=is_upwards):
            row = self._rows[index]
            row_top = self._reading.row_top(row)
            if row_top >= bottom and not is_upwards:
                break
            if row.widget is None:
                if (has_made or time.was_over) and time.is_over():
                    break
                has_made = True
            widget = row.widget or self.create(row)
            share = Slice() if time.is_open and widget.is_behind else time
            widget.lay_out(top - row_top, bottom - row_top, share)
            is_put_off = is_put_off or share.was_over
            is_changed = self.measure(row) or is_changed
        return is_changed, is_put_off

    def _indices(self, top: int, bottom: int, *, is_upwards: bool) -> range:
        heights = self._rows.heights
        first = max(0, heights.at(top - Space.XL))
        if not is_upwards:
            return range(first, len(self._rows))
        return range(heights.at(bottom - Space.XL), first - 1, -1)

    def place(self, x: int, value: int, view_height: int) -> None:
        self._view_top, self._view_height = value, view_height
        gone: list[EntryRow] = []
        for row in self.live:
            widget = row.widget
            assert widget is not None
            top = self._reading.row_top(row) - value
            height = self._rows.heights[row.index] - self.styles.entry_gap
            is_far = top + height < -view_height or top > 2 * view_height
            if is_far and not widget.is_pinned and row is not self.held_row:
                gone.append(row)
                continue
            area = QRect(x, top, self.width, height)
            if widget.geometry() != area:
                widget.setGeometry(area)
            widget.release(-top - view_height, -top + 2 * view_height)
            widget.arrange()
            if widget.isHidden():
                widget.show()
        for row in gone:
            self.live.remove(row)
            _discard(row)
            self._shelf[row] = None
            if len(self._shelf) > _SHELF:
                self._shelf.popitem(last=False)[0].forget()

    def drop(self, row: EntryRow) -> None:
        self._shelf.pop(row, None)
        if row.widget is not None:
            self.live.remove(row)
            _discard(row)

    def clear(self) -> None:
        self._drop_widgets()
        self._shelf.clear()

    def _drop_widgets(self) -> None:
        for row in self.live:
            _discard(row)
        self.live.clear()

    def in_sight(self) -> Iterator[tuple[EntryWidget, int, int]]:
        """Yield each existing widget, with the upper and lower edge of the view in its coordinates."""
        for row in self.live:
            if row.widget is not None:
                row_top = self._reading.row_top(row)
                yield row.widget, self._view_top - row_top, self._view_top + self._view_height - row_top

    def _on_resized(self, row: EntryRow, *, is_by_itself: bool) -> None:
        """Report a row's new height. The end stays in view if a question changed, or if the row changed by itself."""
        if row.widget is not None:
            is_question = isinstance(row.entry, ToolEntry | SpendingEntry) and row.entry.is_waiting
            self.changed.emit(row)
            self.resized.emit(row, is_by_itself or is_question)


def _discard(row: EntryRow) -> None:
    """Detach a row's widget, and delete it later, because its own click may have led here."""
    widget, row.widget = row.widget, None
    if widget is not None:
        widget.column.release_all()  # otherwise a reference cycle keeps it until garbage is collected
        discard(widget)


_MARGIN = 160
"""How far beyond its edges the view lays out, so that a little scrolling finds everything ready."""

_PAINTING_MS = 5
"""The pause between two slices of a gentle layout, in which the first one is painted."""

_NEW_AT_ONCE = 2
"""The most new rows that are laid out in one turn: making one takes up to 2 ms, and painting it as long again."""

_PASSES = 12

_READING_PAUSE_MS = 5
"""The pause between two parsing steps of a row that is behind its entry, in which the first step is painted."""

_COLOURING_MS = 5
_COLOURING_PAUSE_MS = 150
"""The pause before colouring a change, so that streaming code is coloured a few times a second, not in every frame."""
_LEXER_POLL_MS = 15


class RowLayout(QObject):
    """Follows a transcript's patches, scrolls `area` and lays out its visible part. `area` reports its scrolling."""

    laid_out = Signal()
    dropped = Signal(object)  # an `EntryRow` that is no longer shown
    patched = Signal(object)  # the applied list of `Patch`, before the next layout, but after that of loaded pages

    def __init__(self, area: QAbstractScrollArea, theme: Theme, make: Callable[[EntryRow], EntryWidget]) -> None:
        super().__init__(area)
        self.transcript = Transcript()
        self.rows = EntryRows()
        self.reading = ReadingPlace(self.rows)
        self.files = KnownFiles()
        self.widgets = RowWidgets(self.rows, self.reading, TextStyles(theme, self.files), make, self)
        self.top_edge = 0
        self._area = area
        self._theme = theme
        self._is_placing = False
        self.footer: QWidget | None = None
        self._dirty: dict[EntryRow, None] = {}
        self._updated_rows = 0
        self._throttle = Throttle(self._update_rows, self)
        self._reading_timer = one_shot(self, _READING_PAUSE_MS, self._parse_further)
        self.widgets.made.connect(self._on_made)
        self._lexers = Lexers()
        self._colours_timer = one_shot(self, 0, self._colour)
        self._gentle_timer = one_shot(self, _PAINTING_MS, self.lay_out_gently)
        self.widgets.resized.connect(self.row_resized)
        theme.changed.connect(self.restyle)

    def scroll_to_bottom(self) -> None:
        self.reading.is_following = True
        self.lay_out()

    def scroll_to(self, y: int) -> None:
        self.reading.is_following = False
        self.reading.take(y)
        self.lay_out()

    def reveal(self, y: int) -> None:
        height = self._area.viewport().height()
        line = self.widgets.styles.text_line
        is_in_view = self.top_edge + line <= y <= self.top_edge + height - 4 * line
        if not is_in_view or self.is_gentle:  # during a gentle layout, the shown rows are not final
            self.scroll_to(max(0, y - height // 3))

    def go_to_place_from_end(self, place: tuple[int, int, int]) -> None:
        """Go to a position from `ReadingPlace.from_end`, even if more rows come before it now."""
        from_end, block, distance = place
        if from_end <= len(self.rows):
            row = self.rows[len(self.rows) - from_end]
            if row.widget is None:
                self.widgets.create(row)
                self.widgets.measure(row)  # an estimated height may be too low to contain the position
            self.reading.put_on(row, block, distance)
        self.lay_out()

    def on_scrolled(self) -> None:
        if self._is_placing:
            return
        bar = self._area.verticalScrollBar()
        self.reading.is_following = bar.value() >= bar.maximum()
        self.reading.take(bar.value())
        if abs(bar.value() - self.top_edge) > self._area.viewport().height():
            self.lay_out_gently()  # no earlier row is in view
        else:
            self._lay_out_again()

    # -- changes --

    def show(self, transcript: Transcript, *, is_gentle: bool) -> None:
        """Show another transcript. `is_gentle` delays the layout to later turns of the event loop."""
        self.transcript = transcript
        self.rows.reset(transcript)
        self._dirty.clear()
        self.widgets.clear()
        self.reading.follow_end()
        if is_gentle:
            self._gentle_timer.start()  # the caller shows another session and has more to do in this turn
        else:
            self._lay_out_again()

    def exchange(self, transcript: Transcript) -> None:
        """Show this transcript, which has more entries before the shown ones, and keep the reading position."""
        self.transcript = transcript
        place = self.reading.from_end()
        self._drop(self.rows.exchange(transcript))
        if place is not None:
            self.go_to_place_from_end(place)
        else:
            self.lay_out_gently()

    def apply(self, patches: Sequence[Patch]) -> None:
        """Cheap: the next frame shows the changes, at most 30 times a second."""
        pages = [(patch, self.reading.hold(patch.index)) for patch in patches if patch.kind == "expand"]
        self._drop(self.rows.apply(self.transcript.entries, patches))
        for patch, place in pages:
            if place is not None:
                self.reading.put_back(place, patch.count, self._area.viewport().height())
        self._dirty |= self.rows.changed
        is_paging = bool(pages) and len(pages) == len(patches)
        if is_paging and not self.is_gentle:  # a gentle layout must not do more in this turn
            self.lay_out_gently()
        self.patched.emit(patches)
        if not is_paging:
            self.request_layout()

    def _drop(self, rows: Sequence[EntryRow]) -> None:
        for row in rows:
            self._dirty.pop(row, None)
            self.widgets.drop(row)
            self.reading.forget(row)
            self.dropped.emit(row)

    def row_resized(self, row: EntryRow, keeps_end: bool = False) -> None:
        """Lay out again after a row changed its height. The clicked item stays in place, unless `keeps_end`."""
        if row.widget is None:
            return
        self.widgets.measure(row)
        self.reading.is_following = self.reading.is_following and keeps_end
        if self.is_gentle:
            self._place(self._value())  # missing parts follow later
        else:
            self.lay_out()
        self.reading.is_following = self.top_edge >= self._area.verticalScrollBar().maximum()
        self.laid_out.emit()

    def restyle(self) -> None:
        self.widgets.restyle(TextStyles(self._theme, self.files))
        self._area.verticalScrollBar().setSingleStep(self.widgets.styles.text_line)
        self.lay_out()
        self._area.viewport().update()

    # -- layout --

    @property
    def is_gentle(self) -> bool:
        return self._gentle_timer.isActive()

    def lay_out(self) -> None:
        """Lay out the visible part, but leave rows that are still being parsed for later."""
        self._gentle_timer.stop()
        if not self._lay_out(Slice(is_open=True)):
            self._gentle_timer.start()

    def lay_out_gently(self) -> None:
        """Lay out the visible part a few rows at a time, the first rows at once, so that other work runs in between."""
        if not self._lay_out(Slice()):
            self._gentle_timer.start()

    def _lay_out(self, time: Slice) -> bool:
        """Return whether everything was laid out."""
        viewport = self._area.viewport()
        if not self._area.isVisible() or viewport.width() < 1:
            return True
        self.widgets.fit(self._area.width())
        height = viewport.height()
        value = self._value()
        margin = min(_MARGIN, height // 2)  # widgets a whole view away would be deleted at once
        is_put_off = False
        for _ in range(_PASSES):
            is_upwards = self.reading.is_following and not time.is_open
            is_changed, is_late = self.widgets.realise(
                value - margin, value + height + margin, time, is_upwards=is_upwards
            )
            is_put_off = is_put_off or is_late
            value = self._value()
            if not is_changed or is_put_off:
                break
        self._place(value)
        if not self._colours_timer.isActive():
            self._colours_timer.start(_COLOURING_PAUSE_MS)
        self.laid_out.emit()
        return not (is_put_off or time.was_over)

    def _lay_out_again(self) -> None:
        self.lay_out()
        if self._area.isVisible():
            self._colours_timer.start(0)  # once the visible part has been painted

    def _maximum(self) -> int:
        rows = self.rows.heights.total - (self.widgets.styles.entry_gap if len(self.rows) else 0)
        footer = self.footer.height() + self.widgets.styles.entry_gap if self.footer is not None else 0
        return max(0, 2 * Space.XL + rows + footer - self._area.viewport().height())

    def _value(self) -> int:
        return self.reading.value(self.top_edge, self._maximum())

    def _place(self, value: int) -> None:
        viewport, bar = self._area.viewport(), self._area.verticalScrollBar()
        height = viewport.height()
        self._is_placing = True
        line = self.widgets.styles.text_line
        bar.setPageStep(max(line, height - 2 * line))  # two lines stay visible for orientation
        bar.setRange(0, self._maximum())
        bar.setValue(value)
        self._is_placing = False
        distance = self.top_edge - value
        self.top_edge = value
        if distance and abs(distance) < height:
            viewport.scroll(0, distance)  # moves the pixels and the widgets with them
        x = (self._area.width() - self.widgets.width) // 2  # aligned with the composer: the scroll bar is in the margin
        self.widgets.place(x, value, height)
        if self.footer is not None:
            top = Space.XL + self.rows.heights.total - value
            self.footer.setGeometry(x, top, self.widgets.width, self.footer.height())
        self.reading.take(value)

    # -- what changed, shown with the next frame --

    def request_layout(self) -> None:
        self._throttle.trigger()

    def show_edits(self, edits: Mapping[int, str]) -> None:
        for row in self.rows:
            if isinstance(row.entry, PromptSubmitted) and row.entry.turn in edits:
                row.drafts[EDIT] = edits[row.entry.turn]
                self._dirty[row] = None
        self.request_layout()

    def flush(self) -> None:
        self._throttle.run_now()
        if self.is_gentle:
            self.lay_out()

    def pause(self) -> None:
        self._throttle.pause()
        for timer in (self._reading_timer, self._colours_timer, self._gentle_timer):
            timer.stop()

    def resume(self) -> None:
        self._throttle.resume()
        self.lay_out()
        for row in self.widgets.live:
            self._parse_later(row)

    def _update_rows(self) -> None:
        dirty, self._dirty = self._dirty, {}
        new, self._updated_rows = len(self.rows) - self._updated_rows, len(self.rows)
        for row in dirty:
            if row.widget is not None:
                row.widget.refresh()
                self._parse_later(row)
            self.widgets.measure(row)
            self.widgets.changed.emit(row)
        if self._reading_timer.isActive():
            self._gentle_timer.start()  # reading took its share of this turn
        elif not self.is_gentle:  # otherwise the layout is already running
            if new > _NEW_AT_ONCE:
                self.lay_out_gently()
            else:
                self.lay_out()

    def _on_made(self, row: EntryRow) -> None:
        self._dirty.pop(row, None)  # the widget shows the current entry
        self._parse_later(row)

    def _parse_later(self, row: EntryRow) -> None:
        if row.widget is not None and row.widget.is_behind:
            self._reading_timer.start()

    def _parse_further(self) -> None:
        for row in self.widgets.live:
            if row.widget is not None and row.widget.is_behind:
                self._dirty[row] = None
        self._throttle.trigger()

    # -- colours of code, a few milliseconds at a time after it has been painted without --

    def _colour(self) -> None:
        clock = QElapsedTimer()
        clock.start()
        for widget, top, bottom in self.widgets.in_sight():
            while widget.colour_next(top, bottom, self._lexers):
                if clock.elapsed() >= _COLOURING_MS:
                    self._colours_timer.start(0)
                    return
        if self._lexers.is_busy:
            self._colours_timer.start(_LEXER_POLL_MS)
