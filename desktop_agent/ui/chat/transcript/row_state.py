"""What a row keeps about its entry while no widget shows it."""

from typing import TypeVar

from msgspec import Struct

from desktop_agent.core.transcript import Entry
from desktop_agent.ui.chat.markdown.stream import MarkdownStream

_E = TypeVar("_E")


class RowState(Struct, eq=False):
    """One entry, and what the user did to it. It outlives the widget, which exists only near the eye."""

    entry: Entry
    index: int
    page: int | None = None
    """The page it belongs to, or stands for; None for what came since the session was opened."""
    height_hint: int = 0
    """Of a page that is not loaded: how high its rows are, with the gap below."""
    is_dirty: bool = False
    """Whether the entry changed since it was shown or measured."""
    is_unfolded: bool | None = None
    """Whether the user folded or unfolded it; `None` leaves it to the entry."""
    stream: MarkdownStream | None = None
    """Its markdown as far as it was read. May be forgotten at any time."""
    drafts: dict[str, str] = {}
    """What the user has written into it and not sent, by field."""
    is_superseded: bool = False
    """Whether a later row says the same anew: an older version of the plan."""
    opened: set[str] = set()
    """Which parts of it the user folded or unfolded, by name."""
    loaded: dict[str, object] = {}
    """What was fetched or worked out for it. May be forgotten at any time."""

    def entry_as(self, kind: type[_E]) -> _E:
        """Return the entry, which is of this kind."""
        assert isinstance(self.entry, kind)
        return self.entry

    def forget(self) -> None:
        """Drop what can be had again."""
        self.stream = None
        self.loaded.clear()
