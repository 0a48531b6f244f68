"""Folds the events of a session, and the states of the MCP servers, into spans and metrics.

Every name it exports is in `conventions`. Imports the SDK of OpenTelemetry, so it is only imported by `pipeline`.
"""

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
from desktop_agent.core.protocol.model import ApprovalRequest, Attachment, Denied, ModelRef, ToolResult, Usage
from desktop_agent.core.telemetry.conventions import (
    AGENT_NAME,
    AGENT_SPAN,
    APPROVAL_SPAN,
    AUTOMATIC,
    BATCH_SIZE,
    CACHE_READ_TOKENS,
    CACHE_WRITE_TOKENS,
    CALL_ARGUMENTS,
    CALL_ID,
    CALL_RESULT,
    CALL_SPAN,
    COMPACTION_SPAN,
    COMPACTIONS,
    CONTEXT_TOKENS,
    CONVERSATION,
    DECISION,
    DROPS,
    END_REASON,
    ERROR_TYPE,
    FINISH_REASONS,
    INPUT_MESSAGES,
    INPUT_TOKENS,
    MCP_FAILURES,
    MCP_FETCHES,
    MCP_METHOD,
    MCP_PROTOCOL,
    METRICS,
    MODEL,
    OPERATION,
    OTHER,
    OUTPUT_BYTES,
    OUTPUT_MESSAGES,
    OUTPUT_TOKENS,
    POLICY_PROMPTS,
    PROMPT_KIND,
    PROVIDER,
    PURPOSE,
    REQUEST_DURATION,
    REQUEST_SPAN,
    REQUESTS,
    RESPONSE_ID,
    SERVER,
    SERVER_SPAN,
    SERVICE_NAME,
    TOKEN_TYPE,
    TOKEN_USAGE,
    TOKENS,
    TOKENS_AFTER,
    TOKENS_BEFORE,
    TOOL_CALLS,
    TOOL_DURATION,
    TOOL_ERRORS,
    TOOL_NAME,
    TOOL_OUTPUT,
    TOOL_SOURCE,
    TOOL_TYPE,
    TRUNCATED,
    TURN,
    TURN_DURATION,
    MetricForm,
    provider_name,
)
from desktop_agent.core.telemetry.telemetry import Contents, SessionFacts
from desktop_agent.core.tools.tool import SKIPPED_KEY, STOPPED_KEY

Labels = Mapping[str, str | bool]


class Instruments:
    """The metrics of a process, as `conventions` declares them."""

    def __init__(self, meter: Meter) -> None:
        forms = {kind: [form for form in METRICS if form.kind == kind] for kind in ("counter", "histogram", "gauge")}
        self._counters = {form.name: meter.create_counter(form.name, form.unit, form.text) for form in forms["counter"]}
        self._histograms = {
            form.name: meter.create_histogram(
                form.name, form.unit, form.text, explicit_bucket_boundaries_advisory=form.buckets
            )
            for form in forms["histogram"]
        }
        self._gauges = {form.name: meter.create_gauge(form.name, form.unit, form.text) for form in forms["gauge"]}

    def count(self, form: MetricForm, labels: Labels, amount: int = 1) -> None:
        self._counters[form.name].add(amount, labels)

    def measure(self, form: MetricForm, labels: Labels, value: float) -> None:
        self._histograms[form.name].record(value, labels)

    def set(self, form: MetricForm, value: int) -> None:
        self._gauges[form.name].set(value)


Attributes = Mapping[str, str | bool | int | float | tuple[str, ...]]


class SessionTrace:
    """The spans of one session, timed by its clock. A span with nothing above it is a trace of its own."""

    def __init__(self, tracer: Tracer, facts: SessionFacts) -> None:
        self._tracer = tracer
        self._facts = facts
        self.turn: Span | None = None
        """The span of the turn that runs."""
        self.compaction: Span | None = None
        """The span of the summary that is made."""
        self._open: dict[Span, None] = {}

    def now_ns(self) -> int:
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
        for span in reversed(tuple(self._open)):
            self.end(span, {})
        self.turn = self.compaction = None


_GOOD_ENDS: frozenset[ev.TurnEndReason] = frozenset(
    {"completed", "max_turns", "limit", "approval_required", "interrupted"}
)
"""The others are failures."""


