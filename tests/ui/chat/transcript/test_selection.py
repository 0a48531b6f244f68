"""Words and lines around a position."""

import pytest

from desktop_agent.ui.chat.markdown.inline import LINE_BREAK, utf16_slice
from desktop_agent.ui.chat.transcript.selection import Unit, unit_around


@pytest.mark.parametrize(
    ("at", "unit", "found"),
    [
        (0, "word", "one"),
        (2, "word", "one"),
        (3, "word", " "),
        (4, "word", "two_2"),
        (9, "word", "-"),
        (10, "word", "😀"),
        (13, "word", "end"),
        (15, "word", "end"),
        (16, "word", "next"),
        (5, "line", "one two_2-😀end"),
        (18, "line", "next"),
    ],
)
def test_the_unit_around_a_position(at: int, unit: Unit, found: str) -> None:
    text = f"one two_2-😀end{LINE_BREAK}next"
    start, end = unit_around(text, at, unit)
    assert utf16_slice(text, start, end) == found


def test_an_empty_text_has_an_empty_unit() -> None:
    assert unit_around("", 0, "word") == (0, 0)
    assert unit_around("", 0, "line") == (0, 0)
