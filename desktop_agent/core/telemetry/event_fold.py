"""Folds the events of a session, and the states of the MCP servers, into spans and metrics. Imports OpenTelemetry."""

import time
from collections.abc import Callable, Mapping

from msgspec import Struct
from opentelemetry.context import Context
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, SpanKind, Tracer, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from desktop_agent.core.base.ids import CallId, PromptId
from desktop_agent.core.mcp.server_status import ServerStatus
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalRequest, ContextUse, Denied, ModelRef, ToolResult, Usage
from desktop_agent.core.telemetry import conventions as otel
from desktop_agent.core.telemetry.telemetry import Contents, Health, SessionFacts, quiet
from desktop_agent.core.tools.tool import SKIPPED_KEY, STOPPED_KEY

Labels = Mapping[str, str | bool]
Attributes = Mapping[str, str | bool | int | float | tuple[str, ...]]


class Instruments:
    def __init__(self, meter: Meter) -> None:
        self._records: dict[str, Callable[[float, Labels], None]] = {}
        for form in otel.METRICS:
            name, unit, text = form.name, form.unit, form.text
            match form.kind:
                case "counter":
                    self._records[name] = meter.create_counter(name, unit, text).add
                case "histogram":
                    buckets = form.buckets
                    histogram = meter.create_histogram(name, unit, text, explicit_bucket_boundaries_advisory=buckets)
                    self._records[name] = histogram.record
                case "gauge":
                    self._records[name] = meter.create_gauge(name, unit, text).set

    def record(self, form: otel.MetricForm, labels: Labels, value: float = 1) -> None:
        self._records[form.name](value, labels)


def end_span(span: Span, attributes: Attributes, error: str, at_ns: int) -> None:
    """End a span. `error` is a word for the kind of the error, never its message."""
    span.set_attributes(attributes)
    if error:
        span.set_attribute(otel.ERROR_TYPE, error)
        span.set_status(Status(StatusCode.ERROR))
    span.end(at_ns)


_GOOD_ENDS: frozenset[ev.TurnEndReason] = frozenset(
    {"completed", "max_turns", "limit", "approval_required", "interrupted"}
)

CALL_METHOD = "tools/call"
START_METHOD = "initialize"
LIST_METHOD = "tools/list"
READ_METHOD = "resources/read"
_BROKEN = ("recoverable", "fatal", "cancelled")
"""Outcomes of calls to an MCP server that count as failures of the server."""
_FREQUENT = (ev.TextDelta, ev.ThinkingDelta, ev.ToolOutputDelta)


class _OpenCall(Struct, frozen=True):
    span: Span
    tool: str
    is_external: bool