class TurnFold:
    """The span of a turn, and how long turns take."""

    def __init__(self, trace: SessionTrace, instruments: Instruments, contents: Contents | None) -> None:
        self._trace = trace
        self._instruments = instruments
        self._contents = contents
        self._prompt = ""

    def apply(self, event: ev.Event) -> None:
        match event:
            case ev.PromptSubmitted(text=text):
                self._prompt = text if self._contents is not None else ""
            case ev.TurnStarted():
                self._start(event)
            case ev.TurnEnded():
                self._end(event)
            case _:
                pass

    def _start(self, event: ev.TurnStarted) -> None:
        if self._trace.turn is not None:  # its end could not be written
            self._trace.end(self._trace.turn, {})
        attributes: Attributes = {
            OPERATION: AGENT_SPAN,
            AGENT_NAME: SERVICE_NAME,
            PROVIDER: provider_name(event.model.provider),
            MODEL: event.model.model,
            TURN: event.turn,
        }
        if self._contents is not None:
            attributes = {**attributes, INPUT_MESSAGES: self._contents.prompt(self._prompt)}
        self._trace.turn = self._trace.start(f"{AGENT_SPAN} {SERVICE_NAME}", attributes)

    def _end(self, event: ev.TurnEnded) -> None:
        self._instruments.measure(TURN_DURATION, {"reason": event.reason}, event.duration_s)
        if self._trace.turn is None:
            return
        error = "" if event.reason in _GOOD_ENDS else event.reason
        self._trace.end(self._trace.turn, {END_REASON: event.reason, REQUESTS: event.requests}, error=error)
        self._trace.turn = None


class RequestFold:
    """The spans of requests to models, one for each try, and what they take."""

    def __init__(self, trace: SessionTrace, instruments: Instruments, contents: Contents | None) -> None:
        self._trace = trace
        self._instruments = instruments
        self._contents = contents
        self._open: dict[str, tuple[Span, int]] = {}
        self._answered: tuple[Span, int] | None = None
        """The request of the turn that was answered, and when: its span waits for the message on record."""

    def apply(self, event: ev.Event) -> None:
        match event:
            case ev.ModelRequestReported(state="sent"):
                self._send(event)
            case ev.ModelRequestReported():
                self._end(event)
            case ev.MessageDone() if self._answered is not None:
                span, ended_ns = self._answered
                self._answered = None
                said: Attributes = {OUTPUT_MESSAGES: self._contents.answer(event.content)} if self._contents else {}
                self._trace.end(span, said, at_ns=ended_ns)
            case _:
                pass

    def _send(self, event: ev.ModelRequestReported) -> None:
        begun_ns = self._trace.now_ns()
        attributes = {**_labels(event.model), TURN: event.turn, PURPOSE: event.purpose}
        name = f"{REQUEST_SPAN} {event.model.model}"
        # A title is made after the turn that it is for, and so is under nothing.
        under = (self._trace.compaction if event.purpose == "summary" else None) or self._trace.turn
        span = self._trace.start(name, attributes, under=under, kind=SpanKind.CLIENT, at_ns=begun_ns)
        self._open[event.request_id] = (span, begun_ns)

    def _end(self, event: ev.ModelRequestReported) -> None:
        if (begun := self._open.pop(event.request_id, None)) is None:
            return
        span, begun_ns = begun
        ended_ns = self._trace.now_ns()
        error = event.fault or "" if event.state == "failed" else ""
        labels = _labels(event.model) | {PURPOSE: event.purpose} | ({ERROR_TYPE: error} if error else {})
        self._instruments.measure(REQUEST_DURATION, labels, (ended_ns - begun_ns) / 1e9)
        attributes: Attributes = {}
        if event.usage is not None:
            self._count(event.model, event.usage)
            attributes = {
                RESPONSE_ID: event.message_id,
                FINISH_REASONS: (event.stop_reason or "",),
                INPUT_TOKENS: event.usage.all_input_tokens,
                OUTPUT_TOKENS: event.usage.output_tokens,
                CACHE_READ_TOKENS: event.usage.cache_read_tokens,
                CACHE_WRITE_TOKENS: event.usage.cache_write_tokens,
            }
        if self._contents is not None and event.state == "answered" and event.purpose == "turn":
            for name, value in attributes.items():
                span.set_attribute(name, value)
            self._answered = (span, ended_ns)
        else:
            self._trace.end(span, attributes, error=error, at_ns=ended_ns)

    def _count(self, model: ModelRef, usage: Usage) -> None:
        for kind, amount in (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cache_read", usage.cache_read_tokens),
            ("cache_write", usage.cache_write_tokens),
        ):
            if amount:
                self._instruments.count(TOKENS, {TOKEN_TYPE: kind, MODEL: model.model}, amount)
        for kind, amount in (("input", usage.all_input_tokens), ("output", usage.output_tokens)):
            self._instruments.measure(TOKEN_USAGE, _labels(model) | {TOKEN_TYPE: kind}, amount)


def _labels(model: ModelRef) -> dict[str, str]:
    return {OPERATION: REQUEST_SPAN, PROVIDER: provider_name(model.provider), MODEL: model.model}


CALL_METHOD = "tools/call"
_BROKEN = ("recoverable", "fatal", "cancelled")
"""What of an MCP server's calls counts as a failure of the server."""


