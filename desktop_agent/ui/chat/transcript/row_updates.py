"""Brings rows up to date with their entries, at most 30 times a second, and long ones a piece at a time."""

from collections.abc import Mapping

from PySide6.QtCore import QObject, QTimer

from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.runtime.throttle import Throttle

_PAINTING_MS = 5
"""Between two steps of a row that is behind its entry: what the first showed is painted."""


class RowUpdates(QObject):
    """Collects what changed until the next frame."""

    def __init__(self, layout: RowLayout) -> None:
        super().__init__(layout)
        self._layout = layout
        self._dirty: dict[EntryRow, None] = {}
        self._throttle = Throttle(self._update_rows, self)
        self._reading_timer = QTimer(self, interval=_PAINTING_MS, singleShot=True)
        self._reading_timer.timeout.connect(self._read_further)
        layout.widgets.made.connect(self._read_on)

    def mark(self, row: EntryRow) -> None:
        """Show with the next frame what became of a row's entry."""
        self._dirty[row] = None
        self._throttle.trigger()

    def request_layout(self) -> None:
        """Lay out with the next frame."""
        self._throttle.trigger()

    def show_edits(self, edits: Mapping[int, str]) -> None:
        """Go on with the edits of earlier prompts, by turn, where the user left them."""
        from desktop_agent.ui.chat.entries.prompt import EDIT

        for row in self._layout.rows:
            if isinstance(row.entry, PromptSubmitted) and row.entry.turn in edits:
                row.drafts[EDIT] = edits[row.entry.turn]
                row.is_dirty = True
                self.mark(row)
        self.request_layout()

    def drop(self, row: EntryRow) -> None:
        """Take in that a row is no more."""
        self._dirty.pop(row, None)
        self._layout.widgets.live.drop(row)
        self._layout.reading.forget(row)

    def clear(self) -> None:
        """Take in that all rows are others."""
        self._dirty.clear()

    def flush(self) -> None:
        """Show at once what was applied and not shown yet, also what is being laid out gently."""
        self._throttle.run_now()
        if self._layout.is_gentle:
            self._layout.lay_out()

    def pause(self) -> None:
        """Show nothing until `resume`."""
        self._throttle.pause()
        self._reading_timer.stop()

    def resume(self) -> None:
        """Show what changed meanwhile, and go on."""
        self._throttle.resume()
        self._layout.lay_out()
        for row in self._layout.widgets.live:
            self._read_on(row)

    def _update_rows(self) -> None:
        dirty, self._dirty = self._dirty, {}
        widgets = self._layout.widgets
        for row in dirty:
            if not row.is_dirty:
                continue
            row.is_dirty = False
            if row.widget is not None:
                row.widget.refresh()
                self._read_on(row)
            widgets.measure(row)
            widgets.changed.emit(row)
        if self._reading_timer.isActive():
            self._layout.go_on_later()  # reading took its share of this turn
        elif not self._layout.is_gentle:  # else it is being laid out
            self._layout.lay_out()

    def _read_on(self, row: EntryRow) -> None:
        """See to it that a row whose widget has not taken in all of its entry does so with the next frames."""
        if row.widget is not None and row.widget.is_behind:
            self._reading_timer.start()

    def _read_further(self) -> None:
        """Let every row in sight that is behind its entry take another step."""
        for row in self._layout.widgets.live:
            if row.widget is not None and row.widget.is_behind:
                row.is_dirty = True
                self._dirty[row] = None
        self._throttle.trigger()
