"""A scrolling column of rows of which only those near the eye exist as widgets.

Heights of rows that were never seen are estimates. What is being read (`ReadingPlace`) stays where it is while heights
above it become exact; and the view follows the end only while it is at the end.
"""

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, Qt, QTimer
from PySide6.QtGui import QHideEvent, QPalette, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from desktop_agent.ui.chat.slices import Slice
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.chat.transcript.code_colours import CodeColours
from desktop_agent.ui.chat.transcript.live_rows import LiveRows
from desktop_agent.ui.chat.transcript.quiet_scroll_bar import QuietScrollBar
from desktop_agent.ui.chat.transcript.reading_place import ReadingPlace
from desktop_agent.ui.chat.transcript.rows import EntryRows
from desktop_agent.ui.runtime.throttle import Throttle
from desktop_agent.ui.theme import Space, Theme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from desktop_agent.ui.chat.entries.base import EntryWidget
    from desktop_agent.ui.chat.transcript.reading_place import PagePlace
    from desktop_agent.ui.chat.transcript.row import EntryRow

MAX_WIDTH = 840
"""Of a row. Wider lines are hard to read."""

_NARROW = 480
_MARGIN = 160
"""How far beyond its edges the view lays out, so that a little scrolling finds everything ready."""

_PAINTING_MS = 5
"""Between two slices of a gentle layout: what the first laid out is painted, in a turn of the loop of its own."""

_PASSES = 12
_TICK_MS = 250