class EventFold:
    """The spans and metrics of one session, timed by its clock. Spans in a turn end before the turn's span."""

    def __init__(
        self, tracer: Tracer, instruments: Instruments, contents: Contents | None, facts: SessionFacts, health: Health
    ) -> None:
        """If there are `contents`, spans include what was said and done, masked and cut."""
        self._tracer = tracer
        self._record = instruments.record
        self._contents = contents
        self._facts = facts
        self._health = health
        self._open: dict[Span, None] = {}
        self._turn: Span | None = None
        self._compaction: Span | None = None
        self._prompt = ""
        self._queued: set[PromptId] = set()
        self._requests: dict[str, tuple[Span, int]] = {}
        """The requests that are not answered yet, by id: the span of each, and when it was sent."""
        self._answered: tuple[Span, int] | None = None
        """The span of the turn's answered request, and when it was answered. It ends when the message is recorded."""
        self._calls: dict[CallId, _OpenCall] = {}
        self._batch = 0
        """How many calls have started since there last was no open call."""
        self._denied: set[CallId] = set()
        self._approvals: dict[CallId, tuple[Span, str]] = {}
        self._summarised_ns: int | None = None
        """When the summary was finished, or failed."""

    def apply(self, event: ev.Event) -> None:
        if not isinstance(event, _FREQUENT):
            with quiet(self._health):
                self._apply(event)

    def close(self) -> None:
        with quiet(self._health):
            self._give_up_compaction()
            for span in reversed(tuple(self._open)):
                self._end(span, {})

    def _apply(self, event: ev.Event) -> None:  # noqa: C901 - one case for each kind of event
        match event:
            case ev.PromptSubmitted(text=text):
                self._prompt = text if self._contents is not None else ""
                self._count_fetched(event)
            case ev.Steered() | ev.Queued():
                self._count_fetched(event)
            case ev.Notice(code="mention"):  # a resource that could not be fetched
                self._record(otel.MCP_FAILURES, {otel.MCP_METHOD: READ_METHOD})
            case ev.TurnStarted():
                self._give_up_compaction()
                self._start_turn(event)
            case ev.TurnEnded():
                self._give_up_compaction()
                self._end_turn(event)
            case ev.ModelRequestReported(state="sent"):
                self._send_request(event)
            case ev.ModelRequestReported():
                self._end_request(event)
            case ev.MessageDone(content=content) if self._answered is not None:
                span, ended_ns = self._answered
                self._answered = None
                said: Attributes = {otel.OUTPUT_MESSAGES: self._contents.answer(content)} if self._contents else {}
                self._end(span, said, at_ns=ended_ns)
            case ev.ToolCallStarted():
                self._start_call(event)
            case ev.ToolCallFinished():
                self._finish_call(event)
            case ev.ApprovalRequested(turn=turn, request=request):
                call, kind = self._calls.get(request.call_id), _kind(request)
                under = call.span if call is not None else self._turn
                span = self._start(otel.APPROVAL_SPAN, {otel.TURN: turn, otel.PROMPT_KIND: kind}, under=under)
                self._approvals[request.call_id] = (span, kind)
            case ev.ApprovalResolved(call_id=call_id, decision=decision):
                if isinstance(decision, Denied):
                    self._denied.add(call_id)
                span, kind = self._approvals.pop(call_id, (None, "call"))
                self._record(otel.POLICY_PROMPTS, {"kind": kind, "decision": decision.outcome})
                if span is not None:
                    self._end(span, {otel.DECISION: decision.outcome})
            case ev.ContextMeasured(use=ContextUse() as use):
                self._record(otel.CONTEXT_TOKENS, {}, use.tokens)
            case ev.ToolProgress(call_id="", name="compact", message=""):
                self._summarised_ns = self._now_ns()
            case ev.ToolProgress(call_id="", name="compact"):
                self._give_up_compaction()
                self._compaction = self._start(otel.COMPACTION_SPAN, {}, under=self._turn)
            case ev.Compacted():
                self._end_compaction(event)
            case ev.Unpinned(is_expired=True):
                self._record(otel.DROPS, {"kind": "pin"})
            case _:
                pass

    # -- spans: one without a parent is a trace of its own --

    def _now_ns(self) -> int:
        return round(self._facts.clock.now().timestamp() * 1e9)

    def _start(
        self,
        name: str,
        attributes: Attributes,
        *,
        under: Span | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        at_ns: int | None = None,
    ) -> Span:
        """Start a span. Its parent is `under`, never a span of other code in the process."""
        span = self._tracer.start_span(
            name,
            context=set_span_in_context(under, Context()) if under is not None else Context(),
            kind=kind,
            attributes={otel.CONVERSATION: self._facts.session_id, **attributes},
            start_time=at_ns if at_ns is not None else self._now_ns(),
        )
        self._open[span] = None
        return span

    def _end(self, span: Span, attributes: Attributes, *, error: str = "", at_ns: int | None = None) -> None:
        end_span(span, attributes, error, at_ns if at_ns is not None else self._now_ns())
        self._open.pop(span, None)

    def _count_fetched(self, event: ev.PromptSubmitted | ev.Steered | ev.Queued) -> None:
        if event.prompt_id not in self._queued and event.attachments:
            self._record(otel.MCP_FETCHES, {otel.MCP_METHOD: READ_METHOD}, len(event.attachments))
        if isinstance(event, ev.Queued):
            self._queued.add(event.prompt_id)
        else:
            self._queued.discard(event.prompt_id)

    def _start_turn(self, event: ev.TurnStarted) -> None:
        if self._turn is not None:  # its end could not be written
            self._end(self._turn, {})
        attributes: Attributes = {
            otel.OPERATION: otel.AGENT_SPAN,
            otel.AGENT_NAME: otel.SERVICE_NAME,
            otel.PROVIDER: otel.provider_name(event.model.provider),
            otel.MODEL: event.model.model,
            otel.TURN: event.turn,
        }
        if self._contents is not None:
            attributes = {**attributes, otel.INPUT_MESSAGES: self._contents.prompt(self._prompt)}
        self._turn = self._start(f"{otel.AGENT_SPAN} {otel.SERVICE_NAME}", attributes)

    def _end_turn(self, event: ev.TurnEnded) -> None:
        self._record(otel.TURN_DURATION, {"reason": event.reason}, event.duration_s)
        if self._turn is None:
            return
        error = "" if event.reason in _GOOD_ENDS else event.reason
        attributes = {otel.END_REASON: event.reason, otel.REQUESTS: event.requests}
        self._end(self._turn, attributes, error=error)
        self._turn = None

    # -- requests to models: a span for each try --

    def _send_request(self, event: ev.ModelRequestReported) -> None:
        begun_ns = self._now_ns()
        attributes = {**_labels(event.model), otel.TURN: event.turn, otel.PURPOSE: event.purpose}
        name = f"{otel.REQUEST_SPAN} {event.model.model}"
        # A title is made after the turn that it is for, so its span has no parent.
        under = (self._compaction if event.purpose == "summary" else None) or self._turn
        span = self._start(name, attributes, under=under, kind=SpanKind.CLIENT, at_ns=begun_ns)
        self._requests[event.request_id] = (span, begun_ns)

    def _end_request(self, event: ev.ModelRequestReported) -> None:
        if (begun := self._requests.pop(event.request_id, None)) is None:
            return
        span, begun_ns = begun
        ended_ns = self._now_ns()
        error = event.fault or "" if event.state == "failed" else ""
        labels = _labels(event.model) | {otel.PURPOSE: event.purpose} | ({otel.ERROR_TYPE: error} if error else {})
        self._record(otel.REQUEST_DURATION, labels, (ended_ns - begun_ns) / 1e9)
        attributes: Attributes = {}
        if event.usage is not None:
            self._count_tokens(event.model, event.usage)
            attributes = {
                otel.RESPONSE_ID: event.message_id,
                otel.FINISH_REASONS: (event.stop_reason or "",),
                otel.INPUT_TOKENS: event.usage.all_input_tokens,
                otel.OUTPUT_TOKENS: event.usage.output_tokens,
                otel.CACHE_READ_TOKENS: event.usage.cache_read_tokens,
                otel.CACHE_WRITE_TOKENS: event.usage.cache_write_tokens,
            }
        if self._contents is not None and event.state == "answered" and event.purpose == "turn":
            span.set_attributes(attributes)
            self._answered = (span, ended_ns)
        else:
            self._end(span, attributes, error=error, at_ns=ended_ns)

    def _count_tokens(self, model: ModelRef, usage: Usage) -> None:
        for kind, amount in (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cache_read", usage.cache_read_tokens),
            ("cache_write", usage.cache_write_tokens),
        ):
            if amount:
                self._record(otel.TOKENS, {otel.TOKEN_TYPE: kind, otel.MODEL: model.model}, amount)
        for kind, amount in (("input", usage.all_input_tokens), ("output", usage.output_tokens)):
            self._record(otel.TOKEN_USAGE, _labels(model) | {otel.TOKEN_TYPE: kind}, amount)

    # -- calls of tools, also those that were refused, stopped or made up; questions to the user --

    def _start_call(self, event: ev.ToolCallStarted) -> None:
        tool = event.call.name if self._facts.is_tool(event.call.name) else otel.OTHER
        is_external = event.source == "external"
        attributes: Attributes = {
            otel.OPERATION: otel.CALL_SPAN,
            otel.TOOL_NAME: tool,
            otel.TOOL_TYPE: "extension" if is_external else "function",
            otel.CALL_ID: event.call.id,
            otel.TURN: event.turn,
            otel.TOOL_SOURCE: event.source,
        }
        if is_external:
            attributes = {**attributes, otel.MCP_METHOD: CALL_METHOD}
        if self._contents is not None:
            attributes = {**attributes, otel.CALL_ARGUMENTS: self._contents.arguments(event.call.arguments)}
        span = self._start(f"{otel.CALL_SPAN} {tool}", attributes, under=self._turn)
        self._calls[event.call.id] = _OpenCall(span, tool, is_external)
        self._batch += 1

    def _finish_call(self, event: ev.ToolCallFinished) -> None:
        """Count a call, and end its span, unless an earlier process started it."""
        call = self._calls.pop(event.call_id, None)
        tool, result = call.tool if call is not None else otel.OTHER, event.result
        error = self._error_type(event)
        self._record(otel.TOOL_CALLS, {"tool": tool})
        if error:
            self._record(otel.TOOL_ERRORS, {"tool": tool, "error_type": error})
            if call is not None and call.is_external and error in _BROKEN:
                self._record(otel.MCP_FAILURES, {otel.MCP_METHOD: CALL_METHOD})
        size = _size(result)
        is_truncated = result.output is not None or result.metadata.get("truncated") is True
        if error != "skipped":
            self._record(otel.TOOL_DURATION, {"tool": tool, "success": not error}, event.duration_s)
            self._record(otel.TOOL_OUTPUT, {"tool": tool, "truncated": is_truncated}, size)
        if call is None:
            return
        attributes: Attributes = {otel.OUTPUT_BYTES: size, otel.TRUNCATED: is_truncated}
        if self._contents is not None:
            attributes = {**attributes, otel.CALL_RESULT: self._contents.text(result.content)}
        self._end(call.span, attributes, error=error)
        if not self._calls:
            if error != "skipped":  # those are answered one by one, and nothing ran
                self._record(otel.BATCH_SIZE, {}, self._batch)
            self._batch = 0

    def _error_type(self, event: ev.ToolCallFinished) -> str:
        is_denied = event.call_id in self._denied
        self._denied.discard(event.call_id)
        result = event.result
        if event.state == "completed":
            return ""
        if result.metadata.get(SKIPPED_KEY) is True:
            return "skipped"
        if result.metadata.get(STOPPED_KEY) is True:
            return "cancelled"
        if is_denied and result.error_type == "permission":
            return "denied"
        return result.error_type or "recoverable"

    def _end_compaction(self, event: ev.Compacted) -> None:
        self._record(otel.COMPACTIONS, {"automatic": event.is_automatic, "success": True})
        if event.shortened:
            self._record(otel.DROPS, {"kind": "result"}, len(event.shortened))
        span = self._compaction or self._start(otel.COMPACTION_SPAN, {}, under=self._turn)
        self._compaction = self._summarised_ns = None
        facts = {
            otel.AUTOMATIC: event.is_automatic,
            otel.TOKENS_BEFORE: event.tokens_before,
            otel.TOKENS_AFTER: event.tokens_after,
        }
        self._end(span, facts)

    def _give_up_compaction(self) -> None:
        if self._compaction is not None:
            self._record(otel.COMPACTIONS, {"automatic": self._turn is not None, "success": False})
            self._end(self._compaction, {}, error="no_summary", at_ns=self._summarised_ns)
        self._compaction = self._summarised_ns = None


