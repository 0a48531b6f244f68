"""Lays out a scrolling column of rows of which only those near the eye exist as widgets, and follows their changes.

Heights of rows that were never seen are estimates. What is being read (`ReadingPlace`) stays where it is while heights
above it become exact; and the view follows the end only while it is at the end. What changed is shown with the next
frame, a little of a long text in each.
"""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.ui.chat.entries.entry import EntryRow, EntryWidget
from desktop_agent.ui.chat.entries.prompt import EDIT
from desktop_agent.ui.chat.text.column import Slice
from desktop_agent.ui.chat.text.file_links import KnownFiles
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.chat.transcript.entry_rows import EntryRows, ReadingPlace
from desktop_agent.ui.chat.transcript.row_widgets import RowWidgets
from desktop_agent.ui.runtime.pacing import Throttle
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.text_colours import Lexers

_MARGIN = 160
"""How far beyond its edges the view lays out, so that a little scrolling finds everything ready."""

_PAINTING_MS = 5
"""Between two slices of a gentle layout; meanwhile the first one is painted."""

_PASSES = 12

_READING_PAUSE_MS = 5
"""Between two steps of a row that is behind its entry; meanwhile the first one is painted."""

_COLOURING_MS = 5
_COLOURING_PAUSE_MS = 150
"""After a change: code that streams in is coloured a few times a second, not with every frame."""
_LEXER_POLL_MS = 15


