"""What a terminal would show in the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.tools.terminal_text import plain_text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[1;31mred\x1b[0m\n", "red\n"),
        ("\x1b]0;title\x07a\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x1b[?25lhidden\x1b[?25h\x1b(B\x1b=", "hidden"),
        ("cut off \x1b[3", "cut off "),
        ("\x1b]0;never ended\nnext\n", "\nnext\n"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("10%\r100%\r\n", "100%\n"),
        ("10%\r\x1b[K100%\r", "100%"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("-\b\\\b|\bdone\n", "done\n"),
        ("\b\bx_\by", "xy"),
        ("N\bNA\bAM\bME\bE\n", "NAME\n"),
        ("bell\x07\n", "bell\n"),
        ("\r\n\r\n", "\n\n"),
    ],
)
def test_the_last_state_is_what_counts(written: str, shown: str) -> None:
    assert plain_text(written) == shown


@given(st.text(st.sampled_from("ab\n\r\b\x1b[]0;m\x07 \\")))
def test_lines_are_neither_made_nor_lost(text: str) -> None:
    plain = plain_text(text)
    assert plain.count("\n") == text.count("\n")
    assert plain_text(plain) == plain
    assert not set(plain) & set("\r\b\x1b\x07")