def _labels(model: ModelRef) -> dict[str, str]:
    return {
        otel.OPERATION: otel.REQUEST_SPAN,
        otel.PROVIDER: otel.provider_name(model.provider),
        otel.MODEL: model.model,
    }


def _size(result: ToolResult) -> int:
    if result.output is not None:
        return result.output.size
    text = result.content
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _kind(request: ApprovalRequest) -> str:
    if request.spending is not None:
        return "spending"
    if request.question is not None:
        return "server_question"
    if request.tool_change is not None:
        return "tool_change"
    return "escalation" if request.is_escalation else "call"


class ServerWatch:
    """Records the starts of MCP servers, for which sessions have no events."""

    def __init__(self, tracer: Tracer, instruments: Instruments) -> None:
        self._tracer = tracer
        self._record = instruments.record
        self._before: dict[str, ServerStatus] = {}
        self._starting: dict[str, Span] = {}

    def changed(self, status: ServerStatus) -> None:
        before = self._before.get(status.name)
        self._before[status.name] = status
        if before is not None and before.state == status.state:
            if status.state == "ready" and before.tools is not status.tools:
                self._record(otel.MCP_FETCHES, {otel.MCP_METHOD: LIST_METHOD})
            return
        match status.state:
            case "starting":
                self._end(status.name, {})  # another one of this name, in another folder
                attributes = {otel.MCP_METHOD: START_METHOD, otel.SERVER: status.name}
                self._starting[status.name] = self._tracer.start_span(
                    otel.SERVER_SPAN,
                    context=Context(),
                    kind=SpanKind.CLIENT,
                    attributes=attributes,
                    start_time=time.time_ns(),
                )
            case "ready":
                protocol = {otel.MCP_PROTOCOL: status.facts.protocol} if status.facts is not None else {}
                self._end(status.name, protocol)
                self._record(otel.MCP_FETCHES, {otel.MCP_METHOD: LIST_METHOD})
            case "failed" | "resting":
                self._end(status.name, {}, error="server")
                self._record(otel.MCP_FAILURES, {otel.MCP_METHOD: START_METHOD})
            case "idle" | "waiting":
                self._end(status.name, {})

    def close(self) -> None:
        for name in tuple(self._starting):
            self._end(name, {})

    def _end(self, name: str, attributes: Attributes, *, error: str = "") -> None:
        if (span := self._starting.pop(name, None)) is not None:
            end_span(span, attributes, error, time.time_ns())
