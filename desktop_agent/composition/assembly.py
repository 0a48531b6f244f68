"""Putting a session together: every part of it made and handed to the parts that need it. Composition, no behaviour."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath

from desktop_agent.core.approvals.pending import Approvals
from desktop_agent.core.approvals.rulebook import LiveRules, RuleBook
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.safety import SafetyCopies, SafetyLimits
from desktop_agent.core.capture.stat_capture import StatCapture
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.context.guidance import GuidanceReader
from desktop_agent.core.context.pictures import with_pictures
from desktop_agent.core.context.tokens import Calibration
from desktop_agent.core.context_window import ContextManager, ContextParts
from desktop_agent.core.jobs.background import Jobs
from desktop_agent.core.jobs.reports import JobReports
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileImage
from desktop_agent.core.providers.catalog import PROVIDER_IDS
from desktop_agent.core.providers.retry import RetryPolicy
from desktop_agent.core.session.recorder import Recorder, Sink
from desktop_agent.core.session.resuming.opening import close_with_snapshot, read_whole_history
from desktop_agent.core.session.retries import Retries
from desktop_agent.core.session.session import ProviderSource, Session, SessionParts
from desktop_agent.core.session.session_state import SessionState
from desktop_agent.core.session.titling import Titling
from desktop_agent.core.session.turn import TurnLimits
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.slash.parts import CommandParts, Services
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.store.lock import SessionLock
from desktop_agent.core.system.child_environment import child_environment, kept_back_from
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.processes.limits import CommandLimits
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.system.workspace import HeldWorkspace
from desktop_agent.core.tools.access import Access, CallRules
from desktop_agent.core.tools.approval.gate import ApprovalGate
from desktop_agent.core.tools.approval.judging import Judge
from desktop_agent.core.tools.approval.live_judging import LiveJudging
from desktop_agent.core.tools.approval.policies import Policies
from desktop_agent.core.tools.execution.confiner import Confiner, SandboxProbe
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.execution import Execution, Toolbox
from desktop_agent.core.tools.execution.runtime import ToolRuntime
from desktop_agent.core.tools.execution.safeguard import Safeguard
from desktop_agent.core.tools.output import ContextLimits
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.secret_names import finder_of_secrets
from desktop_agent.core.tools.spec import AnyTool
from desktop_agent.core.transcript import Transcript


@dataclass(frozen=True, slots=True)
class SessionStorage:
    """The files of one session, held for writing."""

    session_id: SessionId
    lock: SessionLock
    journal: Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """What makes one session different from the others."""

    storage: SessionStorage
    state: SessionState
    root: Path
    """Its workspace, resolved."""
    system: str
    opening: tuple[ev.KnownEvent, ...]
    sink: Sink
    settings: WorkspaceSettings
    """Those in force in its workspace, asked for by everything that acts when it acts."""
    rules: CallRules | None
    limits: TurnLimits | None
    is_attended: bool = True
    """Whether a user can answer the approval requests of an earlier process."""


class SharedTools:
    """The tools that all sessions have in common, and who still uses them."""

    def __init__(self, tools: Sequence[AnyTool]) -> None:
        self.tools = tuple(tools)
        self._users = 0

    def take(self) -> None:
        """Count one more session."""
        self._users += 1

    async def give_back(self) -> None:
        """Count one session less. With the last one ends what tools do in the background."""
        self._users -= 1
        if self._users == 0:
            async with AsyncExitStack() as ends:
                for tool in self.tools:
                    ends.push_async_callback(tool.aclose)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """What all sessions share."""

    paths: AppPaths
    settings_file: Path | None
    rules: LiveRules
    environ: Mapping[str, str]
    clock: Clock
    blobs: Blobs
    catalog: Catalog
    tools: SharedTools
    probe: SandboxProbe
    provider_source: ProviderSource
    calibration: Calibration
    services: Services
    """What slash commands reach beyond their session."""
    makes_titles: bool

    def session(self, plan: SessionPlan) -> Session:
        """Return the session, ready to run."""
        state = plan.state
        last_seq = state.transcript.last_seq
        recorder = Recorder(plan.storage.journal, self.clock, last_seq=last_seq, folds=(state.apply,), sink=plan.sink)
        held = HeldWorkspace(plan.root)
        ledger = Ledger(plan.root, self.blobs, held=held, is_special=lambda path: sensitivity(path) is not None)
        transcript = state.transcript
        safeguard = self._safeguard(plan)
        capture = self._capture(plan)
        effects = Effects(
            ledger,
            capture,
            safeguard,
            recorder,
            transcript.changes,
            partial(_watched_images, transcript, plan.settings),
        )
        approvals = Approvals()
        processes = ProcessRunner(self.clock, limits=partial(_command_limits, plan.settings))
        jobs = Jobs(processes, self.clock, folder=self._job_logs(plan))
        jobs.on_end, jobs.on_look = effects.end_job, effects.look
        reports = JobReports(jobs, recorder, self.clock)
        rulebook = RuleBook(self.rules, state.rules, recorder)
        policies = self._policies(plan, rulebook)
        registry = ToolRegistry(self.tools.tools)
        self.tools.take()
        access = Access(registry, plan.rules or CallRules(), policies.sandbox)
        toolbox = self._toolbox(plan, held, access, policies.confiner, processes, jobs)
        judge = Judge(policies, safeguard)
        gate = ApprovalGate(approvals, recorder, policies, judge)
        limits = plan.limits or TurnLimits()
        execution = Execution(toolbox, gate, effects, recorder, self.clock)
        retries = Retries(RetryPolicy(), recorder, self.clock)
        context_manager = self._context_manager(plan, recorder, access, limits, retries)
        return Session(
            SessionParts(
                session_id=plan.storage.session_id,
                state=state,
                recorder=recorder,
                opening=plan.opening,
                approvals=approvals,
                judging=LiveJudging(gate, approvals, judge, recorder),
                jobs=jobs,
                ledger=ledger,
                effects=effects,
                rulebook=rulebook,
                runtime=ToolRuntime(registry, access, execution, recorder, self.clock),
                workspace=plan.root,
                context_manager=context_manager,
                commands=self._commands(plan, context_manager),
                limits=limits,
                settings=plan.settings,
                retries=retries,
                clock=self.clock,
                provider_source=self.provider_source,
                titling=self._titling(plan, recorder),
                is_attended=plan.is_attended,
                read_history=self._history_reader(plan),
                release=self._release(plan.storage, held, capture, processes, jobs, reports),
            )
        )

    def _context_manager(
        self, plan: SessionPlan, recorder: Recorder, access: Access, limits: TurnLimits, retries: Retries
    ) -> ContextManager:
        secrets = finder_of_secrets(plan.root, self.environ)

        def system() -> str:
            return f"{plan.system}\n\n{access.listing()}"

        def secret_at(path: Path, status: os.stat_result) -> str:
            return secrets().secret_at(path, status)

        return ContextManager(
            ContextParts(
                history=plan.state.history,
                transcript=plan.state.transcript,
                log=recorder,
                clock=self.clock,
                wait=retries.wait,
                settings=lambda: plan.settings.current,
                reader=GuidanceReader(plan.root, self.paths.config, secret_at),
                calibration=self.calibration,
                system=system,
                tools=access.definitions,
                with_pictures=partial(with_pictures, blobs=self.blobs),
                read_history=self._history_reader(plan),
                max_tokens=lambda: limits.max_tokens or plan.settings.current.model.max_tokens,
            )
        )

    def _history_reader(self, plan: SessionPlan) -> Callable[[], Awaitable[None]]:
        journal = self.catalog.session_folder(plan.storage.session_id) / JOURNAL_NAME

        async def read() -> None:
            await asyncio.to_thread(read_whole_history, plan.state, journal, self.blobs, yield_gil=Yielder())

        return read

    def _commands(self, plan: SessionPlan, context_manager: ContextManager) -> CommandParts:
        def contents(image: FileImage | None) -> bytes | None:
            return None if image is None or image.kind == "folder" else self.blobs.get(image.digest, size=image.size)

        return CommandParts(
            transcript=plan.state.transcript,
            context_manager=context_manager,
            workspace=plan.root,
            config_folder=self.paths.config,
            secrets=finder_of_secrets(plan.root, self.environ),
            contents=contents,
            services=self.services,
            provider_ids=PROVIDER_IDS,
        )

    def _titling(self, plan: SessionPlan, recorder: Recorder) -> Titling:
        def is_wanted() -> bool:
            return self.makes_titles and plan.settings.current.model.generates_titles

        return Titling(plan.state.transcript, recorder, self.provider_source, self.clock, is_wanted)

    def _job_logs(self, plan: SessionPlan) -> Path:
        """A folder of the session's own: its commands may read it, and what others printed is not their business."""
        return self.paths.logs / "jobs" / plan.storage.session_id

    def _temp(self, session_id: SessionId) -> Path:
        return self.paths.cache / "tmp" / session_id

    @property
    def _own_places(self) -> tuple[Path, ...]:
        """What edit tools never write: the application's folders, and the settings file wherever it is."""
        own = (self.paths.config, self.paths.data, self.paths.cache, self.paths.logs)
        return (*own, self.settings_file) if self.settings_file is not None else own

    def _capture(self, plan: SessionPlan) -> StatCapture:
        name = digest_of(os.fsencode(plan.root))[:32]
        baseline = Baseline(self.paths.cache / "baselines" / f"{name}.sqlite3")
        return StatCapture(plan.root, baseline, lambda: plan.settings.current.capture)

    def _safeguard(self, plan: SessionPlan) -> Safeguard:
        folder = self.catalog.session_folder(plan.storage.session_id) / "safety"
        limits = partial(_safety_limits, plan.settings)
        copies = SafetyCopies(plan.root, folder, limits)
        return Safeguard(plan.root, copies, folder, writable=partial(_allowed, plan.settings))

    def _boundary(self, plan: SessionPlan) -> Callable[[], Boundary]:
        """Return what gives the boundary under the settings in force; it is made anew only when they changed."""

        @lru_cache(maxsize=1)
        def build(allowed: tuple[Path, ...]) -> Boundary:
            return Boundary(plan.root, allowed, guarded=self._own_places)

        return lambda: build(_allowed(plan.settings))

    def _policies(self, plan: SessionPlan, rulebook: RuleBook) -> Policies:
        state = plan.state
        temp = self._temp(plan.storage.session_id)
        return Policies(
            approval=lambda: state.transcript.approval,
            sandbox=lambda: state.transcript.sandbox,
            rulebook=rulebook,
            confiner=Confiner(
                self.probe,
                workspace=plan.root,
                temp=temp,
                allowed=partial(_allowed, plan.settings),
                visible=partial(_visible, plan.settings),
                passed=partial(_passed, plan.settings),
                logs=self._job_logs(plan),
                secrets=finder_of_secrets(plan.root, self.environ),
            ),
            workspace=plan.root,
            settings=plan.settings,
            clock=self.clock,
        )

    def _toolbox(
        self,
        plan: SessionPlan,
        held: HeldWorkspace,
        access: Access,
        confiner: Confiner,
        processes: ProcessRunner,
        jobs: Jobs,
    ) -> Toolbox:
        state = plan.state
        return Toolbox(
            workspace=held,
            access=access,
            boundary=self._boundary(plan),
            confiner=confiner,
            secrets=finder_of_secrets(plan.root, self.environ),
            reads=state.reads,
            processes=processes,
            jobs=jobs,
            blobs=self.blobs,
            environ=child_environment(self.environ, _passed(plan.settings)),
            kept_back=kept_back_from(self.environ, _passed(plan.settings)),
            spool_folder=self.paths.data / "spool",
            todos=lambda: state.transcript.todos,
            limits=lambda: ContextLimits(**asdict(plan.settings.current.tools.limits)),
        )

    def _release(
        self,
        storage: SessionStorage,
        held: HeldWorkspace,
        capture: StatCapture,
        processes: ProcessRunner,
        jobs: Jobs,
        reports: JobReports,
    ) -> Callable[[], Awaitable[None]]:
        async def release() -> None:
            async with AsyncExitStack() as stack:  # whatever fails, the rest is let go, last the lock
                stack.callback(storage.lock.release)
                stack.callback(held.close)
                stack.push_async_callback(asyncio.to_thread, self.catalog.refresh_summary, storage.session_id)
                journal = self.catalog.session_folder(storage.session_id) / JOURNAL_NAME
                stack.push_async_callback(asyncio.to_thread, close_with_snapshot, journal, self.blobs)
                temp = self._temp(storage.session_id)
                stack.push_async_callback(asyncio.to_thread, shutil.rmtree, temp, ignore_errors=True)
                stack.push_async_callback(asyncio.to_thread, capture.close)
                stack.push_async_callback(processes.aclose)
                stack.push_async_callback(self.tools.give_back)
                stack.push_async_callback(jobs.aclose)
                stack.push_async_callback(reports.aclose)

        return release


