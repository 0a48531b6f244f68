"""Text of others in a terminal, and counts in words."""

import pytest

from desktop_agent.core.base.plain_text import number_of


@pytest.mark.parametrize(("count", "told"), [(0, "0 turns"), (1, "1 turn"), (2, "2 turns"), (1_000, "1,000 turns")])
def test_one_is_not_told_in_the_plural(count: int, told: str) -> None:
    assert number_of(count, "turn") == told
