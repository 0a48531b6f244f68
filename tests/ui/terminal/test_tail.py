"""The end of an output is the same however it arrives, and is not read twice."""

import random
from itertools import pairwise

import pytest

from desktop_agent.core.terminal.rows import PrintedStyle, Run
from desktop_agent.ui.terminal.printed_text import MAX_LINE, PrintedLine, Tail

COLOURS = ["\x1b[31m", "\x1b[1;32m", "\x1b[0m", "\x1b[38;5;208m", "\x1b[m"]


def output(seed: int) -> str:
    chance = random.Random(seed)
    pieces = ["word ", "\n", "\r\n", "10 %\r", "wide 😀", "\x1b[K", "\n", *COLOURS]
    return "".join(chance.choices(pieces, k=400))


@pytest.mark.parametrize("seed", range(20))
def test_it_does_not_matter_how_an_output_is_cut(seed: int) -> None:
    text = output(seed)
    chance = random.Random(seed)
    whole, pieces = Tail(12), Tail(12)
    whole.feed(text)
    cuts = sorted({0, len(text), *(chance.randrange(len(text)) for _ in range(60))})
    for start, end in pairwise(cuts):
        pieces.feed(text[start:end])
        pieces.lines()
    assert pieces.lines() == whole.lines()
    assert pieces.hidden_lines == whole.hidden_lines


def test_the_last_lines_are_kept_and_the_others_counted() -> None:
    tail = Tail(3)
    tail.feed("")
    assert (tail.lines(), tail.hidden_lines) == ([], 0)
    tail.feed("".join(f"line {number}\n" for number in range(10)))
    assert [line.text for line in tail.lines()] == ["line 7", "line 8", "line 9"]
    assert tail.hidden_lines == 7
    tail.feed("unfinished")
    assert [line.text for line in tail.lines()] == ["line 8", "line 9", "unfinished"]
    assert tail.hidden_lines == 8


def test_a_colour_set_out_of_sight_goes_on() -> None:
    tail = Tail(1)
    tail.feed("\x1b[31mred\n" + "and more\n" * 50)
    assert tail.lines() == [PrintedLine("and more", (Run(0, 8, PrintedStyle("ansi1")),))]


def test_a_line_of_a_megabyte_is_not_kept() -> None:
    tail = Tail(2)
    for _ in range(1_000):
        tail.feed("\x1b[32m" + "x" * 1_000)
    [line] = tail.lines()
    assert len(line.text) == MAX_LINE
    assert line.runs == (Run(0, MAX_LINE, PrintedStyle("ansi2")),)


@pytest.mark.parametrize("size", [1_000, 65_536, 3_000_000])
@pytest.mark.parametrize("end", ["", "\n"])
def test_of_a_long_line_the_beginning_is_shown_and_how_far_it_goes_on(size: int, end: str) -> None:
    text = "".join(f"word{number} " for number in range(200_000)) + end
    tail = Tail(12)
    for start in range(0, len(text), size):
        tail.feed(text[start : start + size])
    [line] = tail.lines()
    assert line.text == text[:MAX_LINE]
    assert tail.cut == (1, len(text.rstrip("\n")) - MAX_LINE)


def test_of_a_long_line_that_overwrites_itself_the_last_state_is_shown() -> None:
    tail = Tail(12)
    for number in range(3_000):
        tail.feed(f"\r{number} of 3000 done")
    assert [line.text for line in tail.lines()] == ["2999 of 3000 done"]
    assert tail.cut == (0, 0)
