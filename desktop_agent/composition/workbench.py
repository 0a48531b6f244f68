"""The workbench: opens and lists sessions with everything wired. What fronts and library users start from.

```python
bench = Workbench.from_environment()
session = await bench.create_session(Path("~/code/app"), sink=print)
task = asyncio.create_task(session.run())
session.submit(SubmitPrompt(text="Why does the build fail?"))
```
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from desktop_agent.composition.assembly import assemble
from desktop_agent.composition.opened_session import OpenedSession
from desktop_agent.composition.session_plan import SessionPlan, SessionStorage
from desktop_agent.composition.shared_parts import SharedParts, SharedTools
from desktop_agent.composition.stored_sessions import StoredSessions
from desktop_agent.composition.viewing import ViewedSession
from desktop_agent.core.approvals.rulebook import LiveRules
from desktop_agent.core.approvals.rules_file import RULES_NAME, RulesFile
from desktop_agent.core.base.clock import Clock, SystemClock
from desktop_agent.core.base.errors import StorageError, UnsafeSettingsError
from desktop_agent.core.base.ids import SessionId, new_session_id
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.base.private_files import close_to_others
from desktop_agent.core.base.stand_ins import sweep
from desktop_agent.core.context.packing import system_prompt
from desktop_agent.core.context.tokens import Calibration
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalPolicy, ModelRef, SandboxMode, SessionPurpose
from desktop_agent.core.providers.auth.keys import KeyStore, SystemKeyStore
from desktop_agent.core.providers.base import ProviderSource
from desktop_agent.core.providers.catalog import ProviderCatalog
from desktop_agent.core.providers.retry import RetryPolicy
from desktop_agent.core.sandbox.find import SandboxSearch
from desktop_agent.core.sandbox.guarded import places_of_stand_ins
from desktop_agent.core.search.sessions.index import SessionSearch
from desktop_agent.core.session.recorder import Sink
from desktop_agent.core.session.resuming.opening import Resumed, resume_beside, show_end
from desktop_agent.core.session.session import Session
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.session.turn import TurnLimits
from desktop_agent.core.settings import Settings, SettingsProblem
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.project_trust import ProjectTrust
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.slash.live_config import LiveConfig
from desktop_agent.core.slash.own import declarations_of, read_own_commands
from desktop_agent.core.slash.parts import Services
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.follow import Follower
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.system.workspace import usable_workspace
from desktop_agent.core.tools.access import CallRules
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.tools.secret_names import finder_of_secrets
from desktop_agent.core.tools.spec import AnyTool
from desktop_agent.core.transcript import Transcript


class Workbench:
    """Opens and lists the sessions of one data folder."""

    def __init__(
        self,
        paths: AppPaths,
        settings: Settings | LiveSettings,
        *,
        environ: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        key_store: KeyStore | None = None,
        provider_source: ProviderSource | None = None,
        tools: Sequence[AnyTool] | None = None,
        probe: SandboxProbe | None = None,
        services: Services | None = None,
        makes_titles: bool = False,
    ) -> None:
        """Touches no disk. With plain `settings` there is no file: they change only through `live`.

        `provider_source` replaces the catalogue of real providers, `tools` the built-in tools, and `probe` the look
        for a sandbox. With `makes_titles` the model names each session after its first turn, if the settings say so.
        """
        self.paths = paths
        self.live = settings if isinstance(settings, LiveSettings) else LiveSettings(settings)
        """The user's settings: follow their file, and change them here."""
        self.rules = LiveRules(RulesFile(paths.config / RULES_NAME))
        """The user's lasting rules."""
        self._workspaces: dict[Path, WorkspaceSettings] = {}
        self._trust = ProjectTrust(paths.project_answers)
        self.blobs = Blobs(paths.blobs)
        self.catalog = Catalog(paths.sessions, self.blobs, paths.cache)
        self.search = SessionSearch(paths.sessions, self.blobs, paths.cache)
        self.keys = key_store or SystemKeyStore()
        self.environ = environ
        """Where settings and keys are looked for: a process of ours keeps the keys here only."""
        self._clock = clock or SystemClock()
        self.tools = tools or builtin_tools(paths.cache, longest_command_s=self._longest_command_s)
        self.stored = StoredSessions(paths, self.catalog, self.blobs, self.live, self._clock, self.default_model)
        """The sessions on the disk, open or not."""
        self.services = services or Services(
            config=LiveConfig(self.settings_in), forker=self.stored.fork, exporter=self.stored.export
        )
        """What slash commands reach beyond their session."""
        self._probe = probe or SandboxProbe(environ)
        self._shared = self._share(provider_source, makes_titles=makes_titles)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Workbench":
        """The workbench of this user on this machine, with their settings file as far as it can be used.

        Takes the rights of other users from the folders of the application, if they have any.
        """
        paths = AppPaths.from_environment(environ)
        close_to_others(paths.roots)
        return cls(paths, LiveSettings.load(paths.settings_file(environ), environ), environ=environ)

    @property
    def settings(self) -> Settings:
        """The user's settings in force."""
        return self.live.current

    def settings_in(self, root: Path) -> WorkspaceSettings:
        """The settings in force in a workspace. Touches no disk: what its project tightens holds after `refresh()`."""
        return self._workspaces.setdefault(root, WorkspaceSettings(self.live, root, self._trust))

    def faults_in(self, root: Path) -> tuple[SettingsProblem, ...]:
        """Why nothing may run in a workspace, as far as its settings and the rules have been looked at."""
        return (*self.settings_in(root).faults, *self.rules.faults)

    async def sandbox_search(self, workspace: Path | None = None) -> SandboxSearch:
        """Which sandbox commands are confined by here, and why others are not available. Tried once.

        Name the workspace where `PATH` may lead into it: programs there do not count.
        """
        return await self._probe.search(workspace)

    def default_model(self) -> ModelRef:
        """The model that the settings name."""
        chosen = self.settings.model
        return ModelRef(provider=chosen.provider, model=chosen.name, base_url=chosen.base_url or None)

    def slash_commands(self, workspace: Path) -> tuple[Declaration, ...]:
        """Return the commands of a session in `workspace`: built in, then the user's and the project's. Blocks."""
        root = workspace.resolve()
        secrets = finder_of_secrets(root, self.environ)
        own = read_own_commands(self.paths.config, root, secrets().secret_at)
        return (*self.services.commands, *declarations_of(own))

    async def create_session(
        self,
        workspace: Path,
        *,
        sink: Sink,
        model: ModelRef | None = None,
        approval: ApprovalPolicy | None = None,
        sandbox: SandboxMode | None = None,
        rules: CallRules | None = None,
        limits: TurnLimits | None = None,
        purpose: SessionPurpose = "conversation",
    ) -> Session:
        """Start a session in `workspace`; `run()` it, then submit ops. Events go to `sink`.

        Raises `WorkspaceError` when the folder cannot be used, `UnsafeSettingsError` when settings or rules cannot be
        read that safety depends on, and `StorageError` when nothing can be written.
        """
        root = await asyncio.to_thread(usable_workspace, workspace)
        settings = self.settings_in(root)
        await settings.refresh()
        await asyncio.to_thread(self.rules.look)
        if faults := self.faults_in(root):
            raise UnsafeSettingsError(faults)
        now = self._clock.now()
        system = await asyncio.to_thread(system_prompt, root, now)
        session_id = new_session_id(now)
        storage = await asyncio.to_thread(SessionStorage.create, session_id, self.catalog, self.blobs)
        opened = ev.SessionOpened(
            session_id=session_id,
            workspace=str(root),
            model=model or self.default_model(),
            approval=approval or settings.current.execution.approval,
            sandbox=sandbox or settings.current.execution.sandbox,
            app_version=__version__,
            purpose=purpose,
            at=now,  # the system prompt names the day
        )
        plan = SessionPlan(
            storage=storage,
            state=SessionState(),
            root=root,
            system=system,
            opening=(opened,),
            sink=sink,
            settings=settings,
            rules=rules,
            limits=limits,
        )
        await asyncio.to_thread(_sweep, plan)
        return assemble(self._shared, plan)

    async def open_session(
        self,
        session_id: SessionId,
        *,
        sink: Sink,
        rules: CallRules | None = None,
        limits: TurnLimits | None = None,
        is_attended: bool = True,
    ) -> OpenedSession:
        """Open a session to go on with it. What a crash left unfinished is concluded when it runs.

        A turn that waited for approvals goes on waiting, and works on when one is answered, unless the session is not
        `is_attended`: then the answer is missing for good, and the turn ends. While settings or rules that safety
        depends on cannot be read, it can be read and undone, but it gives prompts back.

        Raises `SessionNotFoundError`, `SessionBusyError` when it is open elsewhere, or `StorageError`.
        """
        storage, torn = await asyncio.to_thread(SessionStorage.open, session_id, self.catalog, self.blobs)
        try:
            path = self.catalog.journal_path(session_id)
            resumed = await resume_beside(path, self.blobs)
            state = _checked(resumed)
            transcript = await asyncio.to_thread(self._for_front, path, state)
            root = Path(state.transcript.session.workspace)
            settings = self.settings_in(root)
            await settings.refresh()
            system = await asyncio.to_thread(system_prompt, root, state.transcript.session.opened_at)
        except BaseException:
            storage.close()
            raise
        plan = SessionPlan(
            storage=storage,
            state=state,
            root=root,
            system=system,
            opening=_damage_notices(torn, resumed),
            sink=sink,
            settings=settings,
            rules=rules,
            limits=limits,
            is_attended=is_attended,
        )
        await asyncio.to_thread(_sweep, plan)
        return OpenedSession(assemble(self._shared, plan), transcript)

    async def view_session(self, session_id: SessionId, *, sink: Sink) -> ViewedSession:
        """Open a session only to read it, while another process writes it: `run()` it to get what happens in it.

        Raises `SessionNotFoundError` or `StorageError`.
        """
        path = await asyncio.to_thread(self.catalog.journal_path, session_id)
        follower = Follower(path, self.blobs)
        events = await asyncio.to_thread(follower.read)
        take_over = partial(self._open_for, session_id)
        return ViewedSession(session_id, events, follower, path.parent, self._clock, sink, take_over)

    async def _open_for(self, session_id: SessionId, sink: Sink) -> OpenedSession:
        return await self.open_session(session_id, sink=sink)

    def _share(self, provider_source: ProviderSource | None, *, makes_titles: bool) -> SharedParts:
        providers = ProviderCatalog(self.environ, self.keys, allows_readable_proxy=self._allows_readable_proxy)
        return SharedParts(
            paths=self.paths,
            settings_file=self.live.path,
            rules=self.rules,
            environ=self.environ,
            clock=self._clock,
            blobs=self.blobs,
            catalog=self.catalog,
            tools=SharedTools(self.tools),
            probe=self._probe,
            provider_source=provider_source or providers.build,
            retry=RetryPolicy(),
            calibration=Calibration(),
            services=self.services,
            makes_titles=makes_titles,
        )

    def _allows_readable_proxy(self) -> bool:
        return self.live.current.model.allow_readable_proxy

    def _longest_command_s(self) -> float | None:
        return self.settings.execution.timeout_seconds

    def _for_front(self, path: Path, state: SessionState) -> Transcript:
        transcript = state.transcript.copy()
        show_end(transcript, path, self.blobs, yield_gil=Yielder())
        return transcript


