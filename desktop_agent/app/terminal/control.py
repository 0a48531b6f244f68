"""Opens the terminal of the open folder, and ends all shells with the window.

Each folder has one shell, which lives on while another folder is open. The agent has no way to it: what a shell
changes in the folder is the user's, as from any other program of theirs.
"""

import sys
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Qt

from desktop_agent.app.composing.pasting import Pasting
from desktop_agent.app.navigator import Navigator
from desktop_agent.app.terminal.shell import UserShell
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.terminal.screen_text import TerminalLink
from desktop_agent.ui.terminal.terminal_panel import TerminalDock, TerminalPanel
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.wording.phrases import short_path


class TerminalControl(QObject):
    """The terminal of one window. Panel and shell are made when they are wanted first."""

    def __init__(
        self,
        panels: WindowPanels,
        theme: Theme,
        bench: Workbench,
        navigator: Navigator,
        pasting: Pasting,
        spawner: TaskSpawner,
    ) -> None:
        super().__init__(panels.window)
        self._panels = panels
        self._theme = theme
        self._bench = bench
        self._navigator = navigator
        self._pasting = pasting
        self._spawner = spawner
        self._runner = ProcessRunner(SystemClock())
        self._shells: dict[Path, UserShell] = {}
        self._parts: tuple[TerminalDock, TerminalPanel] | None = None
        actions = panels.window.actions_
        actions.connect(actions.toggle_terminal, self.toggle)
        actions.connect(actions.attach_terminal, self._attach)
        navigator.workspace_changed.connect(self._on_workspace_changed)

    @property
    def busy(self) -> int:
        """In how many shells a program runs that closing the window would end."""
        return sum(shell.is_busy for shell in self._shells.values())

    def toggle(self) -> None:
        """Show the terminal and give it the keyboard; hide it from there."""
        dock, panel = self._parts or self._build()
        if dock.isVisible() and panel.isAncestorOf(self._panels.window.focusWidget() or dock):
            self._hide()
            return
        dock.show()
        self._show_shell()
        panel.setFocus(Qt.FocusReason.ShortcutFocusReason)

    async def aclose(self) -> None:
        """End all shells with what they started, and return when nothing of them is left."""
        for shell in self._shells.values():
            await shell.end()
        await self._runner.aclose()

    def _build(self) -> tuple[TerminalDock, TerminalPanel]:
        panel = TerminalPanel(self._theme)
        dock = TerminalDock(self._panels.window, panel)
        self._parts = dock, panel
        panel.typed.connect(self._on_typed)
        panel.view.resized.connect(self._on_resized)
        panel.attach_requested.connect(self._on_attached)
        panel.start_requested.connect(self._start)
        panel.view.pointer.known_file = self._panels.transcript.row_layout.files.find
        panel.view.pointer.followed.connect(self._on_followed)
        panel.closed.connect(self._hide)
        return self._parts

    def _hide(self) -> None:
        if self._parts is not None:
            self._parts[0].hide()
            self._panels.composer.setFocus()

    def _attach(self) -> None:
        if self._parts is not None and self._parts[0].isVisible():
            self._parts[1].attach()

    def _on_attached(self, text: str) -> None:
        self._pasting.mention_text(text, "terminal")
        self._panels.composer.setFocus()

    def _on_followed(self, link: TerminalLink) -> None:
        """Open what a link leads to as the conversation opens it."""
        actions = self._panels.transcript.entry_actions
        if link.is_web:
            actions.link_activated.emit(link.target)
        else:
            actions.file_requested.emit(link.target, link.line)

    # -- the shell of the folder --

    @property
    def _shell(self) -> UserShell | None:
        folder = self._navigator.workspace
        return self._shells.get(folder) if folder is not None else None

    def _on_workspace_changed(self) -> None:
        if self._parts is not None and self._parts[0].isVisible():
            self._show_shell()

    def _show_shell(self) -> None:
        """Show the shell of the open folder; one that was never started starts."""
        shell = self._shell
        if shell is None:
            self._start()
        elif self._parts is not None:
            self._parts[1].show_terminal(shell.emulator, short_path(str(shell.folder)))
            self._on_resized()
            self._on_changed(shell)

    def _start(self) -> None:
        folder = self._navigator.workspace
        if folder is None or self._parts is None:
            return
        if sys.platform == "win32":
            self._parts[1].show_unavailable(_tr("There is no terminal on Windows yet. Use one of your own."))
            return
        shell = UserShell(folder, *self._parts[1].view.fitting(), self._spawner, self._on_changed)
        self._shells[folder] = shell
        self._parts[1].show_terminal(shell.emulator, short_path(str(folder)))
        self._spawner.spawn(self._run(shell))
        self._parts[1].setFocus(Qt.FocusReason.OtherFocusReason)

    async def _run(self, shell: UserShell) -> None:
        passed = self._bench.settings_in(shell.folder).current.execution.passed_variables
        try:
            await shell.start(self._runner, child_environment(self._bench.environ, passed))
        except OSError as error:
            del self._shells[shell.folder]
            if self._parts is not None:
                why = _tr("The shell could not be started: {0}. Set SHELL to one that can, and start again.")
                self._parts[1].show_unavailable(why.format(error.strerror or error))

    def _on_changed(self, shell: UserShell) -> None:
        if shell is not self._shell or self._parts is None:
            return
        code = shell.exit_code
        ended = "" if code is None else _tr("Ended.") if code == 0 else _tr("Ended with code {0}.").format(code)
        self._parts[1].show_state(ended, shell.emulator.title)
        self._parts[1].view.refresh()

    def _on_typed(self, content: bytes) -> None:
        if (shell := self._shell) is not None:
            shell.type(content)

    def _on_resized(self) -> None:
        if (shell := self._shell) is not None and self._parts is not None and self._parts[0].isVisible():
            shell.resize(*self._parts[1].view.fitting())


def _tr(text: str) -> str:
    return QCoreApplication.translate("Terminal", text)
