"""Folds the events of a session, and the states of the MCP servers, into spans and metrics. Imports OpenTelemetry.

First come all names that are exported. Those that begin with `gen_ai.`, `mcp.` and `error.` are OpenTelemetry's:
https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai
"""

import time
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct
from opentelemetry.context import Context
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, SpanKind, Tracer, set_span_in_context
from opentelemetry.trace.status import Status, StatusCode

from desktop_agent.core.base.ids import CallId, PromptId
from desktop_agent.core.mcp.server_status import ServerStatus
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalRequest, ContextUse, Denied, ModelRef, ToolResult, Usage
from desktop_agent.core.telemetry.telemetry import Contents, Health, SessionFacts, quiet
from desktop_agent.core.tools.tool import SKIPPED_KEY, STOPPED_KEY

CONVENTIONS_VERSION = "1.41.0"
"""The last version with GenAI in it: ADR 20."""
SCHEMA_URL = f"https://opentelemetry.io/schemas/{CONVENTIONS_VERSION}"

SERVICE_NAME = "desktop-agent"
SCOPE = "desktop_agent"

OTHER = "_OTHER"
"""Exported instead of the name of a tool that does not exist, which could be anything."""

OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
AGENT_NAME = "gen_ai.agent.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
RESPONSE_ID = "gen_ai.response.id"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - of a model
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
ERROR_TYPE = "error.type"
MCP_METHOD = "mcp.method.name"
MCP_PROTOCOL = "mcp.protocol.version"

INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_RESULT = "gen_ai.tool.call.result"
CONTENTS = frozenset({INPUT_MESSAGES, OUTPUT_MESSAGES, CALL_ARGUMENTS, CALL_RESULT})
"""The attributes with contents, which are exported only if the user asked for them."""

TURN = "desktop_agent.turn"
END_REASON = "desktop_agent.turn.end_reason"
REQUESTS = "desktop_agent.turn.requests"
PURPOSE = "desktop_agent.request.purpose"
TOOL_SOURCE = "desktop_agent.tool.source"
OUTPUT_BYTES = "desktop_agent.tool.output_bytes"
TRUNCATED = "desktop_agent.tool.truncated"
PROMPT_KIND = "desktop_agent.approval.kind"
DECISION = "desktop_agent.approval.decision"
AUTOMATIC = "desktop_agent.compaction.automatic"
TOKENS_BEFORE = "desktop_agent.compaction.tokens_before"
TOKENS_AFTER = "desktop_agent.compaction.tokens_after"
SERVER = "desktop_agent.mcp.server"

AGENT_SPAN = "invoke_agent"
REQUEST_SPAN = "chat"
CALL_SPAN = "execute_tool"
APPROVAL_SPAN = "approval"
COMPACTION_SPAN = "compaction"
SERVER_SPAN = "initialize"

MetricKind = Literal["counter", "histogram", "gauge"]


class MetricForm(Struct, frozen=True):
    name: str
    kind: MetricKind
    unit: str
    text: str
    attributes: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


