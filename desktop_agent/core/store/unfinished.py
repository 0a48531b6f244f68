"""What a session has begun and not finished, read from its events. Recovery concludes it, and verify reports it."""

from datetime import datetime

from msgspec import Struct, field

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, ModelRef, ToolResult, ToolUseBlock
from desktop_agent.core.transcript.entries import BACKGROUND_KEY

_LOST = "The application ended before the sub-agent was done. Check what it has done before you rely on it."


class Unfinished(Struct):
    turn: int | None = None
    model: ModelRef | None = None
    requests: int = 0
    since: datetime | None = None
    """When the open turn began; `None` if there is none."""
    seen_at: datetime | None = None
    prepared: ev.ChangesPrepared | None = None
    calls: dict[CallId, ToolUseBlock] = field(default_factory=dict[CallId, ToolUseBlock])
    started: set[CallId] = field(default_factory=set[CallId])
    asked: dict[CallId, ApprovalRequest] = field(default_factory=dict[CallId, ApprovalRequest])
    """Approvals of unfinished calls, and whether the turn may spend more."""
    jobs: dict[CallId, ev.ChangesPrepared] = field(default_factory=dict[CallId, ev.ChangesPrepared])
    """Background commands whose final changes are not recorded yet. A turn can end while they run."""
    job_paths: dict[CallId, set[str]] = field(default_factory=dict[CallId, set[str]])
    background: set[CallId] = field(default_factory=set[CallId])
    """Calls with a result whose sub-agents still work."""
    acted: set[CallId] = field(default_factory=set[CallId])
    """Unfinished calls that were allowed to have an effect or had prepared changes."""

    @property
    def is_clean(self) -> bool:
        return self.turn is None and self.prepared is None and not self.calls

    @property
    def is_writing(self) -> bool:
        """Whether files may be half written. The next opening of the session checks them."""
        return self.prepared is not None or not self.jobs.keys().isdisjoint(self.calls)

    @property
    def is_waiting(self) -> bool:
        """Whether the open turn only waits for the user, so that asking again would repeat no action.

        Another program's agent goes on while it asks, and what it asks is over when it ends.
        """
        is_still = self.turn is not None and self.prepared is None and self._is_ours
        asked = {call_id for call_id, request in self.asked.items() if request.spending is None}
        return is_still and bool(self.asked) and asked <= self.calls.keys() - self.acted

    @property
    def worked_s(self) -> float:
        """The least time that the turn has worked, in seconds."""
        if self.since is None or self.seen_at is None:
            return 0.0
        return max(0.0, round((self.seen_at - self.since).total_seconds(), 3))

    @property
    def _is_ours(self) -> bool:
        return self.model is None or not self.model.is_agent

    def is_untouched(self, call_id: CallId) -> bool:
        """Whether the call has certainly not begun. Another program's agent begins before we record that it did."""
        is_waiting = call_id in self.asked and call_id not in self.acted
        return is_waiting or (self._is_ours and call_id not in self.started)

    def lost_subagents(self, turn: int) -> tuple[ev.SubagentEnded, ...]:
        """Return the ends of those that worked in the background when the application ended."""
        result = ToolResult(content=_LOST, is_error=True, error_type="recoverable")
        return tuple(
            ev.SubagentEnded(turn=turn, call_id=call_id, state="failed", result=result, duration_s=0.0)
            for call_id in sorted(self.background)
        )

    def apply(self, event: ev.Event) -> None:
        if self.turn is not None and isinstance(event, ev.DurableEvent) and event.at != ev.UNSTAMPED:
            self.seen_at = event.at
        match event:
            case ev.TurnStarted(turn=turn, model=model, at=at):
                self.turn, self.model, self.requests = turn, model, 0
                self.since = self.seen_at = at if at != ev.UNSTAMPED else None
            case ev.TurnEnded():
                self.turn = self.since = self.seen_at = None
            case ev.MessageDone(content=content, stop_reason=stop_reason):
                self.requests += stop_reason != "interrupted"
                self.calls |= {block.id: block for block in content if isinstance(block, ToolUseBlock)}
            case ev.ToolCallStarted(call=call):
                self.started.add(call.id)
            case ev.ToolCallFinished() | ev.SubagentEnded():
                self._answer(event)
            case ev.ApprovalRequested(request=request):
                self.asked[request.call_id] = request
                if request.is_from_running_call:
                    self.acted.add(request.call_id)
            case ev.ApprovalResolved(call_id=call_id, decision=decision):
                asked = self.asked.pop(call_id, None)
                if isinstance(decision, Allowed) and (asked is None or asked.spending is None):
                    self.acted.add(call_id)
            case ev.ChangesPrepared() | ev.ChangesRecorded() | ev.ChangesUndone() | ev.ChangesRedone():
                self._write(event)
            case _:
                pass

    def _answer(self, event: ev.ToolCallFinished | ev.SubagentEnded) -> None:
        call_id = event.call_id
        self.calls.pop(call_id, None)
        self.started.discard(call_id)
        self.acted.discard(call_id)
        if BACKGROUND_KEY in event.result.metadata:
            self.background.add(call_id)
        else:
            self.background.discard(call_id)
        self._conclude(call_id)

    def _write(self, event: ev.ChangesPrepared | ev.ChangesRecorded | ev.ChangesUndone | ev.ChangesRedone) -> None:
        match event:
            case ev.ChangesPrepared(call_id=call_id, is_background=True):
                self.jobs[call_id] = event
            case ev.ChangesPrepared(call_id=call_id):
                self.prepared = event
                self.acted.add(call_id)
            case ev.ChangesRecorded(call_id=call_id, changes=changes, is_last_look=is_last_look):
                if is_last_look:
                    self.jobs.pop(call_id, None)
                    self.job_paths.pop(call_id, None)
                elif call_id in self.jobs:
                    self.job_paths.setdefault(call_id, set()).update(change.path for change in changes)
                self._conclude(call_id)
            case _:
                self.prepared = None

    def _conclude(self, call_id: CallId) -> None:
        if self.prepared is not None and self.prepared.call_id == call_id:
            self.prepared = None
