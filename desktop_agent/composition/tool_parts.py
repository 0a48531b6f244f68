"""What the calls of a session work with and go through: servers, the capture of changes, tools, the gate, mentions."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import asdict

from desktop_agent.composition.session_plan import (
    SessionPlan,
    allowed_folders,
    boundary_in_force,
    command_limits,
    passed_variables,
    safety_limits,
    visible_folders,
    wanted_servers,
)
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.core.approvals import Approvals, RuleBook
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import StatCapture
from desktop_agent.core.capture.git_objects import BASELINES
from desktop_agent.core.capture.safety import SafetyCopies
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.jobs import JobReports, Jobs
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.server_pool import ServerPool
from desktop_agent.core.mcp.trust import ToolTrust
from desktop_agent.core.mentions.files import FileMentions, SymbolMentions
from desktop_agent.core.mentions.pasted import PastedContents, PastedMentions
from desktop_agent.core.mentions.prompts import PromptMentions
from desktop_agent.core.mentions.resources import ResourceMentions, SessionMentions
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import FileImage
from desktop_agent.core.providers.auth.server_credentials import KeyringCredentials, ServerKeyring
from desktop_agent.core.session.recorder import Recorder
from desktop_agent.core.session.session_parts import SessionTools
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.system.environment import child_environment, kept_back_from
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.processes.process_tree import ended_by
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.system.workspace import HeldWorkspace
from desktop_agent.core.tools.access import Access, CallRules
from desktop_agent.core.tools.execution.confiner import Confiner, SandboxProbe, server_confiner
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.executor import Toolbox, ToolExecutor
from desktop_agent.core.tools.execution.runtime import ToolRuntime
from desktop_agent.core.tools.execution.safeguard import Safeguard
from desktop_agent.core.tools.execution.writers import RunningServer
from desktop_agent.core.tools.gate import ApprovalGate, LiveJudging
from desktop_agent.core.tools.judging import Judge, Policies
from desktop_agent.core.tools.output import ContextLimits
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.secret_files import finder_of_secrets
from desktop_agent.core.tools.servers.asking_back import AsideModel, ServerQuestions, ServerSampling
from desktop_agent.core.tools.servers.mcp_tool import SessionTrust
from desktop_agent.core.tools.servers.search_tools import SearchTools
from desktop_agent.core.tools.servers.session_servers import SessionServers
from desktop_agent.core.tools.tool import AnyServerTool, AnyTool
from desktop_agent.core.transcript import Transcript


def build_server_pool(
    paths: AppPaths, environ: Mapping[str, str], clock: Clock, keyring: ServerKeyring, probe: SandboxProbe
) -> ServerPool:
    return ServerPool(
        clock,
        child_environment(environ),
        paths.logs / "mcp",
        credentials=KeyringCredentials(keyring, paths.data, clock),
        confiner=server_confiner(paths, environ, probe),
    )


def build_session_servers(
    shared: SharedParts, plan: SessionPlan, registry: ToolRegistry, recorder: Recorder
) -> SessionServers:
    trust = SessionTrust(ToolTrust(shared.paths.tool_trust), recorder)
    wanted = partial(wanted_servers, plan.settings)
    return SessionServers(shared.tools.servers, plan.root, wanted, registry, trust, recorder)


def running_servers(pool: ServerPool, root: Path) -> tuple[RunningServer, ...]:
    """Return the servers of a folder that run and may write there."""
    return tuple(
        RunningServer(
            connection.definition.name, activity, partial(_may_write, connection.definition, root), is_shared=is_shared
        )
        for connection, activity, is_shared in pool.activities(root)
    )


def _may_write(definition: ServerDefinition, root: Path, path: str) -> bool:
    return definition.may_write(root / path, root)


def with_search(tools: tuple[AnyTool, ...], of_servers: Callable[[], tuple[AnyServerTool, ...]]) -> tuple[AnyTool, ...]:
    """Return the tools with the search for those of servers, unless a program has a tool of that name."""
    return tools if any(tool.name == SearchTools.name for tool in tools) else (*tools, SearchTools(of_servers))


class ChangeParts(Struct, frozen=True):
    """The parts, made for each other."""

    workspace: HeldWorkspace
    ledger: Ledger
    capture: StatCapture
    safeguard: Safeguard
    effects: Effects


def build_change_parts(shared: SharedParts, plan: SessionPlan, log: EventLog) -> ChangeParts:
    """Return them for one session. What they record goes to `log`."""
    workspace = HeldWorkspace(plan.root, plan.folder)
    ledger = Ledger(plan.root, shared.blobs, held=workspace, is_special=lambda path: sensitivity(path) is not None)
    name = digest_of(os.fsencode(plan.root))[:32]
    baseline = Baseline(shared.paths.cache / BASELINES / f"{name}.sqlite3", trouble=shared.paths.cache_problem)
    capture = StatCapture(plan.root, baseline, lambda: plan.settings.current.capture)
    folder = shared.catalog.session_folder(plan.storage.session_id) / "safety"
    copies = SafetyCopies(plan.root, folder, partial(safety_limits, plan.settings))
    safeguard = Safeguard(plan.root, copies, folder, writable=partial(allowed_folders, plan.settings))
    transcript = plan.state.transcript
    images = partial(_watched_images, transcript, plan.settings)
    effects = Effects(ledger, capture, safeguard, log, partial(_last_number, transcript), images)
    return ChangeParts(workspace, ledger, capture, safeguard, effects)


def _last_number(transcript: Transcript, turn: int) -> int:
    return transcript.changed.last_number(turn)


def _watched_images(transcript: Transcript, settings: WorkspaceSettings) -> dict[str, FileImage | None]:
    """How the records left the files that the capture watches; a safety copy may have recorded others."""
    ignored = frozenset(settings.current.capture.ignored_folders)
    images = transcript.changed.last_images().items()
    return {path: image for path, image in images if ignored.isdisjoint(PurePosixPath(path).parts[:-1])}


class ToolParts(Struct, frozen=True):
    """What a session's calls work with."""

    registry: ToolRegistry
    access: Access
    rulebook: RuleBook
    policies: Policies
    jobs: Jobs
    toolbox: Toolbox
    servers: SessionServers
    aclose: Callable[[], Awaitable[None]]
    """Ends background commands and processes. What ends with an error does not keep the rest from ending."""


