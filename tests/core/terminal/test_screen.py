"""The terminal's screen after output of programs."""

import pytest

from desktop_agent.core.terminal.emulator import Emulator
from desktop_agent.core.terminal.rows import PLAIN, PrintedStyle, changed, look_after


def shown(output: str, height: int = 4, columns: int = 10) -> list[str]:
    """Print this byte by byte and in one piece; return the rows, which must be equal."""
    whole, piecemeal = (Emulator(height, columns, answered=lambda _: None) for _ in range(2))
    whole.feed(output.encode())
    for byte in output.encode():
        piecemeal.feed(bytes([byte]))
    first, second = (
        [emulator.screen.row(emulator.screen.first_row + at).text() for at in range(height)]
        for emulator in (whole, piecemeal)
    )
    assert first == second
    return first


TOP_AND_BOTTOM = "1\r\n2\r\n3\r\n4"

PRINTED = {
    "lines": ("one\r\ntwo", ["one", "two", "", ""]),
    "a line feed keeps the column": ("ab\ncd", ["ab", "  cd", "", ""]),
    "a long line goes on": ("0123456789ab", ["0123456789", "ab", "", ""]),
    "a line that just fits does not": ("0123456789\r\nab", ["0123456789", "ab", "", ""]),
    "no wrapping": ("\x1b[?7l0123456789ab", ["012345678b", "", "", ""]),
    "overwriting": ("abc\rX\b\bY", ["Ybc", "", "", ""]),
    "tabs": ("a\tb\x1b[3g\tc", ["a       bc", "", "", ""]),
    "placing": ("\x1b[2;3Hx\x1b[4Gy\x1b[1dz\x1b[Hh", ["h   z", "  xy", "", ""]),
    "moving stops at the edges": ("\x1b[9A\x1b[9Da\x1b[9B\x1b[99Cb", ["a", "", "", "         b"]),
    "erasing": ("abcdef\x1b[3G\x1b[K\r\nabcdef\x1b[3G\x1b[1K\r\nabcdef\x1b[2G\x1b[2X", ["ab", "   def", "a  def", ""]),
    "erasing the screen": (TOP_AND_BOTTOM + "\x1b[2;1H\x1b[J", ["1", "", "", ""]),
    "inserting and deleting cells": ("abcdef\x1b[2G\x1b[2@\x1b[6G\x1b[P", ["a  bcef", "", "", ""]),
    "inserting rows": (TOP_AND_BOTTOM + "\x1b[2H\x1b[L", ["1", "", "2", "3"]),
    "deleting rows": (TOP_AND_BOTTOM + "\x1b[2H\x1b[2M", ["1", "4", "", ""]),
    "insert mode": ("abc\r\x1b[4hXY\x1b[4lZ", ["XYZbc", "", "", ""]),
    "scrolling": (TOP_AND_BOTTOM + "\r\n5", ["2", "3", "4", "5"]),
    "margins": (TOP_AND_BOTTOM + "\x1b[2;3r\x1b[3;1H\nx", ["1", "3", "x", "4"]),
    "scrolling back within margins": (TOP_AND_BOTTOM + "\x1b[2;3r\x1b[2;1H\x1bMx", ["1", "x", "2", "4"]),
    "scrolling by a sequence": (TOP_AND_BOTTOM + "\x1b[2S\x1b[T", ["", "3", "4", ""]),
    "repeating": ("ab\x1b[3b", ["abbbb", "", "", ""]),
    "saving the cursor": ("ab\x1b7\x1b[3Hc\x1b8d", ["abd", "", "c", ""]),
    "the screen of a full-screen program": ("ab\x1b[?1049h\x1b[Hvim\x1b[?1049lc", ["abc", "", "", ""]),
    "frames": ("\x1b(0lqk\x1b(Bq", ["┌─┐q", "", "", ""]),
    "wide characters": ("漢字x\x1b[4Gy", ["漢 yx", "", "", ""]),
    "a wide one at the end of a row": ("123456789漢", ["123456789", "漢", "", ""]),
    "marks": ("e\u0301a", ["e\u0301a", "", "", ""]),
    "resetting": ("ab\x1b[2;3r\x1bcx", ["x", "", "", ""]),
    "a title": ("a\x1b]0;title\x07b\x1b]2;t\x1b\\c", ["abc", "", "", ""]),
    "strings for devices": ("a\x1bPq#0;2\x1b\\b\x1b_G1\x1b\\c\x1b^x\x1b\\d", ["abcd", "", "", ""]),
    "what nobody knows": ("a\x1b[>4;2mb\x1b[?2026$pc\x1b[2 qd\x1b[<1ue\x9bf", ["abcdef", "", "", ""]),
    "a sequence that breaks off": ("a\x1b[1\x18b\x1b]0;t\x1b[Cc", ["ab c", "", "", ""]),
    "no UTF-8": ("a\udcffb".encode("utf-8", "surrogateescape").decode("latin-1"), ["aÿb", "", "", ""]),
}


