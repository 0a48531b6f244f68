"""The menu of the open folder: ways to begin, and the folders that the user worked in last."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.wording.phrases import short_path
from desktop_agent.ui.wording.visible_text import plain_tooltip


class FolderMenu(QMenu):
    """The menu.

    Signals:
        folder_chosen: begin in this folder (its absolute path).
    """

    folder_chosen = Signal(str)

    def __init__(self, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("folderMenu")
        self.setToolTipsVisible(True)
        self.addActions([actions.open_folder, actions.new_session, actions.new_window, actions.demo])
        self._recent = self.addSection(self.tr("Recent folders"))
        self._recent.setVisible(False)
        self._folders: tuple[str, ...] = ()

    def show_recent(self, folders: Sequence[str]) -> None:
        """Offer these, the last used first."""
        if tuple(folders) == self._folders:
            return
        self._folders = tuple(folders)
        for action in self.actions()[self.actions().index(self._recent) + 1 :]:
            self.removeAction(action)
            action.deleteLater()
        for folder in folders:
            action = self.addAction(short_path(folder).replace("&", "&&"))
            action.setToolTip(plain_tooltip(folder))
            action.triggered.connect(partial(self.folder_chosen.emit, folder))
        self._recent.setVisible(bool(folders))
