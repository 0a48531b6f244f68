"""The base of all entries on screen: width, height, text, accessibility and folding.

Each entry has an `EntryRow`, even without a widget. Entries of a conversation share one `EntryActions`, whose signals
are the user's requests.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, TypeVar, cast

from msgspec import Struct
from PySide6.QtCore import QObject, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from desktop_agent.core.transcript import Entry
from desktop_agent.ui.chat.markdown.markdown_stream import MarkdownStream
from desktop_agent.ui.chat.text.column import Column, Slice
from desktop_agent.ui.chat.text.column_text import TextMatch
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.buttons import DrawnButton
from desktop_agent.ui.widgets.rows import draw_line
from desktop_agent.ui.widgets.text_colours import Lexers

_E = TypeVar("_E")


class EntryRow(Struct, eq=False):
    entry: Entry
    index: int
    page: int | None = None
    """The page of the entry, or the page it is a placeholder for; None if it came after the session was opened."""
    height_hint: int = 0
    """For the placeholder of a page that is not loaded: the height of the page's rows with the gap below."""
    is_unfolded: bool | None = None
    """True if the user unfolded it, False if they folded it; None leaves it to the entry."""
    stream: MarkdownStream | None = None
    """The markdown parsed so far. Can be dropped at any time."""
    drafts: dict[str, str] = {}
    opened: set[str] = set()
    """The parts that the user folded or unfolded, by name."""
    loaded: dict[str, object] = {}
    """What was loaded or computed for it. Can be dropped at any time."""
    widget: "EntryWidget | None" = None

    def entry_as(self, kind: type[_E]) -> _E:
        assert isinstance(self.entry, kind)
        return self.entry

    def forget(self) -> None:
        self.stream = None
        self.loaded.clear()


class EntryActions(QObject):
    approval_answered = Signal(str, object)  # the call's id and a Decision, once
    approval_edited = Signal(str, str)  # the call's id and the edited command
    approval_opened = Signal(str)  # the call's id
    stop_requested = Signal()
    subagent_stop_requested = Signal(str)  # the id of the call that started it
    changes_requested = Signal(str)  # the call's id
    recover_requested = Signal(str)  # the call's id
    output_requested = Signal(object)  # a ToolEntry
    file_requested = Signal(str, int)  # the path as a tool gave it, and a line from 1; 0 for none
    quote_requested = Signal(str)
    apply_requested = Signal(str, object)  # the code, and the paths (a tuple) that are named for it
    picture_requested = Signal(object, object)  # a BlobRef, and its ToolEntry
    attachment_requested = Signal(object)  # an Attachment
    link_activated = Signal(str)  # always http or https
    retry_requested = Signal()
    again_requested = Signal(int)  # the turn whose prompt is to be sent again, in a copy of the session
    try_now_requested = Signal()  # retry now instead of waiting
    settings_requested = Signal()
    sign_in_requested = Signal()
    agent_sign_in_requested = Signal(object)  # an AgentSignIn
    model_requested = Signal()
    folder_requested = Signal()
    resend_requested = Signal(int, str, bool)  # the turn, the new text, and whether to restore files, too
    edit_changed = Signal(int, str)  # the turn, and the current text
    edit_closed = Signal(int)  # the turn; the edit was sent or dropped
    session_requested = Signal(str)  # a session's id
    rewind_requested = Signal(int)  # the turn
    example_chosen = Signal(str)  # the prompt
    summary_edit_requested = Signal()
    summary_undo_requested = Signal()


class EntryPlace(NamedTuple):
    row: EntryRow
    styles: TextStyles
    actions: EntryActions
    parent: QWidget


