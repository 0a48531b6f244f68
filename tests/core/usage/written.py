from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, ToolCall, ToolResult, Usage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal
from tests.journals import AT, said_text

OPUS = ModelRef(provider="anthropic", model="claude-opus-5-5")
LOCAL = ModelRef(provider="ollama", model="qwen")

Timed = tuple[float, ev.KnownEvent]
"""Seconds after the start, and the event."""


def write_timed(path: Path, blobs: Blobs, events: Iterable[Timed], *, first: int = 1, since: datetime = AT) -> int:
    """Append these events, numbered from `first`; return the next number."""
    journal = Journal.create(path, blobs) if first == 1 else Journal.open(path, blobs)[0]
    number = first
    for seconds, event in events:
        journal.append(event.stamped(number, since + timedelta(seconds=seconds)), is_durable=False)
        number += 1
    journal.close()
    return number


def opened_in(workspace: str = "/home/ann/a") -> Timed:
    return 0, ev.SessionOpened(
        session_id="20261122-100000-abcdef", workspace=workspace, model=OPUS, approval="on_write", app_version="1"
    )


def begun(seconds: float, turn: int = 1, model: ModelRef = OPUS) -> Timed:
    return seconds, ev.TurnStarted(turn=turn, model=model)


def answered(seconds: float, turn: int = 1) -> Timed:
    return seconds, replace(said_text(turn, "Yes."), model=OPUS)


def called(seconds: float, call_id: str, tool: str = "grep", *, took_s: float = 0.5, error: str = "") -> list[Timed]:
    call = ToolCall(id=call_id, name=tool, arguments={})
    started = ev.ToolCallStarted(turn=1, call=call, title="", source="workspace", capabilities=(), is_read_only=True)
    return [(seconds, started), (seconds + took_s, ended(call_id, took_s=took_s, error=error))]


def ended(call_id: str, *, took_s: float = 0.5, error: str = "") -> ev.ToolCallFinished:
    result = ToolResult(content="x", is_error=bool(error), error_type=error or None)  # pyright: ignore[reportArgumentType] - the test says which
    state = "failed" if error else "completed"
    return ev.ToolCallFinished(turn=1, call_id=call_id, state=state, result=result, duration_s=took_s)


def over(seconds: float, reason: ev.TurnEndReason = "completed", *, took_s: float = 1.0) -> Timed:
    return seconds, ev.TurnEnded(turn=1, reason=reason, requests=1, duration_s=took_s)


def used(seconds: float, cost_usd: float | None, *, model: ModelRef = OPUS, tokens: int = 1_000) -> Timed:
    usage = Usage(input_tokens=tokens, output_tokens=100, cost_usd=cost_usd)
    return seconds, ev.UsageReported(turn=1, usage=usage, model=model)
