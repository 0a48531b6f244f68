"""Sessions as long as somebody gets them in months: prompts, answers, commands, edits, compactions, large results."""

import json
import random
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from desktop_agent.core import events as ev
from desktop_agent.core.codec import encode_event
from desktop_agent.core.model import (
    FileChange,
    FileImage,
    JsonObject,
    Summary,
    TextBlock,
    ToolCall,
    ToolResult,
    ToolUseBlock,
    Usage,
)
from tests.benchmarks.bench_chat import markdown, sentence
from tests.journals import AT, MODEL, SESSION_ID

TURNS_PER_COMPACTION = 25


class Shape(NamedTuple):
    """How long a session is, and how large its results."""

    megabytes: int
    records: int

    @property
    def result_bytes(self) -> int:
        """About how much a tool's result must have: one record in six is one."""
        return max(500, (self.megabytes * 1_000_000 // self.records - 1_100) * 6)


SMALLER = Shape(100, 22_000)
LARGER = Shape(500, 50_000)


def write_session(folder: Path, shape: Shape, workspace: Path) -> Path:
    """Write the journal of a session of this shape into the folder of sessions; return it."""
    path = folder / SESSION_ID / "journal.jsonl"
    path.parent.mkdir(parents=True)
    numbers = count(1)
    with path.open("wb") as file:
        opened = ev.SessionOpened(
            session_id=SESSION_ID, workspace=str(workspace), model=MODEL, approval="on_write", app_version="0.1.0"
        )
        for body in chain((opened,), _bodies(shape)):
            line = json.dumps(encode_event(body.stamped(next(numbers), AT)), separators=(",", ":"))
            file.write(line.encode() + b"\n")
            if file.tell() >= shape.megabytes * 1_000_000:
                break
    return path


def _bodies(shape: Shape) -> Iterator[ev.KnownEvent]:
    chance = random.Random(11)
    texts = [markdown(chance, chance.choice([300, 600, 900, 2_000])) for _ in range(100)]
    lines = [sentence(chance, 12) for _ in range(2_000)]
    for turn in count(1):
        yield ev.PromptSubmitted(turn=turn, prompt_id=f"p{turn}", text=f"Prompt {turn}: {sentence(chance, 20)}")
        yield ev.TurnStarted(turn=turn, model=MODEL)
        for call in range(chance.randint(3, 9)):
            yield from _call(chance, turn, f"c{turn}-{call}", chance.choice(texts), lines, shape)
        yield _said(turn, TextBlock(text=f"End of turn {turn}.\n\n{chance.choice(texts)}"))
        yield ev.TurnEnded(turn=turn, reason="completed", requests=3, duration_s=12.0)
        if turn % TURNS_PER_COMPACTION == 0:
            yield ev.Compacted(compaction_id=f"k{turn}", through_turn=turn - 2, summary=Summary(goals=("Go on.",)))


def _call(
    chance: random.Random, turn: int, call_id: str, text: str, lines: list[str], shape: Shape
) -> Iterator[ev.KnownEvent]:
    is_edit = chance.random() < 0.4
    path = f"src/part{chance.randint(1, 60)}/file{chance.randint(1, 40)}.py"
    name = "edit_file" if is_edit else "grep"
    arguments: JsonObject = {"path": path, "old": chance.choice(lines), "new": chance.choice(lines)}
    yield _said(turn, TextBlock(text=text), ToolUseBlock(id=call_id, name=name, arguments=arguments))
    yield ev.UsageReported(turn=turn, usage=Usage(input_tokens=50_000, output_tokens=400))
    yield ev.ToolCallStarted(
        turn=turn,
        call=ToolCall(id=call_id, name=name, arguments=arguments),
        title=path,
        source="workspace",
        capabilities=("write_fs",) if is_edit else ("read_fs",),
        is_read_only=not is_edit,
    )
    if is_edit:
        change = _change(chance, f"{turn}.{call_id.partition('-')[2]}", path)
        yield ev.ChangesPrepared(turn=turn, call_id=call_id, purpose="apply", changes=(change,))
        yield ev.ChangesRecorded(turn=turn, call_id=call_id, changes=(change,))
    size = int(chance.paretovariate(1.5) / 3 * shape.result_bytes)
    content = "\n".join(chance.choices(lines, k=max(1, min(size, 15_000) // 90)))
    matches = chance.choices(lines, k=min(2_000, max(0, size - 15_000) // 90))
    result = ToolResult(content=content[:16_000], metadata={"path": path, "matches": matches})
    yield ev.ToolCallFinished(turn=turn, call_id=call_id, state="completed", result=result, duration_s=0.2)


def _said(turn: int, *blocks: TextBlock | ToolUseBlock) -> ev.MessageDone:
    return ev.MessageDone(turn=turn, message_id=f"m{turn}", model=MODEL, content=blocks, stop_reason="tool_use")


def _change(chance: random.Random, change_id: str, path: str) -> FileChange:
    before, after = (FileImage(digest=f"{chance.getrandbits(256):064x}", size=900, mode=0o644) for _ in range(2))
    return FileChange(
        id=change_id, path=path, kind="modified", author="agent", before=before, after=after, added=3, removed=1
    )