def build_tool_parts(shared: SharedParts, plan: SessionPlan, changes: ChangeParts, recorder: Recorder) -> ToolParts:
    """Return them for one session; `aclose` gives back the shared tools, too."""
    folder = shared.catalog.session_folder(plan.storage.session_id)
    end = folder / "ended"
    processes = ProcessRunner(shared.clock, limits=partial(command_limits, plan.settings), end=end)
    jobs = Jobs(processes, shared.clock, folder=shared.job_logs(plan.storage.session_id))
    watch = changes.effects.jobs
    jobs.on_end, jobs.on_look = watch.end, watch.look
    watch.forget_end = partial(end.unlink, missing_ok=True)
    if plan.state.unfinished.jobs:
        watch.ended_ns = ended_by(end, folder / "journal.jsonl")
    watch.see_to_end = processes.prepare
    watch.activity_of, watch.servers = jobs.activity, partial(running_servers, shared.tools.servers, plan.root)
    reports = JobReports(jobs, recorder, shared.clock)
    rulebook = RuleBook(shared.rules, plan.state.rules, recorder)
    policies = _policies(shared, plan, rulebook)

    def of_servers() -> tuple[AnyServerTool, ...]:
        return access.of_servers()

    registry = ToolRegistry(with_search(shared.tools.tools, of_servers))
    access = Access(
        registry,
        plan.rules or CallRules(),
        policies.sandbox,
        lambda: plan.settings.current.model.web_search == "provider",
    )
    toolbox = _toolbox(shared, plan, changes, access, policies.confiner, processes, jobs)
    servers = build_session_servers(shared, plan, registry, recorder)
    shared.tools.take()

    async def aclose() -> None:
        async with AsyncExitStack() as ends:
            ends.push_async_callback(asyncio.to_thread, changes.capture.close)
            ends.push_async_callback(processes.aclose)
            ends.push_async_callback(shared.tools.give_back)
            ends.callback(servers.close)
            ends.push_async_callback(jobs.aclose)
            ends.push_async_callback(reports.aclose)

    return ToolParts(registry, access, rulebook, policies, jobs, toolbox, servers, aclose)


