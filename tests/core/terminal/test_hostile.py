"""A file that is displayed in the terminal can only be displayed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.terminal.emulator import Emulator
from desktop_agent.ui.terminal.screen_view import pasted

ASKED = {
    "what it is": ("\x1b[c", "\x1b[?62;22c"),
    "which version": ("\x1b[>c", "\x1b[>1;0;0c"),
    "whether it is well": ("\x1b[5n", "\x1b[0n"),
    "where the cursor is": ("ab\x1b[6n", "\x1b[1;3R"),
    "the colour of the ground": ("\x1b]11;?\x07", "\x1b]11;rgb:1a1a/1d1d/2222\x1b\\"),
    "a setting (DECRQSS)": ("\x1bP$q;ls\n\x1b\\", ""),
    "a name of terminfo (XTGETTCAP)": ("\x1bP+q6c73\x1b\\", ""),
    "its title": ("\x1b]0;rm -rf ~\n\x07\x1b[21t", ""),
    "its icon": ("\x1b]1;ls\x07\x1b[20t", ""),
    "the clipboard": ("\x1b]52;c;?\x07", ""),
    "a colour of the palette": ("\x1b]4;1;?\x07", ""),
    "the answer to ENQ": ("\x05", ""),
    "its version by name": ("\x1b[>q", ""),
    "a checksum of the screen": ("\x1b[1;1;1;1;1;1*y", ""),
}


@pytest.mark.parametrize("name", ASKED)
def test_only_facts_are_answered_and_never_what_was_printed(name: str) -> None:
    answers: list[bytes] = []
    emulator = Emulator(4, 20, answered=answers.append)
    emulator.colours = ("#E4E6EA", "#1A1D22")
    asked, expected = ASKED[name]
    emulator.feed(asked.encode())
    assert b"".join(answers).decode() == expected


def test_a_file_of_questions_does_not_fill_the_shells_input() -> None:
    answers: list[bytes] = []
    Emulator(4, 20, answered=answers.append).feed(b"\x1b[6n" * 5_000)
    assert len(answers) <= 32


def test_titles_and_marks_are_bounded_and_a_string_without_an_end_hides_no_memory() -> None:
    emulator = Emulator(4, 20, answered=lambda _: None)
    emulator.feed(b"\x1b]0;" + b"t" * 100_000 + b"\x07" + b"a" + "\u0301".encode() * 10_000)
    assert (len(emulator.title), len(emulator.screen.row(0).text())) == (120, 9)
    emulator.feed(b"\x1bP" + b"x" * 1_000_000)
    emulator.feed(b"\x1b\\b")
    assert emulator.screen.row(0).text().endswith("b")


@pytest.mark.parametrize(
    "sequence", ["\x1b[999999999b", "\x1b[999999999S", "\x1b[999999999L", "\x1b[999999999@", "\x1b[J"]
)
def test_no_sequence_does_more_than_the_screen_is_large(sequence: str) -> None:
    emulator = Emulator(50, 200, answered=lambda _: None)
    emulator.feed(b"x" + sequence.encode() * 20)
    screen = emulator.screen
    assert {len(row.cells) for row in screen.rows} == {200}
    assert len(screen.rows) == 50


def test_pasted_text_cannot_end_its_bracket_or_send_control_characters() -> None:
    text = "one\r\ntwo\n\x1b[201~; rm -rf ~\r\x03\x9b201~"
    assert pasted(text, is_bracketed=True) == b"\x1b[200~one\rtwo\r[201~; rm -rf ~\r201~\x1b[201~"


PARAMETERS = [
    "",
    "?",
    "1;?",
    "?1;?",
    ";",
    "::",
    "9" * 30,
    "1" * 400,
    "38;5;",
    "38;2::1:2:3",
    "-1",
    "1 ;2",
    "4:9",
    ">0;<",
]
BETWEEN = ["", " ", "!", "$", "'", "*", "(", "/" * 9]
SEQUENCES = [
    *(f"\x1b[{some}{between}{chr(final)}" for some in PARAMETERS for between in BETWEEN for final in range(0x40, 0x7F)),
    *(f"\x1b{between}{chr(final)}" for between in BETWEEN for final in range(0x20, 0x7F)),
    *(
        f"\x1b{kind}{text}{end}"
        for kind in "]PX^_"
        for text in ("", "0;t", "é" * 9)
        for end in ("", "\x07", "\x1b\\", "\x18")
    ),
]


def rows_of(emulator: Emulator) -> list[str]:
    screen = emulator.screen
    return [screen.row(number).text() for number in range(screen.first_row + screen.height)]


def test_after_every_sequence_the_rest_of_the_output_is_still_shown() -> None:
    for sequence in SEQUENCES:
        emulator = Emulator(4, 20, answered=lambda _: None)
        emulator.feed(b"ab" + sequence.encode() + b"\r\nREST 42")
        assert any("REST 42" in row for row in rows_of(emulator)), repr(sequence)


@given(
    output=st.lists(st.one_of(st.binary(max_size=6), st.sampled_from(SEQUENCES).map(str.encode)), max_size=12),
    sizes=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 24)), min_size=1, max_size=4),
)
def test_no_bytes_at_no_size_are_too_much_and_none_hide_what_follows(
    output: list[bytes], sizes: list[tuple[int, int]]
) -> None:
    emulator = Emulator(*sizes[0], answered=lambda _: None)
    for number, piece in enumerate(output):
        emulator.feed(piece)
        emulator.screen.resize(*sizes[number % len(sizes)])
        emulator.feed(piece)
        rows_of(emulator)
    emulator.screen.resize(4, 24)
    emulator.feed(b"\r\nREST 42")
    assert any("REST 42" in row for row in rows_of(emulator))
