"""The context menu of a session: what can be done with it, in words."""

from typing import Literal, get_args

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.core.protocol.model import SessionSummary

SessionAction = Literal["pin", "unpin", "archive", "unarchive", "copy", "export", "folder", "delete"]
"""What a user may do with a session besides opening and renaming it."""

SESSION_ACTIONS: tuple[SessionAction, ...] = get_args(SessionAction)


class SessionMenu(QMenu):
    """The menu of one session; it deletes itself when it closes.

    Signals:
        opening: show the session (its id).
        renaming: let the user type another title: id.
        action_requested: one of `SESSION_ACTIONS`, id.
    """

    opening = Signal(str)
    renaming = Signal(str)
    action_requested = Signal(str, str)

    def __init__(self, session: SessionSummary, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("sessionMenu")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._session_id = session.id
        """Rows move while a menu is open; it is about this session all the same."""
        self.addAction(self.tr("Open")).triggered.connect(self._on_open)
        rename = self.addAction(self.tr("Rename"))
        rename.setShortcut(Qt.Key.Key_F2)
        rename.triggered.connect(self._on_rename)
        self._add("unpin" if session.is_pinned else "pin")
        self._add("copy")
        self.addSeparator()
        self._add("export")
        self._add("folder")
        self.addSeparator()
        self._add("unarchive" if session.is_archived else "archive")
        self._add("delete").setShortcut(Qt.Key.Key_Delete)
        self.triggered.connect(self._on_triggered)

    def _add(self, name: SessionAction) -> QAction:
        action = self.addAction(self._words(name))
        action.setData(name)
        return action

    def _on_triggered(self, action: QAction) -> None:
        if (name := action.data()) in SESSION_ACTIONS:
            self.action_requested.emit(name, self._session_id)

    def _on_open(self) -> None:
        self.opening.emit(self._session_id)

    def _on_rename(self) -> None:
        self.renaming.emit(self._session_id)

    def _words(self, action: SessionAction) -> str:
        match action:
            case "pin":
                return self.tr("Pin to the top")
            case "unpin":
                return self.tr("Unpin")
            case "archive":
                return self.tr("Archive")
            case "unarchive":
                return self.tr("Take back from the archive")
            case "copy":
                return self.tr("Make a copy")
            case "export":
                return self.tr("Export…")
            case "folder":
                return self.tr("Show in folder")
            case "delete":
                return self.tr("Delete…")
