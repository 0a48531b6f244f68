"""The spans of compactions, how full the context is, and what the model no longer sees."""

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.telemetry.conventions import (
    AUTOMATIC,
    COMPACTION_SPAN,
    COMPACTIONS,
    CONTEXT_TOKENS,
    DROPS,
    TOKENS_AFTER,
    TOKENS_BEFORE,
)
from desktop_agent.core.telemetry.sdk.instruments import Instruments
from desktop_agent.core.telemetry.sdk.session_trace import SessionTrace


class ContextFold:
    """Folds what happens to the context of one session."""

    def __init__(self, trace: SessionTrace, instruments: Instruments) -> None:
        self._trace = trace
        self._instruments = instruments
        self._summarised_ns: int | None = None
        """When the summary was there, or not to be had."""

    def apply(self, event: ev.Event) -> None:
        """Fold one event."""
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
        """Count what has failed."""
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
