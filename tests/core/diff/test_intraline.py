"""Changed words are marked, only where the marks are useful."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.diff.intraline import MAX_LINE_CHARS, NOTHING, changed_words


def marked(old: str, new: str) -> tuple[list[str], list[str]]:
    words = changed_words(old, new)
    return [old[start:end] for start, end in words.old], [new[start:end] for start, end in words.new]


FILLER = "x " * MAX_LINE_CHARS


@pytest.mark.parametrize(
    ("old", "new", "in_old", "in_new"),
    [
        ("pages = total // size", "pages = -(-total // size)", "", "-(-|)"),
        ("last = page_count(n, s) + 1", "last = page_count(n, s)", " + 1", ""),
        ("    x = 1", "  x = 1", "    ", "  "),
        ("name = 'ü 🎉'", "name = 'ö 🎉'", "ü", "ö"),
        pytest.param("f(a, 1) # keep it", "f(b, 2) # keep it", "a, 1", "b, 2", id="only a sign between"),
        pytest.param(f"{FILLER}1 and 2{FILLER}", f"{FILLER}3 and 4{FILLER}", "1 and 2", "3 and 4", id="very long"),
    ],
)
def test_the_changed_words_are_marked(old: str, new: str, in_old: str, in_new: str) -> None:
    assert tuple(map("|".join, marked(old, new))) == (in_old, in_new)


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("same", "same"), ("import os", "class Window:")])
def test_lines_with_nothing_in_common_are_not_marked_word_by_word(old: str, new: str) -> None:
    assert changed_words(old, new) == NOTHING


@given(old=st.text(), new=st.text())
def test_without_the_marked_parts_both_lines_are_the_same(old: str, new: str) -> None:
    words = changed_words(old, new)
    if words == NOTHING:
        return
    for spans, line in ((words.old, old), (words.new, new)):
        assert all(0 <= start < end <= len(line) for start, end in spans)
        assert all(left[1] < right[0] for left, right in pairwise(spans))
    # Joined marks can include equal signs on one side only, so compare only the words.
    kept_old = _without(old, words.old)
    kept_new = _without(new, words.new)
    assert [char for char in kept_old if char.isalnum()] == [char for char in kept_new if char.isalnum()]


def _without(line: str, spans: tuple[tuple[int, int], ...]) -> str:
    for start, end in reversed(spans):
        line = line[:start] + line[end:]
    return line
