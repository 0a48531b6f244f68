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
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from desktop_agent import __version__
from desktop_agent.core import events as ev
from desktop_agent.core.approvals import Approvals
from desktop_agent.core.changes.baseline import Baseline
from desktop_agent.core.changes.capture import WorkspaceCapture
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.clock import Clock, SystemClock
from desktop_agent.core.context.packing import system_prompt
from desktop_agent.core.context.pictures import with_pictures
from desktop_agent.core.errors import StorageError
from desktop_agent.core.files import digest_of
from desktop_agent.core.ids import SessionId, new_session_id
from desktop_agent.core.job_reports import JobReports
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.model import ApprovalPolicy, ModelRef, SandboxMode
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.process import ProcessRunner
from desktop_agent.core.providers.auth.keys import KeyStore, SystemKeyStore
from desktop_agent.core.providers.catalog import ProviderCatalog
from desktop_agent.core.providers.retry import RetryPolicy
from desktop_agent.core.recorder import Recorder, Sink
from desktop_agent.core.rulebook import RuleBook
from desktop_agent.core.sandbox.find import SandboxSearch
from desktop_agent.core.secrets import child_environment
from desktop_agent.core.session import ProviderSource, Session, SessionParts, SessionState
from desktop_agent.core.settings import Settings, load_settings
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal import JOURNAL_NAME, Damage, Journal, read_journal
from desktop_agent.core.store.lock import SessionLock
from desktop_agent.core.store.rules_file import RULES_NAME, RulesFile
from desktop_agent.core.tools.access import Access, CallRules
from desktop_agent.core.tools.builtin import builtin_tools
from desktop_agent.core.tools.confiner import Confiner, SandboxProbe
from desktop_agent.core.tools.effects import Effects
from desktop_agent.core.tools.execution import Execution, Toolbox
from desktop_agent.core.tools.gate import ApprovalGate
from desktop_agent.core.tools.output import ContextLimits
from desktop_agent.core.tools.policies import Policies
from desktop_agent.core.tools.reads import ReadLog
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.runtime import ToolRuntime
from desktop_agent.core.tools.spec import AnyTool
from desktop_agent.core.turn import TurnLimits
from desktop_agent.core.workspace import usable_workspace


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session opened again: its running end, and everything that happened in it so far."""

    session: Session
    events: Sequence[ev.JournalEvent]


@dataclass(frozen=True, slots=True)
class _Storage:
    """The files of one session, held for writing."""

    session_id: SessionId
    lock: SessionLock
    journal: Journal


class Workbench:
    """Opens and lists the sessions of one data folder."""

    def __init__(
        self,
        paths: AppPaths,
        settings: Settings,
        *,
        environ: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
        key_store: KeyStore | None = None,
        provider_source: ProviderSource | None = None,
        tools: Sequence[AnyTool] | None = None,
        probe: SandboxProbe | None = None,
    ) -> None:
        """Touches no disk.

        `provider_source` replaces the catalogue of real providers, `tools` the built-in tools, and `probe` the look
        for a sandbox.
        """
        self.paths = paths
        self.settings = settings
        self.blobs = Blobs(paths.blobs)
        self.catalog = Catalog(paths.sessions, self.blobs)
        self.keys = key_store or SystemKeyStore()
        self._environ = environ
        self._clock = clock or SystemClock()
        self.tools = tools or builtin_tools(paths.cache, longest_command_s=settings.execution.timeout_seconds)
        self._probe = probe or SandboxProbe(environ)
        self._provider_source = provider_source or ProviderCatalog(environ, self.keys).build

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Workbench":
        """The workbench of this person on this machine, with their settings file as far as it can be used."""
        paths = AppPaths.from_environment(environ)
        return cls(paths, load_settings(paths.settings_file(environ), environ).settings, environ=environ)

    async def sandbox_search(self) -> SandboxSearch:
        """Which sandbox commands are confined by here, and why others are not available. Tried once."""
        return await self._probe.search()

    def default_model(self) -> ModelRef:
        """The model that the settings name."""
        chosen = self.settings.model
        return ModelRef(provider=chosen.provider, model=chosen.name, base_url=chosen.base_url or None)

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
    ) -> Session:
        """Start a session in `workspace`; `run()` it, then submit ops. Events go to `sink`.

        Raises `WorkspaceError` when the folder cannot be used, and `StorageError` when nothing can be written.
        """
        root = await asyncio.to_thread(usable_workspace, workspace)
        now = self._clock.now()
        system = await asyncio.to_thread(system_prompt, root, now)
        session_id = new_session_id(now)
        storage = await asyncio.to_thread(self._create_storage, session_id)
        opened = ev.SessionOpened(
            session_id=session_id,
            workspace=str(root),
            model=model or self.default_model(),
            approval=approval or self.settings.execution.approval,
            sandbox=sandbox or self.settings.execution.sandbox,
            app_version=__version__,
        )
        return self._assemble(storage, SessionState(), root, system, (opened,), sink, rules, limits)

    async def open_session(
        self,
        session_id: SessionId,
        *,
        sink: Sink,
        rules: CallRules | None = None,
        limits: TurnLimits | None = None,
    ) -> OpenedSession:
        """Open a session to go on with it. What a crash left unfinished is concluded when it runs.

        Raises `SessionNotFoundError`, `SessionBusyError` when it is open elsewhere, or `StorageError`.
        """
        storage, torn = await asyncio.to_thread(self._open_storage, session_id)
        try:
            path = self.catalog.journal_path(session_id)
            events, damages = await asyncio.to_thread(read_journal, path, self.blobs)
            state = await asyncio.to_thread(_fold, events)
            root = Path(state.transcript.workspace)
            system = await asyncio.to_thread(system_prompt, root, state.transcript.opened_at)
        except BaseException:
            storage.journal.close()
            storage.lock.release()
            raise
        notices = _damage_notices(torn, damages)
        session = self._assemble(storage, state, root, system, notices, sink, rules, limits)
        return OpenedSession(session, events)

    def _assemble(
        self,
        storage: _Storage,
        state: SessionState,
        root: Path,
        system: str,
        opening: tuple[ev.KnownEvent, ...],
        sink: Sink,
        rules: CallRules | None,
        limits: TurnLimits | None,
    ) -> Session:
        recorder = Recorder(
            storage.journal, self._clock, last_seq=state.transcript.last_seq, folds=(state.apply,), sink=sink
        )
        ledger = Ledger(root, self.blobs)
        baseline = Baseline(self.paths.cache / "baselines" / f"{digest_of(os.fsencode(root))[:32]}.sqlite3")
        effects = Effects(ledger, WorkspaceCapture(root, baseline), recorder, state.transcript.changes)
        approvals = Approvals()
        processes = ProcessRunner(self._clock)
        job_logs = self.paths.logs / "jobs"
        jobs = Jobs(processes, self._clock, folder=job_logs)
        reports = JobReports(jobs, recorder, self._clock)
        execution_settings = self.settings.execution
        allowed = tuple(map(Path, execution_settings.allowed_paths))
        temp = self.paths.cache / "tmp" / storage.session_id
        confiner = Confiner(self._probe, workspace=root, temp=temp, allowed=allowed, logs=job_logs)
        rulebook = RuleBook(RulesFile(self.paths.config / RULES_NAME), state.rules, recorder)
        policies = Policies(
            approval=lambda: state.transcript.approval,
            sandbox=lambda: state.transcript.sandbox,
            rulebook=rulebook,
            confiner=confiner,
            workspace=root,
            blocked_commands=execution_settings.blocked_commands,
            writable_folders=execution_settings.allowed_paths,
            clock=self._clock,
        )
        registry = ToolRegistry(self.tools)
        access = Access(registry, rules or CallRules(), policies.sandbox)
        toolbox = Toolbox(
            access=access,
            boundary=Boundary(root, allowed),
            confiner=confiner,
            reads=ReadLog(),
            processes=processes,
            jobs=jobs,
            blobs=self.blobs,
            environ=child_environment(self._environ),
            spool_folder=self.paths.data / "spool",
            todos=lambda: state.transcript.todos,
            limits=ContextLimits(**asdict(self.settings.tools.limits)),
        )
        execution = Execution(toolbox, ApprovalGate(approvals, recorder, policies), effects, recorder, self._clock)

        async def release() -> None:
            async with AsyncExitStack() as stack:  # whatever fails, the rest is let go, last the lock
                stack.callback(storage.lock.release)
                stack.push_async_callback(asyncio.to_thread, self.catalog.refresh_summary, storage.session_id)
                stack.push_async_callback(asyncio.to_thread, shutil.rmtree, temp, ignore_errors=True)
                stack.push_async_callback(processes.aclose)
                for tool in self.tools:
                    stack.push_async_callback(tool.aclose)
                stack.push_async_callback(jobs.aclose)
                stack.push_async_callback(reports.aclose)

        return Session(
            SessionParts(
                session_id=storage.session_id,
                state=state,
                recorder=recorder,
                opening=opening,
                approvals=approvals,
                jobs=jobs,
                ledger=ledger,
                effects=effects,
                rulebook=rulebook,
                with_pictures=partial(with_pictures, blobs=self.blobs),
                runtime=ToolRuntime(registry, access, execution, recorder, self._clock),
                workspace=root,
                access=access,
                system=system,
                limits=limits or TurnLimits(max_tokens=self.settings.model.max_tokens),
                retry=RetryPolicy(),
                clock=self._clock,
                provider_source=self._provider_source,
                release=release,
            )
        )

    def _create_storage(self, session_id: SessionId) -> _Storage:
        folder = self.catalog.session_folder(session_id)
        journal = Journal.create(folder / JOURNAL_NAME, self.blobs)
        return _Storage(session_id, SessionLock(folder), journal)

    def _open_storage(self, session_id: SessionId) -> tuple[_Storage, Path | None]:
        path = self.catalog.journal_path(session_id)
        lock = SessionLock(path.parent)
        try:
            journal, torn = Journal.open(path, self.blobs)
        except BaseException:
            lock.release()
            raise
        return _Storage(session_id, lock, journal), torn


def _fold(events: Sequence[ev.JournalEvent]) -> SessionState:
    """Return the state that a journal comes to.

    Raises `StorageError` when it does not say where to work: only the first line does, and nothing is guessed.
    """
    if not events:
        raise StorageError("This session was never written: the application ended while it was created.")
    state = SessionState()
    for event in events:
        state.apply(event)
    if not state.transcript.workspace:
        raise StorageError(
            "The session cannot be continued: the line of its journal that names its folder cannot be read.",
            hint="What was said and changed can still be shown. To go on, start a new session in the folder.",
        )
    return state


def _damage_notices(torn: Path | None, damages: Sequence[Damage]) -> tuple[ev.Notice, ...]:
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
    if damages:
        listed = "\n".join(f"line {damage.line}: {damage.reason}" for damage in damages[:20])
        notices.append(
            ev.Notice(
                level="warning",
                code="damaged_journal",
                title=f"{len(damages)} records of this session could not be read and were left out.",
                detail=listed,
            )
        )
    return tuple(notices)
