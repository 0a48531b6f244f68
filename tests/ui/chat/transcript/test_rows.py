"""Whatever happens, rows that followed patches are the rows of the entries."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TextBlock, ToolCall, ToolResult
from desktop_agent.core.transcript import RETRYING, Transcript
from desktop_agent.ui.chat.transcript.rows import EntryRows
from tests.ui.chat.stage import MODEL, NOW


def make_event(what: str, number: int) -> ev.Event:
    call_id = f"c{number}"
    match what:
        case "prompt":
            return ev.PromptSubmitted(turn=number, prompt_id="p", text="hello", at=NOW)
        case "start":
            return ev.TurnStarted(turn=number, model=MODEL)
        case "end":
            return ev.TurnEnded(turn=number, reason="interrupted", requests=1, duration_s=1)
        case "text":
            return ev.TextDelta(turn=1, text="some text ")
        case "thinking":
            return ev.ThinkingDelta(turn=1, text="hm ")
        case "done":
            content = (TextBlock(text="some text " * number),)
            return ev.MessageDone(turn=1, message_id="m", model=MODEL, content=content, stop_reason="end_turn")
        case "call":
            return ev.ToolCallStarted(
                turn=1,
                call=ToolCall(id=call_id, name="grep", arguments={}),
                title="x",
                source="workspace",
                capabilities=(),
                is_read_only=True,
            )
        case "output":
            return ev.ToolOutputDelta(turn=1, call_id=call_id, text="line\n")
        case "finish":
            result = ToolResult(content="ok")
            return ev.ToolCallFinished(turn=1, call_id=call_id, state="completed", result=result, duration_s=1)
        case _:
            return ev.Notice(level="warning", code=RETRYING if number % 2 else "other", title="Notice")


KINDS = ["prompt", "start", "end", "text", "text", "thinking", "done", "call", "output", "finish", "notice"]
EVENTS = st.lists(st.builds(make_event, st.sampled_from(KINDS), st.integers(0, 3)), max_size=60)


@given(EVENTS)
def test_patched_rows_are_those_of_a_reset(events: list[ev.Event]) -> None:
    transcript, rows = Transcript(), EntryRows()
    gone: list[object] = []
    for event in events:
        gone += rows.apply(transcript.entries, transcript.apply(event))

    assert [rows[index].entry for index in range(len(rows))] == transcript.entries
    assert all(rows[index].entry is entry for index, entry in enumerate(transcript.entries))
    assert [rows[index].index for index in range(len(rows))] == list(range(len(rows)))
    assert len(rows.heights) == len(rows)
    assert not any(rows[index] in gone for index in range(len(rows)))
