"""A row: one entry of the transcript as the view keeps it, on screen or not."""

from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.chat.transcript.row_state import RowState


class EntryRow(RowState, eq=False):
    """The state of an entry, with its widget while it is near the eye."""

    widget: EntryWidget | None = None
