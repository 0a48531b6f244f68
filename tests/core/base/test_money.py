"""Amounts of money in words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.money import cost_text, money


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
