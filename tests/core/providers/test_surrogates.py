"""Halves of characters find their other half, or are replaced."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.providers.strict_json import TextJoiner, is_encodable, repaired, repaired_json

ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""Also text that Python can hold and nothing can store."""


@given(st.text())
def test_sound_text_stays_as_it_is(text: str) -> None:
    assert repaired(text) == text


@given(ANY_TEXT)
def test_repaired_text_can_always_be_stored(text: str) -> None:
    assert is_encodable(repaired(text))


def test_two_halves_become_one_character() -> None:
    assert repaired("\ud83d\ude00") == "😀"


def test_a_lone_half_is_replaced() -> None:
    assert repaired("a\ud83db\ude00c") == "a\ufffdb\ufffdc"


def test_every_text_in_json_is_repaired() -> None:
    assert repaired_json({"\ud83d": ["\ude00", 1, None, {"a": "\ud83d\ude00"}]}) == {
        "\ufffd": ["\ufffd", 1, None, {"a": "😀"}]
    }


@given(st.lists(ANY_TEXT))
def test_text_in_pieces_comes_to_the_same_as_in_one(pieces: list[str]) -> None:
    joiner = TextJoiner()
    shown = [*(joiner.add(piece) for piece in pieces), joiner.end()]
    assert "".join(shown) == repaired("".join(pieces))
    assert all(map(is_encodable, shown))
