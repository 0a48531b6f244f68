"""Goes to a call or a turn in a conversation."""

from PySide6.QtCore import QTimer

from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.core.transcript import ToolEntry, Transcript
from desktop_agent.ui.chat.transcript.reading_place import KeptPlace, entry_number, find_entry
from desktop_agent.ui.chat.transcript.row_layout import RowLayout


class Navigation:
    """Scrolls to what is asked for, once it is there."""

    def __init__(self, layout: RowLayout) -> None:
        self._layout = layout
        self._transcript: Transcript | None = None
        self._sought_call = ""
        self._sought_place: KeptPlace | None = None
        self._reached: KeptPlace | None = None
        """How near to that place it came so far."""
        self._going_on = QTimer(layout, interval=0, singleShot=True)
        self._going_on.timeout.connect(self._go_on)
        layout.laid_out.connect(self._on_laid_out)

    def show_transcript(self, transcript: Transcript) -> None:
        """Go to places in this one from now on."""
        self._transcript = transcript
        self._sought_call = ""
        self._sought_place = self._reached = None

    @property
    def can_rewind(self) -> bool:
        """Whether going back can be asked for now: not while a turn runs."""
        return self._transcript is not None and not self._transcript.turns.is_running

    def on_pages_loaded(self) -> None:
        """Go to the call or place that was asked for when its page was not loaded."""
        if self._sought_call:
            self.show_call(self._sought_call)
        elif self._sought_place is not None:
            self.go_to(self._sought_place)

    @property
    def is_at_end(self) -> bool:
        """Whether the end of the conversation is being read, and what comes there followed."""
        return self._layout.reading.is_following

    @property
    def place(self) -> KeptPlace | None:
        """What is being read; None while it is the end."""
        found = self._layout.reading.from_end()
        if found is None or self._transcript is None:
            return None
        from_end, block, distance = found
        return KeptPlace(entry_number(self._transcript, len(self._layout.rows) - from_end), block, distance)

    def go_to(self, place: KeptPlace) -> None:
        """Go where `place` was, as soon as its page is loaded and read; nowhere if there is no such entry."""
        self._sought_place = self._reached = None
        transcript, layout = self._transcript, self._layout
        found = find_entry(transcript, place.entry) if transcript is not None else None
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
        if self._reached is not None:
            self._going_on.start()

    def _go_on(self) -> None:
        """Go on to a place in a long text of which more has been read; not if the user has scrolled meanwhile."""
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
        """Bring the card of this call into view, as soon as its page is loaded."""
        self._sought_call = ""
        transcript, layout = self._transcript, self._layout
        if transcript is None or transcript.paged.tool_of(call_id) is None:
            return
        number = transcript.paged.page_of_call(call_id)
        if number is not None and not transcript.paged.is_loaded(number):
            self._sought_call = call_id
            layout.scroll_to(layout.reading.row_top(layout.rows[transcript.paged.page_start(number)]))
            return
        for row in layout.rows:
            if isinstance(row.entry, ToolEntry) and row.entry.call.id == call_id:
                layout.reveal(layout.reading.row_top(row))
                return

    def show_turn(self, turn: int, call_id: str = "") -> None:
        """Bring the card of this call into view, else what the user asked in this turn."""
        layout = self._layout
        prompt = None
        for row in layout.rows:
            if isinstance(row.entry, ToolEntry) and row.entry.call.id == call_id:
                layout.reveal(layout.reading.row_top(row))
                return
            if isinstance(row.entry, PromptSubmitted) and row.entry.turn == turn:
                prompt = row
        if prompt is not None:
            layout.reveal(layout.reading.row_top(prompt))
