"""The workbench: opens and lists sessions with everything connected. Front ends and library users start from it.

```python
bench = Workbench.from_environment()
session = await bench.create_session(Path("~/code/app"), sink=print)
task = asyncio.create_task(session.run())
session.submit(SubmitPrompt(text="Why does the build fail?"))
```
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

from desktop_agent.composition.application import Application, OwnParts
from desktop_agent.composition.session_context import SessionOptions, declared_commands
from desktop_agent.composition.session_opener import SessionOpener
from desktop_agent.composition.stored_sessions import OpenedSession, ViewedSession
from desktop_agent.core.agents.definition import AgentDefinition
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, SandboxMode, SessionPurpose
from desktop_agent.core.sandbox.find import SandboxSearch
from desktop_agent.core.session.recorder import Sink
from desktop_agent.core.session.session import Session
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.system.private_files import close_to_others
from desktop_agent.core.system.processes.shell import ShellKind, find_shell
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.worktrees.variants import VariantRecords
from desktop_agent.core.worktrees.worktrees import NewWorktree


class Workbench:
    """Opens and lists the sessions of one data folder."""

    def __init__(self, paths: AppPaths, settings: Settings | LiveSettings, **own: Unpack[OwnParts]) -> None:
        """Does not access the disk. `Settings`, unlike `LiveSettings`, come from no file."""
        self._app = app = Application(paths, settings, own)
        self.opener = SessionOpener(app)
        """Opens sessions for a front end without a user."""
        self.paths = paths
        self.live = app.live
        """The user's settings. They follow the user's file; to change them, use this."""
        self.rules = app.rules
        self.settings_in = app.settings_in
        self.skills_in = app.skills_in
        self.hooks_in = app.hooks_in
        self.plugins_in = app.plugins_in
        self.language_servers_in = app.language_servers_in
        self.server_states_in = app.server_states_in
        self.server_listeners = app.server_listeners
        self.faults_in = app.faults_in
        self.default_model = app.default_model
        self.model_meant = app.model_meant
        self.accounts = app.accounts
        self.models_file = app.models_file
        self.blobs = app.blobs
        self.catalog = app.catalog
        self.environ = app.environ
        """The variables from which settings and keys are read. The application's processes keep keys only here."""
        self.tools = app.tools.tools
        self.shared_tools = app.tools
        """The tools and MCP servers that all sessions share, and how many still use them."""
        self.services = app.services
        """Services for slash commands from outside their session."""
        self.agents = app.agents
        """Tests agents of other programs, and signs in with them."""
        self.stored = app.stored
        self.search = app.search
        self.worktrees = app.worktrees
        self.variants = VariantRecords(paths.variants)
        self.keys = app.keys
        self.models = app.models
        """What is known about the models of each account, without asking the network."""
        self.sign_ins = app.sign_ins

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Workbench":
        """Return the workbench of this user, with their settings. Removes other users' access to the folders."""
        paths = AppPaths.from_environment(environ)
        close_to_others(paths.roots)
        return cls(paths, LiveSettings.load(paths.settings_file(environ), environ), environ=environ)

    @property
    def settings(self) -> Settings:
        return self.live.current

    async def sandbox_search(self, workspace: Path | None = None) -> SandboxSearch:
        """Return the sandbox that confines commands here, and why others are not available. Searches once.

        Name the workspace if `PATH` may contain folders inside it: programs in them do not count.
        """
        return await self._app.probe.search(workspace)

    async def shell_kind(self, workspace: Path) -> ShellKind:
        """Return the kind of shell that runs commands here, which decides how commands are judged."""
        shell = await asyncio.to_thread(find_shell, self._app.probe.environ, workspace)
        return shell.kind if shell is not None else ""

    def slash_commands(self, workspace: Path) -> tuple[Declaration, ...]:
        """Return the commands of a session in `workspace`: built in, then the user's and the project's. Blocks."""
        return declared_commands(self._app, real_path(workspace))

    async def agent_meant(self, reference: str, root: Path) -> AgentDefinition:
        return await self._app.agent_meant(reference, root)

    async def create_session(
        self,
        workspace: Path,
        *,
        sink: Sink,
        model: ModelRef | None = None,
        approval: ApprovalPolicy | None = None,
        sandbox: SandboxMode | None = None,
        is_planning: bool | None = None,
        rules: CallRules | None = None,
        limits: TurnLimits | None = None,
        purpose: SessionPurpose = "conversation",
        worktree: NewWorktree | None = None,
    ) -> Session:
        """Start a session in `workspace`; `run()` it, then submit ops. Events go to `sink`.

        Raises `WorkspaceError` when the folder cannot be used, `UnsafeSettingsError` when settings or rules that safety
        depends on cannot be read, and `StorageError` when nothing can be written.
        """
        options = SessionOptions(
            model=model,
            approval=approval,
            sandbox=sandbox,
            is_planning=is_planning,
            rules=rules,
            limits=limits,
            purpose=purpose,
            worktree=worktree,
        )
        return await self.opener.create(workspace, sink, options)

    async def open_session(
        self,
        session_id: SessionId,
        *,
        sink: Sink,
        rules: CallRules | None = None,
        limits: TurnLimits | None = None,
        is_attended: bool = True,
    ) -> OpenedSession:
        """Open a session to continue it. Running it concludes what a crash left unfinished.

        A turn that waited for approvals keeps waiting if the session `is_attended`, and otherwise ends. While settings
        or rules that safety depends on cannot be read, the session gives prompts back.

        Raises `SessionNotFoundError`, `SessionBusyError` when it is open elsewhere, or `StorageError`.
        """
        return await self.opener.open(
            session_id, sink, SessionOptions(rules=rules, limits=limits), is_attended=is_attended
        )

    async def view_session(self, session_id: SessionId, *, sink: Sink) -> ViewedSession:
        """Open a session only to read it; `run()` delivers new events.

        Raises `SessionNotFoundError` or `StorageError`.
        """
        return await self.opener.view(session_id, sink)
