"""The rows that have widgets, and those off screen whose parsed text is kept."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from desktop_agent.ui.chat.entries.entry import EntryRow

_SHELF: Final = 64
"""How many rows off screen keep their parsed text."""


class LiveRows:
    """Lets widgets go, and after a while what was read of their rows."""

    def __init__(self) -> None:
        self._live: list[EntryRow] = []
        self._shelf: OrderedDict[EntryRow, None] = OrderedDict()

    def __iter__(self) -> Iterator[EntryRow]:
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)

    def add(self, row: EntryRow) -> None:
        """Take in a row that got a widget."""
        self._live.append(row)
        self._shelf.pop(row, None)

    def retire(self, row: EntryRow) -> None:
        """Let the widget of a row go that is out of sight."""
        self._live.remove(row)
        _discard(row)
        self._shelf[row] = None
        if len(self._shelf) > _SHELF:
            self._shelf.popitem(last=False)[0].forget()

    def drop(self, row: EntryRow) -> None:
        """Forget a row that is no more, whether it has a widget or not."""
        self._shelf.pop(row, None)
        if row.widget is not None:
            self._live.remove(row)
            _discard(row)

    def drop_widgets(self) -> None:
        """Let all widgets go."""
        for row in self._live:
            _discard(row)
        self._live.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.drop_widgets()
        self._shelf.clear()


def _discard(row: EntryRow) -> None:
    """Let go of a row's widget. Not at once: it may be the one whose click led here."""
    widget, row.widget = row.widget, None
    if widget is not None:
        widget.hide()
        widget.column.release_all()  # in Python, it is in a circle, which the collector of garbage breaks much later
        widget.deleteLater()
