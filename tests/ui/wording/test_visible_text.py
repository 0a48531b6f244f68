"""A drawn line hides nothing, and positions map back to the text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.ui.wording import MAX_DRAWN_CHARS, visible_line

tricky = st.text(st.sampled_from("ab \t\r\x00\u200d\u202e\u2066\u2028🎉👩é\ufeff\udcff\U000e0041"))


@pytest.mark.parametrize(
    ("line", "drawn"),
    [
        ("if x:\treturn", "if x:   return"),
        ("access = 'user\u202e \u2066# admin'", "access = 'user⟨U+202E⟩ ⟨U+2066⟩# admin'"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("na\u200dme", "na⟨U+200D⟩me"),
        ("bell\x07 nul\x00 del\x7f c1\x85", "bell␇ nul␀ del␡ c1⟨U+0085⟩"),
        ("bad\udcff byte", "bad\\xff byte"),
        ("a\u2028b", "a⟨U+2028⟩b"),
        ("family 👩\u200d👩\u200d👧", "family 👩\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("x\ufeffy", "x⟨U+FEFF⟩y"),
    ],
)
def test_what_would_not_be_seen_is_drawn_by_name(line: str, drawn: str) -> None:
    assert visible_line(line).text == drawn


def test_a_byte_order_mark_at_the_start_of_a_file_is_not_drawn() -> None:
    assert visible_line("\ufeffx", is_first=True).text == "x"
    assert visible_line("\ufeffx").text == "⟨U+FEFF⟩x"


def test_tabs_end_at_the_next_stop() -> None:
    assert visible_line("\ta\tbcd\te").text == "    a   bcd e"


def test_an_endless_line_is_cut_and_says_by_how_much() -> None:
    line = visible_line("x" * (MAX_DRAWN_CHARS + 7))
    assert (len(line.text), line.cut_chars) == (MAX_DRAWN_CHARS, 7)


def test_positions_count_in_utf_16() -> None:
    line = visible_line("a🎉b")
    assert [line.position(offset) for offset in range(4)] == [0, 1, 3, 4]


@given(text=tricky)
def test_every_character_is_found_where_it_is_drawn(text: str) -> None:
    line = visible_line(text)
    width = len(line.text.encode("utf-16-le", "surrogatepass")) // 2
    positions = [line.position(offset) for offset in range(len(text) + 1)]
    assert positions == sorted(positions)
    assert (positions[0], positions[-1]) == (0, width)
    assert [line.offset(position) for position in positions] == list(range(len(text) + 1))
    for offset, (start, end) in enumerate(pairwise(positions)):
        assert {line.offset(position) for position in range(start, end)} == {offset}
