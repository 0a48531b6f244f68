"""Folds the events of one session into spans and metrics."""

from collections.abc import Callable

from opentelemetry.trace import Tracer

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.telemetry.contents import Contents
from desktop_agent.core.telemetry.facts import SessionFacts
from desktop_agent.core.telemetry.sdk.approval_fold import ApprovalFold
from desktop_agent.core.telemetry.sdk.call_fold import CallFold
from desktop_agent.core.telemetry.sdk.context_fold import ContextFold
from desktop_agent.core.telemetry.sdk.instruments import Instruments
from desktop_agent.core.telemetry.sdk.request_fold import RequestFold
from desktop_agent.core.telemetry.sdk.server_watch import MentionFold
from desktop_agent.core.telemetry.sdk.session_trace import SessionTrace
from desktop_agent.core.telemetry.sdk.turn_fold import TurnFold

_IGNORED = (ev.TextDelta, ev.ThinkingDelta, ev.ToolOutputDelta)
"""What comes in great numbers."""


class EventFold:
    """All folds of a session, in the order in which they build on each other."""

    def __init__(
        self, tracer: Tracer, instruments: Instruments, contents: Contents | None, facts: SessionFacts
    ) -> None:
        """With `contents`, spans have what was said and done, masked and cut."""
        self._trace = SessionTrace(tracer, facts)
        calls = CallFold(self._trace, instruments, contents, facts)
        self._context = ContextFold(self._trace, instruments)
        requests = RequestFold(self._trace, instruments, contents)
        turns = TurnFold(self._trace, instruments, contents)
        approvals = ApprovalFold(self._trace, instruments, calls.span_of)
        # What belongs to a turn is ended before the turn is.
        folds = (calls, approvals, self._context, requests, MentionFold(instruments), turns)
        self._steps: tuple[Callable[[ev.Event], None], ...] = tuple(fold.apply for fold in folds)

    def apply(self, event: ev.Event) -> None:
        """Fold one event."""
        if isinstance(event, _IGNORED):
            return
        for step in self._steps:
            step(event)

    def close(self) -> None:
        """End what is open."""
        self._context.close()
        self._trace.close()
