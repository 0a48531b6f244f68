"""What can be done with a message and with the selected text: copied, quoted, edited; by the menu and by keys."""

from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractScrollArea, QMenu

from desktop_agent.core.protocol.events import PromptSubmitted
from desktop_agent.core.transcript import TextEntry
from desktop_agent.ui.chat.entries.entry import EntryActions, EntryRow
from desktop_agent.ui.chat.entries.prompt import PromptWidget
from desktop_agent.ui.chat.markdown.inline import is_web_address
from desktop_agent.ui.chat.transcript.copying import copied_row
from desktop_agent.ui.chat.transcript.navigation import Navigation
from desktop_agent.ui.chat.transcript.pointer import Pointer
from desktop_agent.ui.chat.transcript.row_layout import RowLayout
from desktop_agent.ui.chat.transcript.selected_text import SelectedText
from desktop_agent.ui.keys.part_keys import PartKeys


class MessageMenu(QObject):
    """Acts on what is selected in `area`, else on the message with the focus or under the pointer."""

    def __init__(
        self,
        area: QAbstractScrollArea,
        layout: RowLayout,
        selected: SelectedText,
        pointer: Pointer,
        actions: EntryActions,
        navigation: Navigation,
    ) -> None:
        super().__init__(area)
        self._area = area
        self._layout = layout
        self._selected = selected
        self._pointer = pointer
        self._actions = actions
        self._navigation = navigation

    def copy(self) -> None:
        """Put the selected text on the clipboard, else the message with the focus."""
        if not self._selected.selection.is_empty:
            self._selected.copy()
        elif (row := self._focused()) is not None:
            _copy(copied_row(row))

    def quote(self) -> None:
        """Quote the selected text, else the message with the focus, else the last answer."""
        row = self._focused() or self._last_answer()
        self._quote(self._selected.text() or (copied_row(row) if row is not None else ""))

    def open(self, at: QPoint, global_at: QPoint, keys: PartKeys) -> None:
        """Offer what can be done with the selection and with what is under a point of the viewport."""
        menu = QMenu(self._area)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        has_selection = not self._selected.selection.is_empty
        copy = menu.addAction(self.tr("Copy"), self._selected.copy)
        copy.setShortcuts(keys.sequences("copy"))
        copy.setEnabled(has_selection)
        if has_selection:
            menu.addAction(self.tr("Quote in your message"), self.quote)
        self.add_actions(menu, at, quotes=not has_selection)
        select_all = menu.addAction(self.tr("Select all"), self._selected.select_all)
        select_all.setShortcuts(keys.sequences("select_all"))
        menu.popup(global_at)

    def add_actions(self, menu: QMenu, at: QPoint, *, quotes: bool = True) -> None:
        """Add what can be done with what is under a point of the viewport."""
        if link := self._pointer.link_at(at):
            name = self.tr("Copy link address") if is_web_address(link) else self.tr("Copy path")
            menu.addAction(name, partial(_copy, link))
        spot = self._pointer.spot_at(at)
        if spot is None:
            return
        menu.addAction(self.tr("Copy message"), lambda: _copy(copied_row(spot.row)))
        if quotes:
            menu.addAction(self.tr("Quote message"), lambda: self._quote(copied_row(spot.row)))
        if isinstance(spot.row.entry, PromptSubmitted):
            menu.addAction(self.tr("Edit and send again…"), partial(_edit, spot.row))
            go_back = partial(self._actions.rewind_requested.emit, spot.row.entry.turn)
            back = menu.addAction(self.tr("Go back to before this…"), go_back)
            back.setEnabled(self._navigation.can_rewind)

    def _quote(self, text: str) -> None:
        if text.strip():
            self._actions.quote_requested.emit(text)

    def _focused(self) -> EntryRow | None:
        shown = ((row, row.widget) for row in self._layout.widgets.live if row.widget is not None)
        return next((row for row, widget in shown if widget.is_pinned or widget.hasFocus()), None)

    def _last_answer(self) -> EntryRow | None:
        rows = self._layout.rows
        for index in reversed(range(len(rows))):
            entry = rows[index].entry
            if isinstance(entry, TextEntry) and entry.kind == "text":
                return rows[index]
        return None


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)


def _edit(row: EntryRow) -> None:
    if isinstance(row.widget, PromptWidget):  # made anew, perhaps, since the menu was opened
        row.widget.begin_edit()
