"""The ways to begin: in a folder, with the demo, or with a model of one's own. The welcome offers all of them."""

from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from desktop_agent.app.background_tasks import Try
from desktop_agent.app.connecting.welcome import Welcome
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.settings.setup import Setup
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.ui.theme import Theme


class WaysToBegin(QObject):
    """Asks where to begin, wherever the window offers that, and goes there."""

    def __init__(
        self, panels: WindowPanels, theme: Theme, bench: Workbench, navigator: Navigator, setup: Setup, try_: Try
    ) -> None:
        super().__init__(panels.window)
        self._window = panels.window
        self._navigator = navigator
        self._setup = setup
        self._try = try_
        self._welcome = Welcome(
            panels.window,
            theme,
            bench,
            setup.actions.local_servers,
            try_,
            start_demo=self.show_demo,
            choose_folder=self.choose_folder,
            begun=panels.composer.setFocus,
        )
        actions = panels.window.actions_
        actions.connect(actions.open_folder, self.choose_folder)
        actions.connect(actions.demo, self.show_demo)
        panels.window.top_bar.folder_menu.folder_chosen.connect(self._on_folder_chosen)
        panels.conversation.banner.folder_requested.connect(self.choose_folder)
        panels.transcript.entry_actions.folder_requested.connect(self.choose_folder)
        panels.wiring.folder_requested.connect(self.welcome)
        panels.pasted_keys.found.connect(self._on_key_pasted)

    def welcome(self) -> None:
        """Open the welcome."""
        self._welcome.open(self._navigator.workspace)

    def show_demo(self) -> None:
        """Start the demo in a fresh copy of its project."""
        self._try(self._navigator.show_demo())

    def choose_folder(self) -> None:
        """Let the user choose the folder to work in."""
        dialog = QFileDialog(self._window, self.tr("Open a folder"))
        dialog.setObjectName("folderDialog")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        if self._navigator.workspace is not None:
            dialog.setDirectory(str(self._navigator.workspace))
        dialog.fileSelected.connect(self._on_folder_chosen)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _on_folder_chosen(self, path: str) -> None:
        self._welcome.set_folder(Path(path))
        self._try(self._navigator.show_folder(Path(path)))

    def _on_key_pasted(self, key: str) -> None:
        if not self._welcome.takes_key(key):
            self._setup.enter_key(key)
