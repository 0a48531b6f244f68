"""The transcript: a whole conversation in one column, to read, select, search and act on, fast at any length."""

from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from desktop_agent.ui.chat.activity import ActivityLine
from desktop_agent.ui.chat.entry_actions import EntryActions
from desktop_agent.ui.chat.search.finder import Finder
from desktop_agent.ui.chat.transcript.empty import EmptyState
from desktop_agent.ui.chat.transcript.jump_button import JumpButton
from desktop_agent.ui.chat.transcript.keyboard_order import KeyboardOrder
from desktop_agent.ui.chat.transcript.row_area import RowArea
from desktop_agent.ui.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from desktop_agent.core.transcript import Patch, Transcript
    from desktop_agent.ui.chat.cards.source import CardLoader
    from desktop_agent.ui.chat.entries.base import EntryWidget
    from desktop_agent.ui.chat.transcript.pointer import Pointer
    from desktop_agent.ui.chat.transcript.row import EntryRow
    from desktop_agent.ui.chat.transcript.selection import TranscriptSelection


_NEAR = 2
"""How many screens beyond the view pages are loaded before the user scrolls there."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class TranscriptView(RowArea):
    """Draws a `Transcript` and keeps up with it by patches. Holds no truth of its own.

    Signals:
        found: number of the current match, from 1 (0: none), and how many there are so far.
        pages_wanted: the pages (numbers, the most urgent first) that are in view or near it, loaded or not.
        pages_sought: a search began for this text; `add_places` takes the pages that may have it.
    """

    found = Signal(int, int)
    pages_wanted = Signal(object)
    pages_sought = Signal(str)

    def __init__(
        self,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        now: "Callable[[], datetime]" = _utc_now,
        loader: "CardLoader | None" = None,
    ) -> None:
        """`now` returns the time, to show how long a call runs. Without a loader, cards show no diffs and pictures."""
        super().__init__(theme, parent)
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Conversation"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.entry_actions = EntryActions(self)
        """What the user asks for in an entry."""
        self._transcript: Transcript | None = None
        self._now = now
        self._loader = loader
        self._keyboard = KeyboardOrder(self)
        self._wanted: tuple[int, ...] = ()
        self._sought_call = ""
        self._finder = Finder(self)
        self._finder.found.connect(self.found)
        self._activity = ActivityLine(theme, self.viewport())
        self.set_footer(self._activity)
        self._jump = JumpButton(self)
        self._jump.clicked.connect(self.scroll_to_bottom)
        self._empty = EmptyState(self.entry_actions, self.viewport())
        app = cast("QApplication", QApplication.instance())
        app.focusChanged.connect(self._on_focus_changed)

    # -- what is shown --

    def show_transcript(self, transcript: "Transcript", *, is_gentle: bool = False) -> None:
        """Show another conversation, or this one from scratch, at its end.

        Gently, its last message is there at once, and what stands above it in the next turns of the loop.
        """
        self._begin(transcript)
        self.rows.reset(transcript.entries)
        self._number_pages(transcript)
        self.replace_rows(is_gentle=is_gentle)
        self._show_status()  # by now a layout is on its way, or done: this asks for no other

    def exchange_transcript(self, transcript: "Transcript") -> None:
        """Show this one, which has the same end but more before it, and stay at the same place."""
        self._begin(transcript)
        place = self.place_from_end()
        for row in self.rows.exchange(transcript.entries):
            self.drop_row(row)
        self._number_pages(transcript)
        self._show_status()
        if place is not None:
            self.go_to_place_from_end(place)
        else:
            self.lay_out_gently()

    def _begin(self, transcript: "Transcript") -> None:
        self._transcript = transcript
        if len(self.rows):
            self.selection.clear()
        self._finder.find("")
        self._wanted = ()

    def _number_pages(self, transcript: "Transcript") -> None:
        for number in transcript.loaded_pages:
            for index in transcript.span_of_page(number):
                self.rows[index].page = number

    def apply(self, patches: "Sequence[Patch]") -> None:
        """Follow what `Transcript.apply` changed. Cheap: it is shown with the next frame, at most 30 times a second."""
        transcript = self._transcript
        if transcript is None:
            return
        pages = [patch for patch in patches if patch.kind == "expand"]
        places = [(patch, self.hold_place(patch.index)) for patch in pages]
        for row in self.rows.apply(transcript.entries, patches):
            self.selection.forget(row)
            self._finder.forget(row)
            self.drop_row(row)
        for patch in patches:
            if patch.kind == "collapse":
                self._finder.let_go(self.rows[patch.index].page)
        for patch, place in places:
            self._finder.read_rows(patch.index, patch.count)
            if place is not None:
                self.put_back(place, patch.count)
        for patch in patches:
            if patch.kind in ("append", "update", "text", "output") and patch.index < len(self.rows):
                self.mark_dirty(self.rows[patch.index])
        if (superseded := self.rows.supersede()) is not None:
            self.mark_dirty(superseded)
        if pages and len(pages) == len(patches):
            self.go_on_laying_out()
            if self._sought_call:
                self.show_call(self._sought_call)
            return
        self._show_status()
        self.request_layout()

    def set_examples(self, examples: "Sequence[str]") -> None:
        """Offer these prompts while the conversation is empty."""
        self._empty.set_examples(examples)

    def show_call(self, call_id: str) -> None:
        """Bring the card of this call into view, as soon as its page is loaded."""
        self._sought_call = ""
        if self._transcript is None or not self._transcript.knows_call(call_id):
            return
        number = self._transcript.page_of_call(call_id)
        if number is not None and not self._transcript.is_loaded(number):
            self._sought_call = call_id
            self.scroll_to(self.row_top(self.rows[self._transcript.page_start(number)]))
            return
        for row in self.rows:
            if row.entry.kind == "tool" and row.entry.call.id == call_id:
                self.reveal(self.row_top(row))
                return

    def show_turn(self, turn: int, call_id: str = "") -> None:
        """Bring the card of this call into view, else what the user asked in this turn."""
        prompt: EntryRow | None = None
        for row in self.rows:
            if row.entry.kind == "tool" and row.entry.call.id == call_id:
                self.reveal(self.row_top(row))
                return
            if row.entry.kind == "prompt" and row.entry.turn == turn:
                prompt = row
        if prompt is not None:
            self.reveal(self.row_top(prompt))

    def show_edits(self, edits: "Mapping[int, str]") -> None:
        """Go on with the edits of earlier prompts, by turn, where the user left them."""
        from desktop_agent.ui.chat.entries.prompt import EDIT

        for row in self.rows:
            if row.entry.kind == "prompt" and row.entry.turn in edits:
                row.drafts[EDIT] = edits[row.entry.turn]
                row.is_dirty = True
                self.mark_dirty(row)
        self.request_layout()

    def edit_prompt(self, row: "EntryRow") -> None:
        """Let the user edit a prompt of theirs, in its place."""
        from desktop_agent.ui.chat.entries.prompt import PromptWidget

        if isinstance(row.widget, PromptWidget):
            row.widget.begin_edit()

    @property
    def can_rewind(self) -> bool:
        """Whether going back can be asked for now: not while a turn runs."""
        return self._transcript is not None and not self._transcript.is_running

    def _show_status(self) -> None:
        transcript = self._transcript
        self._empty.setVisible(not len(self.rows))
        if transcript is not None:
            self._activity.show_activity(transcript.activity)
            # A summary that the user asked for is made while no turn runs.
            is_busy = transcript.status == "working" or (bool(transcript.activity) and not transcript.is_running)
            self.show_footer(is_shown=is_busy)

    # -- selection and copying --

    @cached_property
    def selection(self) -> "TranscriptSelection":
        """What is selected."""
        from desktop_agent.ui.chat.transcript.selection import TranscriptSelection

        return TranscriptSelection()

    @cached_property
    def _pointer(self) -> "Pointer":
        from desktop_agent.ui.chat.transcript.pointer import Pointer

        return Pointer(self)

    def select_all(self) -> None:
        """Select the whole conversation."""
        from desktop_agent.ui.chat.text.copied import END
        from desktop_agent.ui.chat.transcript.selection import START, TranscriptPosition

        if len(self.rows):
            self.selection.select(
                TranscriptPosition(self.rows[0], START), TranscriptPosition(self.rows[len(self.rows) - 1], END)
            )
            self.show_selection()

    def clear_selection(self) -> None:
        """Select nothing."""
        self.selection.clear()
        self.show_selection()

    def selected_text(self) -> str:
        """Return what copying gives: text as shown within a paragraph, markdown source beyond."""
        from desktop_agent.ui.chat.transcript.copying import copied_selection

        return copied_selection(self.selection, self.rows, self._widget_of)

    def copy_selection(self) -> None:
        """Put the selected text on the clipboard."""
        if text := self.selected_text():
            QGuiApplication.clipboard().setText(text)

    def show_selection(self) -> None:
        """Draw the selection as it is now."""
        for row in self.live_rows:
            if row.widget is not None and row.widget.column.set_selection(self.selection.range_in(row)):
                row.widget.update()
        if (text := self._selection_for_middle_click()) is not None:
            QGuiApplication.clipboard().setText(text, QGuiApplication.clipboard().Mode.Selection)

    def _selection_for_middle_click(self) -> str | None:
        """Return the selected text where selecting is copying already, as on X11, unless that would take long."""
        if not QGuiApplication.clipboard().supportsSelection():
            return None
        ends = self.selection.ends()
        is_short = ends is not None and ends[1].row.index - ends[0].row.index < 8
        return self.selected_text() or None if is_short else None

    def _widget_of(self, row: "EntryRow") -> "EntryWidget":
        return row.widget or self.create_widget(row)

    # -- finding --

    def find_text(self, text: str) -> None:
        """Search for `text` and go to the match nearest above; an empty text ends the search. See `found`."""
        self._finder.find(text)
        self.pages_sought.emit(text)

    def add_places(self, text: str, numbers: object) -> None:
        """Take in which pages may have a text that is searched for, loaded or not."""
        self._finder.add_pages(text, cast("Sequence[int]", numbers))

    @property
    def has_unread_matches(self) -> bool:
        """Whether there may be more matches on pages that are not loaded."""
        return self._finder.has_unread

    def find_next(self) -> None:
        """Go to the next match below, round the end."""
        self._finder.step(1)

    def find_previous(self) -> None:
        """Go to the next match above, round the beginning."""
        self._finder.step(-1)

    @property
    def is_searching(self) -> bool:
        """Whether a search is still reading."""
        return self._finder.is_reading

    # -- rows --

    def make_widget(self, row: "EntryRow") -> "EntryWidget":
        from desktop_agent.ui.chat.transcript.factory import make_widget

        widget = make_widget(row, self.styles, self.entry_actions, self.viewport(), self._now, self._loader)
        widget.resized.connect(self._on_row_resized)
        widget.body_changed.connect(self._on_body_changed)
        widget.column.set_selection(self.selection.range_in(row))
        return widget

    def keeps(self, row: "EntryRow") -> bool:
        return super().keeps(row) or self._pointer.holds(row)

    def after_create(self, row: "EntryRow") -> None:
        self._finder.decorate(row)

    def after_update(self, row: "EntryRow") -> None:
        self._finder.row_changed(row)

    def after_layout(self) -> None:
        is_end_away = not self.is_following and len(self.rows) > 0
        self._jump.place(self.viewport().geometry(), is_needed=is_end_away)
        self._empty.setGeometry(self.viewport().rect())
        self._keyboard.arrange(self.live_rows)
        self.keep_time()
        self._ask_for_pages()

    def _ask_for_pages(self) -> None:
        """Say which pages are in view, and which are near it."""
        height = self.viewport().height()
        in_view = self._pages_between(0, height)
        near = self._pages_between(-_NEAR * height, (1 + _NEAR) * height)
        sought = self._finder.wanted_pages
        wanted = tuple(dict.fromkeys((*in_view, *sought, *near)))
        if wanted != self._wanted:
            self._wanted = wanted
            self.pages_wanted.emit(wanted)

    def _pages_between(self, top: int, bottom: int) -> list[int]:
        if not len(self.rows):
            return []
        start = self.top_edge - self.row_top_padding
        first, last = self.rows.heights.at(start + top), self.rows.heights.at(start + bottom)
        pages = (self.rows[index].page for index in range(max(0, first), last + 1))
        return list(dict.fromkeys(page for page in pages if page is not None))

    def _on_row_resized(self) -> None:
        widget = self.sender()
        for row in self.live_rows:
            if row.widget is widget:
                self._finder.row_changed(row)
                is_question = row.entry.kind == "tool" and row.entry.is_waiting
                self.row_resized(row, keeps_end=is_question)

    def _on_body_changed(self) -> None:
        """Take in what arrived for the card that says so: what is read stays where it is, and so does the end."""
        widget = self.sender()
        for row in self.live_rows:
            if row.widget is widget:
                self._finder.row_changed(row)
                self.row_resized(row, keeps_end=True)

    def _on_focus_changed(self, _old: object, new: object) -> None:
        if not isinstance(new, QWidget) or not self.viewport().isAncestorOf(new):
            return
        area = new.rect().translated(new.mapTo(self.viewport(), QPoint(0, 0)))
        if area.top() < 0 or area.bottom() > self.viewport().height():
            self.reveal(self.top_edge + area.top())

    def on_tick(self) -> None:
        if self._transcript is not None and self._transcript.status == "working":
            self._activity.pulse()

    @property
    def needs_ticks(self) -> bool:
        return self._transcript is not None and self._transcript.status == "working"

    # -- Qt --

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pointer.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._pointer.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pointer.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._pointer.double_click(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(self.tr("Copy"), self.copy_selection)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setEnabled(not self.selection.is_empty)
        self._pointer.add_menu_actions(menu, event.pos())
        select_all = menu.addAction(self.tr("Select all"), self.select_all)
        select_all.setShortcut(QKeySequence.StandardKey.SelectAll)
        menu.popup(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_selection()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.select_all()
        elif event.key() == Qt.Key.Key_Home:
            self.scroll_to_top()
        elif event.key() == Qt.Key.Key_End:
            self.scroll_to_bottom()
        elif event.key() == Qt.Key.Key_Escape and not self.selection.is_empty:
            self.clear_selection()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._empty.setGeometry(self.viewport().rect())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._finder.resume()

    def hideEvent(self, event: QHideEvent) -> None:
        self._finder.pause()
        if len(self.rows):
            self._pointer.cancel()
        super().hideEvent(event)
