"""The parts of one session. Settings are read at each use, because they may have changed."""

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from functools import cache, lru_cache, partial
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import asdict, replace

from desktop_agent.composition.application import Application
from desktop_agent.core.agents.connection import AgentConnection, SessionAgents
from desktop_agent.core.approvals import Approvals, RuleBook
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.mount_stand_ins import sweep
from desktop_agent.core.base.paths import place_of_spare_cache
from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import StatCapture
from desktop_agent.core.capture.git_objects import BASELINES
from desktop_agent.core.capture.safety import SafetyCopies, SafetyLimits
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.context.packing import image_digests, system_prompt, with_pictures, without_pictures
from desktop_agent.core.context_window import ContextManager
from desktop_agent.core.diagnostics.diagnostics import Diagnostics
from desktop_agent.core.extensions.agent_files import OWN_ROLES
from desktop_agent.core.extensions.hook_runs import HookHost, Hooks
from desktop_agent.core.extensions.instructions import InstructionReader, UserFolders, import_item
from desktop_agent.core.extensions.skills_in_force import SkillOffer
from desktop_agent.core.extensions.untrusted import SecretAt
from desktop_agent.core.jobs import JobReports, Jobs
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.definition_file import Definitions, used_definitions
from desktop_agent.core.mcp.trust import ToolTrust
from desktop_agent.core.mentions.files import FileMentions, SymbolMentions
from desktop_agent.core.mentions.prompts import PastedContents, PastedMentions, PromptMentions
from desktop_agent.core.mentions.resources import ResourceMentions, SessionMentions
from desktop_agent.core.models.vendors import PROVIDER_IDS
from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    ApprovalPolicy,
    FileImage,
    FolderIdentity,
    GuidanceFile,
    JsonObject,
    ModelRef,
    ModelRequest,
    SandboxMode,
    SessionPurpose,
)
from desktop_agent.core.sandbox.guarded import places_of_stand_ins
from desktop_agent.core.session.aside_requests import Retries, ServerSampling, Titling
from desktop_agent.core.session.recorder import Recorder, SessionState, Sink
from desktop_agent.core.session.resume import close_with_snapshot, read_whole_history
from desktop_agent.core.session.session import Session
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.session.spending import SpendingGuard, TurnLimits
from desktop_agent.core.session.subagents import Parent, Places, SubagentApprovals, Subagents, SubagentSpending
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from desktop_agent.core.slash.commands import own_commands, prompts_of
from desktop_agent.core.slash.declarations import Declaration
from desktop_agent.core.slash.session_commands import CommandParts
from desktop_agent.core.store.journal.journal import JOURNAL_NAME
from desktop_agent.core.store.journal.records import Yielder
from desktop_agent.core.store.session_upkeep import SessionStorage
from desktop_agent.core.system.environment import child_environment, kept_back_from
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.processes.cgroup import CommandLimits
from desktop_agent.core.system.processes.process_tree import ended_by
from desktop_agent.core.system.processes.runner import ProcessRunner
from desktop_agent.core.system.workspace import HeldWorkspace
from desktop_agent.core.telemetry.telemetry import SessionFacts, SessionTelemetry
from desktop_agent.core.tools.access import ROLES, Access, CallRules, ToolOffer, ToolRegistry
from desktop_agent.core.tools.builtin.read_skill import ReadSkill
from desktop_agent.core.tools.builtin.task import Task
from desktop_agent.core.tools.builtin.write_plan import WritePlan
from desktop_agent.core.tools.execution.confiner import Confiner
from desktop_agent.core.tools.execution.effects import Effects
from desktop_agent.core.tools.execution.runtime import Toolbox, ToolRuntime
from desktop_agent.core.tools.execution.safeguard import Safeguard
from desktop_agent.core.tools.execution.writers import RunningServer
from desktop_agent.core.tools.files.open_texts import OpenTexts, TextEditor
from desktop_agent.core.tools.gate import ApprovalGate, Case, Judge, LiveJudging, Policies, ServerQuestions
from desktop_agent.core.tools.mcp_tool import DefinitionBudget, McpTool, SearchTools, SessionTrust
from desktop_agent.core.tools.output import ContextLimits
from desktop_agent.core.tools.secret_files import finder_of_secrets
from desktop_agent.core.tools.session_servers import SessionServers
from desktop_agent.core.worktrees.bring_back import FolderOffer
from desktop_agent.core.worktrees.worktrees import NewWorktree, hint_for_lost