class _OpenCall(Struct, frozen=True):
    span: Span
    tool: str
    is_external: bool


class CallFold:
    """The spans and metrics of tool calls, also of those that were refused, stopped or made up."""

    def __init__(
        self, trace: SessionTrace, instruments: Instruments, contents: Contents | None, facts: SessionFacts
    ) -> None:
        self._trace = trace
        self._instruments = instruments
        self._contents = contents
        self._facts = facts
        self._open: dict[CallId, _OpenCall] = {}
        self._denied: set[CallId] = set()
        self._batch = 0
        """How many calls were taken up since none was open."""

    def span_of(self, call_id: CallId) -> Span | None:
        call = self._open.get(call_id)
        return call.span if call is not None else None

    def apply(self, event: ev.Event) -> None:
        match event:
            case ev.ToolCallStarted():
                self._start(event)
            case ev.ToolCallFinished():
                self._finish(event)
            case ev.ApprovalResolved(call_id=call_id, decision=Denied()):
                self._denied.add(call_id)
            case _:
                pass

    def _start(self, event: ev.ToolCallStarted) -> None:
        tool = event.call.name if self._facts.is_tool(event.call.name) else OTHER
        is_external = event.source == "external"
        attributes: Attributes = {
            OPERATION: CALL_SPAN,
            TOOL_NAME: tool,
            TOOL_TYPE: "extension" if is_external else "function",
            CALL_ID: event.call.id,
            TURN: event.turn,
            TOOL_SOURCE: event.source,
        }
        if is_external:
            attributes = {**attributes, MCP_METHOD: CALL_METHOD}
        if self._contents is not None:
            attributes = {**attributes, CALL_ARGUMENTS: self._contents.arguments(event.call.arguments)}
        span = self._trace.start(f"{CALL_SPAN} {tool}", attributes, under=self._trace.turn)
        self._open[event.call.id] = _OpenCall(span, tool, is_external)
        self._batch += 1

    def _finish(self, event: ev.ToolCallFinished) -> None:
        """Count a call. One that an earlier process took up has no span here."""
        call = self._open.pop(event.call_id, None)
        tool, result = call.tool if call is not None else OTHER, event.result
        error = self._error_type(event)
        self._instruments.count(TOOL_CALLS, {"tool": tool})
        if error:
            self._instruments.count(TOOL_ERRORS, {"tool": tool, "error_type": error})
            if call is not None and call.is_external and error in _BROKEN:
                self._instruments.count(MCP_FAILURES, {MCP_METHOD: CALL_METHOD})
        size, is_truncated = _size(result), _is_truncated(result)
        if error != "skipped":
            self._instruments.measure(TOOL_DURATION, {"tool": tool, "success": not error}, event.duration_s)
            self._instruments.measure(TOOL_OUTPUT, {"tool": tool, "truncated": is_truncated}, size)
        if call is None:
            return
        attributes: Attributes = {OUTPUT_BYTES: size, TRUNCATED: is_truncated}
        if self._contents is not None:
            attributes = {**attributes, CALL_RESULT: self._contents.text(result.content)}
        self._trace.end(call.span, attributes, error=error)
        if not self._open:
            if error != "skipped":  # those are answered one by one, and nothing ran
                self._instruments.measure(BATCH_SIZE, {}, self._batch)
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


def _size(result: ToolResult) -> int:
    if result.output is not None:
        return result.output.size
    text = result.content
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _is_truncated(result: ToolResult) -> bool:
    return result.output is not None or result.metadata.get("truncated") is True


class ApprovalFold:
    """The spans of questions to the user, and how they were answered."""

    def __init__(
        self, trace: SessionTrace, instruments: Instruments, span_of_call: Callable[[CallId], Span | None]
    ) -> None:
        self._trace = trace
        self._instruments = instruments
        self._span_of_call = span_of_call
        self._open: dict[CallId, tuple[Span, str]] = {}

    def apply(self, event: ev.Event) -> None:
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


