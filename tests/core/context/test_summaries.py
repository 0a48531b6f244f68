"""Summaries: what a model's answer is taken for, and that what is shown comes back as it was."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.context.summaries import from_headings, parsed, summary_text
from desktop_agent.core.model import Summary

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


def test_an_endless_answer_is_bounded() -> None:
    answer = json.dumps({"files": [f"{number} " + "x" * 1_100 for number in range(80)]})
    summary = parsed(answer)
    assert summary is not None
    assert len(summary.files) == 60
    assert max(map(len, summary.files)) == 1_000
