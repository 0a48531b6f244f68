"""Sessions of months: prompts, answers, commands, edits, compactions, large results."""

import json
import random
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import NamedTuple

from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.protocol.model import (
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
from desktop_agent.core.store.blobs import Blobs
from tests.benchmarks.bench_chat import code, markdown, sentence
from tests.journals import AT, MODEL, SESSION_ID

TURNS_PER_COMPACTION = 25


class Shape(NamedTuple):
    records: int
    result_bytes: int
    """The approximate size of a tool's result; two of seven records are results."""


SMALLER = Shape(22_000, 7_500)
LARGER = Shape(50_000, 35_500)


class Stuff(NamedTuple):
    """The prepared texts of a session: generating each one would take longer than writing 500 MB."""

    texts: list[str]
    lines: list[str]
    edits: list[tuple[FileImage, FileImage]]


def write_session(home: AppPaths, shape: Shape, workspace: Path) -> Path:
    path, blobs = home.sessions / SESSION_ID / "journal.jsonl", Blobs(home.blobs)
    path.parent.mkdir(parents=True)
    chance = random.Random(11)
    lines = [sentence(chance, 12) for _ in range(2_000)]
    texts = [markdown(chance, chance.choice([300, 600, 900, 2_000, 4_000])) for _ in range(100)]
    stuff = Stuff(texts, lines, [_edited(chance, blobs) for _ in range(40)])
    with path.open("wb") as file:
        opened = ev.SessionOpened(
            session_id=SESSION_ID, workspace=str(workspace), model=MODEL, approval="on_write", app_version="0.1.0"
        )
        for number, body in enumerate(islice(chain((opened,), _bodies(chance, stuff, shape)), shape.records), start=1):
            line = json.dumps(encode_event(body.stamped(number, AT)), separators=(",", ":"))
            file.write(line.encode() + b"\n")
    return path


def _bodies(chance: random.Random, stuff: Stuff, shape: Shape) -> Iterator[ev.KnownEvent]:
    for turn in count(1):
        yield ev.PromptSubmitted(turn=turn, prompt_id=f"p{turn}", text=f"Prompt {turn}: {sentence(chance, 20)}")
        yield ev.TurnStarted(turn=turn, model=MODEL)
        for request in range(chance.randint(3, 6)):
            yield from _request(chance, turn, request, stuff, shape)
        yield _said(turn, TextBlock(text=f"End of turn {turn}.\n\n{chance.choice(stuff.texts)}"))
        yield ev.TurnEnded(turn=turn, reason="completed", requests=3, duration_s=12.0)
        if turn % TURNS_PER_COMPACTION == 0:
            yield ev.Compacted(compaction_id=f"k{turn}", through_turn=turn - 2, summary=Summary(goals=("Go on.",)))


def _request(chance: random.Random, turn: int, request: int, stuff: Stuff, shape: Shape) -> Iterator[ev.KnownEvent]:
    calls = [_call(chance, f"c{turn}-{request}-{number}", stuff) for number in range(chance.randint(1, 4))]
    asked = (ToolUseBlock(id=call.id, name=call.name, arguments=call.arguments) for call in calls)
    yield _said(turn, TextBlock(text=chance.choice(stuff.texts)), *asked)
    yield ev.UsageReported(turn=turn, usage=Usage(input_tokens=50_000, output_tokens=400))
    for number, call in enumerate(calls):
        yield from _answered(chance, turn, f"{turn}.{request * 10 + number}", call, stuff, shape)


def _call(chance: random.Random, call_id: str, stuff: Stuff) -> ToolCall:
    name = chance.choices(["edit_file", "grep", "read_file", "run_command"], [2, 2, 3, 4])[0]
    path = f"src/part{chance.randint(1, 60)}/file{chance.randint(1, 40)}.py"
    arguments: JsonObject = {"path": path}
    if name == "edit_file":
        old, new = ("\n".join(chance.choices(stuff.lines, k=chance.randint(5, 60))) for _ in range(2))
        arguments |= {"old": old, "new": new}
    elif name == "run_command":
        script = "\n".join(chance.choices(stuff.lines, k=chance.randint(5, 60)))
        arguments = {"command": f"python - <<'END'\n{script}\nEND"}
    return ToolCall(id=call_id, name=name, arguments=arguments)


def _answered(
    chance: random.Random, turn: int, change_id: str, call: ToolCall, stuff: Stuff, shape: Shape
) -> Iterator[ev.KnownEvent]:
    is_edit = call.name == "edit_file"
    path = str(call.arguments.get("path", ""))
    yield ev.ToolCallStarted(
        turn=turn,
        call=call,
        title=path or str(call.arguments["command"])[:80],
        source="workspace",
        capabilities=("write_fs",) if is_edit else ("read_fs",),
        is_read_only=not is_edit,
    )
    if is_edit:
        before, after = chance.choice(stuff.edits)
        change = FileChange(
            id=change_id, path=path, kind="modified", author="agent", before=before, after=after, added=3, removed=1
        )
        yield ev.ChangesPrepared(turn=turn, call_id=call.id, purpose="apply", changes=(change,))
        yield ev.ChangesRecorded(turn=turn, call_id=call.id, changes=(change,))
    yield ev.ToolCallFinished(
        turn=turn, call_id=call.id, state="completed", result=_result(chance, call, path, stuff, shape), duration_s=0.2
    )


def _result(chance: random.Random, call: ToolCall, path: str, stuff: Stuff, shape: Shape) -> ToolResult:
    """A result of 5 to 15 kB, for searches with a card's data; longer results go to blobs."""
    if call.name == "edit_file":
        return ToolResult(content="Replaced 1 occurrence.", metadata={"path": path, "replacements": 1})
    size = int(chance.uniform(0.35, 1.0) * 15_000 * min(1.0, shape.result_bytes / 12_000))
    content = "\n".join(chance.choices(stuff.lines, k=max(1, size // 62)))[:15_900]
    if call.name != "grep":
        return ToolResult(content=content, metadata={"path": path} if path else {})
    found = int(chance.paretovariate(1.5) / 3 * shape.result_bytes / 20)
    matches = [
        {"path": f"src/part{number // 9}/file.py", "line": number + 1, "text": chance.choice(stuff.lines)}
        for number in range(min(2_000, found))
    ]
    return ToolResult(content=content, metadata={"path": path, "matches": matches})


def _edited(chance: random.Random, blobs: Blobs) -> tuple[FileImage, FileImage]:
    lines = code(chance.randint(40, 400)).splitlines(keepends=True)
    at = chance.randrange(len(lines) - 1)
    edited = [*lines[:at], *(f"    added_{number} = {number}\n" for number in range(3)), *lines[at + 1 :]]
    first, second = ("".join(version).encode() for version in (lines, edited))
    before, after = (FileImage(digest=blobs.put(content), size=len(content), mode=0o644) for content in (first, second))
    return before, after


def _said(turn: int, *blocks: TextBlock | ToolUseBlock) -> ev.MessageDone:
    return ev.MessageDone(turn=turn, message_id=f"m{turn}", model=MODEL, content=blocks, stop_reason="tool_use")