def _sweep(plan: SessionPlan) -> None:
    """Remove what a sandbox of a killed process has left in the folder. Blocks."""
    allowed = map(Path, plan.settings.current.execution.allowed_paths)
    sweep(places_of_stand_ins((plan.root, *allowed)))


def _checked(resumed: Resumed) -> SessionState:
    """Return the state that a journal comes to.

    Raises `StorageError` when it does not say where to work: only the first line does, and nothing is guessed.
    """
    if resumed.is_empty:
        raise StorageError("This session was never written: the application ended while it was created.")
    state = resumed.state
    if not Path(state.transcript.session.workspace).is_absolute():
        raise StorageError(
            "The session cannot be continued: the line of its journal that names its folder cannot be read.",
            hint="What was said and changed can still be shown. To go on, start a new session in the folder.",
        )
    return state


def _damage_notices(torn: Path | None, resumed: Resumed) -> tuple[ev.Notice, ...]:
    notices: list[ev.Notice] = []
    if torn is not None:
        notices.append(
            ev.Notice(
                level="warning",
                code="torn_journal",
                title="The last record of this session was cut off when the application ended.",
                hint="Everything before it is here. What was left of it was kept.",
                detail=str(torn),
            )
        )
    if resumed.damages:
        listed = "\n".join(f"line {damage.line}: {damage.reason}" for damage in resumed.damages)
        notices.append(
            ev.Notice(
                level="warning",
                code="damaged_journal",
                title=f"{resumed.damage_count} records of this session could not be read and were left out.",
                detail=listed,
            )
        )
    return tuple(notices)
