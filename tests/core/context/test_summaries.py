"""Summaries: what a model's answer is taken for, and that what is shown comes back as it was."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.context.summaries import extracted, from_headings, parsed, summary_text
from desktop_agent.core.protocol.model import Summary, TextBlock, UserMessage

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
