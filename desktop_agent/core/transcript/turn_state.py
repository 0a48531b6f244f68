"""How far the turns are: what the user asked, what runs or waits, what it cost."""

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct, field, structs

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalRequest, CacheMiss, TodoItem, Usage
from desktop_agent.core.transcript.entries import QueuedPrompt
from desktop_agent.core.transcript.reading import todos_of

Status = Literal["idle", "working", "waiting"]

CUT = 2_000
"""How many characters of a prompt are kept when its entry goes to a page."""

TURN_EVENTS: Final = frozenset(
    (
        ev.TurnStarted,
        ev.TurnEnded,
        ev.MessageDone,
        ev.Compacted,
        ev.ToolProgress,
        ev.ToolCallStarted,
        ev.ToolCallFinished,
        ev.ApprovalRequested,
        ev.ApprovalResolved,
        ev.PromptSubmitted,
        ev.Steered,
        ev.Queued,
        ev.Unqueued,
        ev.UsageReported,
        ev.SessionForked,
    )
)
"""What `TurnState.apply` folds in; it does nothing with other events."""


class TurnState(Struct):
    """The fold of the turns. Only `apply` and `cut_prompt` change it."""

    todos: tuple[TodoItem, ...] = ()
    """The agent's plan as it last wrote it."""
    turn: int = 0
    """The number of the last turn; 0 before the first."""
    is_running: bool = False
    last_end: ev.TurnEndReason | None = None
    activity: str = ""
    """What happens right now beyond the entries: `writing edit_file (3.2 kB)`."""
    usage: Usage = field(default_factory=Usage)
    """Sum over all requests. What the copied ones of a fork cost is the other session's."""
    turn_usage: Usage = field(default_factory=Usage)
    """Sum over the requests of the last turn."""
    cache_miss: CacheMiss | None = None
    """The last one of the last turn."""
    queued: list[QueuedPrompt] = field(default_factory=list[QueuedPrompt])
    """Prompts that wait for the running turn: those that steer it first, the others oldest first."""
    prompts: dict[int, str] = field(default_factory=dict[int, str])
    """What the user asked, by turn. Of a long one on an earlier page only the beginning."""
    cut_prompts: set[int] = field(default_factory=set[int])
    """The turns of those."""
    waiting: dict[CallId, ApprovalRequest] = field(default_factory=dict[CallId, ApprovalRequest])
    """The questions without an answer, oldest first."""
    asked_at: dict[CallId, datetime] = field(default_factory=dict[CallId, datetime])
    """When those were asked."""
    ended_at: datetime | None = None
    """When the last turn ended that did."""

    @property
    def status(self) -> Status:
        """`waiting` when a running turn needs the user."""
        if not self.is_running:
            return "idle"
        return "waiting" if self.waiting else "working"

    @property
    def pending_approvals(self) -> list[ApprovalRequest]:
        """What waits for the user, oldest first."""
        return list(self.waiting.values()) if self.is_running else []

    def cut_prompt(self, turn: int, text: str) -> None:
        """Keep only the beginning of a prompt that is long."""
        if len(text) > CUT:
            self.prompts[turn] = text[:CUT]
            self.cut_prompts.add(turn)

    def copy(self) -> "TurnState":
        """Return the same for another fold."""
        return structs.replace(
            self,
            queued=list(self.queued),
            prompts=dict(self.prompts),
            cut_prompts=set(self.cut_prompts),
            waiting=dict(self.waiting),
            asked_at=dict(self.asked_at),
        )

    def apply(self, event: ev.Event, *, is_known_call: bool) -> None:
        """Fold one event in; `is_known_call` says whether there was the call that it is about."""
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
            case ev.ToolProgress(message=message):
                self.activity = message
            case ev.ToolCallStarted(call=call):
                self._stop_waiting(call.id)
            case ev.ToolCallFinished(result=result) if is_known_call:
                todos = todos_of(result)
                self.todos = self.todos if todos is None else todos
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

    def _stop_waiting(self, call_id: CallId) -> None:
        self.waiting.pop(call_id, None)
        self.asked_at.pop(call_id, None)

    def _count(self, event: ev.UsageReported) -> None:
        self.usage += event.usage
        if event.turn == self.turn:
            self.turn_usage += event.usage
            self.cache_miss = event.cache_miss or self.cache_miss

    def _stop_steering(self) -> None:
        """Let what was for a turn that is over wait like all others, in its place."""
        self.queued = [structs.replace(prompt, is_steering=False) for prompt in self.queued]

    def _ask(self, event: ev.PromptSubmitted | ev.Steered | ev.Queued | ev.Unqueued) -> None:
        self.queued = [prompt for prompt in self.queued if prompt.prompt_id != event.prompt_id]
        if isinstance(event, ev.Queued):
            prompt = QueuedPrompt(event.prompt_id, event.text, event.attachments, event.is_steering)
            places = [waiting.prompt_id for waiting in self.queued]
            self.queued.insert(places.index(event.before) if event.before in places else len(places), prompt)
            self.queued.sort(key=lambda waiting: not waiting.is_steering)
        elif isinstance(event, ev.PromptSubmitted):
            self.prompts[event.turn] = event.text
