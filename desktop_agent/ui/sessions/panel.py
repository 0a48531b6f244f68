"""The list of sessions, with what each is doing."""

from collections.abc import Callable, Iterable
from datetime import datetime

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemDelegate, QAbstractItemView, QListView, QStackedLayout, QWidget

from desktop_agent.core.protocol.model import SessionSummary
from desktop_agent.ui.sessions.delegate import SessionDelegate
from desktop_agent.ui.sessions.menu import SessionMenu
from desktop_agent.ui.sessions.model import SessionModel
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.layouts import STRETCH, hbox, vbox
from desktop_agent.ui.widgets.rows import AnyIndex, set_up_list


def _now() -> datetime:
    return datetime.now().astimezone()


class SessionList(QWidget):
    """The panel. It shows what it is given, and emits what the user wants.

    Signals:
        session_chosen: show this session (its id).
        new_requested: start a new session.
        rename_requested: give a session another title: id, title.
        action_requested: do something else with a session: one of `menu.SESSION_ACTIONS`, id.
    """

    session_chosen = Signal(str)
    new_requested = Signal()
    rename_requested = Signal(str, str)
    action_requested = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, now: Callable[[], datetime] = _now) -> None:
        super().__init__(parent)
        self._sessions: tuple[SessionSummary, ...] | None = None
        """None until they were read."""
        self._workspace: str | None = None
        self._current: str | None = None
        self._shows_archived = False
        self._menu: SessionMenu | None = None
        self._is_change_expected = False
        """Whether the user asked for something that moves rows."""
        self._model = SessionModel(now, self.rename_requested.emit, self)
        self._build(theme)
        self._update()

    # --- what the window asks -------------------------------------------------------------------------------------

    def set_sessions(self, sessions: Iterable[SessionSummary]) -> None:
        """Show these sessions, in the order of their last use."""
        self._sessions = tuple(sessions)
        self._update()

    def set_workspace(self, workspace: str | None) -> None:
        """Sessions of this folder (an absolute path) come first; all others are listed as of other folders."""
        self._workspace = workspace
        self._update()

    def set_current(self, session_id: str | None) -> None:
        """Mark the session that is shown."""
        self._current = session_id
        self._select_current()

    # --- building -------------------------------------------------------------------------------------------------

    def _build(self, theme: Theme) -> None:
        self.setObjectName("sessionsPanel")
        new = make_button(
            self.tr("+ New"),
            object_name="newSessionButton",
            clicked=self.new_requested,
            variant="flat",
            is_compact=True,
        )
        new.setAccessibleName(self.tr("New session"))
        heading = make_label(self.tr("Sessions"), role="heading")
        top = hbox(heading, STRETCH, new, margins=(Space.S, 0, 0, 0), spacing=Space.XS)

        self._list = _Rows()
        self._list.setModel(self._model)
        self._list.setItemDelegate(SessionDelegate(self._model, theme, self._list.ring, self._list))
        self._list.setAccessibleName(self.tr("Sessions"))
        self._list.clicked.connect(self._on_clicked)
        self._list.chosen.connect(self._choose)
        self._list.deleting.connect(self._delete)
        self._list.customContextMenuRequested.connect(self._show_menu)
        self._list.let_go.connect(self._update)
        theme.changed.connect(self._list.viewport().update)

        empty = self._empty = make_label(role="secondary", wraps=True)
        empty.setContentsMargins(Space.S, Space.XS, Space.S, 0)
        empty.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._pages = QStackedLayout()
        self._pages.addWidget(self._list)
        self._pages.addWidget(empty)

        self._archive = make_button(
            object_name="archivedButton", clicked=self._toggle_archived, variant="flat", is_compact=True
        )
        self._archive.hide()
        vbox(
            top,
            (self._pages, 1),
            (self._archive, Qt.AlignmentFlag.AlignLeft),
            on=self,
            margins=(Space.S, Space.M, Space.S, 0),
            spacing=Space.XS,
        )

    # --- rows -----------------------------------------------------------------------------------------------------

    def _update(self) -> None:
        sessions = self._sessions or ()
        if self._is_held():
            self._model.show_in_place(sessions)
        else:
            self._is_change_expected = False
            self._model.show(sessions, self._workspace, with_archived=self._shows_archived)
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

    def _is_held(self) -> bool:
        """Whether rows have to stay: the user points at one, its menu is open, or its title is being typed."""
        is_used = self._menu is not None or self._list.is_pointed or self._list.is_editing
        return is_used and not self._is_change_expected and self._model.rowCount() > 0

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

    def _on_clicked(self, _index: QModelIndex) -> None:
        self._choose()

    def _choose(self) -> None:
        if (session := self._session()) is not None:
            self.session_chosen.emit(session.id)

    def _session(self) -> SessionSummary | None:
        """The session of the current row."""
        index = self._list.currentIndex()
        return self._model.row_at(index.row()).session if index.isValid() else None

    def _action(self, action: str, session_id: str) -> None:
        self._is_change_expected = True
        self.action_requested.emit(action, session_id)

    def _delete(self) -> None:
        if (session := self._session()) is not None:
            self._action("delete", session.id)

    def _rename(self, session_id: str) -> None:
        if (row := self._model.find(session_id)) >= 0:
            self._list.setCurrentIndex(self._model.index(row))
            self._list.rename()

    def _show_menu(self, at: QPoint) -> None:
        index = self._list.indexAt(at)
        session = self._model.row_at(index.row()).session if index.isValid() else None
        if session is None:
            return
        self._list.setCurrentIndex(index)
        menu = self._menu = SessionMenu(
            session, self, show_session=self.session_chosen.emit, rename=self._rename, act=self._action
        )
        menu.destroyed.connect(self._on_menu_closed)
        menu.popup(self._list.viewport().mapToGlobal(at))


class _Rows(QListView):
    """The list itself. The selected row is the session that is shown; arrow keys only move the current row.

    Signals:
        chosen: Enter on the current row.
        deleting: Delete on the current row.
        let_go: the pointer left, or a title was typed.
    """

    chosen = Signal()
    deleting = Signal()
    let_go = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.ring = set_up_list(self)
        self.is_pointed = False
        """Whether the pointer is over the rows."""
        self.setObjectName("sessionList")
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setLayoutMode(QListView.LayoutMode.Batched)  # thousands of rows are not laid out at once
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    @property
    def is_editing(self) -> bool:
        """Whether a title is being typed."""
        return self.state() == QAbstractItemView.State.EditingState

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave):
            self.is_pointed = event.type() == QEvent.Type.Enter
            if not self.is_pointed:
                self.let_go.emit()
        return super().viewportEvent(event)

    def closeEditor(self, editor: QWidget, hint: QAbstractItemDelegate.EndEditHint) -> None:
        super().closeEditor(editor, hint)
        self.let_go.emit()

    def rename(self) -> None:
        """Let the user type another title in the current row."""
        self.edit(self.currentIndex())

    def selectionCommand(self, index: AnyIndex, event: QEvent | None = None) -> QItemSelectionModel.SelectionFlag:
        return QItemSelectionModel.SelectionFlag.NoUpdate

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not self.is_editing:
            self.chosen.emit()
        elif event.key() == Qt.Key.Key_Delete and not self.is_editing:
            self.deleting.emit()
        else:
            super().keyPressEvent(event)
