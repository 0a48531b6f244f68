"""A printed line is read as a terminal would leave it."""

import pytest

from desktop_agent.ui.terminal.line import PrintedLine, Run, read_line
from desktop_agent.ui.terminal.look import PLAIN, PrintedStyle

RED, GREEN = PrintedStyle("ansi1"), PrintedStyle("ansi2")


def test_parts_keep_their_colours() -> None:
    line, after = read_line("\x1b[31mred\x1b[0m and \x1b[32mgreen")
    assert line == PrintedLine("red and green", (Run(0, 3, RED), Run(8, 5, GREEN)))
    assert after == GREEN


def test_a_line_begins_as_the_one_before_ended() -> None:
    assert read_line("still red", RED)[0].runs == (Run(0, 9, RED),)


def test_positions_count_as_qt_counts() -> None:
    line, _ = read_line("😀 \x1b[31mred\x1b[0m 😀 \x1b[32mgo\x1b[0m")
    assert line.runs == (Run(3, 3, RED), Run(10, 2, GREEN))


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("10 %\r50 %\r100 %", "100 %"),
        ("downloading\rdone", "doneloading"),
        ("downloading\r\x1b[Kdone", "done"),
        ("downloading\x1b[2K\rdone", "done"),
        ("abc\x1b[1Kd", "   d"),
        ("50 %\r", "50 %"),
        ("abc\b\bX", "aX"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]8;;https://example.org\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b[2A\x1b[10Cmoved\x1b(B\x1b[?25l", "moved"),
        ("\x1b[>4;2mkept", "kept"),
        ("bell\x07 null\x00", "bell null"),
        ("cut \x1b[3", "cut "),
    ],
)
def test_overwriting_is_done_and_other_sequences_are_dropped(printed: str, shown: str) -> None:
    assert read_line(printed)[0].text == shown


def test_what_is_overwritten_takes_the_new_colour() -> None:
    line, _ = read_line("\x1b[31mabc\r\x1b[32mx\x1b[0m")
    assert line == PrintedLine("xbc", (Run(0, 1, GREEN), Run(1, 2, RED)))


def test_of_a_very_long_line_only_the_end_is_read() -> None:
    assert len(read_line("x" * 1_000_000)[0].text) < 10_000


def test_a_plain_line_has_no_runs() -> None:
    assert read_line("plain") == (PrintedLine("plain"), PLAIN)
