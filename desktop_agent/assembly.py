"""Putting a session together: every part of it made and handed to the parts that need it. Composition, no behaviour."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from desktop_agent.core import events as ev
from desktop_agent.core.approvals import Approvals
from desktop_agent.core.changes.baseline import Baseline
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.safety import SafetyCopies, SafetyLimits
from desktop_agent.core.changes.stat_capture import StatCapture
from desktop_agent.core.clock import Clock
from desktop_agent.core.context.pictures import with_pictures
from desktop_agent.core.files import digest_of
from desktop_agent.core.ids import SessionId
from desktop_agent.core.jobs.background import Jobs
from desktop_agent.core.jobs.reports import JobReports
from desktop_agent.core.model import FileImage
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.processes.runner import ProcessRunner
from desktop_agent.core.providers.retry import RetryPolicy
from desktop_agent.core.recorder import Recorder, Sink
from desktop_agent.core.rulebook import RuleBook
from desktop_agent.core.secrets import child_environment
from desktop_agent.core.session import ProviderSource, Session, SessionParts
from desktop_agent.core.session_state import SessionState
from desktop_agent.core.settings import Settings
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.catalog import Catalog
from desktop_agent.core.store.journal import Journal
from desktop_agent.core.store.lock import SessionLock
from desktop_agent.core.store.rules_file import RULES_NAME, RulesFile
from desktop_agent.core.titling import Titling
from desktop_agent.core.tools.access import Access, CallRules
from desktop_agent.core.tools.confiner import Confiner, SandboxProbe
from desktop_agent.core.tools.effects import Effects
from desktop_agent.core.tools.execution import Execution, Toolbox
from desktop_agent.core.tools.gate import ApprovalGate
from desktop_agent.core.tools.output import ContextLimits
from desktop_agent.core.tools.policies import Policies
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.runtime import ToolRuntime
from desktop_agent.core.tools.safeguard import Safeguard
from desktop_agent.core.tools.spec import AnyTool
from desktop_agent.core.transcript import Transcript
from desktop_agent.core.turn import TurnLimits


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
    rules: CallRules | None
    limits: TurnLimits | None
    is_attended: bool = True
    """Whether somebody can answer what an earlier process asked."""


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
    settings: Settings
    environ: Mapping[str, str]
    clock: Clock
    blobs: Blobs
    catalog: Catalog
    tools: SharedTools
    probe: SandboxProbe
    provider_source: ProviderSource
    makes_titles: bool

    def session(self, plan: SessionPlan) -> Session:
        """Return the session, ready to run."""
        state = plan.state
        last_seq = state.transcript.last_seq
        recorder = Recorder(plan.storage.journal, self.clock, last_seq=last_seq, folds=(state.apply,), sink=plan.sink)
        ledger = Ledger(plan.root, self.blobs)
        transcript = state.transcript
        safeguard = self._safeguard(plan)
        capture = self._capture(plan.root)
        effects = Effects(
            ledger, capture, safeguard, recorder, transcript.changes, partial(self._watched_images, transcript)
        )
        approvals = Approvals()
        processes = ProcessRunner(self.clock)
        jobs = Jobs(processes, self.clock, folder=self._job_logs(plan))
        reports = JobReports(jobs, recorder, self.clock)
        rulebook = RuleBook(RulesFile(self.paths.config / RULES_NAME), state.rules, recorder)
        policies = self._policies(plan, rulebook)
        registry = ToolRegistry(self.tools.tools)
        self.tools.take()
        access = Access(registry, plan.rules or CallRules(), policies.sandbox)
        toolbox = self._toolbox(plan, access, policies.confiner, processes, jobs)
        gate = ApprovalGate(approvals, recorder, policies, safeguard)
        execution = Execution(toolbox, gate, effects, recorder, self.clock)
        return Session(
            SessionParts(
                session_id=plan.storage.session_id,
                state=state,
                recorder=recorder,
                opening=plan.opening,
                approvals=approvals,
                jobs=jobs,
                ledger=ledger,
                effects=effects,
                rulebook=rulebook,
                with_pictures=partial(with_pictures, blobs=self.blobs),
                runtime=ToolRuntime(registry, access, execution, recorder, self.clock),
                workspace=plan.root,
                access=access,
                system=plan.system,
                limits=plan.limits or TurnLimits(max_tokens=self.settings.model.max_tokens),
                retry=RetryPolicy(),
                clock=self.clock,
                provider_source=self.provider_source,
                titling=self._titling(transcript, recorder),
                is_attended=plan.is_attended,
                release=self._release(plan.storage, processes, jobs, reports),
            )
        )

    def _titling(self, transcript: Transcript, recorder: Recorder) -> Titling:
        is_wanted = self.makes_titles and self.settings.model.generates_titles
        return Titling(transcript, recorder, self.provider_source, self.clock, is_wanted)

    def _job_logs(self, plan: SessionPlan) -> Path:
        """A folder of the session's own: its commands may read it, and what others printed is not their business."""
        return self.paths.logs / "jobs" / plan.storage.session_id

    def _temp(self, session_id: SessionId) -> Path:
        return self.paths.cache / "tmp" / session_id

    @property
    def _allowed(self) -> tuple[Path, ...]:
        return tuple(map(Path, self.settings.execution.allowed_paths))

    @property
    def _own_folders(self) -> tuple[Path, ...]:
        return self.paths.config, self.paths.data, self.paths.cache, self.paths.logs

    def _capture(self, root: Path) -> StatCapture:
        name = digest_of(os.fsencode(root))[:32]
        baseline = Baseline(self.paths.cache / "baselines" / f"{name}.sqlite3")
        return StatCapture(root, baseline, self.settings.capture)

    def _watched_images(self, transcript: Transcript) -> dict[str, FileImage | None]:
        """How the records left the files that the capture watches; a safety copy may have recorded others."""
        ignored = frozenset(self.settings.capture.ignored_folders)
        images = transcript.last_images().items()
        return {path: image for path, image in images if ignored.isdisjoint(PurePosixPath(path).parts[:-1])}

    def _safeguard(self, plan: SessionPlan) -> Safeguard:
        folder = self.catalog.session_folder(plan.storage.session_id) / "safety"
        settings, captured = self.settings.safety_copy, self.settings.capture
        limits = SafetyLimits(
            max_files=settings.max_files,
            max_bytes=settings.max_mib * 2**20,
            ignored_folders=frozenset(captured.ignored_folders),
            max_captured_bytes=captured.max_file_bytes,
        )
        return Safeguard(plan.root, SafetyCopies(plan.root, folder, limits), folder, writable=self._allowed)

    def _policies(self, plan: SessionPlan, rulebook: RuleBook) -> Policies:
        state = plan.state
        temp = self._temp(plan.storage.session_id)
        return Policies(
            approval=lambda: state.transcript.approval,
            sandbox=lambda: state.transcript.sandbox,
            rulebook=rulebook,
            confiner=Confiner(
                self.probe, workspace=plan.root, temp=temp, allowed=self._allowed, logs=self._job_logs(plan)
            ),
            workspace=plan.root,
            blocked_commands=self.settings.execution.blocked_commands,
            writable_folders=self.settings.execution.allowed_paths,
            clock=self.clock,
        )

    def _toolbox(
        self, plan: SessionPlan, access: Access, confiner: Confiner, processes: ProcessRunner, jobs: Jobs
    ) -> Toolbox:
        state = plan.state
        return Toolbox(
            access=access,
            boundary=Boundary(plan.root, self._allowed, guarded=self._own_folders),
            confiner=confiner,
            reads=state.reads,
            processes=processes,
            jobs=jobs,
            blobs=self.blobs,
            environ=child_environment(self.environ),
            spool_folder=self.paths.data / "spool",
            todos=lambda: state.transcript.todos,
            limits=ContextLimits(**asdict(self.settings.tools.limits)),
        )

    def _release(
        self, storage: SessionStorage, processes: ProcessRunner, jobs: Jobs, reports: JobReports
    ) -> Callable[[], Awaitable[None]]:
        async def release() -> None:
            async with AsyncExitStack() as stack:  # whatever fails, the rest is let go, last the lock
                stack.callback(storage.lock.release)
                stack.push_async_callback(asyncio.to_thread, self.catalog.refresh_summary, storage.session_id)
                temp = self._temp(storage.session_id)
                stack.push_async_callback(asyncio.to_thread, shutil.rmtree, temp, ignore_errors=True)
                stack.push_async_callback(processes.aclose)
                stack.push_async_callback(self.tools.give_back)
                stack.push_async_callback(jobs.aclose)
                stack.push_async_callback(reports.aclose)

        return release
