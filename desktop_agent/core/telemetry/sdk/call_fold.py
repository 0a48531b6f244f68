"""The spans and metrics of tool calls: every call that was taken up, also one that was refused, stopped or made up."""

from msgspec import Struct
from opentelemetry.trace import Span

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Denied, ToolResult
from desktop_agent.core.telemetry.contents import Contents
from desktop_agent.core.telemetry.conventions import (
    BATCH_SIZE,
    CALL_ARGUMENTS,
    CALL_ID,
    CALL_RESULT,
    CALL_SPAN,
    MCP_FAILURES,
    MCP_METHOD,
    OPERATION,
    OTHER,
    OUTPUT_BYTES,
    TOOL_CALLS,
    TOOL_DURATION,
    TOOL_ERRORS,
    TOOL_NAME,
    TOOL_OUTPUT,
    TOOL_SOURCE,
    TOOL_TYPE,
    TRUNCATED,
    TURN,
)
from desktop_agent.core.telemetry.facts import SessionFacts
from desktop_agent.core.telemetry.sdk.instruments import Instruments
from desktop_agent.core.telemetry.sdk.session_trace import Attributes, SessionTrace
from desktop_agent.core.tools.spec import SKIPPED_KEY, STOPPED_KEY

CALL_METHOD = "tools/call"
_BROKEN = ("recoverable", "fatal", "cancelled")
"""What of an MCP server's calls counts as a failure of the server."""


class _OpenCall(Struct, frozen=True):
    span: Span
    tool: str
    is_external: bool


class CallFold:
    """Folds the calls of one session."""

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
        """Return the span of a call that is open."""
        call = self._open.get(call_id)
        return call.span if call is not None else None

    def apply(self, event: ev.Event) -> None:
        """Fold one event."""
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
