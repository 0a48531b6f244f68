"""SGR sequences set colours and styles; what is unknown in them changes nothing."""

import pytest

from desktop_agent.core.terminal.look import PLAIN, PrintedStyle, changed, look_after


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
