"""What every body can do: say its text, how it begins, and what stands around it."""

from collections.abc import Callable, Coroutine
from typing import ClassVar, NamedTuple

from PySide6.QtCore import QObject, QRect, Signal
from PySide6.QtGui import QPainter
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.transcript import ToolEntry
from desktop_agent.ui.chat.cards.content import Content
from desktop_agent.ui.chat.cards.source import CardLoader, CardSource
from desktop_agent.ui.chat.entries.base import EntryWidget
from desktop_agent.ui.chat.syntax_colours import Lexers
from desktop_agent.ui.chat.text.column import Column
from desktop_agent.ui.chat.transcript.row_state import RowState
from desktop_agent.ui.theme import Space


class Bar(NamedTuple):
    """A line above or below the text that says what is not shown, with a button to see it."""

    text: str = ""
    button: str = ""
    is_above: bool = False


class ToolBody(QObject):
    """The inside of one card. What it says comes from the entry; what the user opened in it is kept in the row.

    Signals:
        changed: it says something else now, by itself.
        unfolded: it says more or less now, because the user wanted it.
    """

    changed = Signal()
    unfolded = Signal()

    ground: ClassVar[str] = "sunken"
    """The colour role it stands on."""
    is_result: ClassVar[bool] = False
    """Whether what it shows is what the user wants to see: it is unfolded also when all went well."""

    def __init__(self, card: EntryWidget, loader: CardLoader | None) -> None:
        super().__init__(card)
        self.row = card.row
        self.styles = card.styles
        self.actions = card.entry_actions
        self._loader = loader
        self._loading: set[str] = set()

    # -- what it says; needs no widget --

    @classmethod
    def fits(cls, entry: ToolEntry) -> bool:
        """Whether this family shows the call."""
        raise NotImplementedError

    @classmethod
    def read(cls, row: RowState) -> Content:
        """Return its text."""
        raise NotImplementedError

    @classmethod
    def copied(cls, row: RowState) -> str:
        """Return what copying the whole card gives."""
        return cls.read(row).text

    @classmethod
    def is_open_at_first(cls, row: RowState) -> bool:
        """Whether it is unfolded until the user says otherwise."""
        return cls.is_result or entry_of(row).state != "completed"

    # -- around the text --

    @property
    def left(self) -> int:
        """Where its text begins."""
        return Space.M

    def bar(self) -> Bar | None:
        """Return what stands above or below the text."""
        return None

    def on_bar_clicked(self) -> None:
        """Show what the bar offers: the whole output, unless a family offers something else."""
        self.actions.output_requested.emit(entry_of(self.row))

    def load(self) -> None:
        """Get what it needs to be shown; it emits `changed` when it has it. Called whenever it is unfolded."""

    def fetch(self, key: str, work: Callable[[CardSource], Coroutine[object, object, object]]) -> None:
        """Keep what `work` returns, or the `AgentError` that it raises, in the row by `key`; does nothing twice."""
        if self._loader is not None and key not in self.row.loaded and key not in self._loading:
            self._loading.add(key)
            self._loader.spawn(self._fetch(key, work(self._loader.source)))

    async def _fetch(self, key: str, work: Coroutine[object, object, object]) -> None:
        try:
            self.row.loaded[key] = await work
        except AgentError as error:
            self.row.loaded[key] = error
        finally:
            self._loading.discard(key)
        if isValid(self):
            self.changed.emit()

    def place(self, area: QRect) -> int:
        """Put its widgets at the top of `area`; return how high they are."""
        return 0

    def set_shown(self, *, is_shown: bool) -> None:
        """Show or hide its widgets."""

    @property
    def has_widgets(self) -> bool:
        """Whether there is something to see besides the text."""
        return False

    def paint(self, painter: QPainter, column: Column, width: int) -> None:
        """Paint what lies under and beside the text; the painter stands at the left edge of the card, at its top."""

    def follow(self, href: str) -> None:
        """Open a place that a part of the text leads to."""

    def colour(self, lexers: Lexers) -> bool:
        """Find out the colours of code that is shown, if its lexer is there by now. Whether there are new ones."""
        return False


def entry_of(row: RowState) -> ToolEntry:
    """Return the call that a row shows."""
    return row.entry_as(ToolEntry)