class EntryWidget(QWidget):
    """The base class of entries. The view sets width and position. Text is drawn from `column` at `column_origin`."""

    resized = Signal()  # its height changed by an action of the user
    body_changed = Signal()  # its content changed without the user

    is_folding: ClassVar[bool] = False

    def __init__(self, place: EntryPlace, column: Column | None = None) -> None:
        super().__init__(place.parent)
        self.row = place.row
        self.styles = place.styles
        self.entry_actions = place.actions
        self.column = column or Column(place.styles)
        self.column_origin = QPoint(0, 0)
        self._width = 0
        self._ground = place.styles.colour("surface")
        self.setMouseTracking(True)

    def refresh(self) -> None:
        raise NotImplementedError

    def set_width(self, width: int) -> None:
        self._width = width
        self.column.set_width(width - self.column_origin.x())

    def fit(self) -> None:
        if self._width:
            self.set_width(self._width)

    def entry_height(self) -> int:
        return self.column_origin.y() + self.column.height

    @property
    def is_behind(self) -> bool:
        """Whether only the beginning of a long entry is shown so far. If so, call `refresh` again."""
        return False

    @property
    def is_pinned(self) -> bool:
        """Whether the widget must exist while out of view, because the user is working in it."""
        focused = cast("QWidget | None", self.focusWidget())  # None when nothing in it was ever focused
        return focused is not None and focused.hasFocus()

    def lay_out(self, top: int, bottom: int, time: Slice | None = None) -> None:
        if self.is_column_shown:
            self.column.lay_out(top - self.column_origin.y(), bottom - self.column_origin.y(), time)

    def release(self, top: int, bottom: int) -> None:
        if self.column.text.blocks:
            self.column.release(top - self.column_origin.y(), bottom - self.column_origin.y())

    def colour_next(self, top: int, bottom: int, lexers: Lexers) -> bool:
        """Colour a piece of code between these edges; return whether there was one left."""
        shift = self.column_origin.y()
        if not self.is_column_shown or not self.column.colour_next(top - shift, bottom - shift, lexers):
            return False
        self.update()
        return True

    def show_matches(self, matches: Sequence[TextMatch], current: TextMatch | None) -> None:
        self.column.highlights.show_matches(matches, current)
        self.update()

    def set_shortcut(self, *, is_enabled: bool) -> None:
        """Set whether answer keys work for the question in this entry, if any."""

    def rearm(self) -> None:
        """Ignore answers to this entry's question for a moment, because they were meant for another question."""

    def follow(self, href: str) -> None: ...

    def tab_stops(self) -> list[QWidget]:
        return [self, *self.findChildren(QWidget)]

    def arrange(self) -> None:
        """Place child widgets. Called after layout."""

    def tick(self) -> None:
        """Update displayed durations."""

    @property
    def is_ticking(self) -> bool:
        return False

    def source(self) -> str:
        """Return the text that the positions in the blocks refer to."""
        return ""

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            area = event.rect()
            painter.fillRect(area, self._ground)
            self.paint_under(painter, area)
            if self.is_column_shown:
                painter.translate(self.column_origin)
                shift = self.column_origin.y()
                self.column.draw(painter, area.top() - shift, area.bottom() + 1 - shift)

    @property
    def is_column_shown(self) -> bool:
        return not self.is_folding or bool(self.row.is_unfolded)

    def toggle(self) -> None:
        self.row.is_unfolded = not self.row.is_unfolded
        self.refresh()
        self.resized.emit()

    def paint_under(self, painter: QPainter, area: QRect) -> None: ...


UNFOLDED, FOLDED = "▾", "▸"
FOLD_INDENT = 18
_RULE = 2


class FoldLine(DrawnButton):
    def __init__(self, styles: TextStyles, parent: QWidget) -> None:
        super().__init__(parent)
        self.styles = styles
        self.is_unfolded = False
        self.is_foldable = True
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def set_folding(self, *, is_foldable: bool, is_unfolded: bool) -> None:
        self.is_foldable, self.is_unfolded = is_foldable, is_unfolded
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_foldable else Qt.CursorShape.ArrowCursor)
        self.update()

    def paint_content(self, painter: QPainter) -> None:
        raise NotImplementedError

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self.paint_content(painter)
            self.draw_ring(painter, self.styles.colour("accent"))


class LabelLine(FoldLine):
    def __init__(self, entry: EntryWidget) -> None:
        super().__init__(entry.styles, entry)
        self._entry = entry
        self.clicked.connect(entry.toggle)

    def say(self, text: str) -> None:
        self.setText(text)
        self.setAccessibleName(text)
        self._entry.setAccessibleName(text)
        self.set_folding(is_foldable=True, is_unfolded=self._entry.is_column_shown)

    def paint_content(self, painter: QPainter) -> None:
        font, colour = self.styles.secondary, self.styles.colour("text" if self.underMouse() else "muted")
        arrow = QRectF(3, 0, Space.L, self.height())
        draw_line(painter, arrow, UNFOLDED if self.is_unfolded else FOLDED, font, colour)
        draw_line(painter, QRectF(FOLD_INDENT, 0, self.width() - FOLD_INDENT, self.height()), self.text(), font, colour)

    def paint_rule(self, painter: QPainter) -> None:
        if self._entry.is_column_shown:
            rule = QRect(5, self._entry.column_origin.y(), _RULE, self._entry.column.height)
            painter.fillRect(rule, self.styles.colour("border"))