class RowLayout(QObject):
    """Scrolls `area` and lays out what is in view. The area passes on that it was scrolled."""

    laid_out = Signal()

    def __init__(self, area: QAbstractScrollArea, theme: Theme, make: Callable[[EntryRow], EntryWidget]) -> None:
        super().__init__(area)
        self.rows = EntryRows()
        self.reading = ReadingPlace(self.rows)
        self.files = KnownFiles()
        """What paths in the conversation can lead to."""
        self.widgets = RowWidgets(self.rows, self.reading, TextStyles(theme, self.files), make, self)
        self.top_edge = 0
        self._area = area
        self._theme = theme
        self._is_placing = False
        self.footer: QWidget | None = None
        """A widget of fixed height behind the last row."""
        self._dirty: dict[EntryRow, None] = {}
        self._throttle = Throttle(self._update_rows, self)
        self._reading_timer = QTimer(self, interval=_READING_PAUSE_MS, singleShot=True)
        self._reading_timer.timeout.connect(self._read_further)
        self.widgets.made.connect(self._read_on)
        self._lexers = Lexers()
        self._colours_timer = QTimer(self, singleShot=True)
        self._colours_timer.timeout.connect(self._colour)
        self._gentle_timer = QTimer(self, interval=_PAINTING_MS, singleShot=True)
        self._gentle_timer.timeout.connect(self.lay_out_gently)
        self.widgets.resized.connect(self.row_resized)
        theme.changed.connect(self.restyle)

    def scroll_to_bottom(self) -> None:
        self.reading.is_following = True
        self.lay_out()

    def scroll_to(self, y: int) -> None:
        self.reading.go_to(y)
        self.lay_out()

    def reveal(self, y: int) -> None:
        """Scroll as little as it takes to bring what lies at `y` well into view."""
        height = self._area.viewport().height()
        line = self.widgets.styles.text_line
        is_in_view = self.top_edge + line <= y <= self.top_edge + height - 4 * line
        if not is_in_view or self.is_gentle:  # then what is shown is not yet what will be
            self.scroll_to(max(0, y - height // 3))

    def go_to_place_from_end(self, place: tuple[int, int, int]) -> None:
        """Go where `ReadingPlace.from_end` was, perhaps with more before it."""
        from_end, block, distance = place
        if from_end <= len(self.rows):
            row = self.rows[len(self.rows) - from_end]
            if row.widget is None:
                self.widgets.create(row)
                self.widgets.measure(row)  # what is estimated may be too low for the place to be in it
            self.reading.put_on(row, block, distance)
        self.lay_out()

    def on_scrolled(self) -> None:
        if self._is_placing:
            return
        bar = self._area.verticalScrollBar()
        self.reading.is_following = bar.value() >= bar.maximum()
        self.reading.take(bar.value())
        if abs(bar.value() - self.top_edge) > self._area.viewport().height():
            self.lay_out_gently()  # nothing of what was in view is
        else:
            self._lay_out_again()

    # -- changes --

    def replace_rows(self, *, is_gentle: bool) -> None:
        """Show the rows as they are now, from their end."""
        self._dirty.clear()
        self.widgets.clear()
        self.reading.follow_end()
        if is_gentle:
            self.go_on_later()  # the caller shows another session and has more to do in this turn
        else:
            self._lay_out_again()

    def row_resized(self, row: EntryRow, keeps_end: bool = False) -> None:
        """Take in that a row's widget has another height.

        What was clicked stays where it is, also when the end moves away by it, unless the end shall stay in view.
        """
        if row.widget is None:
            return
        self.widgets.measure(row)
        self.reading.is_following = self.reading.is_following and keeps_end
        if self.is_gentle:
            self._place(self._value())  # what is missing yet comes in its own time
        else:
            self.lay_out()
        self.reading.is_following = self.top_edge >= self._area.verticalScrollBar().maximum()
        self.laid_out.emit()

    def restyle(self) -> None:
        """Lay out again with new styles: the theme or the known files changed."""
        self.widgets.restyle(TextStyles(self._theme, self.files))
        self._area.verticalScrollBar().setSingleStep(self.widgets.styles.text_line)
        self.lay_out()
        self._area.viewport().update()

    # -- layout --

    @property
    def is_gentle(self) -> bool:
        return self._gentle_timer.isActive()

    def lay_out(self) -> None:
        """Lay out and place what is in view, but not at once rows that are still being parsed."""
        self._gentle_timer.stop()
        if not self._lay_out(Slice(is_open=True)):
            self._gentle_timer.start()

    def lay_out_gently(self) -> None:
        """Lay out what is in view a few rows at a time, the first ones now, so that nothing else waits for it."""
        if not self._lay_out(Slice()):
            self._gentle_timer.start()

    def go_on_later(self) -> None:
        """Lay out gently, beginning in the next turn of the loop."""
        self._gentle_timer.start()

    def _lay_out(self, time: Slice) -> bool:
        """Lay out until the time is over. Whether all was laid out."""
        viewport = self._area.viewport()
        if not self._area.isVisible() or viewport.width() < 1:
            return True
        self.widgets.fit(self._area.width())
        height = viewport.height()
        value = self._value()
        margin = min(_MARGIN, height // 2)  # what is made a view away would be let go at once
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
            self._colours_timer.start(0)  # as soon as what is in sight has been painted

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
        bar.setPageStep(max(line, height - 2 * line))  # two lines stay to find the place again
        bar.setRange(0, self._maximum())
        bar.setValue(value)
        self._is_placing = False
        distance = self.top_edge - value
        self.top_edge = value
        if distance and abs(distance) < height:
            viewport.scroll(0, distance)  # moves the pixels and the widgets with them
        x = (self._area.width() - self.widgets.width) // 2  # as the composer: the scroll bar lies in the margin
        self.widgets.place(x, value, height)
        if self.footer is not None:
            top = Space.XL + self.rows.heights.total - value
            self.footer.setGeometry(x, top, self.widgets.width, self.footer.height())
        self.reading.take(value)

    # -- what changed, shown with the next frame --

    def mark(self, row: EntryRow) -> None:
        self._dirty[row] = None
        self._throttle.trigger()

    def request_layout(self) -> None:
        self._throttle.trigger()

    def show_edits(self, edits: Mapping[int, str]) -> None:
        """Restore the user's unsent edits of earlier prompts, by turn."""
        for row in self.rows:
            if isinstance(row.entry, PromptSubmitted) and row.entry.turn in edits:
                row.drafts[EDIT] = edits[row.entry.turn]
                row.is_dirty = True
                self.mark(row)
        self.request_layout()

    def drop(self, row: EntryRow) -> None:
        self._dirty.pop(row, None)
        self.widgets.drop(row)
        self.reading.forget(row)

    def flush(self) -> None:
        """Show at once what was applied and not shown yet, also what is being laid out gently."""
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
            self._read_on(row)

    def _update_rows(self) -> None:
        dirty, self._dirty = self._dirty, {}
        for row in dirty:
            if not row.is_dirty:
                continue
            row.is_dirty = False
            if row.widget is not None:
                row.widget.refresh()
                self._read_on(row)
            self.widgets.measure(row)
            self.widgets.changed.emit(row)
        if self._reading_timer.isActive():
            self.go_on_later()  # reading took its share of this turn
        elif not self.is_gentle:  # else it is being laid out
            self.lay_out()

    def _read_on(self, row: EntryRow) -> None:
        """Parse on with the next frames if the row's widget is behind its entry."""
        if row.widget is not None and row.widget.is_behind:
            self._reading_timer.start()

    def _read_further(self) -> None:
        """Parse one more step of every row in sight that is behind its entry."""
        for row in self.widgets.live:
            if row.widget is not None and row.widget.is_behind:
                row.is_dirty = True
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