class SessionOptions(Struct, frozen=True, kw_only=True):
    """A front end's choices when it opens a session. `None` leaves the choice to the settings."""

    model: ModelRef | None = None
    named: NamedModel = NamedModel()
    """Only some parts of a model. A resumed session keeps its other parts."""
    approval: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    is_planning: bool | None = None
    rules: CallRules | None = None
    limits: TurnLimits | None = None
    purpose: SessionPurpose = "conversation"
    instructions: str = ""
    """Appended to the system prompt while the session is open."""
    servers: tuple[ServerDefinition, ...] = ()
    """MCP servers that the session uses besides those of the settings. One of the same name replaces theirs."""
    accepts_folder: bool = False
    """Whether to continue in another folder that is now at the session's path."""
    worktree: NewWorktree | None = None
    """The worktree to make for a new session, which then works there."""
    on_set_up: Callable[[str], None] | None = None
    """Called with what the command prints that sets up the worktree."""
    brings_back: FolderOffer | None = None
    """The changes of worktrees that a new session offers to bring back."""
    editor: TextEditor | None = None
    """The editor that shows the session, with texts that are not saved."""
    parent: "tuple[SessionContext, Parent] | None" = None
    """The session that a sub-agent works for, and the call."""
    own_root: Path | None = None
    """The worktree of a sub-agent that has its own; others work in their parent's folder, with its effects."""

    def system_prompt(self, root: Path, opened_at: datetime) -> str:
        """Blocks briefly: it reads shipped files."""
        role = ROLES[self.rules.role].instructions if self.rules is not None else ""
        return "\n\n".join(filter(None, (system_prompt(root, opened_at), role, self.instructions)))


