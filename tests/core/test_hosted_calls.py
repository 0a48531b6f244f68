"""A provider's search reads like one of our own, live and after a restart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    Citation,
    HostedCall,
    ModelRef,
    OpaqueBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolState,
    WebPage,
)
from desktop_agent.core.transcript import NoticeEntry, TextEntry, ToolEntry, Transcript, replay

MODEL = ModelRef(provider="anthropic", model="m")
A = WebPage(url="https://a.example", title="A")
B = WebPage(url="https://b.example")
BEGUN = HostedCall(id="s1", query="rounding", state="started")
ENDED = HostedCall(id="s1", pages=(A, B))


def told(call: HostedCall) -> OpaqueBlock:
    return OpaqueBlock(payload={"type": "x"}, call=call)


def done(*blocks: AssistantBlock, stop: StopReason = "end_turn") -> ev.MessageDone:
    return ev.MessageDone(turn=1, message_id="m", model=MODEL, content=blocks, stop_reason=stop)


def reported(call: HostedCall) -> ev.HostedCallReported:
    return ev.HostedCallReported(turn=1, at=ev.UNSTAMPED, call=call)


def ended() -> ev.TurnEnded:
    return ev.TurnEnded(turn=1, reason="completed", requests=1, duration_s=1.0)


def search_in(transcript: Transcript) -> ToolEntry:
    [entry] = [entry for entry in transcript.entries if isinstance(entry, ToolEntry)]
    return entry


def results(entry: ToolEntry) -> object:
    assert entry.result is not None
    return entry.result.metadata.get("results")


def kinds(transcript: Transcript) -> list[str]:
    return [entry.kind if isinstance(entry, TextEntry) else type(entry).__name__ for entry in transcript.entries]


def test_it_stands_between_what_was_said_before_and_after() -> None:
    whole = done(
        TextBlock(text="Looking."), told(BEGUN), told(ENDED), TextBlock(text="It is "), TextBlock(text="even.")
    )
    transcript = replay([whole])
    assert kinds(transcript) == ["text", "ToolEntry", "text"]
    entry = search_in(transcript)
    assert (entry.call.name, entry.title, entry.state) == ("web_search", "rounding", "completed")
    assert entry.call.arguments == {"query": "rounding"}
    assert [entry.text for entry in transcript.entries if isinstance(entry, TextEntry)] == ["Looking.", "It is even."]


def test_the_pages_that_the_answer_rests_on_come_first_with_what_they_say() -> None:
    cited = TextBlock(text="So.", citations=(Citation(url=B.url, title="B"), Citation(url=B.url, quote="half to even")))
    entry = search_in(replay([done(told(BEGUN), told(ENDED), cited)]))
    assert results(entry) == [
        {"title": B.url, "link": B.url, "snippet": "half to even"},
        {"title": "A", "link": A.url, "snippet": ""},
    ]
    assert entry.result is not None
    assert "half to even" in entry.result.content


def test_a_page_that_only_the_text_names_was_found_by_the_last_search() -> None:
    cited = TextBlock(text="So.", citations=(Citation(url="https://c.example", title="C"),))
    calls = (HostedCall(id="s1", query="a"), HostedCall(id="s2", query="b"))
    transcript = replay([done(*map(told, calls), cited)])
    first, second = (entry for entry in transcript.entries if isinstance(entry, ToolEntry))
    assert results(first) == []
    assert results(second) == [{"title": "C", "link": "https://c.example", "snippet": ""}]


def test_it_is_shown_while_it_runs() -> None:
    transcript = Transcript()
    transcript.apply(ev.TextDelta(turn=1, text="Looking."))
    transcript.apply(reported(BEGUN))
    assert search_in(transcript).state == "started"
    transcript.apply(reported(ENDED))
    transcript.apply(ev.TextDelta(turn=1, text="Even."))
    assert kinds(transcript) == ["text", "ToolEntry", "text"]
    entry = search_in(transcript)
    assert (entry.state, entry.title) == ("completed", "rounding")
    patches = transcript.apply(done(TextBlock(text="Looking."), told(BEGUN), told(ENDED), TextBlock(text="Even.")))
    assert {patch.kind for patch in patches} <= {"update", "status"}, "nothing moves when the message is whole"


@pytest.mark.parametrize(
    ("error", "state"), [("It is not available.", "failed"), ("", "completed")], ids=["failed", "nothing found"]
)
def test_how_it_ended_is_said(error: str, state: ToolState) -> None:
    entry = search_in(replay([done(told(BEGUN), told(HostedCall(id="s1", error=error, state=state)))]))
    assert entry.state == state
    assert entry.result is not None
    assert (entry.result.is_error, entry.result.content) == (bool(error), error)


def test_one_that_goes_on_in_the_next_message_is_one_entry() -> None:
    transcript = replay([done(told(BEGUN), stop="pause_turn"), done(told(ENDED), TextBlock(text="Even."))])
    assert kinds(transcript) == ["ToolEntry", "text"]
    assert search_in(transcript).state == "completed"


@pytest.mark.parametrize("stop", ["max_tokens", "pause_turn"])
def test_one_that_was_never_finished_has_failed(stop: StopReason) -> None:
    entry = search_in(replay([done(told(BEGUN), stop=stop), ended()]))
    assert entry.state == "failed"
    assert entry.result is not None
    assert entry.result.content == "The provider did not finish this."


def test_a_try_that_failed_takes_it_away() -> None:
    transcript = Transcript()
    transcript.apply(reported(BEGUN))
    transcript.apply(ev.Notice(level="warning", code="retrying", title="Again.", turn=1))
    assert [type(entry) for entry in transcript.entries] == [NoticeEntry]
    transcript.apply(reported(BEGUN))
    transcript.apply(done(told(BEGUN), told(ENDED)))
    assert search_in(transcript).state == "completed"


pieces = st.lists(
    st.one_of(
        st.builds(TextBlock, text=st.sampled_from(["Hi. ", "So. "])),
        st.builds(ThinkingBlock, thinking=st.just("Hm."), signature=st.just("s")),
        st.sampled_from([told(HostedCall(id=each, query="q", pages=(A,))) for each in ("s1", "s2", "s3")]),
    ),
    max_size=8,
    unique_by=lambda block: block.call.id if isinstance(block, OpaqueBlock) and block.call else object(),
)


@given(pieces)
def test_watching_live_and_reading_it_later_show_the_same(blocks: list[AssistantBlock]) -> None:
    live = Transcript()
    for block in blocks:
        match block:
            case TextBlock(text=text):
                live.apply(ev.TextDelta(turn=1, text=text))
            case ThinkingBlock(thinking=text):
                live.apply(ev.ThinkingDelta(turn=1, text=text))
            case OpaqueBlock(call=call) if call is not None:
                live.apply(reported(HostedCall(id=call.id, state="started")))
                live.apply(reported(call))
            case _:
                pass
    live.apply(done(*blocks))
    read = replay([done(*blocks)])

    def shown(transcript: Transcript) -> list[object]:
        return [
            (entry.kind, entry.text) if isinstance(entry, TextEntry) else (entry.call, entry.state, entry.result)
            for entry in transcript.entries
            if isinstance(entry, TextEntry | ToolEntry)
        ]

    assert shown(live) == shown(read)
