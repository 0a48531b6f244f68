"""What events tell of a session besides entries and changes: its settings, its turns, and what the model sees."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId, SessionId
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    AgentSession,
    ApprovalPolicy,
    ApprovalRequest,
    CacheMiss,
    ContextUse,
    Flaw,
    FolderIdentity,
    GuidanceFile,
    Job,
    ModelRef,
    Pin,
    Rule,
    SandboxMode,
    SessionPurpose,
    TaskOrigin,
    TodoItem,
    TodoStatus,
    Usage,
    WorktreeOrigin,
)
from desktop_agent.core.transcript.entries import BACKGROUND_KEY, Fold, QueuedPrompt, first_line, todos_of

CONTEXT_EVENTS: Final = frozenset({
    ev.Rewound, ev.Compacted, ev.CompactionUndone, ev.UsageReported, ev.Pinned, ev.Unpinned, ev.GuidanceLoaded,
    ev.ContextMeasured,
})  # fmt: skip
"""The events that `ContextState.apply` folds; it ignores all others."""


class ContextState(Fold):
    context_tokens: int = 0
    use: ContextUse | None = None
    """As last reported by the running session."""
    pins: dict[str, Pin] = field(default_factory=dict[str, Pin])
    guidance: tuple[GuidanceFile, ...] = ()
    compactions: dict[str, int] = field(default_factory=dict[str, int])
    """Each summary that is neither undone nor rewound, with the last turn it covers. The model sees the last one."""
    rewound: set[int] = field(default_factory=set[int])
    """The turns that the model no longer sees."""

    @property
    def compaction_in_force(self) -> str | None:
        return next(reversed(self.compactions), None)

    def apply(self, event: ev.Event, last_turn: int) -> None:
        match event:
            case ev.Rewound(turn=turn, scope=scope) if scope != "files":
                self.rewound.update(range(turn, last_turn + 1))
                self.compactions = {name: last for name, last in self.compactions.items() if last < turn}
            case ev.Compacted(compaction_id=compaction_id, through_turn=through_turn):
                self.compactions[compaction_id] = through_turn
            case ev.CompactionUndone(compaction_id=compaction_id):
                self.compactions.pop(compaction_id, None)
            case ev.UsageReported(usage=usage, is_aside=False):
                self.context_tokens = usage.context_tokens
            case ev.Pinned(pin=pin):
                self.pins[pin.id] = pin
            case ev.Unpinned(pin_id=pin_id):
                self.pins.pop(pin_id, None)
            case ev.GuidanceLoaded(files=files):
                self.guidance = files
            case ev.ContextMeasured(use=use):
                self.use = use
            case _:
                pass


_SESSION_EVENTS: Final = frozenset({
    ev.SessionOpened, ev.FolderAccepted, ev.SessionRenamed, ev.SessionForked, ev.SessionArchived, ev.SessionPinned,
    ev.ModeSet, ev.TurnStarted, ev.PromptSubmitted, ev.Steered, ev.JobsReported, ev.RulesReported,
    ev.AgentSessionOpened, ev.AgentOptionSet, ev.AgentReported, ev.Rewound,
})  # fmt: skip


class SessionInfo(Struct):
    session_id: SessionId = ""
    workspace: str = ""
    folder: FolderIdentity | None = None
    """The identity of the session's last folder; `None` if not recorded."""
    title: str = ""
    model: ModelRef | None = None
    approval: ApprovalPolicy = "on_write"
    sandbox: SandboxMode = "restricted"
    is_planning: bool = False
    jobs: tuple[Job, ...] = ()
    rules: tuple[Rule, ...] = ()
    opened_at: datetime = ev.UNSTAMPED
    updated_at: datetime = ev.UNSTAMPED
    last_seq: int = 0
    is_title_given: bool = False
    is_archived: bool = False
    is_pinned: bool = False
    forked_from: SessionId = ""
    purpose: SessionPurpose = "conversation"
    task: TaskOrigin | None = None
    instructions: str = ""
    """The instructions of a sub-agent about its role."""
    worktree: WorktreeOrigin | None = None
    agent_sessions: tuple[AgentSession, ...] = ()
    """The sessions of other programs' agents that have this conversation, the one opened last at the end."""
    asked: tuple[str, ...] = ()
    """The beginnings of all messages of the user."""
    heard: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By the name of each agent, the beginnings of what the user said to it; by `""` of what it said when imported."""
    agent_options: dict[str, dict[str, str | bool]] = field(default_factory=dict[str, dict[str, str | bool]])
    """The options that the user set, by the agent's name, in the order in which they were set."""
    reported: ev.AgentReported | None = None
    """What an agent of another program last offered, which need not be the present one."""

    @property
    def agent(self) -> ev.AgentReported | None:
        """What the agent that takes the turns offers; `None` before it has started, and for a model."""
        model, reported = self.model, self.reported
        is_present = model is not None and reported is not None and (model.is_agent and reported.agent == model.model)
        return reported if is_present else None

    @property
    def home(self) -> str:
        """The folder that the session belongs to, even if it works in a worktree."""
        return self.worktree.home_of(self.workspace) if self.worktree is not None else self.workspace

    def apply(self, event: ev.Event) -> None:
        if isinstance(event, ev.DurableEvent):
            self.last_seq = max(self.last_seq, event.seq)  # a line of another program may say anything
            self.updated_at = event.at
        if type(event) in _SESSION_EVENTS:
            self._take_in(event)

    def _take_in(self, event: ev.Event) -> None:  # noqa: C901 - one vocabulary
        match event:
            case ev.SessionOpened():
                self.session_id, self.workspace = event.session_id, event.workspace
                self.folder, self.worktree = event.folder, event.worktree
                self.purpose, self.opened_at = event.purpose, event.at
                self.task, self.instructions = event.task, event.instructions
                self.model, self.approval, self.sandbox = event.model, event.approval, event.sandbox
            case ev.FolderAccepted(folder=folder):
                self.folder = folder
            case ev.SessionRenamed(title=title, is_generated=is_generated):
                self.title, self.is_title_given = title, not is_generated
            case ev.SessionForked(source=source):
                self.forked_from = source
                self.agent_sessions, self.heard = (), {}
            case ev.AgentSessionOpened():
                self._note_agent_session(event)
            case ev.AgentOptionSet(agent=agent, option_id=option_id, value=value):
                others = {name: kept for name, kept in self.agent_options.get(agent, {}).items() if name != option_id}
                self.agent_options = self.agent_options | {agent: others | {option_id: value}}
            case ev.AgentReported():
                self.reported = event
            case ev.Rewound(scope=scope) if scope != "files":
                self.agent_sessions, self.heard = (), {}
            case ev.SessionArchived(is_archived=is_archived):
                self.is_archived = is_archived
            case ev.SessionPinned(is_pinned=is_pinned):
                self.is_pinned = is_pinned
            case ev.ModeSet():
                self.model, self.approval, self.sandbox = event.model, event.approval, event.sandbox
                self.is_planning = event.is_planning
            case ev.TurnStarted(model=model):
                self.model = model
                self._hear()
            case ev.PromptSubmitted(text=text):
                self.title = self.title or first_line(text)
                self.asked = (*self.asked, beginning_of(text))
            case ev.Steered(text=text):
                self.asked = (*self.asked, beginning_of(text))
                self._hear()
            case ev.JobsReported(jobs=jobs):
                self.jobs = jobs
            case ev.RulesReported(rules=rules):
                self.rules = rules
            case _:
                pass

    def _note_agent_session(self, event: ev.AgentSessionOpened) -> None:
        """Note the session, and what was said in it before the present turn."""
        known = AgentSession(
            agent=event.agent, id=event.agent_session, kind=event.kind, through_turn=event.through_turn
        )
        before = next((one.agent for one in self.agent_sessions if one.id == known.id), None)
        others = (one for one in self.agent_sessions if known.id != one.id and known.agent != one.agent)
        self.agent_sessions = (*others, known)
        if not known.agent:
            self.heard = self.heard | {"": self.asked}
            return
        earlier = self.heard.get(before, ()) if before is not None else ()
        earlier = earlier[:-1] if before == known.agent else earlier
        said = (beginning_of(one.prompt) for one in event.said)
        self.heard = self.heard | {known.agent: (*earlier, *said, *self.heard.get(known.agent, ())[-1:])}

    def _hear(self) -> None:
        if self.model is not None and self.model.is_agent:
            heard = self.heard.get(self.model.model, ())
            self.heard = self.heard | {self.model.model: (*heard, *self.asked[-1:])}


