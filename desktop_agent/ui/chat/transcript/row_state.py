"""What a row keeps about its entry while no widget shows it."""

from desktop_agent.core.transcript import Entry
from desktop_agent.ui.chat.markdown.stream import MarkdownStream


class RowState:
    """One entry, and what the user did to it. It outlives the widget, which exists only near the eye."""

    __slots__ = (
        "drafts",
        "entry",
        "height_hint",
        "index",
        "is_dirty",
        "is_superseded",
        "is_unfolded",
        "loaded",
        "opened",
        "page",
        "stream",
    )

    def __init__(self, entry: Entry, index: int, page: int | None = None) -> None:
        self.entry = entry
        self.index = index
        self.page = page
        """The page it belongs to, or stands for; None for what came since the session was opened."""
        self.height_hint = 0
        """Of a page that is not loaded: how high its rows are, with the gap below."""
        self.is_dirty = False
        """Whether the entry changed since it was shown or measured."""
        self.is_unfolded: bool | None = None
        """Whether the user folded or unfolded it; `None` leaves it to the entry."""
        self.stream: MarkdownStream | None = None
        """Its markdown as far as it was read. May be forgotten at any time."""
        self.drafts: dict[str, str] = {}
        """What the user has written into it and not sent, by field."""
        self.is_superseded = False
        """Whether a later row says the same anew: an older version of the plan."""
        self.opened: set[str] = set()
        """Which parts of it the user folded or unfolded, by name."""
        self.loaded: dict[str, object] = {}
        """What was fetched or worked out for it. May be forgotten at any time."""

    def forget(self) -> None:
        """Drop what can be had again."""
        self.stream = None
        self.loaded.clear()
