"""What runs the calls of a session: tools, policy, approvals, confinement, processes and background commands."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial

from msgspec import Struct
from msgspec.structs import asdict

from desktop_agent.composition.change_parts import ChangeParts
from desktop_agent.composition.server_parts import build_session_servers, running_servers, with_search
from desktop_agent.composition.session_plan import SessionPlan
from desktop_agent.composition.settings_in_force import (
    allowed_folders,
    boundary_in_force,
    command_limits,
    passed_variables,
    visible_folders,
)
from desktop_agent.composition.shared_parts import SharedParts
from desktop_agent.core.approvals import RuleBook
from desktop_agent.core.jobs import JobReports, Jobs
from desktop_agent.core.session.recorder import Recorder
from desktop_agent.core.system.environment import child_environment, kept_back_from
from desktop_agent.core.system.processes.process_tree import ended_by
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.tools.access import Access, CallRules
from desktop_agent.core.tools.execution.confiner import Confiner
from desktop_agent.core.tools.execution.executor import Toolbox
from desktop_agent.core.tools.judging import Policies
from desktop_agent.core.tools.output import ContextLimits
from desktop_agent.core.tools.registry import ToolRegistry
from desktop_agent.core.tools.secret_files import finder_of_secrets
from desktop_agent.core.tools.servers.session_servers import SessionServers
from desktop_agent.core.tools.tool import AnyServerTool


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