class ContextFold:
    """The spans of compactions, how full the context is, and what the model no longer sees."""

    def __init__(self, trace: SessionTrace, instruments: Instruments) -> None:
        self._trace = trace
        self._instruments = instruments
        self._summarised_ns: int | None = None
        """When the summary was there, or not to be had."""

    def apply(self, event: ev.Event) -> None:
        match event:
            case ev.ContextMeasured(use=use):
                self._instruments.set(CONTEXT_TOKENS, use.tokens)
            case ev.ToolProgress(call_id="", name="compact", message=""):
                self._summarised_ns = self._trace.now_ns()
            case ev.ToolProgress(call_id="", name="compact"):
                self._give_up()
                self._trace.compaction = self._trace.start(COMPACTION_SPAN, {}, under=self._trace.turn)
            case ev.Compacted():
                self._compacted(event)
            case ev.TurnStarted() | ev.TurnEnded():
                self._give_up()
            case ev.Unpinned(is_expired=True):
                self._instruments.count(DROPS, {"kind": "pin"})
            case _:
                pass

    def close(self) -> None:
        self._give_up()

    def _compacted(self, event: ev.Compacted) -> None:
        self._instruments.count(COMPACTIONS, {"automatic": event.is_automatic, "success": True})
        if event.shortened:
            self._instruments.count(DROPS, {"kind": "result"}, len(event.shortened))
        span = self._trace.compaction or self._trace.start(COMPACTION_SPAN, {}, under=self._trace.turn)
        self._trace.compaction = self._summarised_ns = None
        facts = {AUTOMATIC: event.is_automatic, TOKENS_BEFORE: event.tokens_before, TOKENS_AFTER: event.tokens_after}
        self._trace.end(span, facts)

    def _give_up(self) -> None:
        """End a compaction that came to nothing."""
        if self._trace.compaction is not None:
            self._instruments.count(COMPACTIONS, {"automatic": self._trace.turn is not None, "success": False})
            self._trace.end(self._trace.compaction, {}, error="no_summary", at_ns=self._summarised_ns)
        self._trace.compaction = self._summarised_ns = None


START_METHOD = "initialize"
LIST_METHOD = "tools/list"
READ_METHOD = "resources/read"
_NOT_FETCHED = "mention"
"""The code of the notice about a resource that was not to be had."""


class ServerWatch:
    """The starts of MCP servers, which belong to the process: their states are no events of a session."""

    def __init__(self, tracer: Tracer, instruments: Instruments) -> None:
        self._tracer = tracer
        self._instruments = instruments
        self._before: dict[str, ServerStatus] = {}
        self._starting: dict[str, Span] = {}

    def changed(self, status: ServerStatus) -> None:
        before = self._before.get(status.name)
        self._before[status.name] = status
        if before is not None and before.state == status.state:
            if status.state == "ready" and before.tools is not status.tools:
                self._instruments.count(MCP_FETCHES, {MCP_METHOD: LIST_METHOD})
            return
        match status.state:
            case "starting":
                self._start(status)
            case "ready":
                protocol = {MCP_PROTOCOL: status.facts.protocol} if status.facts is not None else {}
                self._end(status.name, protocol)
                self._instruments.count(MCP_FETCHES, {MCP_METHOD: LIST_METHOD})
            case "failed" | "resting":
                self._end(status.name, {}, error="server")
                self._instruments.count(MCP_FAILURES, {MCP_METHOD: START_METHOD})
            case "idle":
                self._end(status.name, {})

    def close(self) -> None:
        for name in tuple(self._starting):
            self._end(name, {})

    def _start(self, status: ServerStatus) -> None:
        self._end(status.name, {})  # another one of this name, in another folder
        attributes = {MCP_METHOD: START_METHOD, SERVER: status.name}
        self._starting[status.name] = self._tracer.start_span(
            SERVER_SPAN, context=Context(), kind=SpanKind.CLIENT, attributes=attributes, start_time=time.time_ns()
        )

    def _end(self, name: str, attributes: dict[str, str], *, error: str = "") -> None:
        span = self._starting.pop(name, None)
        if span is None:
            return
        for key, value in attributes.items():
            span.set_attribute(key, value)
        if error:
            span.set_attribute(ERROR_TYPE, error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(time.time_ns())


class MentionFold:
    """How often resources of MCP servers were mentioned in prompts, and could not be fetched."""

    def __init__(self, instruments: Instruments) -> None:
        self._instruments = instruments
        self._queued: set[PromptId] = set()

    def apply(self, event: ev.Event) -> None:
        match event:
            case ev.Queued(prompt_id=prompt_id, attachments=attachments) if prompt_id not in self._queued:
                self._queued.add(prompt_id)
                self._count(attachments)
            case (
                ev.PromptSubmitted(prompt_id=prompt_id, attachments=attachments)
                | ev.Steered(prompt_id=prompt_id, attachments=attachments)
            ):
                if prompt_id not in self._queued:  # else they were counted when they came
                    self._count(attachments)
                self._queued.discard(prompt_id)
            case ev.Notice(code=code) if code == _NOT_FETCHED:
                self._instruments.count(MCP_FAILURES, {MCP_METHOD: READ_METHOD})
            case _:
                pass

    def _count(self, attachments: tuple[Attachment, ...]) -> None:
        if attachments:
            self._instruments.count(MCP_FETCHES, {MCP_METHOD: READ_METHOD}, len(attachments))


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
        if isinstance(event, _IGNORED):
            return
        for step in self._steps:
            step(event)

    def close(self) -> None:
        self._context.close()
        self._trace.close()
