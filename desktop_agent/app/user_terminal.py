"""The user's terminal: one shell for each folder, which ends with the window, and programs that sign in."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, Qt

from desktop_agent.app.composing import Pasting
from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.app.navigator import Navigator
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.command_streams import Keyboard, Terminal, hang_up_on
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.terminal.emulator import FLOOD_BYTES, Backlog, Emulator, without_unseen
from desktop_agent.ui.runtime.eventloop import TaskSpawner
from desktop_agent.ui.terminal.screen_text import TerminalLink
from desktop_agent.ui.terminal.terminal_panel import TerminalDock, TerminalPanel
from desktop_agent.ui.wording import short_path

_tr = partial(QCoreApplication.translate, "Terminal")

_SLICE_S: Final = 0.003
_PAUSE_S: Final = 0.008
"""Output that comes within this time is processed together, because a turn of the loop for each line costs more."""

_SHELLS: Final = ("/bin/bash", "/bin/zsh", "/bin/sh")
_OF_OTHER_TERMINALS: Final = frozenset({"LINES", "COLUMNS", "TERM_PROGRAM_VERSION", "WINDOWID"})


class UserShell:
    def __init__(
        self, folder: Path, rows: int, columns: int, spawner: TaskSpawner, changed: Callable[["UserShell"], None]
    ) -> None:
        self.folder = folder
        self.title = short_path(str(folder))
        self.ended = asyncio.Event()
        self.emulator = Emulator(rows, columns, answered=self.type)
        self.exit_code: int | None = None
        self._spawner = spawner
        self._changed = changed
        self._backlog = Backlog()
        self._loop = asyncio.get_running_loop()
        self._keyboard: Keyboard | None = None
        self._typed_early = b""
        self._child: ChildProcess | None = None
        self._is_taking_in = False

    async def start(self, runner: ProcessRunner, environ: Mapping[str, str], argv: tuple[str, ...] = ()) -> None:
        """Start the shell, or another program. Raises `OSError` if the program or a terminal is not available."""
        screen = self.emulator.screen
        terminal = await asyncio.to_thread(Terminal.open, screen.height, screen.columns, is_for_user=True)
        self._keyboard = Keyboard(terminal)
        argv = argv or shell_command(environ)
        command = Command(argv=argv, cwd=self.folder, environ=terminal_environment(environ))
        try:
            self._child = await runner.interact(command, terminal, self._on_output)
        except OSError:
            self._keyboard.hang_up()
            raise
        self._keyboard.type(self._typed_early)
        self._spawner.spawn(self._see_through(self._child))

    @property
    def is_busy(self) -> bool:
        """Whether a program uses the terminal. Otherwise the shell waits for a command."""
        if self._keyboard is None or self._child is None or self.exit_code is not None:
            return False
        return self._keyboard.foreground() not in (None, self._child.pid)

    def type(self, content: bytes) -> None:
        if self._child is None or self._keyboard is None:
            self._typed_early += content
        else:
            self._keyboard.type(content)

    def resize(self, rows: int, columns: int) -> None:
        screen = self.emulator.screen
        if (rows, columns) != (screen.height, screen.columns):
            screen.resize(rows, columns)
            if self._keyboard is not None:
                self._keyboard.resize(rows, columns)
            self._changed(self)

    async def end(self) -> None:
        self._backlog.close()
        if self._child is not None:
            hang_up_on(self._child.pid)
            await self._child.end()

    async def _see_through(self, child: ChildProcess) -> None:
        await child.wait()
        end = await child.end()
        self.exit_code = end.exit_code
        if self._keyboard is not None:
            self._keyboard.hang_up()
        self.ended.set()
        self._changed(self)

    def _on_output(self, output: bytes) -> None:
        if self._backlog.put(output):
            self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        if not self._is_taking_in:
            self._is_taking_in = True
            self._spawner.spawn(self._take_in())

    async def _take_in(self) -> None:
        try:
            while output := self._backlog.take():
                await self._take_in_all_of(await self._to_be_seen(output))
                await asyncio.sleep(_PAUSE_S)
        finally:
            self._is_taking_in = False

    async def _to_be_seen(self, output: bytes) -> bytes:
        if len(output) < FLOOD_BYTES or not self.emulator.is_scrolling:
            return output
        screen = self.emulator.screen
        return await asyncio.to_thread(without_unseen, output, (screen.history.maxlen or 0) + screen.height)

    async def _take_in_all_of(self, output: bytes) -> None:
        end = time.perf_counter() + _SLICE_S
        for _ in self.emulator.steps(output):
            if time.perf_counter() >= end:
                self._changed(self)
                await asyncio.sleep(0)
                end = time.perf_counter() + _SLICE_S
        self._changed(self)


def shell_command(environ: Mapping[str, str]) -> tuple[str, ...]:
    named = environ.get("SHELL", "")
    candidates = (named, *_SHELLS) if Path(named).is_absolute() else _SHELLS
    shell = next((each for each in candidates if os.access(each, os.X_OK)), _SHELLS[-1])
    return (shell, "-l") if sys.platform == "darwin" else (shell,)


def terminal_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ`, which must hold no secrets, with the variables of this terminal."""
    own = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "TERM_PROGRAM": "desktop-agent"}
    return {**{name: value for name, value in environ.items() if name not in _OF_OTHER_TERMINALS}, **own}


