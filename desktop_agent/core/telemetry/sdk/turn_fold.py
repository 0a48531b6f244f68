"""The span of a turn, and how long turns take."""

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.telemetry.contents import Contents
from desktop_agent.core.telemetry.conventions import (
    AGENT_NAME,
    AGENT_SPAN,
    END_REASON,
    INPUT_MESSAGES,
    MODEL,
    OPERATION,
    PROVIDER,
    REQUESTS,
    SERVICE_NAME,
    TURN,
    TURN_DURATION,
    provider_name,
)
from desktop_agent.core.telemetry.sdk.instruments import Instruments
from desktop_agent.core.telemetry.sdk.session_trace import Attributes, SessionTrace

_GOOD_ENDS: frozenset[ev.TurnEndReason] = frozenset(
    {"completed", "max_turns", "limit", "approval_required", "interrupted"}
)
"""The others are failures."""


class TurnFold:
    """Folds the beginning and the end of turns."""

    def __init__(self, trace: SessionTrace, instruments: Instruments, contents: Contents | None) -> None:
        self._trace = trace
        self._instruments = instruments
        self._contents = contents
        self._prompt = ""

    def apply(self, event: ev.Event) -> None:
        """Fold one event."""
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
