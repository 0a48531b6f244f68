"""Where the keyboard goes in a transcript: through the rows from top to bottom, and first to the oldest question."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from collections.abc import Iterable

    from desktop_agent.ui.chat.transcript.row import EntryRow


class KeyboardOrder:
    """Keeps the order right, whenever the widgets of rows were made."""

    def __init__(self, start: QWidget) -> None:
        """`start` is where Tab comes from."""
        self._start = start
        self._order: tuple[int, ...] = ()

    def arrange(self, live: "Iterable[EntryRow]") -> None:
        """Put these rows in order."""
        rows = sorted(live, key=lambda row: row.index)
        _offer_shortcut(rows)
        order = tuple(row.index for row in rows)
        if order != self._order:
            self._order = order
            self._order_tabs(rows)

    def _order_tabs(self, rows: "list[EntryRow]") -> None:
        before = self._start
        for row in rows:
            for child in row.widget.tab_stops() if row.widget is not None else ():
                if child.focusPolicy() & Qt.FocusPolicy.TabFocus:
                    QWidget.setTabOrder(before, child)
                    before = child


def _offer_shortcut(rows: "list[EntryRow]") -> None:
    """Let only the oldest question listen to the keyboard shortcut."""
    is_taken = False
    for row in rows:
        if row.entry.kind == "tool" and row.entry.is_waiting and row.widget is not None:
            row.widget.set_shortcut(is_enabled=not is_taken)
            is_taken = True
