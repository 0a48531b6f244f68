"""What every entry on screen can do: take a width, know its height, draw its text, and be read aloud."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, cast

from PySide6.QtCore import QPoint, QRect, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.syntax_colours import Lexers
from desktop_agent.ui.chat.text.column import Column, Slice
from desktop_agent.ui.chat.text.column_text import TextMatch
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.chat.transcript.row_state import RowState


class EntryPlace(NamedTuple):
    """Where an entry is shown: its row, how text looks there, what the user can ask for, and the widget around it."""

    row: RowState
    styles: TextStyles
    actions: EntryActions
    parent: QWidget


class EntryWidget(QWidget):
    """A widget that shows one entry. The view gives it a width and then its place.

    Text is drawn from `column`, at `column_origin`; the view selects and finds in it. Everything interactive is a real
    widget in it.

    Signals:
        resized: its height changed by something the user did to it.
        body_changed: what it shows became something else by itself.
    """

    resized = Signal()
    body_changed = Signal()

    is_folding: ClassVar[bool] = False
    """Whether its text is folded away until the user unfolds it."""

    def __init__(self, place: EntryPlace, column: Column | None = None) -> None:
        super().__init__(place.parent)
        self.row = place.row
        self.styles = place.styles
        self.entry_actions = place.actions
        self.column = column or Column(place.styles)
        self.column_origin = QPoint(0, 0)
        self._ground = place.styles.colour("surface")
        self.setMouseTracking(True)

    # -- for the view --

    def refresh(self) -> None:
        """Show the entry as it is now."""
        raise NotImplementedError

    def set_width(self, width: int) -> None:
        """Be this wide from now on."""
        self.column.set_width(width - self.column_origin.x())

    def entry_height(self) -> int:
        """How high it is at its width, in pixels."""
        return self.column_origin.y() + self.column.height

    @property
    def is_behind(self) -> bool:
        """Whether it shows only the beginning of a long entry so far, and wants another `refresh`."""
        return False

    @property
    def is_pinned(self) -> bool:
        """Whether it must stay alive out of sight, because the user is doing something in it."""
        focused = cast("QWidget | None", self.focusWidget())  # None when nothing in it was ever focused
        return focused is not None and focused.hasFocus()

    def lay_out(self, top: int, bottom: int, time: Slice | None = None) -> None:
        """Lay out what lies between these edges of the widget, or as much of it as there is time for."""
        if self.is_column_shown:
            self.column.lay_out(top - self.column_origin.y(), bottom - self.column_origin.y(), time)

    def release(self, top: int, bottom: int) -> None:
        """Forget the layout of what lies outside these edges."""
        if self.column.text.blocks:
            self.column.release(top - self.column_origin.y(), bottom - self.column_origin.y())

    def colour_next(self, top: int, bottom: int, lexers: Lexers) -> bool:
        """Colour one piece of code between these edges, if any is still plain. Whether it did."""
        shift = self.column_origin.y()
        if not self.is_column_shown or not self.column.colour_next(top - shift, bottom - shift, lexers):
            return False
        self.update()
        return True

    def show_matches(self, matches: Sequence[TextMatch], current: TextMatch | None) -> None:
        """Show what a search found here."""
        self.column.highlights.show_matches(matches, current)
        self.update()

    def set_shortcut(self, *, is_enabled: bool) -> None:
        """Let its question, if it has one, listen to the keys that answer."""

    def hold_off(self) -> None:
        """Let its question take no answer for a moment: what comes now was meant for another one."""

    def follow(self, href: str) -> None:
        """Open what a part of the text leads to."""

    def tab_stops(self) -> list[QWidget]:
        """Return itself and what is in it, in the order of reading."""
        return [self, *self.findChildren(QWidget)]

    def arrange(self) -> None:
        """Put child widgets where the text now is. Called after layout."""

    def tick(self) -> None:
        """Show that time has passed, if it matters here."""

    @property
    def is_ticking(self) -> bool:
        """Whether it wants `tick`."""
        return False

    # -- text --

    def source(self) -> str:
        """Return the text that the blocks' positions refer to."""
        return ""

    # -- painting --

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = event.rect()
        painter.fillRect(area, self._ground)
        self.paint_under(painter, area)
        if self.is_column_shown:
            painter.translate(self.column_origin)
            shift = self.column_origin.y()
            self.column.draw(painter, area.top() - shift, area.bottom() + 1 - shift)
        painter.end()

    @property
    def is_column_shown(self) -> bool:
        """Whether the text is on screen, not folded away."""
        return not self.is_folding or bool(self.row.is_unfolded)

    def paint_under(self, painter: QPainter, area: QRect) -> None:
        """Paint what lies under the text."""