def _allowed(settings: WorkspaceSettings) -> tuple[Path, ...]:
    return tuple(map(Path, settings.current.execution.allowed_paths))


def _command_limits(settings: WorkspaceSettings) -> CommandLimits:
    execution = settings.current.execution
    gib = execution.max_memory_gib
    return CommandLimits(
        max_processes=execution.max_processes,
        max_memory_bytes=None if gib is None else int(gib * 2**30),
        max_open_files=execution.max_open_files,
    )


def _visible(settings: WorkspaceSettings) -> tuple[Path, ...]:
    return tuple(map(Path, settings.current.execution.home_visible))


def _passed(settings: WorkspaceSettings) -> tuple[str, ...]:
    return settings.current.execution.passed_variables


def _safety_limits(settings: WorkspaceSettings) -> SafetyLimits:
    copied, captured = settings.current.safety_copy, settings.current.capture
    return SafetyLimits(
        max_files=copied.max_files,
        max_bytes=copied.max_mib * 2**20,
        ignored_folders=frozenset(captured.ignored_folders),
        max_captured_bytes=captured.max_file_bytes,
    )


def _watched_images(transcript: Transcript, settings: WorkspaceSettings) -> dict[str, FileImage | None]:
    """How the records left the files that the capture watches; a safety copy may have recorded others."""
    ignored = frozenset(settings.current.capture.ignored_folders)
    images = transcript.last_images().items()
    return {path: image for path, image in images if ignored.isdisjoint(PurePosixPath(path).parts[:-1])}
