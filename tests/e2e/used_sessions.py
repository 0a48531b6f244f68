"""Some weeks of a developer's sessions, for the pictures of *Usage*."""

import math
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, ToolCall, ToolResult, Usage
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal
from tests.journals import said_text

_SESSIONS = 90
_MODELS = (("anthropic", "claude-opus-5-5", 9e-6), ("openai", "gpt-5.2-codex", 4e-6), ("ollama", "qwen3:8b", 0.0))
_UNPRICED = ("openai-chat", "internal-model", None)
_TOOLS = (("read_file", 0.004), ("edit_file", 0.012), ("grep", 0.03), ("run_terminal_cmd", 2.5), ("web_fetch", 0.9))
_PROMPTS = (
    *("Why is the last page empty?", "Add a test for orders without lines", "Rename weight to grams everywhere"),
    *("What does the receipt print?", "Make the labels fit on the parcel", "Look for code that nothing uses"),
    *("Explain how discounts add up", "Update the changelog for 2.4"),
)
_FOLDERS = ("pagination", "shop", "notes")


def write(now: datetime) -> None:
    """Write the sessions into the data folder of this process; the same ones at each call."""
    chance, paths = random.Random(18), AppPaths.from_environment()
    blobs = Blobs(paths.blobs)
    for number in range(_SESSIONS):
        since = now - timedelta(days=chance.randrange(30), seconds=600 + chance.randrange(9_000))
        session_id = f"{since:%Y%m%d-%H%M%S}-seen{number:02}"
        journal = Journal.create(paths.sessions / session_id / "journal.jsonl", blobs)
        for seq, (seconds, event) in enumerate(_session(session_id, chance), start=1):
            journal.append(event.stamped(seq, since + timedelta(seconds=seconds)), is_durable=False)
        journal.close()


def _session(session_id: str, chance: random.Random) -> Iterator[tuple[float, ev.KnownEvent]]:
    provider, name, price = _UNPRICED if chance.random() < 0.05 else chance.choices(_MODELS, (6, 3, 2))[0]
    model = ModelRef(provider=provider, model=name)
    folder = str(Path.home() / "code" / chance.choices(_FOLDERS, (5, 3, 1))[0])
    yield (
        0,
        ev.SessionOpened(session_id=session_id, workspace=folder, model=model, approval="on_write", app_version="1"),
    )
    yield 1, ev.PromptSubmitted(turn=1, prompt_id="p1", text=chance.choice(_PROMPTS))
    yield 1, ev.TurnStarted(turn=1, model=model)
    seconds = 1.0
    calls = chance.randint(3, 9)
    for number in range(calls):
        seconds += chance.lognormvariate(1.4, 0.5)
        yield seconds, said_text(1, "I look at it.")
        read, written = chance.randint(9_000, 90_000), chance.randint(100, 2_000)
        cost = None if price is None else price * (0.3 * read + 5 * written)
        usage = Usage(input_tokens=read // 10, cache_read_tokens=read * 9 // 10, output_tokens=written, cost_usd=cost)
        yield seconds, ev.UsageReported(turn=1, usage=usage, model=model)
        tool, usual_s = chance.choices(_TOOLS, (6, 4, 4, 3, 1))[0]
        took_s, is_wrong = round(chance.lognormvariate(math.log(usual_s), 0.7), 3), chance.random() < 0.08
        call = ToolCall(id=f"c{number}", name=tool, arguments={})
        yield (
            seconds,
            ev.ToolCallStarted(turn=1, call=call, title="", source="workspace", capabilities=(), is_read_only=True),
        )
        seconds += took_s
        result = ToolResult(content="", is_error=is_wrong, error_type="not_found" if is_wrong else None)
        state = "failed" if is_wrong else "completed"
        yield (
            seconds,
            ev.ToolCallFinished(turn=1, call_id=call.id, state=state, result=result, duration_s=took_s),
        )
    yield seconds, ev.TurnEnded(turn=1, reason="completed", requests=calls, duration_s=round(seconds - 1, 3))
