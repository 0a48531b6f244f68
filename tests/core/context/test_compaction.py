"""Compaction, pins and guidance in the fold of the journal, and what counts as a summary."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from desktop_agent.core.context.history import History, pack, shortened
from desktop_agent.core.context.summaries import extracted, from_headings, parsed, rendered, summary_text
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    GuidanceFile,
    Message,
    ModelRef,
    ModelRequest,
    Pin,
    Summary,
    TextBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from tests.harness import check_messages
from tests.journals import said_text

MODEL = ModelRef(provider="demo", model="demo")
SUMMARY = Summary(goals=("ship it",), files=("a.py: written",))
LONG = "x" * 5_000


def turn(number: int, result: str = "ok") -> list[ev.KnownEvent]:
    call = ToolUseBlock(id=f"c{number}", name="read_file", arguments={"path": "a"})
    answer = ToolResult(content=result)
    return [
        ev.PromptSubmitted(turn=number, prompt_id="p", text=f"prompt {number}"),
        ev.MessageDone(turn=number, message_id="m", model=MODEL, content=(call,), stop_reason="tool_use"),
        ev.ToolCallFinished(turn=number, call_id=call.id, state="completed", result=answer, duration_s=0),
        said_text(number, f"answer {number}"),
        ev.TurnEnded(turn=number, reason="completed", requests=2, duration_s=0),
    ]


def turns(*numbers: int) -> list[ev.KnownEvent]:
    return [event for number in numbers for event in turn(number)]


def compacted(through: int, name: str = "c", summary: Summary = SUMMARY, shortened: Sequence[str] = ()) -> ev.Compacted:
    return ev.Compacted(compaction_id=name, through_turn=through, summary=summary, shortened=tuple(shortened))


def folder(path: str, text: str = "Use tabs.") -> GuidanceFile:
    return GuidanceFile(path=path, scope="folder", text=text)


def fold(events: Sequence[ev.KnownEvent]) -> History:
    history = History()
    for number, event in enumerate(events, start=1):
        history.fold.apply(event.stamped(number, ev.UNSTAMPED))
    return history


def request(history: History) -> ModelRequest:
    return pack(history, model=ModelRef(provider="demo", model="m"), system="S", tools=(), max_tokens=1)


def texts(messages: Sequence[Message]) -> list[str]:
    return [block.text for message in messages for block in message.content if isinstance(block, TextBlock)]


def test_a_summary_stands_in_the_place_of_what_it_tells_and_the_last_turns_stay_word_by_word() -> None:
    messages = fold([*turns(1, 2, 3), compacted(2)]).messages()
    check_messages(messages)
    assert texts(messages) == [rendered(SUMMARY), "prompt 3", "answer 3"]
    assert messages[1:] == fold(turns(1, 2, 3)).messages()[-3:]


def test_a_second_compaction_replaces_the_first_and_has_its_summary_to_begin_with() -> None:
    history = fold([*turns(1, 2, 3), compacted(1, "a"), *turns(4)])
    assert texts(history.messages_through(3))[0] == "prompt 2"
    newer = Summary(goals=("ship it twice",))
    history.fold.apply(compacted(3, "b", newer))
    assert texts(history.messages()) == [rendered(newer), "prompt 4", "answer 4"]


def test_undoing_the_second_compaction_shows_the_first_summary_again() -> None:
    first = [*turns(1, 2, 3), compacted(1, "a"), *turns(4)]
    undone = fold([*first, compacted(3, "b"), ev.CompactionUndone(compaction_id="b")])
    assert request(undone) == request(fold(first))


def test_going_back_to_before_a_summarised_turn_drops_the_summary() -> None:
    history = fold([*turns(1, 2, 3, 4), compacted(3), ev.Rewound(turn=2, scope="conversation")])
    assert history.fold.compaction is None
    assert texts(history.messages()) == ["prompt 1", "answer 1"]


def test_going_back_to_before_a_turn_that_was_kept_keeps_the_summary() -> None:
    history = fold([*turns(1, 2, 3, 4), compacted(2), ev.Rewound(turn=4, scope="both")])
    assert texts(history.messages()) == [rendered(SUMMARY), "prompt 3", "answer 3"]


def test_going_back_twice_takes_turns_by_their_numbers_and_not_by_where_others_stood() -> None:
    back = ev.Rewound(turn=2, scope="conversation")
    again = ev.Rewound(turn=3, scope="conversation")
    history = fold([*turns(1, 2, 3), back, *turns(4, 5), again])
    assert texts(history.messages()) == ["prompt 1", "answer 1"]


def test_shortened_results_keep_their_beginning_and_end_and_an_undo_shows_them_whole() -> None:
    result = "begin" + LONG + "end"
    events: list[ev.KnownEvent] = [*turn(1, result), compacted(0, shortened=("c1",))]
    history = fold(events)
    [answer] = [b for m in history.messages() for b in m.content if isinstance(b, ToolResultBlock)]
    assert answer.content == shortened(ToolResult(content=result)).content
    assert answer.content.startswith("begin")
    assert answer.content.endswith("end")
    assert len(answer.content) < 1_000
    assert texts(history.messages()) == ["prompt 1", "answer 1"], "nothing was summarised"
    undone = fold([*events, ev.CompactionUndone(compaction_id="c")])
    assert request(undone) == request(fold(turn(1, result)))


def test_guidance_of_a_folder_comes_where_it_was_read_and_stays_after_a_compaction() -> None:
    loaded = ev.GuidanceLoaded(files=(folder("src/AGENTS.md"),))
    one, two = turn(1), turn(2)
    history = fold([*one[:3], loaded, *one[3:], *two])
    check_messages(history.messages())
    content = history.messages()[2].content
    assert [type(block) for block in content] == [ToolResultBlock, TextBlock]
    history.fold.apply(compacted(1))
    kept = texts(history.messages())
    assert "Use tabs." in kept[1]
    assert kept[2:] == ["prompt 2", "answer 2"]


def test_guidance_that_changed_is_told_again_and_one_that_went_is_named() -> None:
    history = fold(
        [
            *turns(1),
            ev.GuidanceLoaded(files=(folder("src/AGENTS.md"),)),
            ev.GuidanceLoaded(files=(folder("src/AGENTS.md", "Use spaces."),)),
            ev.GuidanceLoaded(files=()),
        ]
    )
    notes = texts(history.messages())[2:]
    assert "Use tabs." in notes[0]
    assert "Use spaces." in notes[1]
    assert "no longer applies" in notes[2]
    assert history.fold.guidance == ()


def test_guidance_that_came_in_a_turn_that_is_gone_can_come_again() -> None:
    loaded = ev.GuidanceLoaded(files=(folder("src/AGENTS.md"),))
    history = fold([*turns(1), *turn(2)[:3], loaded, ev.Rewound(turn=2, scope="conversation")])
    assert history.fold.guidance == ()


def test_what_a_request_shares_with_the_one_before_is_a_function_of_the_journal() -> None:
    history = fold([*turns(1), turn(2)[0]])
    assert history.conversation().stable == 3
    assert fold([*turns(1, 2), compacted(1), turn(3)[0]]).conversation().stable == 0


# --- a fold that begins late --------------------------------------------------------------------------------------

GUIDED = ev.GuidanceLoaded(files=(folder("src/AGENTS.md"),))
_PATHS = st.sampled_from(["src/AGENTS.md", "lib/AGENTS.md"])


@st.composite
def journals(draw: st.DrawFn) -> list[ev.KnownEvent]:
    events: list[ev.KnownEvent] = []
    number, made = 0, 0
    visible: list[int] = []
    for step in draw(st.lists(st.sampled_from("tttttcccueprgb"), max_size=24)):
        state = fold(events)
        match step:
            case "t":
                number += 1
                visible.append(number)
                events += turn(number, draw(st.sampled_from(["ok", LONG])))
            case "c" if state.turns:
                made += 1
                through = draw(st.sampled_from(state.turns))
                calls = [call_id for call_id, _ in state.long_results(state.turns)]
                short = draw(st.lists(st.sampled_from(calls), unique=True)) if calls else []
                events.append(compacted(through, f"c{made}", Summary(goals=(f"summary {made}",)), short))
            case "u" if state.fold.compaction is not None:
                events.append(ev.CompactionUndone(compaction_id=state.fold.compaction.id))
            case "e" if state.fold.compaction is not None:
                edited = Summary(todos=(f"edited {len(events)}",))
                events.append(ev.SummaryEdited(compaction_id=state.fold.compaction.id, summary=edited))
            case "p":
                events.append(ev.Pinned(pin=Pin(id=draw(st.sampled_from("ab")), text=f"pin {len(events)}")))
            case "r":
                events.append(ev.Unpinned(pin_id=draw(st.sampled_from("ab"))))
            case "g":
                files = tuple(folder(path, f"text {draw(st.integers(0, 2))}") for path in draw(st.sets(_PATHS)))
                always = GuidanceFile(path="AGENTS.md", scope="workspace", text=f"root {len(events)}")
                events.append(ev.GuidanceLoaded(files=(always, *files)))
            case "b" if state.turns:
                # Only what is shown: for earlier records a session first folds the whole journal.
                back = draw(st.sampled_from(state.turns))
                events.append(ev.Rewound(turn=back, scope="conversation"))
            case _:
                pass
    return events


@given(journals())
@settings(max_examples=150, deadline=None)
def test_whatever_happened_the_messages_are_valid(events: list[ev.KnownEvent]) -> None:
    check_messages(fold(events).messages())


@example([*turns(1, 2), ev.Rewound(turn=2, scope="conversation"), compacted(1), GUIDED], 0)
@given(journals(), st.integers(0, 2))
@settings(max_examples=300, deadline=None)
def test_a_fold_from_where_it_must_begin_is_the_fold_of_everything(events: list[ev.KnownEvent], undoable: int) -> None:
    whole = fold(events)
    beginning = whole.beginning(undoable)
    late = History()
    for event in beginning.events:
        late.fold.apply(event)
    for number, event in enumerate(events, start=1):
        if number >= beginning.seq:
            late.fold.apply(event.stamped(number, ev.UNSTAMPED))
    assert request(late) == request(whole)
    assert late.fold.guidance == whole.fold.guidance
    for _ in range(undoable):
        compaction = whole.fold.compaction
        if compaction is None:
            break
        undo = ev.CompactionUndone(compaction_id=compaction.id)
        whole.fold.apply(undo)
        late.fold.apply(undo)
        assert request(late) == request(whole)


@pytest.mark.parametrize("undoable", [0, 1])
def test_a_late_fold_needs_only_what_is_kept(undoable: int) -> None:
    history = fold([*turns(1, 2, 3), compacted(2, "a"), *turns(4, 5), compacted(4, "b")])
    seqs = {0: 22, 1: 11}  # the prompts of turns 5 and 3
    assert history.beginning(undoable).seq == seqs[undoable]


WORDS = st.text(alphabet="abc ł`/.", min_size=1, max_size=20).map(lambda text: " ".join(text.split())).filter(bool)
ITEMS = st.lists(WORDS, max_size=4, unique=True).map(tuple)


@given(st.builds(Summary, goals=ITEMS, decisions=ITEMS, constraints=ITEMS, files=ITEMS, apis=ITEMS, todos=ITEMS))
def test_what_is_shown_for_editing_comes_back_as_it_was(summary: Summary) -> None:
    assert (from_headings(summary_text(summary)) or Summary()) == summary


@pytest.mark.parametrize(
    "answer",
    [
        '{"goals": ["ship"], "todos": ["test"]}',
        'Here it is:\n```json\n{"goals": ["ship"], "todos": ["test"]}\n```\nDone.',
        'With {braces} before: {"goals": "ship", "to_dos": ["test"], "more": 1}',
        "## Goals\n- ship\n\n## To-dos\n1. test",
        "**Goals:**\n* ship\n\nTODO:\n- [ ] test",
    ],
)
def test_answers_of_many_shapes_are_read(answer: str) -> None:
    assert parsed(answer) == Summary(goals=("ship",), todos=("test",))


@pytest.mark.parametrize(
    "answer", ["", "I would rather not.", "{}", '{"goals": []}', "[" * 5_000, '{"goals": ' * 3_000, "## Goals\nnone"]
)
def test_what_is_no_summary_is_not_taken_for_one(answer: str) -> None:
    assert parsed(answer) is None


@pytest.mark.parametrize(
    "answer",
    [
        "a" + " " * 90_000 + "!",
        "## Goals\n-" + " " * 90_000 + "\v",
        "## Goals\n" + "1" * 90_000,
        "#" * 90_000 + "!",
        '{"a":' * 18_000,
        "{" * 90_000,
        "{" + " " * 90_000,
    ],
    ids=["heading", "bullet", "number", "marks", "nested", "braces", "blanks"],
)
def test_an_answer_made_to_be_slow_is_read_once(answer: str) -> None:
    assert parsed(answer) is None


def test_lines_that_go_on_for_ever_are_bounded() -> None:
    summary = parsed("## Goals\n- ship\n" + "  it\n" * 20_000)
    assert summary is not None
    assert len(summary.goals[0]) <= 1_000


@pytest.mark.parametrize(
    "heading", ["Goals", "## Goals", "##Goals:", "**Goals**", "**Goals:**", "**Goals**:", " Goals : "]
)
def test_headings_of_many_shapes_are_read(heading: str) -> None:
    assert from_headings(f"{heading}\n- ship") == Summary(goals=("ship",))


def test_what_is_kept_without_the_model_is_short_however_long_a_line_was() -> None:
    pasted = UserMessage(content=(TextBlock(text="x" * 1_000_000),))
    kept = extracted([pasted], None, ["y" * 1_000_000])
    assert len(kept.goals[0]) == len(kept.todos[0]) == 400


def test_an_endless_answer_is_bounded() -> None:
    answer = json.dumps({"files": [f"{number} " + "x" * 1_100 for number in range(80)]})
    summary = parsed(answer)
    assert summary is not None
    assert len(summary.files) == 60
    assert max(map(len, summary.files)) == 1_000
