"""Applies changed settings while the window is open, follows the files, and asks about settings of projects."""

import asyncio
import logging
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, Qt, QTimer
from PySide6.QtGui import QGuiApplication

from desktop_agent.app.controller import Controller, WindowContext
from desktop_agent.app.file_opening import open_in_editor
from desktop_agent.app.settings.settings_dialog import Setup
from desktop_agent.app.window_panels import apply_keys, apply_look
from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.protocol import ops
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import FileProblem
from desktop_agent.core.settings.sections import ExecutionSettings, UiSettings
from desktop_agent.core.settings.workspace_settings import Answer, ProjectProposal, WorkspaceSettings
from desktop_agent.ui.widgets.banner import few_lines

_LOOK_EVERY_MS = 30_000
"""How often to look for changes that are not notified, such as a project's first file. Seldom, to save power."""
_SETTLED_MS = 1_000
"""A file that is empty or missing for less than this is taken to be just being saved."""

logger = logging.getLogger(__name__)


class SettingsController(Controller):
    def __init__(self, context: WindowContext, setup: Setup) -> None:
        super().__init__(context)
        panels, bench = self._panels, self._bench
        self._setup = setup
        self._spawner = panels.spawner
        self._project: WorkspaceSettings | None = None
        self._look: UiSettings = bench.settings.ui
        panels.session.opens_questions |= self._look.opens_approvals
        self._reported: tuple[str, ...] = ()
        self._asked = ""
        self._shown: ProjectProposal | None = None
        """The project's proposal that the user sees and answers. The file may have changed since."""
        self._is_looking = False
        self._timer = QTimer(self, interval=_LOOK_EVERY_MS, timerType=Qt.TimerType.CoarseTimer)
        self._timer.timeout.connect(self._look_at_files)
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self._on_change_on_disk)
        self._watcher.fileChanged.connect(self._on_change_on_disk)
        self._again = QTimer(self, interval=_SETTLED_MS, singleShot=True)
        self._again.timeout.connect(self._look_at_files)
        application = QGuiApplication.instance()
        assert isinstance(application, QGuiApplication)
        self._application = application
        application.applicationStateChanged.connect(self._on_state)
        panels.judges.execution_in = self._execution_in
        self._unsubscribe = bench.live.subscribe(self._on_changed)
        panels.conversation.project_banner.answered.connect(self._on_answered)
        panels.conversation.project_banner.details_requested.connect(setup.open_project)
        setup.project_answered.connect(self._on_answered)
        self._faults: tuple[FileProblem, ...] = ()
        panels.conversation.hold_banner.file_requested.connect(self._on_faulty_file)
        panels.conversation.hold_banner.go_on_requested.connect(self._on_go_on)
        self._show_faults()
        self._watch_files()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        self._again.stop()
        self._application.applicationStateChanged.disconnect(self._on_state)
        self._unsubscribe()

    def show_workspace(self, root: Path) -> None:
        self._project = self._bench.settings_in(root)
        self._asked = ""
        self._shown = None
        self._panels.conversation.project_banner.hide()
        self._spawner.spawn(self._refresh())

    def report_problems(self) -> None:
        problems = self._problems()
        if problems and self._panels.conversation.banner.isHidden():
            self._show(self.tr("Some of your settings cannot be used. Their defaults apply."), problems)
        self._reported = problems

    def _watch_files(self) -> None:
        """Watch folders, too, because files are replaced. A project may be on a slow disk: a thread polls it."""
        bench = self._bench
        files = (bench.live.path or bench.paths.settings_file(), bench.rules.file.path)
        wanted = {str(path) for file in files for path in (file, file.parent)}
        if missing := wanted.difference(self._watcher.files(), self._watcher.directories()):
            self._watcher.addPaths(sorted(missing))

    def _on_state(self, state: Qt.ApplicationState) -> None:
        if state is Qt.ApplicationState.ApplicationActive:
            self._look_at_files()

    def _on_change_on_disk(self) -> None:
        self._look_at_files()
        self._again.start()

    def _look_at_files(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self._spawner.spawn(self._refresh())

    async def _refresh(self) -> None:
        try:
            await asyncio.to_thread(self._bench.rules.look)
            if self._project is None:
                await self._bench.live.refresh()
            else:
                await self._project.refresh()
                self._ask()
            self._show_faults()
            self._watch_files()
        finally:
            self._is_looking = False

    def _on_changed(self) -> None:
        ui = self._bench.settings.ui
        if ui != self._look:
            if ui.opens_approvals != self._look.opens_approvals:
                self._panels.session.opens_questions = ui.opens_approvals
            self._look = ui
            apply_look(self._theme, ui)
            self._panels.window.memory.remember_look(ui.theme, ui.interface_font_px)
        apply_keys(self._panels.window.actions_, self._bench.settings)
        problems = self._problems()
        if problems and problems != self._reported:
            logger.info("settings that cannot be used: %s", "; ".join(problems))
            self._show(self.tr("Some of your settings cannot be used. The previous values apply."), problems)
        self._reported = problems
        self._show_faults()
        if self._project is not None:
            self._setup.show_project(self._project)

    def _problems(self) -> tuple[str, ...]:
        faults = self._bench.live.faults
        return tuple(str(problem) for problem in self._bench.live.problems if problem not in faults)

    @property
    def _in_force(self) -> WorkspaceSettings | LiveSettings:
        return self._project if self._project is not None else self._bench.live

    def _show_faults(self) -> None:
        faults = (*self._in_force.faults, *self._bench.rules.faults)
        if faults == self._faults:
            return
        self._faults = faults
        if faults:
            logger.info("nothing runs: %s", "; ".join(map(str, faults)))
            self._panels.conversation.hold_banner.show_faults(faults)
        else:
            self._panels.conversation.hold_banner.hide()

    def _on_faulty_file(self) -> None:
        if self._faults:
            self._spawner.spawn(open_in_editor(self._faults[0].path))

    def _on_go_on(self) -> None:
        """Use the readable part of the files named in the banner. Skip other files, which the user did not see."""
        shown = {fault.path for fault in self._faults}
        if self._bench.rules.file.path in shown:
            self._bench.rules.go_on()
        if shown - {self._bench.rules.file.path}:
            self._in_force.go_on()
        self._show_faults()

    def _show(self, title: str, problems: tuple[str, ...]) -> None:
        error = UsageError(title, hint="\n".join(few_lines(problems)), detail="\n".join(problems))
        self._panels.conversation.banner.show_error(error)

    def _execution_in(self, workspace: str) -> ExecutionSettings:
        return self._bench.settings_in(Path(workspace)).current.execution

    def _ask(self) -> None:
        """Ask about what the project brings if necessary, but only once about the same content."""
        if (project := self._project) is None:
            return
        proposal = project.proposal
        seen = f"{proposal.digest} {project.answer_to_all}" if proposal is not None else "none"
        if seen == self._asked:
            return
        self._asked = seen
        self._shown = proposal
        self._setup.show_project(project)
        if proposal is not None and project.is_waiting:
            self._panels.conversation.project_banner.show_proposal(proposal)
        else:
            self._panels.conversation.project_banner.hide()

    def _on_answered(self, answer: Answer) -> None:
        if self._project is not None and self._shown is not None:
            self._spawner.spawn(self._remember(self._project, answer, self._shown))

    async def _remember(self, project: WorkspaceSettings, answer: Answer, shown: ProjectProposal) -> None:
        try:
            await asyncio.to_thread(project.remember, answer, shown.text, shown.items)
        except AgentError as error:
            self._panels.conversation.banner.show_error(error)
            return
        self._ask()
        handle = self._panels.session.handle
        if handle is not None and not handle.transcript.session.session_id and answer == "trusted":
            execution = project.current.execution
            handle.submit(ops.SetMode(approval=execution.approval, sandbox=execution.sandbox))