@pytest.mark.parametrize("name", PRINTED)
def test_output_is_shown_as_terminals_show_it_however_it_is_cut(name: str) -> None:
    output, expected = PRINTED[name]
    assert shown(output) == expected


def test_colours_are_kept_with_the_ground_of_what_is_erased() -> None:
    emulator = Emulator(2, 6, answered=lambda _: None)
    emulator.feed(b"\x1b[1;31mab\x1b[0;44m\x1b[K")
    row = emulator.screen.row(0)
    assert [(each.start, each.length) for each in row.runs] == [(0, 2), (2, 4)]
    assert [each.look for each in row.runs] == [
        PrintedStyle(foreground="ansi1", is_bold=True),
        PrintedStyle(background="ansi4"),
    ]


def test_what_scrolls_out_is_kept_up_to_a_bound_and_full_screen_programs_leave_nothing_there() -> None:
    emulator = Emulator(2, 10, answered=lambda _: None, history_rows=3)
    emulator.feed(b"\x1b[?1049h" + b"x\r\n" * 9 + b"\x1b[?1049l")
    assert not emulator.screen.history
    emulator.feed(b"".join(b"%d\r\n" % number for number in range(9)))
    screen = emulator.screen
    assert [row.text() for row in screen.history] == ["5", "6", "7"]
    assert (screen.forgotten_rows, screen.row(5).text(), screen.row(8).text()) == (5, "5", "8")
    emulator.feed(b"\x1b[3J")
    assert not screen.history


@pytest.mark.parametrize("is_alternate", [False, True])
def test_another_size_keeps_the_cursor_in_sight_and_the_rows_above_it(is_alternate: bool) -> None:
    emulator = Emulator(4, 10, answered=lambda _: None)
    emulator.feed(b"1\r\n2\r\n3\r\n4 and more")
    if is_alternate:
        emulator.feed(b"\x1b[?1049hvim")
    emulator.screen.resize(2, 5)
    emulator.feed(b"\x1b[?1049l" if is_alternate else b"")
    screen = emulator.screen
    assert [row.text() for row in screen.history] == ["1", "2"]
    assert [screen.row(number).text() for number in (2, 3)] == ["3", "4 and"]
    assert (screen.cursor.row, screen.cursor.column) == (1, 4)
    screen.resize(5, 20)
    emulator.feed(b"!")
    assert screen.row(3).text() == "4 an!"


@pytest.mark.parametrize(
    ("parameters", "look"),
    [
        ("31", PrintedStyle("ansi1")),
        ("97", PrintedStyle("ansi15")),
        ("42", PrintedStyle(background="ansi2")),
        ("103", PrintedStyle(background="ansi11")),
        ("1;4;33", PrintedStyle("ansi3", is_bold=True, is_underlined=True)),
        ("2;3;7;9", PrintedStyle(is_dim=True, is_italic=True, is_inverse=True, is_struck=True)),
        ("38;5;9", PrintedStyle("ansi9")),
        ("38;5;208", PrintedStyle("#FF8700")),
        ("48;5;244", PrintedStyle(background="#808080")),
        ("38;2;1;2;255", PrintedStyle("#0102FF")),
        ("38:2::1:2:255", PrintedStyle("#0102FF")),
        ("38;5;1;1", PrintedStyle("ansi1", is_bold=True)),
        ("4:3", PrintedStyle(is_underlined=True, is_italic=True)),
        ("", PLAIN),
        ("58;5;1", PrintedStyle(is_bold=True)),
        ("38;2;999;0;0", PLAIN),
        ("38;5;300", PLAIN),
        ("38", PLAIN),
        ("1000", PLAIN),
    ],
)
def test_what_a_sequence_sets(parameters: str, look: PrintedStyle) -> None:
    assert changed(PLAIN, parameters) == look


def test_each_style_is_ended_by_its_own_code_and_all_by_a_reset() -> None:
    everything = PrintedStyle("ansi1", "ansi2", *([True] * 6))
    assert changed(everything, "22;23;24;27;29;39;49") == PLAIN
    assert changed(everything, "0") == PLAIN
    assert changed(everything, "0;32") == PrintedStyle("ansi2")


def test_the_look_behind_a_text_is_that_of_its_last_sequences() -> None:
    assert look_after("\x1b[31mred\x1b[1mbold", PLAIN) == PrintedStyle("ansi1", is_bold=True)
    assert look_after("\x1b[31mred\x1b[0m", PrintedStyle("ansi4")) == PLAIN
    assert look_after("nothing", PrintedStyle("ansi4")) == PrintedStyle("ansi4")
