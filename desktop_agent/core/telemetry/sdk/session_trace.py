"""The spans of one session: started and ended at the times of its clock, each under the one it belongs to."""

from collections.abc import Mapping

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Tracer, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from desktop_agent.core.telemetry.conventions import CONVERSATION, ERROR_TYPE
from desktop_agent.core.telemetry.facts import SessionFacts

Attributes = Mapping[str, str | bool | int | float | tuple[str, ...]]


class SessionTrace:
    """Makes them. What nothing is above is a trace of its own."""

    def __init__(self, tracer: Tracer, facts: SessionFacts) -> None:
        self._tracer = tracer
        self._facts = facts
        self.turn: Span | None = None
        """The span of the turn that runs."""
        self.compaction: Span | None = None
        """The span of the summary that is made."""
        self._open: dict[Span, None] = {}

    def now_ns(self) -> int:
        """Return the time, in nanoseconds since 1970."""
        return round(self._facts.clock.now().timestamp() * 1e9)

    def start(
        self,
        name: str,
        attributes: Attributes,
        *,
        under: Span | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        at_ns: int | None = None,
    ) -> Span:
        """Start a span, now unless it began before. Never under what runs elsewhere in the process."""
        context = set_span_in_context(under, Context()) if under is not None else Context()
        span = self._tracer.start_span(
            name,
            context=context,
            kind=kind,
            attributes={CONVERSATION: self._facts.session_id, **attributes},
            start_time=at_ns if at_ns is not None else self.now_ns(),
        )
        self._open[span] = None
        return span

    def end(self, span: Span, attributes: Attributes, *, error: str = "", at_ns: int | None = None) -> None:
        """End a span, as a failure if there is an `error`: a word for its kind, never a message."""
        for name, value in attributes.items():
            span.set_attribute(name, value)
        if error:
            span.set_attribute(ERROR_TYPE, error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(at_ns if at_ns is not None else self.now_ns())
        self._open.pop(span, None)

    def close(self) -> None:
        """End what is open."""
        for span in reversed(tuple(self._open)):
            self.end(span, {})
        self.turn = self.compaction = None
