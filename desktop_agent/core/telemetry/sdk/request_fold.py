"""The spans of requests to models, and what they take."""

from opentelemetry.trace import Span, SpanKind

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, Usage
from desktop_agent.core.telemetry.contents import Contents
from desktop_agent.core.telemetry.conventions import (
    CACHE_READ_TOKENS,
    CACHE_WRITE_TOKENS,
    ERROR_TYPE,
    FINISH_REASONS,
    INPUT_TOKENS,
    MODEL,
    OPERATION,
    OUTPUT_MESSAGES,
    OUTPUT_TOKENS,
    PROVIDER,
    PURPOSE,
    REQUEST_DURATION,
    REQUEST_SPAN,
    RESPONSE_ID,
    TOKEN_TYPE,
    TOKEN_USAGE,
    TOKENS,
    TURN,
    provider_name,
)
from desktop_agent.core.telemetry.sdk.instruments import Instruments
from desktop_agent.core.telemetry.sdk.session_trace import Attributes, SessionTrace


class RequestFold:
    """Folds requests, each try of them."""

    def __init__(self, trace: SessionTrace, instruments: Instruments, contents: Contents | None) -> None:
        self._trace = trace
        self._instruments = instruments
        self._contents = contents
        self._open: dict[str, tuple[Span, int]] = {}
        self._answered: tuple[Span, int] | None = None
        """The request of the turn that was answered, and when: its span waits for the message on record."""

    def apply(self, event: ev.Event) -> None:
        """Fold one event."""
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
