"""The context menu of a session: what can be done with it, in words."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, get_args

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.core.protocol.model import SessionSummary

SessionAction = Literal["pin", "unpin", "archive", "unarchive", "copy", "export", "folder", "window", "delete"]
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
        select: Callable[[], None],
        act: Callable[[SessionAction, str], None],
    ) -> None:
        """Those with a parameter get the session's id; `rename` lets the user type another title."""
        super().__init__(parent)
        self.setObjectName("sessionMenu")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._session_id = session.id
        """Rows move while a menu is open; it is about this session all the same."""
        self._show_session = show_session
        self._rename = rename
        self._act = act
        self.addAction(self.tr("Open")).triggered.connect(self._on_open)
        self._add("window")
        renaming = self.addAction(self.tr("Rename"))
        renaming.setShortcut(Qt.Key.Key_F2)
        renaming.triggered.connect(self._on_rename)
        self._add("unpin" if session.is_pinned else "pin")
        self._add("copy")
        selecting = self.addAction(self.tr("Select"))
        selecting.setShortcut(QKeySequence("Ctrl+Space"))
        selecting.triggered.connect(select)
        self.addSeparator()
        self._add("export")
        self._add("folder")
        self.addSeparator()
        self._add("unarchive" if session.is_archived else "archive")
        self._add("delete").setShortcut(Qt.Key.Key_Delete)
        self.triggered.connect(self._on_triggered)

    def _add(self, name: SessionAction) -> QAction:
        action = self.addAction(action_words(name))
        action.setData(name)
        return action

    def _on_triggered(self, action: QAction) -> None:
        if (name := action.data()) in SESSION_ACTIONS:
            self._act(name, self._session_id)

    def _on_open(self) -> None:
        self._show_session(self._session_id)

    def _on_rename(self) -> None:
        self._rename(self._session_id)


class SelectionMenu(QMenu):
    """The menu of all selected sessions; it deletes itself when it closes."""

    def __init__(
        self, names: Sequence[SessionAction], parent: QWidget, *, act: Callable[[SessionAction], None]
    ) -> None:
        """`names` are those that can be asked for of all of them."""
        super().__init__(parent)
        self.setObjectName("selectionMenu")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for name in names:
            self.addAction(action_words(name)).triggered.connect(partial(act, name))


def action_words(action: SessionAction) -> str:
    """Return what the menus call it."""
    match action:
        case "pin":
            return _tr("Pin to the top")
        case "unpin":
            return _tr("Unpin")
        case "archive":
            return _tr("Archive")
        case "unarchive":
            return _tr("Take back from the archive")
        case "copy":
            return _tr("Make a copy")
        case "export":
            return _tr("Export…")
        case "folder":
            return _tr("Show in folder")
        case "window":
            return _tr("Open in a new window")
        case "delete":
            return _tr("Delete…")


def _tr(text: str) -> str:
    return QCoreApplication.translate("SessionMenu", text)
