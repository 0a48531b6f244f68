"""The list of sessions with their states, and the actions on one or several sessions."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Literal

from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, QItemSelectionModel, QLocale, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu, QPushButton, QWidget, QWidgetAction

from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.ui.sessions.session_list_model import Arrangement, Grouping, SessionListModel
from desktop_agent.ui.sessions.session_rows import SessionRows
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.translation import plural
from desktop_agent.ui.widgets.buttons import MenuButton, compact_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, set_names, stack, vbox
from desktop_agent.ui.widgets.question import Question
from desktop_agent.ui.widgets.rows import stepped
from desktop_agent.ui.wording import local_now

_delete_tr = partial(QCoreApplication.translate, "DeleteQuestion")
_import_tr = partial(QCoreApplication.translate, "ImportedAlreadyQuestion")
_MAX_TITLE = 80


def ask_to_delete(
    sessions: Sequence[SessionSummary], size_bytes: int, parent: QWidget, delete: Callable[[], object]
) -> None:
    titles = [shortened(named(session.title or _delete_tr("New session")), _MAX_TITLE) for session in sessions]
    if len(sessions) == 1:
        title, text = _delete_tr("Delete session"), _delete_tr("Delete “{0}”?").format(titles[0])
        lost = _delete_tr("The conversation ({0}) and the undo history of its changes are deleted permanently.")
        stays = _delete_tr("The files in {0} stay as they are.").format(named(sessions[0].home))
        if (worktree := sessions[0].worktree) is not None:
            stays = _delete_tr("Its worktree {0} stays, with its files and its branch.").format(worktree.name)
    else:
        title = _delete_tr("Delete sessions")
        text = plural("DeleteQuestion", len(sessions), "Delete %n session?", "Delete %n sessions?")
        lost = _delete_tr("The conversations ({0}) and the undo history of their changes are deleted permanently.")
        stays = _delete_tr("The files in their folders stay as they are.")
    more = f"{lost.format(QLocale().formattedDataSize(size_bytes))}\n\n{stays}"
    question = Question(parent, "deleteSessionDialog", title, text, more)
    question.setDetailedText("\n".join(titles) if len(sessions) > 1 else "")
    question.add_answer(_delete_tr("Delete"), "deleteSessionButton", delete, takes_most=True)
    question.ask()


def ask_to_import_again(parent: QWidget, show: Callable[[], object], import_again: Callable[[], object]) -> None:
    text = _import_tr("This conversation was imported already.")
    more = _import_tr("Importing it again makes a second session; the first one stays.")
    question = Question(parent, "importedAlreadyDialog", _import_tr("Import a conversation"), text, more)
    show_it = question.add_answer(_import_tr("Open it"), "", show)
    question.add_answer(_import_tr("Import again"), "", import_again)
    question.ask(show_it)


_tr = partial(QCoreApplication.translate, "SessionMenu")

SessionAction = Literal["pin", "unpin", "archive", "unarchive", "copy", "export", "folder", "window", "delete"]


def action_words(action: SessionAction) -> str:
    words: dict[SessionAction, str] = {
        "pin": _tr("Pin to the top"),
        "unpin": _tr("Unpin"),
        "archive": _tr("Archive"),
        "unarchive": _tr("Unarchive"),
        "copy": _tr("Make a copy"),
        "export": _tr("Export…"),
        "folder": _tr("Show in folder"),
        "window": _tr("Open in a new window"),
        "delete": _tr("Delete…"),
    }
    return words[action]


class SelectionBar(QWidget):
    action_requested = Signal(str)  # a `SessionAction`
    cleared = Signal()

    def __init__(self) -> None:
        super().__init__()
        set_names(self, "selectionBar", self.tr("Selected sessions"))
        self._count = make_label(role="secondary")
        clear = compact_button(self.tr("Clear"), "clearSelectionButton", clicked=self.cleared, variant="flat")
        self._pin = self._button("pin", self.tr("Pin"))
        self._archive = self._button("archive", self.tr("Archive"))
        delete = self._button("delete", self.tr("Delete…"))
        above = hbox(self._count, STRETCH, clear, spacing=Space.XS)
        below = hbox(self._pin, self._archive, delete, STRETCH, spacing=Space.XS)
        vbox(above, below, on=self, margins=(Space.S, Space.XS, 0, Space.S), spacing=Space.XS)
        self.hide()

    def show_for(self, count: int, *, all_pinned: bool, all_archived: bool) -> None:
        self._count.setText(plural("SelectionBar", count, "%n selected", "%n selected"))
        self._pin.setText(self.tr("Unpin") if all_pinned else self.tr("Pin"))
        self._pin.setProperty("action", "unpin" if all_pinned else "pin")
        self._archive.setText(self.tr("Unarchive") if all_archived else self.tr("Archive"))
        self._archive.setProperty("action", "unarchive" if all_archived else "archive")
        self.setVisible(count > 0)

    @property
    def actions_offered(self) -> tuple[SessionAction, ...]:
        return (self._pin.property("action"), self._archive.property("action"), "delete")

    def _button(self, action: SessionAction, text: str) -> QPushButton:
        button = compact_button(text, f"{action}SelectedButton")
        button.setProperty("action", action)
        button.clicked.connect(partial(self._on_clicked, button))
        return button

    def _on_clicked(self, button: QPushButton) -> None:
        self.action_requested.emit(button.property("action"))


class ArrangeButton(MenuButton):
    arranged = Signal(object)  # an `Arrangement`

    def __init__(self) -> None:
        super().__init__()
        set_names(self, "arrangeSessionsButton", self.tr("How sessions are listed"))
        self.setProperty("variant", "flat")
        self.setProperty("compact", True)
        self.setText(self.tr("View ▾"))
        self.setToolTip(self.accessibleName())
        self._arrangement = Arrangement()
        menu = QMenu(self)
        menu.setObjectName("arrangeSessionsMenu")
        heading = make_label(self.tr("Group by"), role="heading")
        heading.setContentsMargins(Space.M, Space.XS, Space.M, Space.XS)
        section = QWidgetAction(menu)  # not `addSection`, whose text a style sheet hides
        section.setText(heading.text())
        section.setDefaultWidget(heading)
        section.setEnabled(False)
        menu.addAction(section)
        choices = QActionGroup(menu)
        words: dict[Grouping, str] = {
            "nearby": self.tr("This folder first"),
            "folder": self.tr("Folder"),
            "day": self.tr("Time"),
            "state": self.tr("State"),
        }
        self._groupings = {grouping: choices.addAction(text) for grouping, text in words.items()}
        for action in self._groupings.values():
            action.setCheckable(True)
            menu.addAction(action)
        menu.addSeparator()
        self._details = menu.addAction(self.tr("Show turns and cost"))
        self._details.setCheckable(True)
        choices.triggered.connect(self._choose)
        self._details.triggered.connect(self._choose)
        self.setMenu(menu)
        self.show_arrangement(self._arrangement)

    def show_arrangement(self, arrangement: Arrangement) -> None:
        self._arrangement = arrangement
        self._groupings[arrangement.grouping].setChecked(True)
        self._details.setChecked(arrangement.is_detailed)

    def _choose(self) -> None:
        grouping = next(name for name, action in self._groupings.items() if action.isChecked())
        arrangement = replace(self._arrangement, grouping=grouping, is_detailed=self._details.isChecked())
        self.show_arrangement(arrangement)
        self.arranged.emit(arrangement)


class SessionPanel(QWidget):
    session_chosen = Signal(str)  # its id
    new_requested = Signal()
    rename_requested = Signal(str, str)  # id, title
    action_requested = Signal(str, object)  # a `SessionAction`, or `release`, and a tuple of ids
    arranged = Signal(object)  # an `Arrangement`
    bring_back_requested = Signal(str)  # the name of a worktree

    def __init__(self, theme: Theme, *, now: Callable[[], datetime] = local_now) -> None:
        super().__init__()
        self._sessions: tuple[SessionSummary, ...] | None = None
        self._workspace: str | None = None
        self._current: str | None = None
        self._shows_archived = False
        self._menu: QMenu | None = None
        self._is_change_expected = False
        """Whether the user asked for something that moves rows, so that rows may move even under the pointer."""
        self._model = SessionListModel(now, self.rename_requested.emit, self)
        self._arrangement = Arrangement()
        self._build(theme)
        self._update()

    def set_sessions(self, sessions: Iterable[SessionSummary]) -> None:
        self._sessions = tuple(sessions)
        self._update()

    def set_workspace(self, workspace: str | None) -> None:
        self._is_change_expected |= self._workspace is None  # the window has just opened, wherever the pointer is
        self._workspace = workspace
        self._update()

    def set_arrangement(self, arrangement: Arrangement) -> None:
        self._arrangement = arrangement
        self._arrange.show_arrangement(arrangement)
        self._is_change_expected = True
        self._update()

    def set_current(self, session_id: str | None) -> None:
        self._current = session_id
        self._select_current()

    def _build(self, theme: Theme) -> None:
        self.setObjectName("sessionsPanel")
        new = compact_button(
            self.tr("+ New"),
            "newSessionButton",
            accessible_name=self.tr("New session"),
            clicked=self.new_requested,
            variant="flat",
        )
        self.more_button = MenuButton()
        set_names(self.more_button, "moreSessionsButton", self.tr("More ways to begin"))
        self.more_button.setText("▾")
        self.more_button.setToolTip(self.more_button.accessibleName())
        self.more_button.setProperty("variant", "flat")
        self.more_button.setProperty("compact", True)
        self.more_button.setFixedWidth(Space.XXL)
        self.more_button.hide()
        heading = make_label(self.tr("Sessions"), role="heading")
        self._arrange = ArrangeButton()
        self._arrange.arranged.connect(self._on_arranged)
        top = hbox(
            heading, STRETCH, self._arrange, hbox(new, self.more_button), margins=(Space.S, 0, 0, 0), spacing=Space.XS
        )

        self._list = SessionRows(self._model, theme)
        self._list.setAccessibleName(self.tr("Sessions"))
        self._list.chosen.connect(self._choose)
        self._list.deleting.connect(self._delete)
        self._list.customContextMenuRequested.connect(self._show_menu)
        self._list.let_go.connect(self._update)
        self._list.selection_changed.connect(self._show_selection)
        self._selected = SelectionBar()
        self._selected.cleared.connect(self._list.select_none)
        self._selected.action_requested.connect(self._act_on_selected)

        empty = self._empty = make_label(role="secondary", wraps=True)
        empty.setContentsMargins(Space.S, Space.XS, Space.S, 0)
        empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._pages = stack(self._list, empty, on=self)

        self._archive = compact_button(object_name="archivedButton", clicked=self._toggle_archived, variant="flat")
        self._archive.hide()
        parts = (top, (self._pages, 1), self._selected, (self._archive, Qt.AlignmentFlag.AlignLeft))
        vbox(*parts, on=self, margins=(Space.S, Space.M, Space.S, 0), spacing=Space.XS)

    def _update(self) -> None:
        sessions = self._sessions or ()
        is_used = self._menu is not None or self._list.is_pointed or self._list.is_editing
        if is_used and not self._is_change_expected and self._model.rowCount() > 0:
            self._model.show_in_place(sessions)
        else:
            self._is_change_expected = False
            self._model.show(sessions, self._workspace, self._arrangement, with_archived=self._shows_archived)
            self._list.select(self._list.selected_ids)
        archived = sum(session.is_archived for session in sessions)
        self._archive.setVisible(archived > 0)
        text = self.tr("Hide archived") if self._shows_archived else self.tr("Show archived ({0})").format(archived)
        self._archive.setText(text)
        self._empty.setText(
            self.tr("Reading your sessions…")
            if self._sessions is None
            else self.tr("No sessions yet. Your first message starts one.")
        )
        self._pages.setCurrentIndex(0 if self._model.rowCount() else 1)
        self._select_current()

    def _on_menu_closed(self) -> None:
        self._menu = None
        self._update()

    def _toggle_archived(self) -> None:
        self._is_change_expected = True
        self._shows_archived = not self._shows_archived
        self._update()

    def _select_current(self) -> None:
        selection = self._list.selectionModel()
        row = self._model.find(self._current)
        if row < 0:
            selection.clearSelection()
        elif not selection.isRowSelected(row):
            index = self._model.index(row)
            selection.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)
            self._list.scrollTo(index)

    def _on_arranged(self, arrangement: Arrangement) -> None:
        self.set_arrangement(arrangement)
        self.arranged.emit(arrangement)

    def _choose(self) -> None:
        index, row = self._list.currentIndex(), self._list.row
        if row is not None and row.session is not None:
            self._list.select_none()
            self.session_chosen.emit(row.session.id)
        elif row is not None:
            self._on_arranged(replace(self._arrangement, folded=self._arrangement.folded ^ {row.group}))
            self._list.setCurrentIndex(self._model.index(index.row()))  # the rows above have not changed

    def step(self, by: int) -> None:
        """Choose the next (1) or the previous (-1) session of the list."""
        sessions = {row: session.id for row, session in self._model.sessions()}
        if (row := stepped(list(sessions), self._model.find(self._current), by)) is not None:
            self.session_chosen.emit(sessions[row])

    def _act(self, action: str, ids: tuple[str, ...]) -> None:
        if ids:
            self._is_change_expected = True
            self.action_requested.emit(action, ids)

    def _act_on_selected(self, action: str) -> None:
        self._act(action, self._list.selected_ids)

    def _delete(self) -> None:
        session = self._list.row.session if self._list.row is not None else None
        self._act("delete", self._list.selected_ids or ((session.id,) if session is not None else ()))

    def _show_selection(self) -> None:
        chosen = [session for _, session in self._model.sessions() if session.id in self._model.selected]
        self._selected.show_for(
            len(chosen),
            all_pinned=all(session.is_pinned for session in chosen),
            all_archived=all(session.is_archived for session in chosen),
        )

    def _hand_over(self, session_id: str, command: str) -> None:
        QGuiApplication.clipboard().setText(command)
        self._act("release", (session_id,))

    def _rename(self, session_id: str) -> None:
        if (row := self._model.find(session_id)) >= 0:
            self._list.setCurrentIndex(self._model.index(row))
            self._list.edit(self._list.currentIndex())

    def _show_menu(self, at: QPoint) -> None:
        index = self._list.indexAt(at)
        session = self._model.row_at(index.row()).session if index.isValid() else None
        if session is None:
            return
        self._list.setCurrentIndex(index)
        menu = self._menu = self._menu_for(session)
        menu.destroyed.connect(self._on_menu_closed)
        menu.popup(self._list.viewport().mapToGlobal(at))

    def _menu_for(self, session: SessionSummary) -> QMenu:
        from desktop_agent.core.agents.installed import way_back  # after the first paint: it imports subprocess

        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if session.id in self._model.selected and len(self._model.selected) > 1:
            menu.setObjectName("selectionMenu")
            for name in self._selected.actions_offered:
                menu.addAction(action_words(name), partial(self._act_on_selected, name))
            return menu
        self._list.select_none()
        menu.setObjectName("sessionMenu")

        def add(name: SessionAction) -> QAction:
            return menu.addAction(action_words(name), partial(self._act, name, (session.id,)))

        menu.addAction(_tr("Open"), partial(self.session_chosen.emit, session.id))
        add("window")
        menu.addAction(_tr("Rename"), partial(self._rename, session.id)).setShortcut(Qt.Key.Key_F2)
        add("unpin" if session.is_pinned else "pin")
        add("copy")
        menu.addAction(_tr("Select"), self._list.toggle).setShortcut(QKeySequence("Ctrl+Space"))
        menu.addSeparator()
        if (worktree := session.worktree) is not None:
            menu.addAction(_tr("Bring back…"), partial(self.bring_back_requested.emit, worktree.name))
        add("export")
        add("folder")
        link = f"desktop-agent://session/{session.id}"
        menu.addAction(_tr("Copy link"), partial(QGuiApplication.clipboard().setText, link))
        if (back := way_back(session.agent_sessions, session.workspace)) is not None:
            text = _tr("Copy the command that continues it in {0}").format(back.title)
            menu.addAction(text, partial(self._hand_over, session.id, back.command)).setObjectName("handOverAction")
        menu.addSeparator()
        add("unarchive" if session.is_archived else "archive")
        add("delete").setShortcut(Qt.Key.Key_Delete)
        return menu