_BEGINNING = 200


def beginning_of(text: str) -> str:
    """Return as much of what the user said as is needed to recognise it."""
    return text.strip()[:_BEGINNING]


Status = Literal["idle", "working", "waiting"]

CUT = 2_000

TURN_EVENTS: Final = frozenset({
    ev.TurnStarted, ev.TurnEnded, ev.MessageDone, ev.Compacted, ev.ToolProgress, ev.ToolCallStarted,
    ev.ToolCallFinished, ev.SubagentEnded, ev.ApprovalRequested, ev.ApprovalResolved, ev.PromptSubmitted, ev.Steered,
    ev.Queued, ev.Unqueued, ev.UsageReported, ev.SessionForked, ev.PlanEdited, ev.PlanAccepted,
})  # fmt: skip
"""The events that `TurnState.apply` folds; it ignores all others."""


_FENCED_OR_STEP = regex(
    r"^ {0,3}(?P<fence>```|~~~).*?(?:^ {0,3}(?P=fence)|\Z)"
    r"|^(?P<head>[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[)(?P<mark>[ xX])(?P<tail>\][ \t]+)(?P<text>\S[^\n]*)",
    re.MULTILINE | re.DOTALL,
)
_MOST_STEPS = 100


def steps_of(plan: str) -> tuple[TodoItem, ...]:
    """Return the steps of a plan, its `- [ ] step`, as a to-do list with the ids 1, 2, 3 and so on."""
    found = [match for match in _FENCED_OR_STEP.finditer(plan) if match["text"]]
    return tuple(
        TodoItem(
            id=str(number), content=match["text"].strip(), status="pending" if match["mark"] == " " else "completed"
        )
        for number, match in enumerate(found[:_MOST_STEPS], 1)
    )


