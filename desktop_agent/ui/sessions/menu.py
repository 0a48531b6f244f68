"""The context menu of a session: what can be done with it, in words."""

from typing import TYPE_CHECKING, Literal, get_args

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

if TYPE_CHECKING:
    from desktop_agent.core.protocol.model import SessionSummary

SessionWish = Literal["pin", "unpin", "archive", "unarchive", "copy", "export", "folder", "delete"]
"""What a user may want of a session besides to open and rename it."""

SESSION_WISHES: tuple[SessionWish, ...] = get_args(SessionWish)


class SessionMenu(QMenu):
    """The menu of one session; it deletes itself when it closes.

    Signals:
        opening: show the session (its id).
        renaming: let the user type another title: id.
        wished: one of `SESSION_WISHES`, id.
    """

    opening = Signal(str)
    renaming = Signal(str)
    wished = Signal(str, str)

    def __init__(self, session: "SessionSummary", parent: QWidget) -> None:
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

    def _add(self, action: SessionWish) -> QAction:
        action = self.addAction(self._words(action))
        action.setData(action)
        return action

    def _on_triggered(self, action: QAction) -> None:
        if (action := action.data()) in SESSION_WISHES:
            self.wished.emit(action, self._session_id)

    def _on_open(self) -> None:
        self.opening.emit(self._session_id)

    def _on_rename(self) -> None:
        self.renaming.emit(self._session_id)

    def _words(self, action: SessionWish) -> str:
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