class RowArea(QAbstractScrollArea):
    """Lays rows out, scrolls them, and keeps them up to date. `TranscriptView` adds the user's actions."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = EntryRows()
        self.styles = TextStyles(theme)
        self._theme = theme
        self._live = LiveRows()
        self._reading = ReadingPlace(self.rows)
        self._dirty: dict[EntryRow, None] = {}
        self._row_width = 0
        self._shown_value = 0
        self._is_placing = False
        self._is_put_off = False
        """Whether the last layout left something for another turn."""
        self._footer: QWidget | None = None
        self._is_footer_shown = False
        self._throttle = Throttle(self._update_rows, self)
        self._colours = CodeColours(self._in_sight, self)
        self._gentle_timer = QTimer(self, interval=_PAINTING_MS, singleShot=True)
        self._gentle_timer.timeout.connect(self.lay_out_gently)
        self._reading_timer = QTimer(self, interval=_PAINTING_MS, singleShot=True)
        self._reading_timer.timeout.connect(self._read_further)
        self._tick_timer = QTimer(self, interval=_TICK_MS)
        self._tick_timer.timeout.connect(self._tick)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setBackgroundRole(QPalette.ColorRole.Base)  # also under the scroll bar
        self.setAutoFillBackground(True)
        self.setVerticalScrollBar(QuietScrollBar(self))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.verticalScrollBar().setSingleStep(self.styles.text_line)
        self.viewport().setMouseTracking(True)
        theme.changed.connect(self._on_theme_changed)

    # -- for the subclass --

    def make_widget(self, row: "EntryRow") -> "EntryWidget":
        """Return a new widget for a row, connected."""
        raise NotImplementedError

    def keeps(self, row: "EntryRow") -> bool:
        """Whether a row keeps its widget out of sight."""
        return row.widget is not None and row.widget.is_pinned

    def after_layout(self) -> None:
        """Called when rows have been placed."""

    def after_create(self, row: "EntryRow") -> None:
        """Called when a row got its widget."""

    def after_update(self, row: "EntryRow") -> None:
        """Called when a row shows what its entry became."""

    # -- state --

    @property
    def is_following(self) -> bool:
        """Whether the view is at the end and stays there."""
        return self._reading.is_following

    @property
    def live_rows(self) -> "list[EntryRow]":
        """The rows that have widgets now."""
        return list(self._live)

    def scroll_to_bottom(self) -> None:
        """Go to the end, and follow it from now on."""
        self._reading.is_following = True
        self.lay_out()

    def scroll_to_top(self) -> None:
        """Go to the beginning."""
        self.scroll_to(0)

    def scroll_to(self, y: int) -> None:
        """Bring what lies at `y` of the whole column to the top edge."""
        self._reading.go_to(y)
        self.lay_out()

    def reveal(self, y: int) -> None:
        """Scroll as little as it takes to bring what lies at `y` well into view."""
        height = self.viewport().height()
        line = self.styles.text_line
        is_in_view = self._shown_value + line <= y <= self._shown_value + height - 4 * line
        if not is_in_view or self._gentle_timer.isActive():  # then what is shown is not yet what will be
            self.scroll_to(max(0, y - height // 3))

    def row_resized(self, row: "EntryRow", *, keeps_end: bool = False) -> None:
        """Take in that a row's widget has another height.

        What was clicked stays where it is, also when the end moves away by it, unless the end shall stay in view.
        """
        if row.widget is None:
            return
        self.rows.heights.set(row.index, row.widget.entry_height() + Space.ENTRY)
        self._reading.is_following = self._reading.is_following and keeps_end
        if self._gentle_timer.isActive():
            self._place(self._value())  # what is missing yet comes in its own time
        else:
            self.lay_out()
        self._reading.is_following = self._shown_value >= self.verticalScrollBar().maximum()
        self.after_layout()

    @property
    def row_top_padding(self) -> int:
        """The space above the first row."""
        return Space.XL

    @property
    def top_edge(self) -> int:
        """Where in the whole column the view begins."""
        return self._shown_value

    def row_top(self, row: "EntryRow") -> int:
        """Return where a row begins in the whole column."""
        return self._reading.row_top(row)

    def place_from_end(self) -> tuple[int, int, int] | None:
        """Return what is read, with its row counted from the end; None while the end is followed."""
        return self._reading.from_end()

    def go_to_place_from_end(self, place: tuple[int, int, int]) -> None:
        """Go where `place_from_end` was, perhaps with more before it."""
        from_end, block, distance = place
        if from_end <= len(self.rows):
            row = self.rows[len(self.rows) - from_end]
            if row.widget is None:
                self.create_widget(row)
            self._reading.put_on(row, block, distance)
        self.lay_out()

    def flush(self) -> None:
        """Show at once what was applied and not shown yet, also what is being laid out gently."""
        self._throttle.run_now()
        if self._gentle_timer.isActive():
            self.lay_out()

    # -- changes --

    def replace_rows(self, *, is_gentle: bool = False) -> None:
        """Start anew with the rows as they are now, at their end."""
        self._live.clear()
        self._dirty.clear()
        self._reading.follow_end()
        if is_gentle:
            self._gentle_timer.start()  # the caller shows another session and has more to do in this turn
        else:
            self._lay_out_anew()

    def drop_row(self, row: "EntryRow") -> None:
        """Forget a row that is no more."""
        self._dirty.pop(row, None)
        self._live.drop(row)
        self._reading.forget(row)

    def hold_place(self, index: int) -> "PagePlace | None":
        """Return what to tell `put_back` when the row at `index`, a page, has become its rows."""
        return self._reading.hold(index)

    def put_back(self, place: "PagePlace", count: int) -> None:
        """Let what is read stay where it is, now that the page has become `count` rows."""
        self._reading.put_back(place, count, self.viewport().height())

    def mark_dirty(self, row: "EntryRow") -> None:
        """Say that a row's entry changed. It is shown with the next frame."""
        self._dirty[row] = None
        self._throttle.trigger()

    def request_layout(self) -> None:
        """Lay out with the next frame."""
        self._throttle.trigger()

    def set_footer(self, footer: QWidget) -> None:
        """Give the column a widget of fixed height to put behind the last row."""
        self._footer = footer
        footer.hide()

    def show_footer(self, *, is_shown: bool) -> None:
        """Put the footer there, or not."""
        if self._footer is not None and is_shown != self._is_footer_shown:
            self._is_footer_shown = is_shown
            self._footer.setVisible(is_shown)
            self.request_layout()

    def _update_rows(self) -> None:
        dirty, self._dirty = self._dirty, {}
        for row in dirty:
            if not row.is_dirty:
                continue
            row.is_dirty = False
            if row.widget is not None:
                row.widget.refresh()
                self._read_on(row)
                height = row.widget.entry_height() + Space.ENTRY
            else:
                height = self.rows.estimate(row)
            self.rows.heights.set(row.index, height)
            self.after_update(row)
        if self._reading_timer.isActive():
            self._gentle_timer.start()  # reading took its share of this turn
        elif not self._gentle_timer.isActive():  # else it is being laid out
            self.lay_out()

    def _read_on(self, row: "EntryRow") -> None:
        """See to it that a row whose widget has not taken in all of its entry does so with the next frames."""
        if row.widget is not None and row.widget.is_behind:
            self._reading_timer.start()

    def _read_further(self) -> None:
        """Let every row in sight that is behind its entry take another step."""
        for row in self._live:
            if row.widget is not None and row.widget.is_behind:
                row.is_dirty = True
                self._dirty[row] = None
        self._throttle.trigger()

    # -- layout --

    def lay_out(self) -> None:
        """Lay out what is in view and put it in its place; but not at once what is still being read."""
        self._gentle_timer.stop()
        if not self._lay_out(Slice(is_open=True)):
            self._gentle_timer.start()

    def lay_out_gently(self) -> None:
        """Lay out what is in view a few rows at a time, the first ones now, so that nothing else waits for it."""
        if not self._lay_out(Slice()):
            self._gentle_timer.start()

    def go_on_laying_out(self) -> None:
        """Lay out gently what is in view by now; if that is being done, this is no reason for more in this turn."""
        if not self._gentle_timer.isActive():
            self.lay_out_gently()

    def _lay_out(self, time: Slice) -> bool:
        """Lay out until the time is over. Whether all was laid out."""
        if not self.isVisible() or self.viewport().width() < 1:
            return True
        self._fit_width()
        height = self.viewport().height()
        value = self._value()
        margin = min(_MARGIN, height // 2)  # what is made a view away would be let go at once
        self._is_put_off = False
        for _ in range(_PASSES):
            is_changed = self._realise(value - margin, value + height + margin, time)
            value = self._value()
            if not is_changed or self._is_put_off:
                break
        self._place(value)
        self._colours.request()
        self.after_layout()
        return not (self._is_put_off or time.was_over)

    def _lay_out_anew(self) -> None:
        """Lay out what was not in view before."""
        self.lay_out()
        if self.isVisible():
            self._colours.request_now()

    def _fit_width(self) -> None:
        available = self.viewport().width()
        padding = Space.XXL if available >= _NARROW else Space.L
        width = max(120, min(MAX_WIDTH, available - 2 * padding))
        if width == self._row_width:
            return
        self._row_width = width
        self.rows.measure(width, self.styles)
        for row in self._live:
            assert row.widget is not None
            row.widget.set_width(width)
            self.rows.heights.set(row.index, row.widget.entry_height() + Space.ENTRY)

    def _content_height(self) -> int:
        rows = self.rows.heights.total - (Space.ENTRY if len(self.rows) else 0)
        footer = self._footer.height() + Space.ENTRY if self._footer is not None and self._is_footer_shown else 0
        return 2 * Space.XL + rows + footer

    def _value(self) -> int:
        """Return the scroll value that keeps the anchor, or the end, where it is."""
        maximum = max(0, self._content_height() - self.viewport().height())
        return self._reading.value(self._shown_value, maximum)

    def _realise(self, top: int, bottom: int, time: Slice) -> bool:
        """Give the rows between these edges a widget and an exact height. Whether a height changed by it.

        Every row, or as many as there is time for: then from the end upwards while the end is followed.
        """
        heights = self.rows.heights
        is_changed = has_made = False
        is_upwards = self._reading.is_following and not time.is_open
        for index in self._indices(top, bottom, is_upwards=is_upwards):
            row = self.rows[index]
            row_top = self.row_top(row)
            if row_top >= bottom and not is_upwards:
                break
            if row.widget is None:
                if (has_made or time.was_over) and time.is_over():
                    break
                has_made = True
            widget = row.widget or self.create_widget(row)
            share = Slice() if time.is_open and widget.is_behind else time
            widget.lay_out(top - row_top, bottom - row_top, share)
            self._is_put_off = self._is_put_off or share.was_over
            height = widget.entry_height() + Space.ENTRY
            if height != heights[index]:
                heights.set(index, height)
                is_changed = True
        return is_changed

    def _indices(self, top: int, bottom: int, *, is_upwards: bool) -> range:
        """Return which rows may lie between these edges, in the order in which they are laid out."""
        heights = self.rows.heights
        first = max(0, heights.at(top - Space.XL))
        if not is_upwards:
            return range(first, len(self.rows))
        return range(heights.at(bottom - Space.XL), first - 1, -1)

    def create_widget(self, row: "EntryRow") -> "EntryWidget":
        """Give a row its widget, wherever it is."""
        row.is_dirty = False
        widget = self.make_widget(row)
        widget.set_width(self._row_width)
        row.widget = widget
        self._live.add(row)
        self.after_create(row)
        self._read_on(row)
        return widget

    def _place(self, value: int) -> None:
        """Scroll to `value`, and put widgets where they belong."""
        viewport = self.viewport()
        height = viewport.height()
        maximum = max(0, self._content_height() - height)
        bar = self.verticalScrollBar()
        self._is_placing = True
        line = self.styles.text_line
        bar.setPageStep(max(line, height - 2 * line))  # two lines stay to find the place again
        bar.setRange(0, maximum)
        bar.setValue(value)
        self._is_placing = False
        distance = self._shown_value - value
        self._shown_value = value
        if distance and abs(distance) < height:
            viewport.scroll(0, distance)  # moves the pixels and the widgets with them
        x = (viewport.width() - self._row_width) // 2
        gone: list[EntryRow] = []
        for row in self._live:
            widget = row.widget
            assert widget is not None
            top = self.row_top(row) - value
            row_height = self.rows.heights[row.index] - Space.ENTRY
            if (top + row_height < -height or top > 2 * height) and not self.keeps(row):
                gone.append(row)
                continue
            area = QRect(x, top, self._row_width, row_height)
            if widget.geometry() != area:
                widget.setGeometry(area)
            widget.release(-top - height, -top + 2 * height)
            widget.arrange()
            if widget.isHidden():
                widget.show()
        for row in gone:
            self._live.retire(row)
        self._place_footer(x, value)
        self._reading.take(value)

    def _place_footer(self, x: int, value: int) -> None:
        if self._footer is not None and self._is_footer_shown:
            top = Space.XL + self.rows.heights.total - value
            self._footer.setGeometry(x, top, self._row_width, self._footer.height())

    # -- what happens by itself --

    def _in_sight(self) -> "Iterator[tuple[EntryWidget, int, int]]":
        """Yield the widgets there are, with the edges of the view in their coordinates."""
        top, bottom = self._shown_value, self._shown_value + self.viewport().height()
        for row in self._live:
            if row.widget is not None:
                yield row.widget, top - self.row_top(row), bottom - self.row_top(row)

    def _tick(self) -> None:
        for row in self._live:
            if row.widget is not None and row.widget.is_ticking:
                row.widget.tick()
        self.on_tick()

    def on_tick(self) -> None:
        """Called a few times a second while `needs_ticks` or a row is ticking."""

    @property
    def needs_ticks(self) -> bool:
        """Whether something outside the rows shows time passing."""
        return False

    @property
    def is_ticking(self) -> bool:
        """Whether time passes on screen now."""
        return self._tick_timer.isActive()

    def keep_time(self) -> None:
        """Tick while anything on screen shows time passing."""
        is_ticking = self.isVisible() and (
            self.needs_ticks or any(row.widget is not None and row.widget.is_ticking for row in self._live)
        )
        if is_ticking != self._tick_timer.isActive():
            if is_ticking:
                self._tick_timer.start()
            else:
                self._tick_timer.stop()

    def _on_theme_changed(self) -> None:
        self.styles = TextStyles(self._theme)
        self.verticalScrollBar().setSingleStep(self.styles.text_line)
        self._live.drop_widgets()
        self._row_width = 0  # fonts may be different now
        self.lay_out()
        self.viewport().update()

    # -- Qt --

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        if self._is_placing:
            return
        bar = self.verticalScrollBar()
        self._reading.is_following = bar.value() >= bar.maximum()
        self._reading.take(bar.value())
        if abs(bar.value() - self._shown_value) > self.viewport().height():
            self.lay_out_gently()  # nothing of what was in view is
        else:
            self._lay_out_anew()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.lay_out()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._throttle.resume()
        self.lay_out()
        for row in self._live:
            self._read_on(row)
        self.keep_time()

    def hideEvent(self, event: QHideEvent) -> None:
        self._throttle.pause()
        self._colours.stop()
        self._tick_timer.stop()
        self._reading_timer.stop()
        self._gentle_timer.stop()
        super().hideEvent(event)