def with_ticks(plan: str, todos: Sequence[TodoItem]) -> str:
    """Tick the steps of a plan that are completed in the to-do list with the same words. Other text stays as it is."""
    statuses: dict[str, list[TodoStatus]] = {}
    for todo in reversed(todos):
        statuses.setdefault(todo.content.strip(), []).append(todo.status)

    def ticked(match: re.Match[str]) -> str:
        known = statuses.get((match["text"] or "").strip())
        mark = ("x" if known.pop() == "completed" else " ") if known else match["mark"]
        return f"{match['head']}{mark}{match['tail']}{match['text']}" if match["text"] else match[0]

    return _FENCED_OR_STEP.sub(ticked, plan)


class TurnState(Fold):
    todos: tuple[TodoItem, ...] = ()
    plan: str = ""
    """The plan that the agent wrote last, or as the user edited it; empty if there is none. Done steps are ticked."""
    plan_before: str = ""
    """The plan before `plan_turn`, with which the agent's last version is compared."""
    plan_turn: int | None = 0
    """The last turn in which the agent wrote the plan. `None` after it was accepted: the next one is another plan."""
    turn: int = 0
    is_running: bool = False
    last_end: ev.TurnEndReason | None = None
    activity: str = ""
    """Present activity beyond the entries, such as `writing edit_file (3.2 kB)`."""
    usage: Usage = field(default_factory=Usage)
    """The sum over all requests. Copied requests of a fork add no cost."""
    turn_usage: Usage = field(default_factory=Usage)
    cache_miss: CacheMiss | None = None
    mended: list[Flaw] = field(default_factory=list[Flaw])
    queued: list[QueuedPrompt] = field(default_factory=list[QueuedPrompt])
    """Prompts that wait for the running turn: first the steering ones, then the others, each group oldest first."""
    prompts: dict[int, str] = field(default_factory=dict[int, str])
    """The user's prompts by turn. Only the beginning of a long prompt on a page is kept."""
    cut_prompts: set[int] = field(default_factory=set[int])
    """The turns for which `prompts` has only the beginning of the prompt."""
    waiting: dict[CallId, ApprovalRequest] = field(default_factory=dict[CallId, ApprovalRequest])
    asked_at: dict[CallId, datetime] = field(default_factory=dict[CallId, datetime])
    ended_at: datetime | None = None
    behind: list[CallId] = field(default_factory=list[CallId])
    """The calls whose sub-agents work in the background."""

    @property
    def status(self) -> Status:
        if not self.is_running:
            return "idle"
        return "waiting" if self.waiting else "working"

    @property
    def is_working(self) -> bool:
        """Whether a turn does more than wait for answers. A server or sub-agent that asks may continue to work."""
        is_call_at_work = any(request.is_from_running_call for request in self.waiting.values())
        return self.is_running and (not self.waiting or is_call_at_work)

    @property
    def pending_approvals(self) -> list[ApprovalRequest]:
        return list(self.waiting.values()) if self.is_running else []

    def cut_prompt(self, turn: int, text: str) -> None:
        if len(text) > CUT:
            self.prompts[turn] = text[:CUT]
            self.cut_prompts.add(turn)

    def apply(self, event: ev.Event, *, is_known_call: bool) -> None:  # noqa: C901 - one vocabulary
        """Fold one event; `is_known_call` says whether the event's call exists."""
        match event:
            case ev.TurnStarted(turn=turn):
                self.turn, self.is_running, self.activity = turn, True, ""
                self._stop_steering()
                self.turn_usage, self.cache_miss = Usage(), None
            case ev.TurnEnded(reason=reason, at=at):
                self.is_running, self.last_end, self.activity = False, reason, ""
                self.ended_at = at
                self._stop_steering()
            case ev.MessageDone() | ev.Compacted():
                self.activity = ""
                self.mended += event.mended if isinstance(event, ev.MessageDone) else ()
            case ev.ToolProgress(message=message):
                self.activity = message
            case ev.ToolCallStarted(call=call):
                self._stop_waiting(call.id)
            case ev.ToolCallFinished(call_id=call_id, result=result) if is_known_call:
                if BACKGROUND_KEY in result.metadata:
                    self.behind.append(call_id)
                if (todos := todos_of(result)) is not None:
                    self.todos, self.plan = todos, with_ticks(self.plan, todos)
                if (plan := result.metadata.get("plan")) is not None:
                    self._write_plan(str(plan))
            case ev.SubagentEnded(call_id=call_id):
                self.behind = [one for one in self.behind if one != call_id]
            case ev.PlanEdited(text=text):
                self.plan = text
            case ev.PlanAccepted(text=text):
                self.plan, self.plan_turn, self.todos = text, None, steps_of(text) or self.todos
            case ev.ApprovalRequested(request=request, at=at) if is_known_call or request.spending is not None:
                self.waiting[request.call_id] = request
                self.asked_at[request.call_id] = at
            case ev.ApprovalResolved(call_id=call_id):
                self._stop_waiting(call_id)
            case ev.PromptSubmitted() | ev.Steered() | ev.Queued() | ev.Unqueued():
                self._ask(event)
            case ev.UsageReported():
                self._count(event)
            case ev.SessionForked():
                self.usage = self.usage.paid_elsewhere()
                self.turn_usage = self.turn_usage.paid_elsewhere()
            case _:
                pass

    def _write_plan(self, plan: str) -> None:
        if self.plan_turn != self.turn:
            self.plan_before, self.plan_turn = "" if self.plan_turn is None else self.plan, self.turn
        self.plan = plan

    def _stop_waiting(self, call_id: CallId) -> None:
        self.waiting.pop(call_id, None)
        self.asked_at.pop(call_id, None)

    def _count(self, event: ev.UsageReported) -> None:
        self.usage += event.usage
        if event.turn == self.turn:
            self.turn_usage += event.usage
            self.cache_miss = event.cache_miss or self.cache_miss

    def _stop_steering(self) -> None:
        self.queued = [replace(prompt, is_steering=False) for prompt in self.queued]

    def _ask(self, event: ev.PromptSubmitted | ev.Steered | ev.Queued | ev.Unqueued) -> None:
        self.queued = [prompt for prompt in self.queued if prompt.prompt_id != event.prompt_id]
        if isinstance(event, ev.Queued):
            prompt = QueuedPrompt(event.prompt_id, event.text, event.attachments, event.is_steering)
            places = [waiting.prompt_id for waiting in self.queued]
            self.queued.insert(places.index(event.before) if event.before in places else len(places), prompt)
            self.queued.sort(key=lambda waiting: not waiting.is_steering)
        elif isinstance(event, ev.PromptSubmitted):
            self.prompts[event.turn] = event.text