_SHORT_S = (0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_LONG_S = (1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
_REQUEST_S = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_BYTES = (0, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 16777216)
_CALLS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)

METRICS = (
    TOOL_DURATION := MetricForm(
        "tool_duration_seconds", "histogram", "s",
        "how long calls took, without waiting for the user", ("tool", "success"), _SHORT_S,
    ),
    TOOL_CALLS := MetricForm(
        "tool_calls_total", "counter", "{call}", "calls, whatever became of them", ("tool",)
    ),
    TOOL_ERRORS := MetricForm(
        "tool_errors_total", "counter", "{call}",
        "calls that failed, were refused, stopped or not run", ("tool", "error_type"),
    ),
    TOOL_OUTPUT := MetricForm(
        "tool_output_bytes", "histogram", "By", "how much calls returned, all of it", ("tool", "truncated"), _BYTES
    ),
    BATCH_SIZE := MetricForm(
        "parallel_batch_size", "histogram", "{call}", "how many calls ran side by side", buckets=_CALLS
    ),
    TURN_DURATION := MetricForm(
        "turn_duration_seconds", "histogram", "s", "how long turns took", ("reason",), _LONG_S
    ),
    CONTEXT_TOKENS := MetricForm(
        "context_tokens", "gauge", "{token}", "how much the next request takes, as measured last"
    ),
    TOKENS := MetricForm(
        "tokens_total", "counter", "{token}",
        "tokens that were paid for; `input` is what came from no cache", (TOKEN_TYPE, MODEL),
    ),
    COMPACTIONS := MetricForm(
        "compactions_total", "counter", "{compaction}", "summaries of conversations", ("automatic", "success")
    ),
    DROPS := MetricForm(
        "context_drops_total", "counter", "{item}",
        "what the model no longer sees whole: results that were shortened, pins whose time was over", ("kind",),
    ),
    POLICY_PROMPTS := MetricForm(
        "policy_prompts_total", "counter", "{prompt}", "questions to the user, with their answer", ("kind", "decision")
    ),
    MCP_FETCHES := MetricForm(
        "mcp_fetches_total", "counter", "{fetch}",
        "lists of tools and resources that came from MCP servers", (MCP_METHOD,),
    ),
    MCP_FAILURES := MetricForm(
        "mcp_failures_total", "counter", "{failure}",
        "servers that did not start or broke off, resources that could not be fetched, calls that failed",
        (MCP_METHOD,),
    ),
    TOKEN_USAGE := MetricForm(
        "gen_ai.client.token.usage", "histogram", "{token}",
        "tokens of each request; `input` has those from a cache", (OPERATION, PROVIDER, MODEL, TOKEN_TYPE), _TOKENS,
    ),
    REQUEST_DURATION := MetricForm(
        "gen_ai.client.operation.duration", "histogram", "s",
        "how long each try of a request took", (OPERATION, PROVIDER, MODEL, PURPOSE, ERROR_TYPE), _REQUEST_S,
    ),
)  # fmt: skip

_PROVIDERS: Mapping[str, str] = {"openai-chat": "openai", "xai": "x_ai"}


def provider_name(provider: str) -> str:
    return _PROVIDERS.get(provider, provider)


Labels = Mapping[str, str | bool]
Attributes = Mapping[str, str | bool | int | float | tuple[str, ...]]


class Instruments:
    def __init__(self, meter: Meter) -> None:
        self._records: dict[str, Callable[[float, Labels], None]] = {}
        for form in METRICS:
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

    def record(self, form: MetricForm, labels: Labels, value: float = 1) -> None:
        self._records[form.name](value, labels)


def end_span(span: Span, attributes: Attributes, error: str, at_ns: int) -> None:
    """End a span. `error` is a word for the kind of the error, never its message."""
    span.set_attributes(attributes)
    if error:
        span.set_attribute(ERROR_TYPE, error)
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
                self._record(MCP_FAILURES, {MCP_METHOD: READ_METHOD})
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
                said: Attributes = {OUTPUT_MESSAGES: self._contents.answer(content)} if self._contents else {}
                self._end(span, said, at_ns=ended_ns)
            case ev.ToolCallStarted():
                self._start_call(event)
            case ev.ToolCallFinished():
                self._finish_call(event)
            case ev.ApprovalRequested(turn=turn, request=request):
                call, kind = self._calls.get(request.call_id), _kind(request)
                under = call.span if call is not None else self._turn
                span = self._start(APPROVAL_SPAN, {TURN: turn, PROMPT_KIND: kind}, under=under)
                self._approvals[request.call_id] = (span, kind)
            case ev.ApprovalResolved(call_id=call_id, decision=decision):
                if isinstance(decision, Denied):
                    self._denied.add(call_id)
                span, kind = self._approvals.pop(call_id, (None, "call"))
                self._record(POLICY_PROMPTS, {"kind": kind, "decision": decision.outcome})
                if span is not None:
                    self._end(span, {DECISION: decision.outcome})
            case ev.ContextMeasured(use=ContextUse() as use):
                self._record(CONTEXT_TOKENS, {}, use.tokens)
            case ev.ToolProgress(call_id="", name="compact", message=""):
                self._summarised_ns = self._now_ns()
            case ev.ToolProgress(call_id="", name="compact"):
                self._give_up_compaction()
                self._compaction = self._start(COMPACTION_SPAN, {}, under=self._turn)
            case ev.Compacted():
                self._end_compaction(event)
            case ev.Unpinned(is_expired=True):
                self._record(DROPS, {"kind": "pin"})
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
            attributes={CONVERSATION: self._facts.session_id, **attributes},
            start_time=at_ns if at_ns is not None else self._now_ns(),
        )
        self._open[span] = None
        return span

    def _end(self, span: Span, attributes: Attributes, *, error: str = "", at_ns: int | None = None) -> None:
        end_span(span, attributes, error, at_ns if at_ns is not None else self._now_ns())
        self._open.pop(span, None)

    def _count_fetched(self, event: ev.PromptSubmitted | ev.Steered | ev.Queued) -> None:
        if event.prompt_id not in self._queued and event.attachments:
            self._record(MCP_FETCHES, {MCP_METHOD: READ_METHOD}, len(event.attachments))
        if isinstance(event, ev.Queued):
            self._queued.add(event.prompt_id)
        else:
            self._queued.discard(event.prompt_id)

    def _start_turn(self, event: ev.TurnStarted) -> None:
        if self._turn is not None:  # its end could not be written
            self._end(self._turn, {})
        attributes: Attributes = {
            OPERATION: AGENT_SPAN,
            AGENT_NAME: SERVICE_NAME,
            PROVIDER: provider_name(event.model.provider),
            MODEL: event.model.model,
            TURN: event.turn,
        }
        if self._contents is not None:
            attributes = {**attributes, INPUT_MESSAGES: self._contents.prompt(self._prompt)}
        self._turn = self._start(f"{AGENT_SPAN} {SERVICE_NAME}", attributes)

    def _end_turn(self, event: ev.TurnEnded) -> None:
        self._record(TURN_DURATION, {"reason": event.reason}, event.duration_s)
        if self._turn is None:
            return
        error = "" if event.reason in _GOOD_ENDS else event.reason
        attributes = {END_REASON: event.reason, REQUESTS: event.requests}
        self._end(self._turn, attributes, error=error)
        self._turn = None

    # -- requests to models: a span for each try --

    def _send_request(self, event: ev.ModelRequestReported) -> None:
        begun_ns = self._now_ns()
        attributes = {**_labels(event.model), TURN: event.turn, PURPOSE: event.purpose}
        name = f"{REQUEST_SPAN} {event.model.model}"
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
        labels = _labels(event.model) | {PURPOSE: event.purpose} | ({ERROR_TYPE: error} if error else {})
        self._record(REQUEST_DURATION, labels, (ended_ns - begun_ns) / 1e9)
        attributes: Attributes = {}
        if event.usage is not None:
            self._count_tokens(event.model, event.usage)
            attributes = {
                RESPONSE_ID: event.message_id,
                FINISH_REASONS: (event.stop_reason or "",),
                INPUT_TOKENS: event.usage.all_input_tokens,
                OUTPUT_TOKENS: event.usage.output_tokens,
                CACHE_READ_TOKENS: event.usage.cache_read_tokens,
                CACHE_WRITE_TOKENS: event.usage.cache_write_tokens,
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
                self._record(TOKENS, {TOKEN_TYPE: kind, MODEL: model.model}, amount)
        for kind, amount in (("input", usage.all_input_tokens), ("output", usage.output_tokens)):
            self._record(TOKEN_USAGE, _labels(model) | {TOKEN_TYPE: kind}, amount)

    # -- calls of tools, also those that were refused, stopped or made up; questions to the user --

    def _start_call(self, event: ev.ToolCallStarted) -> None:
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
        span = self._start(f"{CALL_SPAN} {tool}", attributes, under=self._turn)
        self._calls[event.call.id] = _OpenCall(span, tool, is_external)
        self._batch += 1

    def _finish_call(self, event: ev.ToolCallFinished) -> None:
        """Count a call, and end its span, unless an earlier process started it."""
        call = self._calls.pop(event.call_id, None)
        tool, result = call.tool if call is not None else OTHER, event.result
        error = self._error_type(event)
        self._record(TOOL_CALLS, {"tool": tool})
        if error:
            self._record(TOOL_ERRORS, {"tool": tool, "error_type": error})
            if call is not None and call.is_external and error in _BROKEN:
                self._record(MCP_FAILURES, {MCP_METHOD: CALL_METHOD})
        size = _size(result)
        is_truncated = result.output is not None or result.metadata.get("truncated") is True
        if error != "skipped":
            self._record(TOOL_DURATION, {"tool": tool, "success": not error}, event.duration_s)
            self._record(TOOL_OUTPUT, {"tool": tool, "truncated": is_truncated}, size)
        if call is None:
            return
        attributes: Attributes = {OUTPUT_BYTES: size, TRUNCATED: is_truncated}
        if self._contents is not None:
            attributes = {**attributes, CALL_RESULT: self._contents.text(result.content)}
        self._end(call.span, attributes, error=error)
        if not self._calls:
            if error != "skipped":  # those are answered one by one, and nothing ran
                self._record(BATCH_SIZE, {}, self._batch)
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
        self._record(COMPACTIONS, {"automatic": event.is_automatic, "success": True})
        if event.shortened:
            self._record(DROPS, {"kind": "result"}, len(event.shortened))
        span = self._compaction or self._start(COMPACTION_SPAN, {}, under=self._turn)
        self._compaction = self._summarised_ns = None
        facts = {
            AUTOMATIC: event.is_automatic,
            TOKENS_BEFORE: event.tokens_before,
            TOKENS_AFTER: event.tokens_after,
        }
        self._end(span, facts)

    def _give_up_compaction(self) -> None:
        if self._compaction is not None:
            self._record(COMPACTIONS, {"automatic": self._turn is not None, "success": False})
            self._end(self._compaction, {}, error="no_summary", at_ns=self._summarised_ns)
        self._compaction = self._summarised_ns = None


def _labels(model: ModelRef) -> dict[str, str]:
    return {
        OPERATION: REQUEST_SPAN,
        PROVIDER: provider_name(model.provider),
        MODEL: model.model,
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
                self._record(MCP_FETCHES, {MCP_METHOD: LIST_METHOD})
            return
        match status.state:
            case "starting":
                self._end(status.name, {})  # another one of this name, in another folder
                attributes = {MCP_METHOD: START_METHOD, SERVER: status.name}
                self._starting[status.name] = self._tracer.start_span(
                    SERVER_SPAN,
                    context=Context(),
                    kind=SpanKind.CLIENT,
                    attributes=attributes,
                    start_time=time.time_ns(),
                )
            case "ready":
                protocol = {MCP_PROTOCOL: status.facts.protocol} if status.facts is not None else {}
                self._end(status.name, protocol)
                self._record(MCP_FETCHES, {MCP_METHOD: LIST_METHOD})
            case "failed" | "resting":
                self._end(status.name, {}, error="server")
                self._record(MCP_FAILURES, {MCP_METHOD: START_METHOD})
            case "idle" | "waiting":
                self._end(status.name, {})

    def close(self) -> None:
        for name in tuple(self._starting):
            self._end(name, {})

    def _end(self, name: str, attributes: Attributes, *, error: str = "") -> None:
        if (span := self._starting.pop(name, None)) is not None:
            end_span(span, attributes, error, time.time_ns())