def _policies(shared: SharedParts, plan: SessionPlan, rulebook: RuleBook) -> Policies:
    transcript = plan.state.transcript
    return Policies(
        approval=lambda: transcript.session.approval,
        sandbox=lambda: transcript.session.sandbox,
        rulebook=rulebook,
        confiner=Confiner(
            probe=shared.probe,
            workspace=plan.root,
            temp=shared.temp_folder(plan.storage.session_id),
            allowed=partial(allowed_folders, plan.settings),
            visible=partial(visible_folders, plan.settings),
            passed=partial(passed_variables, plan.settings),
            logs=shared.job_logs(plan.storage.session_id),
            secrets=finder_of_secrets(plan.root, shared.environ),
        ),
        workspace=plan.root,
        settings=plan.settings,
        clock=shared.clock,
    )


def _toolbox(
    shared: SharedParts,
    plan: SessionPlan,
    changes: ChangeParts,
    access: Access,
    confiner: Confiner,
    processes: ProcessRunner,
    jobs: Jobs,
) -> Toolbox:
    state, passed = plan.state, passed_variables(plan.settings)
    return Toolbox(
        workspace=changes.workspace,
        access=access,
        boundary=boundary_in_force(plan.settings, plan.root, shared.own_places),
        confiner=confiner,
        secrets=finder_of_secrets(plan.root, shared.environ),
        reads=state.reads,
        processes=processes,
        jobs=jobs,
        blobs=shared.blobs,
        environ=child_environment(shared.environ, passed),
        kept_back=kept_back_from(shared.environ, passed),
        spool_folder=shared.paths.data / "spool",
        todos=lambda: state.transcript.turns.todos,
        limits=lambda: ContextLimits(**asdict(plan.settings.current.tools.limits)),
    )


def build_session_tools(
    shared: SharedParts,
    changes: ChangeParts,
    parts: ToolParts,
    recorder: Recorder,
    approvals: Approvals,
    model: AsideModel,
) -> SessionTools:
    """Return them for one session. `model` answers what servers ask of one."""
    judge = Judge(parts.policies, changes.safeguard)
    gate = ApprovalGate(approvals, recorder, parts.policies, judge)
    questions = ServerQuestions(approvals, recorder, parts.policies)
    sampling = ServerSampling(model, recorder, parts.policies)
    executor = ToolExecutor(parts.toolbox, gate, questions, sampling, changes.effects, recorder, shared.clock)
    return SessionTools(
        approvals=approvals,
        judging=LiveJudging(gate, approvals, judge, recorder),
        rulebook=parts.rulebook,
        runtime=ToolRuntime(
            registry=parts.registry,
            access=parts.access,
            executor=executor,
            servers=parts.servers,
            log=recorder,
            clock=shared.clock,
        ),
        jobs=parts.jobs,
        ledger=changes.ledger,
        effects=changes.effects,
    )


def build_mentions(shared: SharedParts, plan: SessionPlan, parts: ToolParts) -> PromptMentions:
    async def takes_pictures() -> bool | None:
        model = plan.state.transcript.session.model
        return await shared.takes_images(model) if model is not None else None

    files = FileMentions(parts.toolbox, parts.policies, takes_pictures)
    return PromptMentions(
        ResourceMentions(parts.servers.connections, shared.blobs.put_ref),
        files,
        SymbolMentions(files, parts.toolbox),
        SessionMentions(shared.catalog, shared.blobs),
        PastedMentions(PastedContents.of(shared.paths), shared.blobs.put_ref, takes_pictures),
    )
