"""The context menu of a session: what can be done with it, in words."""

from collections.abc import Callable
from typing import Literal, get_args

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.core.protocol.model import SessionSummary

SessionAction = Literal["pin", "unpin", "archive", "unarchive", "copy", "export", "folder", "delete"]
"""What a user may do with a session besides opening and renaming it."""

SESSION_ACTIONS: tuple[SessionAction, ...] = get_args(SessionAction)


class SessionMenu(QMenu):
    """The menu of one session; it deletes itself when it closes."""

    def __init__(
        self,
        session: SessionSummary,
        parent: QWidget,
        *,
        show_session: Callable[[str], None],
        rename: Callable[[str], None],
        act: Callable[[SessionAction, str], None],
    ) -> None:
        """All three get the session's id; `rename` lets the user type another title."""
        super().__init__(parent)
        self.setObjectName("sessionMenu")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._session_id = session.id
        """Rows move while a menu is open; it is about this session all the same."""
        self._show_session = show_session
        self._rename = rename
        self._act = act
        self.addAction(self.tr("Open")).triggered.connect(self._on_open)
        renaming = self.addAction(self.tr("Rename"))
        renaming.setShortcut(Qt.Key.Key_F2)
        renaming.triggered.connect(self._on_rename)
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
            self._act(name, self._session_id)

    def _on_open(self) -> None:
        self._show_session(self._session_id)

    def _on_rename(self) -> None:
        self._rename(self._session_id)

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
