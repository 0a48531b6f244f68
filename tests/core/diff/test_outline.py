"""Lines that are split on demand equal the lines of the whole text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.diff.outline import PIECE_BYTES, PIECE_LINES, LinesOnDemand, pieces_of
from desktop_agent.core.diff.text import encode_lines, split_lines

TEXT = "".join(("\ufeff", *(f"line {number}\r\n" for number in range(2 * PIECE_LINES)),
                "é🎉\u2028\n" * PIECE_LINES, "y" * 3 * PIECE_BYTES, "\n\n", "z" * PIECE_BYTES, "\nend"))  # fmt: skip
LINES = split_lines(TEXT)


def on_demand(text: str, encoding: str = "utf-8") -> LinesOnDemand:
    sizes = (len(encode_lines((line,), encoding)) for line in split_lines(text))
    return LinesOnDemand(encode_lines((text,), encoding), encoding, pieces_of(sizes))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_they_are_equal_to_the_lines_of_the_text_in_every_encoding(encoding: str) -> None:
    lines = on_demand(TEXT, encoding)
    assert len(lines) == len(LINES)
    assert tuple(lines) == LINES
    assert lines == LINES
    assert hash(lines) == hash(LINES)
    assert lines == on_demand(TEXT)
    assert lines != on_demand(TEXT + "!", encoding)
    assert lines != list(LINES)
    assert [lines[number] for number in range(len(LINES))] == list(LINES)


@given(data=st.data())
def test_every_slice_is_a_tuple_of_its_lines(data: st.DataObject) -> None:
    lines = on_demand(TEXT)
    wanted = data.draw(st.slices(len(LINES)))
    assert lines[wanted] == LINES[wanted]


@given(text=st.text(alphabet="a\r\n\x85\udcff\udcc3\udce2", max_size=40))
def test_any_text_comes_back_whole(text: str) -> None:
    assert tuple(on_demand(text)) == split_lines(text)


def test_there_is_no_line_outside() -> None:
    lines = on_demand("a\nb")
    assert (lines[-1], lines[-2]) == ("b", "a\n")
    for number in (2, -3):
        with pytest.raises(IndexError):
            lines[number]
    assert not on_demand("")