class TerminalControl(Controller):
    def __init__(self, context: WindowContext, navigator: Navigator, pasting: Pasting) -> None:
        super().__init__(context)
        self._navigator = navigator
        self._pasting = pasting
        self._spawner = self._panels.spawner
        self._runner = ProcessRunner(SystemClock())
        self._shells: dict[Path, UserShell] = {}
        self._guest: UserShell | None = None
        """A program that signs in. It is shown in place of the shell."""
        self._hides_after_guest = False
        self._parts: tuple[TerminalDock, TerminalPanel] | None = None
        actions = self._panels.window.actions_
        actions.toggle_terminal.triggered.connect(self.toggle)
        actions.attach_terminal.triggered.connect(self._attach)
        navigator.workspace_changed.connect(self._on_workspace_changed)

    @property
    def busy(self) -> int:
        return sum(shell.is_busy for shell in self._shells.values()) + self._is_guest_running

    def toggle(self) -> None:
        dock, panel = self._parts or self._build()
        if dock.isVisible() and panel.isAncestorOf(self._panels.window.focusWidget() or dock):
            self._hide()
            return
        dock.show()
        self._show_shell()
        panel.setFocus(Qt.FocusReason.ShortcutFocusReason)

    async def sign_in(self, title: str, command: Command) -> int | None:
        """Run a program that signs in, and return its exit code; `None` if there is no terminal here.

        The output of a program that did not sign in stays visible until the panel is hidden. A cancellation ends it.
        Raises `OSError`.
        """
        dock, panel = self._parts or self._build()
        if self._guest is None:
            self._hides_after_guest = not dock.isVisible()
        dock.show()
        if sys.platform == "win32":
            panel.show_unavailable(_tr("There is no terminal on Windows yet. Use one of your own."))
            return None
        if self._guest is not None:
            await self._guest.end()
        guest = self._guest = UserShell(command.cwd, *panel.view.fitting(), self._spawner, self._on_changed)
        guest.title = title
        self._show_shell()
        panel.setFocus(Qt.FocusReason.OtherFocusReason)
        try:
            await guest.start(self._runner, command.environ, command.argv)
            await guest.ended.wait()
        except BaseException:
            await guest.end()
            self._dismiss_guest(is_hiding=self._hides_after_guest)
            raise
        if guest.exit_code == 0 and self._guest is guest:
            self._dismiss_guest(is_hiding=self._hides_after_guest)
        return guest.exit_code

    def _dismiss_guest(self, *, is_hiding: bool) -> None:
        self._guest = None
        if is_hiding:
            self._hide()
        else:
            self._show_shell()

    @property
    def _is_guest_running(self) -> bool:
        return self._guest is not None and not self._guest.ended.is_set()

    async def aclose(self) -> None:
        for shell in (*self._shells.values(), *filter(None, (self._guest,))):
            await shell.end()
        await self._runner.aclose()

    def _build(self) -> tuple[TerminalDock, TerminalPanel]:
        panel = TerminalPanel(self._theme)
        self._parts = TerminalDock(self._panels.window, panel), panel
        panel.typed.connect(self._on_typed)
        panel.view.resized.connect(self._on_resized)
        panel.attach_requested.connect(self._on_attached)
        panel.start_requested.connect(self._start)
        panel.view.pointer.known_file = self._panels.transcript.row_layout.files.find
        panel.view.pointer.followed.connect(self._on_followed)
        panel.closed.connect(self._hide)
        return self._parts

    def _hide(self) -> None:
        if not self._is_guest_running:
            self._guest = None
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
        actions = self._panels.transcript.entry_actions
        if link.is_web:
            actions.link_activated.emit(link.target)
        else:
            actions.file_requested.emit(link.target, link.line)

    @property
    def _shell(self) -> UserShell | None:
        if self._guest is not None:
            return self._guest
        folder = self._navigator.workspace
        return self._shells.get(folder) if folder is not None else None

    def _on_workspace_changed(self) -> None:
        if self._parts is not None and self._parts[0].isVisible():
            self._show_shell()

    def _show_shell(self) -> None:
        shell = self._shell
        if shell is None:
            self._start()
        elif self._parts is not None:
            self._parts[1].show_terminal(shell.emulator, shell.title)
            self._on_resized()
            self._on_changed(shell)

    def _start(self) -> None:
        if self._guest is not None:
            self._dismiss_guest(is_hiding=False)
            return
        folder = self._navigator.workspace
        if folder is None or self._parts is None:
            return
        if sys.platform == "win32":
            self._parts[1].show_unavailable(_tr("There is no terminal on Windows yet. Use one of your own."))
            return
        shell = UserShell(folder, *self._parts[1].view.fitting(), self._spawner, self._on_changed)
        self._shells[folder] = shell
        self._parts[1].show_terminal(shell.emulator, shell.title)
        self._spawner.spawn(self._run(shell))
        self._parts[1].setFocus(Qt.FocusReason.OtherFocusReason)

    async def _run(self, shell: UserShell) -> None:
        passed = self._bench.settings_in(shell.folder).current.execution.passed_variables
        try:
            await shell.start(self._runner, child_environment(self._bench.environ, passed))
        except OSError as error:
            del self._shells[shell.folder]
            if self._parts is not None:
                why = _tr("The shell could not be started: {0}. Set SHELL to one that works, and start again.")
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
