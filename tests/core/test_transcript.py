"""The transcript is a fold of the events alone."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import TextBlock, ThinkingBlock
from desktop_agent.core.transcript import (
    CompactionEntry,
    HookEntry,
    NoticeEntry,
    Patch,
    TextEntry,
    ToolEntry,
    Transcript,
    UndoEntry,
    replay,
)
from desktop_agent.core.transcript.change_state import CHANGE_EVENTS
from desktop_agent.core.transcript.session_info import CONTEXT_EVENTS, TURN_EVENTS
from desktop_agent.core.transcript.transcript import ENTRY_EVENTS
from tests.core.samples import CHANGE, SAMPLE_EVENTS
from tests.journals import said, started


def texts(transcript: Transcript) -> list[tuple[str, str]]:
    return [(entry.kind, entry.text) for entry in transcript.entries if isinstance(entry, TextEntry)]


def test_the_folds_do_nothing_with_events_that_the_transcript_spares_them() -> None:
    transcript = Transcript()
    for event in SAMPLE_EVENTS:
        turns, changed, context = transcript.turns.copy(), transcript.changed.copy(), transcript.context.copy()
        if type(event) not in TURN_EVENTS:
            turns.apply(event, is_known_call=True)
        if type(event) not in CHANGE_EVENTS:
            changed.apply(event, transcript.turn, "edit_file")
        if type(event) not in CONTEXT_EVENTS:
            context.apply(event, transcript.turn)
        if type(event) not in ENTRY_EVENTS:
            assert transcript.shown.copy().apply(event) == []
        assert (turns, changed, context) == (transcript.turns, transcript.changed, transcript.context), event.type
        transcript.apply(event)


def test_a_session_reads_in_the_order_it_happened() -> None:
    transcript = replay(SAMPLE_EVENTS)
    kinds = [entry.kind if isinstance(entry, TextEntry) else type(entry) for entry in transcript.entries]
    past = [ev.PromptSubmitted, "thinking", "text", ToolEntry, ToolEntry, ev.Steered, NoticeEntry, *[UndoEntry] * 2]
    assert kinds == [
        *past,
        ev.ChangesCommitted,
        ev.CommitUndone,
        ev.Rewound,
        CompactionEntry,
        ev.CommandRun,
        ev.CommandRun,
        HookEntry,
        ev.SessionForked,
    ]
    assert transcript.session.title == "Fix the page count"
    assert transcript.session.last_seq == len(SAMPLE_EVENTS)
    assert transcript.turns.usage.output_tokens == 2


def test_the_first_prompt_names_a_session_until_somebody_does() -> None:
    transcript = replay(SAMPLE_EVENTS[:2])
    assert transcript.session.title == "Fix it"


def test_streamed_text_grows_one_entry_and_its_patches_carry_only_what_is_new() -> None:
    transcript = Transcript()
    patches = [transcript.apply(ev.TextDelta(turn=1, text=piece)) for piece in ("Hel", "lo")]
    assert patches == [[Patch("append", 0)], [Patch("text", 0, "lo")]]
    assert texts(transcript) == [("text", "Hello")]


@given(st.lists(st.tuples(st.sampled_from(["text", "thinking"]), st.text(min_size=1, max_size=5)), max_size=12))
def test_watching_live_and_replaying_the_journal_show_the_same(pieces: list[tuple[str, str]]) -> None:
    live = Transcript()
    blocks: list[TextBlock | ThinkingBlock] = []
    for kind, text in pieces:
        live.apply(ev.TextDelta(turn=1, text=text) if kind == "text" else ev.ThinkingDelta(turn=1, text=text))
        blocks.append(TextBlock(text=text) if kind == "text" else ThinkingBlock(thinking=text, signature="s"))
    live.apply(said(1, *blocks))
    assert texts(live) == texts(replay([said(1, *blocks)]))
    assert not any(entry.is_open for entry in live.entries if isinstance(entry, TextEntry))


def test_a_retry_takes_back_what_was_streamed_of_the_failed_try() -> None:
    transcript = Transcript()
    transcript.apply(ev.TextDelta(turn=1, text="Half an ans"))
    retry = ev.Notice(level="warning", code="retrying", title="The connection dropped.")
    patches = transcript.apply(retry)
    assert patches[0] == Patch("remove", 0)
    transcript.apply(said(1, TextBlock(text="A whole answer")))
    assert texts(transcript) == [("text", "A whole answer")]


def test_tries_that_fail_one_after_the_other_are_one_entry() -> None:
    def failed(hint: str, code: str = "retrying", level: ev.NoticeLevel = "warning", turn: int = 1) -> ev.Notice:
        return ev.Notice(level=level, code=code, title="Overloaded.", hint=hint, turn=turn)

    transcript = replay([failed("first"), failed("second"), failed("last", "overloaded", "error")])
    assert [entry.notice.hint for entry in transcript.entries if isinstance(entry, NoticeEntry)] == ["last"]
    transcript.apply(failed("of the next turn", turn=2))
    transcript.apply(ev.Notice(level="info", code="other", title="Beside it.", turn=2))
    transcript.apply(failed("after something else", turn=2))
    assert len(transcript.entries) == 4


def test_a_message_that_differs_from_what_was_streamed_replaces_it() -> None:
    transcript = Transcript()
    transcript.apply(ev.TextDelta(turn=1, text="draft"))
    transcript.apply(said(1, TextBlock(text="final")))
    assert texts(transcript) == [("text", "final")]


def test_tool_output_keeps_a_bounded_tail_and_counts_everything() -> None:
    transcript = Transcript()
    transcript.apply(started(1, "c"))
    for _ in range(40):
        transcript.apply(ev.ToolOutputDelta(turn=1, call_id="c", text="x" * 9_999 + "\n"))
    entry = transcript.paged.tool_entry("c")
    assert isinstance(entry, ToolEntry)
    assert entry.output_chars == 400_000
    assert len(entry.output_tail) == 65_536


def test_output_for_a_call_nobody_knows_changes_nothing() -> None:
    transcript = Transcript()
    assert transcript.apply(ev.ToolOutputDelta(turn=1, call_id="ghost", text="x")) == []


def test_a_waiting_approval_makes_the_session_wait() -> None:
    transcript = replay(SAMPLE_EVENTS[:7])
    assert transcript.turns.status == "waiting"
    assert [request.call_id for request in transcript.pending_approvals] == ["toolu_1"]
    transcript.apply(SAMPLE_EVENTS[7])
    assert transcript.turns.status == "working"


def test_undo_and_redo_move_changes_between_standing_and_undone() -> None:
    names = [event.type for event in SAMPLE_EVENTS]
    undone = replay(SAMPLE_EVENTS[: names.index("changes_undone") + 1])
    assert [record.change for record in undone.changed.undone()] == [CHANGE]
    assert undone.changed.active() == []
    [step] = undone.changed.steps
    assert (step.writes, [part.change_id for part in step.parts]) == ((), [CHANGE.id])
    redone = replay(SAMPLE_EVENTS)
    assert redone.changed.steps == []
    assert [record.change for record in redone.changed.active(1)] == [CHANGE]


def test_a_queued_prompt_leaves_the_queue_when_it_starts_or_is_taken_back() -> None:
    transcript = Transcript()
    transcript.apply(ev.Queued(prompt_id="a", text="one"))
    transcript.apply(ev.Queued(prompt_id="b", text="two"))
    transcript.apply(ev.Unqueued(prompt_id="a"))
    assert [prompt.text for prompt in transcript.turns.queued] == ["two"]
    transcript.apply(ev.PromptSubmitted(turn=1, prompt_id="b", text="two"))
    assert transcript.turns.queued == []


def test_indexes_in_patches_stay_right_after_an_entry_was_removed() -> None:
    transcript = Transcript()
    transcript.apply(ev.TextDelta(turn=1, text="void"))
    transcript.apply(ev.Notice(level="warning", code="retrying", title="t"))
    transcript.apply(started(1, "c"))
    [patch] = transcript.apply(ev.ToolOutputDelta(turn=1, call_id="c", text="x"))
    assert transcript.entries[patch.index] is transcript.paged.tool_entry("c")


def apply_patches(shown: list[object], transcript: Transcript, patches: Iterable[Patch]) -> None:
    for patch in patches:
        match patch.kind:
            case "append":
                assert patch.index == len(shown)
                shown.append(transcript.entries[patch.index])
            case "remove":
                del shown[patch.index]
            case "update" | "text" | "output":
                assert shown[patch.index] is transcript.entries[patch.index]
            case "changes" | "status":
                pass
            case "expand" | "collapse":
                raise AssertionError("no event does that")


@given(st.lists(st.sampled_from(SAMPLE_EVENTS), max_size=40))
def test_a_view_that_follows_the_patches_shows_exactly_the_entries(events: list[ev.KnownEvent]) -> None:
    transcript = Transcript()
    shown: list[object] = []
    for event in events:
        apply_patches(shown, transcript, transcript.apply(event))
        apply_patches(shown, transcript, transcript.apply(ev.TextDelta(turn=1, text="t")))
    assert all(a is b for a, b in zip(shown, transcript.entries, strict=True))
