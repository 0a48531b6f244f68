"""Review comments are parsed back from their prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.context.review_comments import SentComment, comments_in, prompt_of_comments
from desktop_agent.core.protocol.model import LineComment

LINES = st.lists(st.text("ab >\t", max_size=8), min_size=1, max_size=4).map(
    lambda lines: "".join(f"{x}\n" for x in lines)
)
COMMENTS = st.lists(
    st.builds(
        LineComment,
        id=st.just("c"),
        path=st.sampled_from(["a.py", "b, line 3.txt", "src/a b.py"]),
        side=st.sampled_from(["old", "new"]),
        start=st.integers(0, 50),
        end=st.integers(51, 60),
        quote=LINES,
        text=st.sampled_from(["Why?", "One.\n\nTwo.", "in a.py, line 3:\nx"]),
    ),
    max_size=4,
)


@given(COMMENTS, st.sampled_from(["", "Please.", "Two:\n\n> quoted\n"]))
def test_every_comment_is_found_where_it_stands(comments: list[LineComment], opening: str) -> None:
    prompt = prompt_of_comments(opening, comments)
    found = list(comments_in(prompt))
    ordered = sorted(comments, key=lambda comment: (comment.path, comment.start))
    assert [(each.path, each.first, each.last, each.is_before, each.quote, each.text) for each in found] == [
        (each.path, each.start + 1, each.end, each.side == "old", each.quote.removesuffix("\n"), each.text)
        for each in ordered
    ]
    for each in found:
        assert prompt[each.start :].startswith(f"{each.path}, line")
        assert prompt[each.text_start : each.end] == each.text


def test_a_comment_on_a_whole_file_and_one_with_more_lines_than_are_sent() -> None:
    whole = LineComment(id="c", path="a.py", side="new", start=0, end=0, quote="", text="Delete it.")
    many = LineComment(id="d", path="b.py", side="new", start=0, end=30, quote="x\n" * 30, text="Too long.")
    first, second = comments_in(prompt_of_comments("", (whole, many)))
    assert first == SentComment("a.py", 1, 0, False, "", "Delete it.", first.start, first.text_start, first.end)
    assert second.quote == "x\n" * 20 + "… 10 more lines"


@pytest.mark.parametrize(
    "prompt",
    ["", "a.py, line 3:\nfix it", "See\n\na.py, line 3:\n\nfix it", "see a.py, line 3:\n> x\nwhy", "a.py:\n> x\ny"],
)
def test_other_prompts_have_none(prompt: str) -> None:
    assert list(comments_in(prompt.replace("see a.py", "and\nsee a.py"))) == []
