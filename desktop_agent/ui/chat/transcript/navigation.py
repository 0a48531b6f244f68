"""Goes to a call or a turn in a conversation."""

from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.core.transcript import ToolEntry, Transcript
from desktop_agent.ui.chat.transcript.row_layout import RowLayout


class Navigation:
    """Scrolls to what is asked for, once it is there."""

    def __init__(self, layout: RowLayout) -> None:
        self._layout = layout
        self._transcript: Transcript | None = None
        self._sought_call = ""

    def show_transcript(self, transcript: Transcript) -> None:
        """Go to places in this one from now on."""
        self._transcript = transcript

    @property
    def can_rewind(self) -> bool:
        """Whether going back can be asked for now: not while a turn runs."""
        return self._transcript is not None and not self._transcript.turns.is_running

    def on_pages_loaded(self) -> None:
        """Go to the call that was asked for when its page was not loaded."""
        if self._sought_call:
            self.show_call(self._sought_call)

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
