"""Journals written record by record, plausible or not."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    AssistantBlock,
    ChangeSelection,
    Denied,
    FileChange,
    FileImage,
    FileOutcome,
    ModelRef,
    OutsideFile,
    Pin,
    SpendingQuestion,
    Summary,
    TextBlock,
    ToolCall,
    ToolResult,
    ToolUseBlock,
    Uncaptured,
    Usage,
)
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import Journal

MODEL = ModelRef(provider="scripted", model="scripted")
AT = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
SESSION_ID = "20261122-100000-abcdef"


def write_journal(path: Path, blobs: Blobs, bodies: Iterable[ev.KnownEvent], *, first: int = 1) -> int:
    """Append these events, numbered from `first`; return the last number."""
    journal = Journal.create(path, blobs) if first == 1 else Journal.open(path, blobs)[0]
    number = first - 1
    for number, body in enumerate(bodies, start=first):
        journal.append(body.stamped(number, AT), is_durable=False)
    journal.close()
    return number


def opened(workspace: str = "/w") -> ev.SessionOpened:
    return ev.SessionOpened(
        session_id=SESSION_ID, workspace=workspace, model=MODEL, approval="on_write", app_version="0.1.0"
    )


def turn(number: int, calls: int = 2, text: str = "ok", result: str = "done") -> list[ev.KnownEvent]:
    """A whole turn: a prompt, calls one after the other with a change each, an answer."""
    events: list[ev.KnownEvent] = [
        ev.PromptSubmitted(turn=number, prompt_id=f"p{number}", text=f"Prompt {number}: {text}"),
        ev.TurnStarted(turn=number, model=MODEL),
    ]
    for index in range(calls):
        call_id = f"c{number}-{index}"
        events += [
            said(number, TextBlock(text=f"{text} {index}"), ToolUseBlock(id=call_id, name="edit_file", arguments={})),
            started(number, call_id),
            recorded(number, call_id, f"{number}.{index + 1}"),
            finished(number, call_id, result),
            ev.UsageReported(turn=number, usage=Usage(input_tokens=10, output_tokens=5)),
        ]
    return [
        *events,
        said(number, TextBlock(text=f"That was turn {number}. {text}")),
        ev.TurnEnded(turn=number, reason="completed", requests=calls + 1, duration_s=1.0),
    ]


def said(turn: int, *blocks: AssistantBlock) -> ev.MessageDone:
    return ev.MessageDone(turn=turn, message_id="m", model=MODEL, content=blocks, stop_reason="end_turn")


def started(turn: int, call_id: str) -> ev.ToolCallStarted:
    call = ToolCall(id=call_id, name="edit_file", arguments={"path": f"{call_id}.py"})
    return ev.ToolCallStarted(
        turn=turn, call=call, title=f"{call_id}.py", source="workspace", capabilities=(), is_read_only=False
    )


def finished(turn: int, call_id: str, content: str = "done") -> ev.ToolCallFinished:
    result = ToolResult(content=content, metadata={"todos": [{"id": "1", "content": content[:20]}]})
    return ev.ToolCallFinished(turn=turn, call_id=call_id, state="completed", result=result, duration_s=0.5)


def change(change_id: str, path: str = "a.py") -> FileChange:
    image = FileImage(digest="a" * 64, size=3, mode=0o644)
    return FileChange(id=change_id, path=path, kind="created", author="agent", before=None, after=image, added=3)


def recorded(turn: int, call_id: str, change_id: str = "", *, is_lossy: bool = False) -> ev.ChangesRecorded:
    return ev.ChangesRecorded(
        turn=turn,
        call_id=call_id,
        changes=(change(change_id or f"{call_id}.1", f"{call_id}.py"),),
        uncaptured=(Uncaptured(path="big.bin", reason="too large"),) if is_lossy else (),
        outside=(
            OutsideFile(path=f"/out/{call_id}", before=FileImage(digest="b" * 64, size=1, mode=0o644), after=None),
        )
        if is_lossy
        else (),
        is_recoverable=is_lossy,
    )


def compacted(name: str, through: int, goal: str = "go on") -> ev.Compacted:
    return ev.Compacted(compaction_id=name, through_turn=through, summary=Summary(goals=(goal,)))


def asked(turn: int, call_id: str) -> ev.ApprovalRequested:
    request = ApprovalRequest(call_id=call_id, tool="edit_file", title="Change?", reason="", arguments_digest="c" * 64)
    return ev.ApprovalRequested(turn=turn, request=request)


def asked_to_spend(turn: int, question_id: str, usd: float = 1.0, limit: str = "session_usd") -> ev.ApprovalRequested:
    spending = SpendingQuestion(
        limit="day_usd" if limit == "day_usd" else "session_usd",
        day=AT.date(),
        limit_usd=usd,
        spent_usd=usd,
        until_usd=2 * usd,
    )
    request = ApprovalRequest(
        call_id=question_id, tool="", title="Go on?", reason="", arguments_digest="", spending=spending
    )
    return ev.ApprovalRequested(turn=turn, request=request)


def undone(call_id: str, turn: int) -> ev.ChangesUndone:
    outcome = FileOutcome(path=f"{call_id}.py", state="restored", change_ids=(f"{call_id}.1",))
    return ev.ChangesUndone(
        selection=ChangeSelection(call_id=call_id),
        change_ids=(f"{call_id}.1",),
        outcomes=(outcome,),
        changes=(change(f"u{turn}.{call_id}"),),
        outside=(
            OutsideFile(path=f"/out/{call_id}", before=FileImage(digest="b" * 64, size=1, mode=0o644), after=None),
        ),
    )


def said_text(turn: int, text: str) -> ev.MessageDone:
    return said(turn, TextBlock(text=text))


def said_call(turn: int, call_id: str) -> ev.MessageDone:
    return said(turn, ToolUseBlock(id=call_id, name="t", arguments={}))


_turns = st.integers(1, 6)
_calls = st.sampled_from(["a", "b", "c", "d"])
_questions = st.sampled_from(["q1", "q2"])
_names = st.sampled_from(["k1", "k2"])

wild_events: st.SearchStrategy[ev.KnownEvent] = st.one_of(
    st.builds(ev.PromptSubmitted, turn=_turns, prompt_id=_calls, text=st.text(max_size=8)),
    st.builds(ev.TurnStarted, turn=_turns, model=st.just(MODEL)),
    st.builds(
        ev.TurnEnded,
        turn=_turns,
        reason=st.sampled_from(["completed", "interrupted"]),
        requests=st.just(1),
        duration_s=st.just(1.0),
    ),
    st.builds(said_text, _turns, st.text(max_size=8)),
    st.builds(said_call, _turns, _calls),
    st.builds(started, _turns, _calls),
    st.builds(finished, _turns, _calls, st.text(max_size=8)),
    st.builds(recorded, _turns, _calls, is_lossy=st.booleans()),
    st.builds(asked, _turns, _calls),
    st.builds(ev.ApprovalResolved, turn=_turns, call_id=_calls, decision=st.just(Allowed())),
    st.builds(asked_to_spend, _turns, _questions, st.just(1.5), st.sampled_from(["session_usd", "day_usd"])),
    st.builds(ev.ApprovalResolved, turn=_turns, call_id=_questions, decision=st.sampled_from([Allowed(), Denied()])),
    st.builds(ev.UsageReported, turn=_turns, usage=st.builds(Usage, cost_usd=st.sampled_from([None, 0.0, 0.1, 0.2]))),
    st.builds(undone, _calls, _turns),
    st.builds(compacted, _names, _turns),
    st.builds(ev.SummaryEdited, compaction_id=_names, summary=st.just(Summary(goals=("edited",)))),
    st.builds(ev.CompactionUndone, compaction_id=_names),
    st.builds(ev.Rewound, turn=_turns, scope=st.just("conversation")),
    st.builds(ev.Pinned, pin=st.builds(Pin, id=_names, text=st.just("keep"))),
    st.builds(ev.SessionRenamed, title=st.text(max_size=5)),
    st.builds(ev.Notice, level=st.just("warning"), code=st.just("retrying"), title=st.text(max_size=5)),
)
"""Any event after any other, more than an honest program writes."""
