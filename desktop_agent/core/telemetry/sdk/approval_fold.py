"""The spans of questions to the user, and how they were answered."""

from collections.abc import Callable

from opentelemetry.trace import Span

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalRequest
from desktop_agent.core.telemetry.conventions import APPROVAL_SPAN, DECISION, POLICY_PROMPTS, PROMPT_KIND, TURN
from desktop_agent.core.telemetry.sdk.instruments import Instruments
from desktop_agent.core.telemetry.sdk.session_trace import SessionTrace


class ApprovalFold:
    """Folds the questions of one session."""

    def __init__(
        self, trace: SessionTrace, instruments: Instruments, span_of_call: Callable[[CallId], Span | None]
    ) -> None:
        self._trace = trace
        self._instruments = instruments
        self._span_of_call = span_of_call
        self._open: dict[CallId, tuple[Span, str]] = {}

    def apply(self, event: ev.Event) -> None:
        """Fold one event."""
        match event:
            case ev.ApprovalRequested(turn=turn, request=request):
                under = self._span_of_call(request.call_id) or self._trace.turn
                kind = _kind(request)
                span = self._trace.start(APPROVAL_SPAN, {TURN: turn, PROMPT_KIND: kind}, under=under)
                self._open[request.call_id] = (span, kind)
            case ev.ApprovalResolved(call_id=call_id, decision=decision):
                span, kind = self._open.pop(call_id, (None, "call"))
                self._instruments.count(POLICY_PROMPTS, {"kind": kind, "decision": decision.outcome})
                if span is not None:
                    self._trace.end(span, {DECISION: decision.outcome})
            case _:
                pass


def _kind(request: ApprovalRequest) -> str:
    if request.spending is not None:
        return "spending"
    if request.question is not None:
        return "server_question"
    if request.tool_change is not None:
        return "tool_change"
    return "escalation" if request.is_escalation else "call"
