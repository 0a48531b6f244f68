"""Foreign text in a terminal, and counts in words."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.plain_text import (
    HIDING,
    cost_text,
    duration_text,
    has_hidden,
    is_hiding,
    money,
    named,
    number_of,
)

_IGNORABLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""`Default_Ignorable_Code_Point` without the joiners, which `HIDING` judges by the characters before."""
_DRAWN = frozenset((*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD))
_JOINERS = frozenset((0x200C, 0x200D))


def test_every_character_that_unicode_calls_unseen_is_known() -> None:
    unseen = {
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in {"Cc", "Cf", "Zl", "Zp", "Zs", "Cs"}
    }
    unseen -= _DRAWN | _JOINERS | {0x20}
    unseen.update(code for first, last in _IGNORABLE for code in range(first, last + 1))
    unseen.update((0x2800, *range(0xFDD0, 0xFDF0), 0xFFFC, 0xFFFE, 0xFFFF))
    assert {f"U+{code:04X}" for code in unseen if not HIDING.match(chr(code))} == set()


def test_what_can_be_seen_is_left_alone() -> None:
    seen = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] in "LNPS"]
    blank = {0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0, 0x1D159, 0xFFFC}
    hidden = {ord(char) for char in seen if HIDING.match(char)}
    assert hidden <= blank


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u2028b", "a⟨U+2028⟩b"),
        ("a\xa0b", "a⟨U+00A0⟩b"),
        ("a\rb\nc\td", "a␍b␊c␉d"),
        ("e\ufe0fx", "e⟨U+FE0F⟩x"),
        ("\u200dx", "⟨U+200D⟩x"),
        ("بی\u200cنام", "بی\u200cنام"),
        ("\udcff", "\\xff"),
        ("plain words", "plain words"),
    ],
)
def test_what_is_hidden_is_named(text: str, shown: str) -> None:
    assert named(text) == shown
    assert has_hidden(text) == (text != shown)


def test_what_somebody_wrote_keeps_what_shapes_it() -> None:
    for text, index in (("⚠\ufe0f", 1), ("日本\u3000語", 2)):
        assert is_hiding(text, index)
        assert not is_hiding(text, index, is_content=True)
    assert is_hiding("x\u3000y", 1, is_content=True)


@pytest.mark.parametrize(("count", "told"), [(0, "0 turns"), (1, "1 turn"), (2, "2 turns"), (1_000, "1,000 turns")])
def test_one_is_not_told_in_the_plural(count: int, told: str) -> None:
    assert number_of(count, "turn") == told


@pytest.mark.parametrize(
    ("usd", "told"),
    [
        (0.0, "$0.00"),
        (0.00001, "< $0.0001"),
        (0.0042, "$0.0042"),
        (0.042, "$0.042"),
        (0.03, "$0.03"),
        (0.0999, "$0.10"),
        (0.4249, "$0.42"),
        (12.345, "$12.35"),
        (1234.5, "$1,234.50"),
    ],
)
def test_an_amount_has_as_many_digits_as_it_is_worth(usd: float, told: str) -> None:
    assert money(usd) == told


@pytest.mark.parametrize(("usd", "told"), [(0.29, "≥ $0.29"), (0.4299, "≥ $0.42"), (0.0, "≥ $0.00"), (1e-9, "> $0")])
def test_what_is_known_of_a_cost_is_told_as_the_least(usd: float, told: str) -> None:
    assert money(usd, is_least=True) == told


def test_a_cost_that_is_not_known_is_not_told() -> None:
    assert cost_text(None) == cost_text(None, is_partial=True) == ""


@given(st.floats(0, 1e6))
def test_what_is_told_as_the_least_is_never_more_than_the_amount(usd: float) -> None:
    told = re.sub(r"[^\d.]", "", money(usd, is_least=True))
    assert float(told) <= usd + 1e-8


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "1 ms"), (0.0061, "6 ms"), (0.4, "400 ms"), (3.21, "3.2 s"), (125, "2 min 5 s"), (7400, "2 h 3 min")],
)
def test_times(seconds: float, said: str) -> None:
    assert duration_text(seconds) == said