class SessionContext:
    """The parts that belong to one session. `aclose` ends what its calls started, and releases the shared tools."""

    def __init__(
        self,
        app: Application,
        storage: SessionStorage,
        state: SessionState,
        settings: WorkspaceSettings,
        options: SessionOptions,
        *,
        folder: FolderIdentity | None,
        system: str,
        opening: tuple[ev.KnownEvent, ...],
        sink: Sink,
        is_attended: bool,
    ) -> None:
        """`folder` is the session's last folder, if known; `settings` are those of its workspace.

        If the session `is_attended`, a user can answer questions of an earlier process, and about more spending.
        """
        self.app = app
        self.id = storage.session_id
        self.storage = storage
        self.state = state
        self.settings = settings
        self.root = options.own_root or settings.root
        self.options = options
        self.limits = options.limits or TurnLimits()
        self.system = system
        self.opening = opening
        self.is_attended = is_attended
        self.temp_folder = app.paths.cache / "tmp" / self.id
        """The folder for temporary files of the session's commands. It is removed when the session closes."""
        self._job_logs = app.paths.logs / "jobs" / self.id
        self._folder = app.catalog.session_folder(self.id)
        seq = state.transcript.session.last_seq
        self.recorder = Recorder(storage.journal, app.clock, last_seq=seq, folds=(state.apply,), sink=sink)
        self.workspace = HeldWorkspace(self.root, folder, hint_for_lost(app.paths.worktrees, self.root))
        self.ledger = Ledger(
            self.root, app.blobs, held=self.workspace, is_special=lambda path: sensitivity(path) is not None
        )
        cache = self.app.paths.cache
        name = digest_of(os.fsencode(self.root))[:32]
        baseline = Baseline(cache / BASELINES / f"{name}.sqlite3", trouble=self.app.paths.cache_problem)
        self._capture = StatCapture(self.root, baseline, lambda: self.settings.current.capture)
        copies = SafetyCopies(self.root, self._folder / "safety", self._safety_limits)
        self.safeguard = Safeguard(self.root, copies, self._folder / "safety", writable=self._allowed_folders)
        self._texts = OpenTexts(options.editor)
        self.effects = Effects(
            self.ledger,
            self._capture,
            self.safeguard,
            self.recorder,
            self._last_number,
            self._watched_images,
            self._texts,
        )
        self._processes = ProcessRunner(app.clock, limits=self._command_limits, end=self._folder / "ended")
        self.jobs = self._make_jobs()
        self._reports = JobReports(self.jobs, self.recorder, app.clock)
        above = options.parent[0] if options.parent is not None else None
        self.top: SessionContext = above.top if above is not None and options.own_root is None else self
        """The session with whose effects this one works: that of the conversation, or of a worktree's sub-agent."""
        self.rulebook = above.rulebook if above is not None else RuleBook(app.rules, state.rules, self.recorder)
        self.policies = self._make_policies(above) if self.top is self else self.top.policies
        self.agents = SessionAgents(self._make_agent)
        tools = self.app.tools.tools
        is_found = any(tool.name == SearchTools.name for tool in tools)
        self.skills = app.skills_in(settings.root)
        self._read_skill = ReadSkill(self.skills)
        self.depth: int = above.depth + 1 if above is not None else 0
        limits = settings.current.subagents
        self.places: Places = above.places.below if above else Places(lambda: settings.current.subagents.most_at_once)
        self._task = Task(OWN_ROLES) if self.depth < limits.most_deep and limits.most_at_once else None
        """The call of sub-agents. Its roles are looked for at each request."""
        own = (self._read_skill, *((WritePlan(),) if above is None else ()), *((self._task,) if self._task else ()))
        self.registry = ToolRegistry((*tools, *own) if is_found else (*tools, *own, SearchTools(self._of_servers)))
        self.access = Access(
            self.registry,
            options.rules or CallRules(),
            self.policies.sandbox,
            lambda: settings.current.model.web_search == "provider",
            lambda: state.transcript.session.is_planning,
            lambda: above is not None and above.access.only_reads,
        )
        self.toolbox = self._make_toolbox(above)
        self.hooks = Hooks(app.hooks_in(settings.root), self._hook_host(), self.recorder)
        self.recorder.fold_into(self.hooks.hear)
        processes = ProcessRunner(app.clock, limits=self._command_limits)
        self.diagnostics: Diagnostics = (
            app.diagnostics(self.root, processes, lambda: state.transcript.changes, self.recorder)
            if self.top is self
            else self.top.diagnostics
        )
        trust = SessionTrust(ToolTrust(app.paths.tool_trust), self.recorder)
        wanted = partial(_wanted_servers, self.settings, options.servers)
        self.servers = SessionServers(app.tools.servers, self.root, wanted, self.registry, trust, self.recorder)
        app.tools.take()

    def session(self, subagents_of: "SubagentsOf") -> Session:
        """Make the session. When it has closed, it releases everything here."""
        app, recorder, state, settings = self.app, self.recorder, self.state, self.settings
        cases: dict[CallId, Case] = {}
        approvals = Approvals(recorder)
        if self.options.parent is not None:
            approvals = SubagentApprovals(recorder, self.options.parent[1], cases)
        retries = Retries(app.retry, recorder, app.clock)
        spending = self._make_spending(approvals)
        sampling = ServerSampling(
            state=state,
            provider_source=app.provider_source,
            known=app.known_model,
            retries=retries,
            spending=spending,
            log=recorder,
            approval=self.policies.approval,
        )
        context_manager = self._make_context_manager(retries)
        judge = Judge(self.policies, self.top.safeguard)
        gate = ApprovalGate(approvals, self.policies, judge, self.hooks, cases)
        subagents = subagents_of(self, approvals, cases, spending)
        facts = SessionFacts(session_id=self.id, is_tool=lambda name: name in self.registry, clock=app.clock)
        return Session(
            SessionParts(
                session_id=self.id,
                opening=self.opening,
                is_attended=self.is_attended,
                state=state,
                recorder=recorder,
                approvals=approvals,
                judging=LiveJudging(gate, approvals, judge, recorder),
                rulebook=self.rulebook,
                runtime=self._make_runtime(gate, approvals, sampling, subagents),
                subagents=subagents,
                hooks=self.hooks,
                jobs=self.jobs,
                ledger=self.ledger,
                effects=self.effects,
                context_manager=context_manager,
                commands=self._make_commands(context_manager),
                mentions=self._make_mentions(),
                titling=Titling(
                    state.transcript,
                    recorder,
                    app.provider_source,
                    app.clock,
                    lambda: (
                        app.makes_titles and self.options.parent is None and settings.current.model.generates_titles
                    ),
                ),
                settings=settings,
                limits=self.limits,
                spending=spending,
                retries=retries,
                telemetry=SessionTelemetry(app.telemetry, lambda: settings.current.telemetry, recorder.observe, facts),
                clock=app.clock,
                provider_source=app.provider_source,
                agents=self.agents,
                started_early=app.started_early,
                model_meant=app.model_meant,
                known=app.known_model,
                accounts=app.accounts,
                read_history=self._read_history,
                release=self._release,
            )
        )

    def _make_spending(self, approvals: Approvals) -> SpendingGuard:
        guard = SpendingGuard(
            state=self.state,
            limits=self.limits,
            settings=self.settings,
            approvals=approvals,
            is_attended=self.is_attended,
            others=partial(self.app.catalog.summaries, without=(self.id,)),
            log=self.recorder,
            clock=self.app.clock,
            before=self.state.transcript.turns.usage,
        )
        if self.options.parent is None:
            return guard
        return SubagentSpending(**asdict(guard), parent=self.options.parent[1])

    def _make_runtime(
        self, gate: ApprovalGate, approvals: Approvals, sampling: ServerSampling, subagents: Subagents
    ) -> ToolRuntime:
        parent = self.options.parent
        return ToolRuntime(
            registry=self.registry,
            box=self.toolbox,
            gate=gate,
            hooks=self.hooks,
            questions=ServerQuestions(approvals, self.policies),
            sample_during=sampling.during,
            effects=self.top.effects,
            diagnostics=self.diagnostics,
            servers=self.servers,
            log=self.recorder,
            clock=self.app.clock,
            run_task=subagents.run,
            on_behalf_of=None if parent is None or self.top is self else parent[1].on_behalf_of,
        )

    def _make_context_manager(self, retries: Retries) -> ContextManager:
        app, settings, access = self.app, self.settings, self.access

        def offer(window: int, loaded: Sequence[str]) -> ToolOffer:
            return access.offer(DefinitionBudget(window, settings.current.mcp.tools_share), loaded)

        @cache
        def secrets_in(folder: Path) -> SecretAt:
            secrets = finder_of_secrets(folder, app.environ)
            return lambda path, status: secrets().secret_at(path, status)

        offered = SkillOffer(self.skills)

        def skills(window: int) -> GuidanceFile | None:
            if self._task is not None:
                self._task.offer(app.roles_in(settings.root))
            listed = offered.text(window * settings.current.skills.prompt_share // 100)
            return listed if self._read_skill in access.permitted() else None

        async def pictured(request: ModelRequest, model: ModelRef) -> ModelRequest:
            if not image_digests(request.messages):
                return request
            known = await app.known_model(model)
            if known is not None and known.takes_images is False:
                return replace(request, messages=without_pictures(request.messages))
            return await with_pictures(request, app.blobs)

        return ContextManager(
            history=self.state.history,
            transcript=self.state.transcript,
            log=self.recorder,
            clock=app.clock,
            wait=retries.wait,
            settings=lambda: settings.current,
            change_setting=settings.live.change,
            reader=InstructionReader(
                self.root,
                UserFolders.of(app.paths.config, app.environ),
                secrets_in,
                lambda name: settings.answer_about(import_item(name)) == "trusted",
            ),
            skills=skills,
            calibration=app.calibration,
            system=self.system,
            offer=offer,
            make_definitions=access.make_definitions,
            with_pictures=pictured,
            read_history=self._read_history,
            max_tokens=lambda: self.limits.max_tokens or settings.current.model.max_tokens,
            known=app.known_model,
            hooks=self.hooks,
            # A provider's cache recognises the requests by this digest, so none of our ids leaves the machine.
            conversation=blake2b(self.id.encode(), digest_size=16).hexdigest(),
        )

    def _make_commands(self, context_manager: ContextManager) -> CommandParts:
        app = self.app
        return CommandParts(
            transcript=self.state.transcript,
            context_manager=context_manager,
            workspace=self.root,
            skills=self.skills,
            contents=app.blobs.of_file,
            services=app.services,
            provider_ids=PROVIDER_IDS,
            model_meant=app.model_meant,
            accounts=app.accounts,
            servers=self.servers.connections,
        )

    def _make_mentions(self) -> PromptMentions:
        app = self.app

        async def takes_pictures() -> bool | None:
            model = self.state.transcript.session.model
            known = await app.known_model(model) if model is not None else None
            return known.takes_images if known is not None else None

        files = FileMentions(self.toolbox, self.policies)
        return PromptMentions(
            ResourceMentions(self.servers.connections, app.blobs.put_ref),
            files,
            SymbolMentions(files, self.toolbox),
            SessionMentions(app.catalog, app.blobs),
            PastedMentions(PastedContents.of(app.paths), app.blobs.put_ref),
            takes_pictures,
        )

    async def _read_history(self) -> None:
        app, journal = self.app, self.app.journal_path(self.id)
        await asyncio.to_thread(read_whole_history, self.state, journal, app.blobs, yield_gil=Yielder())

    async def _release(self) -> None:
        app = self.app
        async with AsyncExitStack() as stack:
            stack.push_async_callback(asyncio.to_thread, self._release_storage)
            stack.callback(self.workspace.close)
            if self.options.parent is None:
                # So that no caller has to wait for it later.
                stack.push_async_callback(asyncio.to_thread, app.catalog.summary, self.id)
            stack.push_async_callback(asyncio.to_thread, close_with_snapshot, app.journal_path(self.id), app.blobs)
            stack.push_async_callback(asyncio.to_thread, _remove_temp, self.temp_folder)
            stack.push_async_callback(asyncio.to_thread, self._capture.close)
            stack.push_async_callback(self._processes.aclose)
            if self.top is self:
                stack.push_async_callback(self.diagnostics.aclose)
            stack.push_async_callback(app.tools.give_back)
            stack.push_async_callback(self.agents.aclose)
            stack.callback(self.servers.close)
            stack.push_async_callback(self.jobs.aclose)
            stack.push_async_callback(self._reports.aclose)

    def _release_storage(self) -> None:
        if self.state.transcript.session.last_seq == 0:
            self.storage.discard(self.app.catalog)
        else:
            self.storage.lock.release()

    # -- what the settings say --

    def _allowed_folders(self) -> tuple[Path, ...]:
        return tuple(map(Path, self.settings.current.execution.allowed_paths))

    def _visible_folders(self) -> tuple[Path, ...]:
        """Return what sandboxed commands may read in the home folder: what the user named, and the skills there."""
        return (*map(Path, self.settings.current.execution.home_visible), *self.skills.readable_folders())

    def _command_limits(self) -> CommandLimits:
        execution = self.settings.current.execution
        gib = execution.max_memory_gib
        return CommandLimits(
            max_processes=execution.max_processes,
            max_memory_bytes=None if gib is None else int(gib * 2**30),
            max_open_files=execution.max_open_files,
        )

    def _safety_limits(self) -> SafetyLimits:
        copied, captured = self.settings.current.safety_copy, self.settings.current.capture
        return SafetyLimits(
            max_files=copied.max_files,
            max_bytes=copied.max_mib * 2**20,
            ignored_folders=frozenset(captured.ignored_folders),
            max_captured_bytes=captured.max_file_bytes,
        )

    # -- changes --

    def _last_number(self, turn: int) -> int:
        return self.state.transcript.changed.last_number(turn)

    def _watched_images(self) -> dict[str, FileImage | None]:
        ignored = frozenset(self.settings.current.capture.ignored_folders)
        images = self.state.transcript.changed.last_images().items()
        return {path: image for path, image in images if ignored.isdisjoint(PurePosixPath(path).parts[:-1])}

    # -- calls --

    def _make_jobs(self) -> Jobs:
        jobs = Jobs(self._processes, self.app.clock, folder=self._job_logs)
        watch, end = self.effects.jobs, self._folder / "ended"
        jobs.on_end, jobs.on_look = watch.end, watch.look
        watch.forget_end = partial(end.unlink, missing_ok=True)
        if self.state.unfinished.jobs:
            watch.ended_ns = ended_by(end, self._folder / JOURNAL_NAME)
        watch.see_to_end = self._processes.prepare
        watch.activity_of, watch.servers = jobs.activity, self._running_servers
        return jobs

    def _running_servers(self) -> tuple[RunningServer, ...]:
        def may_write(definition: ServerDefinition, path: str) -> bool:
            return definition.may_write(self.root / path, self.root)

        servers = tuple(
            RunningServer(each.definition.name, activity, partial(may_write, each.definition), is_shared=is_shared)
            for each, activity, is_shared in self.app.tools.servers.activities(self.root)
        )
        agents = tuple(
            RunningServer(each.definition.writer, activity, lambda _: True, author="agent")
            for each in self.agents.connections.values()
            for activity in each.activities
        )
        return (*servers, *agents)

    def _report_agent(self, reference: str, agent: AgentConnection) -> None:
        report = ev.AgentReported(
            agent=reference, title=agent.name, options=agent.offers.shown, commands=agent.offers.commands
        )
        if report != self.state.transcript.session.reported:
            self.recorder.emit(report)

    async def _make_agent(self, reference: str) -> AgentConnection:
        app = self.app
        definition = await app.agent_meant(reference, self.settings.root)
        around = app.agents.surroundings(self._processes, self.root)
        around = replace(around, changed=partial(self._report_agent, reference))
        return AgentConnection(definition, around, reference, app.agents.signed_in.get(definition.where, ""))

    def _of_servers(self) -> tuple[McpTool, ...]:
        return self.access.of_servers()

    def _make_policies(self, above: "SessionContext | None") -> Policies:
        transcript = self.state.transcript
        return Policies(
            approval=above.policies.approval if above is not None else lambda: transcript.session.approval,
            sandbox=above.policies.sandbox if above is not None else lambda: transcript.session.sandbox,
            rulebook=self.rulebook,
            confiner=Confiner(
                probe=self.app.probe,
                workspace=self.root,
                temp=self.temp_folder,
                allowed=self._allowed_folders,
                visible=self._visible_folders,
                passed=lambda: self.settings.current.execution.passed_variables,
                logs=self._job_logs,
                secrets=finder_of_secrets(self.root, self.app.environ),
            ),
            workspace=self.root,
            settings=self.settings,
            clock=self.app.clock,
        )

    def _hook_host(self) -> HookHost:
        app, parent = self.app, self.options.parent
        role = "" if parent is None else parent[1].role
        modes = {"on_request": "acceptEdits", "never": "dontAsk"}

        def fields() -> JsonObject:
            session = self.state.transcript.session
            of_agent: JsonObject = {"agent_id": self.id, "agent_type": role} if role else {}
            return {
                **of_agent,
                "session_id": self.id if parent is None else parent[0].id,
                "transcript_path": str(app.journal_path(self.id)),
                "cwd": str(self.root),
                "permission_mode": "plan" if session.is_planning else modes.get(session.approval, "default"),
            }

        return HookHost(
            processes=self._processes,
            environ=lambda: child_environment(app.environ, self.settings.current.execution.passed_variables),
            session=fields,
            subagent=role,
            is_attended=self.is_attended,
            clock=app.clock,
        )

    def _make_toolbox(self, above: "SessionContext | None") -> Toolbox:
        app, passed = self.app, self.settings.current.execution.passed_variables
        kept_back = above.toolbox.kept_back if above is not None else kept_back_from(app.environ, passed)
        return Toolbox(
            workspace=self.workspace,
            access=self.access,
            boundary=self._boundary_in_force(),
            confiner=self.policies.confiner,
            secrets=finder_of_secrets(self.root, app.environ),
            reads=self.state.reads,
            processes=self._processes,
            jobs=self.jobs,
            blobs=app.blobs,
            environ={name: value for name, value in app.environ.items() if name not in kept_back},
            kept_back=kept_back,
            spool_folder=app.paths.data / "spool",
            texts=self._texts,
            todos=lambda: self.state.transcript.turns.todos,
            limits=lambda: ContextLimits(**asdict(self.settings.current.tools.limits)),
        )

    def _boundary_in_force(self) -> Callable[[], Boundary]:
        @lru_cache(maxsize=1)
        def build(allowed: tuple[Path, ...]) -> Boundary:
            return Boundary(self.root, allowed, guarded=self.app.own_places)

        return lambda: build(self._allowed_folders())


SubagentsOf = Callable[[SessionContext, Approvals, dict[CallId, Case], SpendingGuard], Subagents]
"""Returns the sub-agents of a session, given its questions, what they are about, and its spending."""


def declared_commands(app: Application, root: Path) -> tuple[Declaration, ...]:
    """Return the commands of a session in a workspace: built in, then the user's and the project's. Blocks."""
    own = own_commands(app.skills_in(root).look())
    theirs = prompts_of(app.tools.servers.connections(root))
    return (*app.services.commands, *(each.declaration for each in (*own, *theirs)))


def _wanted_servers(settings: WorkspaceSettings, further: Sequence[ServerDefinition]) -> Definitions:
    used = used_definitions(settings)
    names = {one.name for one in further}
    return replace(used, servers=(*(one for one in used.servers if one.name not in names), *further))


def sweep_folders(settings: WorkspaceSettings) -> None:
    sweep(places_of_stand_ins((settings.root, *map(Path, settings.current.execution.allowed_paths))))


def _remove_temp(folder: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(place_of_spare_cache(folder), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
