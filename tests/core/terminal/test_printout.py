"""Output is read as a terminal finally shows it, however it is cut."""

import codecs
import random
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.core.terminal.printout import COLUMNS, ROWS, Printout, joined, plain_text
from desktop_agent.core.terminal.rows import PrintedRow, PrintedStyle, Run

PIECES = [
    *("word ", "x", "ab  ", "\t", "\n", "\n", "\r\n", "\r", "\b", "\x0b", "\x0c", "\x00", "\x07", "\x85", "\x9b"),
    *("漢字", "é", "e\u0301", "\u0301", "\ufeff", "👍", "y" * 300, "z\t" * 90, "w" * (COLUMNS - 1)),
    *("\x1b[31m", "\x1b[0m", "\x1b[1;?m", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J", "\x1b[2J", "\x1b[3J"),
    *("\x1b[A", "\x1b[2B", "\x1b[3C", "\x1b[D", "\x1b[10G", "\x1b[H", "\x1b[5;7H", "\x1b7", "\x1b8", "\x1bM", "\x1bc"),
    *("\x1b[2L", "\x1b[M", "\x1b[3P", "\x1b[2@", "\x1b[4X", "\x1b[5S", "\x1b[3;9r", "\x1b[r", "\x1b[9b", "\x1b#8"),
    *("\x1b[?1049h", "\x1b[?1049l", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b(0", "\x1b(B"),
    *("\x1b]0;t\x07", "\x1b]8;;u\x1b\\", "\x1bPq", "\x1b["),
]


def read(*pieces: str) -> list[PrintedRow]:
    rows: list[PrintedRow] = []
    printout = Printout(rows.extend)
    for piece in pieces:
        printout.feed(piece)
    return rows + printout.standing()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("rm -rf /home\rok\n", "ok -rf /home\n"),
        ("plain\ttext  \n", "plain\ttext  \n"),
        ("\x1b[1;31mred\x1b[0m\n", "red\n"),
        ("\x1b]0;title\x07a\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x1b[?25lhidden\x1b[?25h\x1b(B\x1b=", "hidden"),
        ("cut off \x1b[3", "cut off "),
        ("\x1b]0;never ended\nnext\n", "\nnext\n"),
        ("\x1bPnever ended\nnext\n", "\nnext\n"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("downloading\r\x1b[Kdone", "done"),
        ("downloading\x1b[2K\rdone", "done"),
        ("abc\x1b[1Kd", "   d"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("-\b\\\b|\bdone\n", "done\n"),
        ("abc\b\bX", "aXc"),
        ("N\bNA\bAM\bME\bE\n", "NAME\n"),
        ("bell\x07 null\x00\n", "bell null\n"),
        ("\r\n\r\n", "\n\n"),
        ("one: 0%\ntwo: 0%\n\x1b[2Aone: 100%\ntwo: 100%\n", "one: 100%\ntwo: 100%\n"),
        ("rm -rf /home\n\x1b[1A\x1b[2Kls\n", "ls\n"),
        ("before\n\x1b[?1049h\x1b[Hrm -rf /home\n\x1b[?1049lafter\n", "before\nafter\n"),
        ("rm -rf /home\x1b[2J\x1b[Hok\n", "ok\n"),
        ("a\tb\rX", "X\tb"),
        ("a\tb\r\tX", "a\tX"),
        ("漢字\r!", "! 字"),
        ("a\x1b[5Cb", "a     b"),
        ("\x1b[99999Gx", " " * (COLUMNS - 1) + "x"),
        ("x\x1b[5;2H", "x\n\n\n\n"),
    ],
)
def test_the_text_is_what_a_terminal_shows_in_the_end(written: str, shown: str) -> None:
    assert plain_text(written) == shown


@given(st.text(st.one_of(st.sampled_from("ab \t\n\u0301\ufeff漢👍"), st.characters(exclude_categories=("Cc", "Cs")))))
def test_text_without_control_sequences_is_read_as_itself(text: str) -> None:
    assert joined(read(text)).removesuffix("\n") == text
    assert joined(read(*text)).removesuffix("\n") == text


@given(st.lists(st.sampled_from(PIECES), max_size=60), st.randoms(use_true_random=False))
@example(["word ", "\n", "\x1b[9b"], random.Random(0))
def test_it_does_not_matter_how_an_output_is_cut(pieces: list[str], chance: random.Random) -> None:
    text = "".join(pieces)
    cuts = sorted({0, len(text), *(chance.randrange(len(text) + 1) for _ in range(20))})
    whole = read(text)
    assert read(*(text[start:end] for start, end in pairwise(cuts))) == whole
    if len(text) < 500:
        assert read(*text) == whole
    shown = joined(whole).removesuffix("\n")
    assert plain_text(shown) == shown


@given(
    st.lists(st.sampled_from(["\x1b[31m", "\x1b[0m", "a\tb\n", "漢 line\r\n", "x" * 1_100 + "\n", "\n", "e\u0301\n"]))
)
def test_the_short_way_of_lines_leads_to_the_same_rows_as_the_long_one(pieces: list[str]) -> None:
    text = "".join(pieces * 5)
    assert read(text) == read(*text)


def test_colours_are_kept_and_go_on_in_the_next_line() -> None:
    red, green = PrintedStyle("ansi1"), PrintedStyle("ansi2")
    rows = read("\x1b[31mred\nstill \x1b[32mgreen\x1b[0m\nabc\r\x1b[32mx\x1b[0m")
    assert rows[0] == PrintedRow("red", (Run(0, 3, red),))
    assert rows[1] == PrintedRow("still green", (Run(0, 6, red), Run(6, 5, green)))
    assert rows[2] == PrintedRow("xbc", (Run(0, 1, green),))


def test_rows_are_given_away_as_soon_as_they_have_left_the_screen() -> None:
    rows: list[PrintedRow] = []
    printout = Printout(rows.extend)
    for number in range(10_000):
        printout.feed(f"\rline {number}\x1b[K\n")
        assert len(rows) >= number - ROWS
        assert len(printout.standing()) <= ROWS


@pytest.mark.parametrize(
    "piece",
    [
        *("x", "\x1b[999999C", "\x1b[999999999b", "\x1b[999S", "\x1b#8", "\x1b[999;999Hx", "\x1b[999L", "\u0301"),
        *("\t", "\x1b]0;"),
    ],
)
def test_an_output_without_an_end_takes_a_bounded_memory(piece: str) -> None:
    sizes: list[int] = []
    printout = Printout(lambda rows: sizes.append(sum(len(row.text) for row in rows)))
    for _ in range(200):
        printout.feed(f"x{piece}" * 100)
    assert max(sizes, default=0) <= 200 * COLUMNS
    assert sum(len(row.text) for row in printout.standing()) <= 9 * ROWS * COLUMNS


def test_a_flood_of_text_is_given_away_unread_and_what_follows_finds_the_same_screen() -> None:
    text = "".join(f"line {number} é漢\n" for number in range(5_000))
    for end in ("", "\x1b[3A\x1b[2Knew", "tail\rT"):
        shown: list[str] = []
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        printout = Printout(lambda rows, shown=shown: shown.append(joined(rows)))
        content = text.encode()
        for start in range(0, len(content), 60_000):
            if decoder.getstate()[0]:
                printout.feed(decoder.decode(content[start : start + 60_000]))
            else:
                printout.feed_bytes(
                    content[start : start + 60_000],
                    decoder.decode,
                    lambda part, shown=shown: shown.append(part.decode()),
                )
        printout.feed(end)
        assert "".join(shown) + joined(printout.standing()).removesuffix("\n") == plain_text(text + end)


def test_what_no_terminal_minds_is_left_out_and_takes_no_time_of_its_own() -> None:
    assert plain_text("a\x00\x01b\x1b[\x003\x001mc\x7f\x16d\x1b]0;t\x00itle\x07e") == "abcde"
    taken: list[bytes] = []
    printout = Printout(lambda _: None)
    printout.feed_bytes(b"\x00" * 1_000_000 + b"text", bytes.decode, taken.append)
    assert (joined(printout.standing()), taken) == ("text\n", [])
