"""A row: one entry of the transcript as the view keeps it, on screen or not."""

from desktop_agent.core.transcript import Entry
from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.chat.transcript.row_state import RowState


class EntryRow(RowState):
    """The state of an entry, with its widget while it is near the eye."""

    __slots__ = ("widget",)

    def __init__(self, entry: Entry, index: int, page: int | None = None) -> None:
        super().__init__(entry, index, page)
        self.widget: EntryWidget | None = None
