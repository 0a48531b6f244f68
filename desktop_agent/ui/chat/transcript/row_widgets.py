"""The widgets of the rows near the eye: made when a row comes near, let go when it is far away."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, QRect, Signal

from desktop_agent.core.transcript import SpendingEntry, ToolEntry
from desktop_agent.ui.chat.entries.entry import EntryRow, EntryWidget
from desktop_agent.ui.chat.text.column import Slice
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.chat.transcript.entry_rows import EntryRows, ReadingPlace
from desktop_agent.ui.theme import Space

_SHELF: Final = 64
"""How many rows off screen keep their parsed text."""

MAX_WIDTH = 840
"""Of a row. Wider lines are hard to read."""

_NARROW = 480


class RowWidgets(QObject):
    """Makes widgets with `make`, keeps the heights of their rows exact, and puts them in their places."""

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
        """The rows off screen whose parsed text is kept."""
        self.width = 0
        self._view_top = self._view_height = 0
        self.held_row: EntryRow | None = None
        """A row whose widget stays, however far away it is: a selection is being drawn from it."""

    def restyle(self, styles: TextStyles) -> None:
        """Drop all widgets; those made from now on use these styles."""
        self.styles = styles
        self._drop_widgets()
        self.width = 0  # fonts may be different now

    def fit(self, available: int) -> None:
        """Give the rows the width that suits a view `available` pixels wide, with its scroll bar."""
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
        """Update the height of a row, from its widget or as an estimate; return whether it changed."""
        if row.widget is None:
            self._rows.heights.set(row.index, self._rows.estimate(row))
            return True
        height = row.widget.entry_height() + self.styles.entry_gap
        is_changed = height != self._rows.heights[row.index]
        self._rows.heights.set(row.index, height)
        return is_changed

    def create(self, row: EntryRow) -> EntryWidget:
        row.is_dirty = False
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
        """Give the rows between these edges a widget and an exact height, or as many as there is time for.

        Upwards, the last ones come first. Returns whether a height changed by it, and whether a widget put a part off.
        """
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
        """Return which rows may lie between these edges, in the order in which they are laid out."""
        heights = self._rows.heights
        first = max(0, heights.at(top - Space.XL))
        if not is_upwards:
            return range(first, len(self._rows))
        return range(heights.at(bottom - Space.XL), first - 1, -1)

    def place(self, x: int, value: int, view_height: int) -> None:
        """Place the widgets for a view that begins at `value`; drop those that are far from it."""
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
        """Yield the widgets there are, with the edges of the view in their coordinates."""
        for row in self.live:
            if row.widget is not None:
                row_top = self._reading.row_top(row)
                yield row.widget, self._view_top - row_top, self._view_top + self._view_height - row_top

    def _on_resized(self, row: EntryRow, *, is_by_itself: bool) -> None:
        """The end stays in view for questions and changes not made by the user."""
        if row.widget is not None:
            is_question = isinstance(row.entry, ToolEntry | SpendingEntry) and row.entry.is_waiting
            self.changed.emit(row)
            self.resized.emit(row, is_by_itself or is_question)


def _discard(row: EntryRow) -> None:
    """Let go of a row's widget. Not at once: it may be the one whose click led here."""
    widget, row.widget = row.widget, None
    if widget is not None:
        widget.hide()
        widget.column.release_all()  # in Python, it is in a circle, which the collector of garbage breaks much later
        widget.deleteLater()
