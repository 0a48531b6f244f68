"""Sums of tokens and costs, and what is known of a sum."""

from functools import reduce
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.protocol.model import Usage

PRICED = Usage(input_tokens=100, output_tokens=10, cost_usd=0.25)
UNPRICED = Usage(input_tokens=7, cache_read_tokens=3, output_tokens=2)
CENTS = st.integers(0, 10_000).map(lambda cents: cents / 100)
REQUESTS = st.builds(
    Usage,
    input_tokens=st.integers(1, 1_000),
    output_tokens=st.integers(0, 1_000),
    cache_read_tokens=st.integers(0, 1_000),
    cache_write_tokens=st.integers(0, 1_000),
    cost_usd=st.one_of(st.none(), CENTS),
)


def total(requests: list[Usage]) -> Usage:
    return reduce(add, requests, Usage())


def test_nothing_is_known_of_a_sum_without_a_price() -> None:
    both = UNPRICED + UNPRICED
    assert (both.cost_usd, both.is_cost_partial) == (None, False)


def test_a_sum_with_one_price_says_that_more_was_paid() -> None:
    for both in (PRICED + UNPRICED, UNPRICED + PRICED):
        assert (both.cost_usd, both.unpriced_tokens, both.is_cost_partial) == (0.25, 12, True)


def test_nothing_added_leaves_a_cost_whole() -> None:
    assert Usage() + PRICED == PRICED + Usage() == PRICED
    assert not PRICED.is_cost_partial


def test_a_sum_of_prices_has_no_crumbs() -> None:
    assert (Usage(cost_usd=0.1) + Usage(cost_usd=0.2)).cost_usd == 0.3


def test_what_was_paid_elsewhere_costs_nothing_and_stays_counted() -> None:
    elsewhere = (PRICED + UNPRICED).paid_elsewhere()
    assert (elsewhere.input_tokens, elsewhere.cost_usd, elsewhere.is_cost_partial) == (107, 0.0, False)


@given(REQUESTS, REQUESTS, REQUESTS)
def test_the_order_of_a_sum_does_not_matter(a: Usage, b: Usage, c: Usage) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)


@given(st.lists(REQUESTS, max_size=5), st.lists(REQUESTS, max_size=5))
def test_a_difference_takes_away_what_was_added(before: list[Usage], since: list[Usage]) -> None:
    spent = total([*before, *since]) - total(before)
    if all(one.cost_usd == 0 for one in since if one.cost_usd is not None):
        spent = replace(spent, cost_usd=total(since).cost_usd)  # nothing paid, or nothing known: either way no money
    assert spent == total(since)


@given(st.lists(REQUESTS, max_size=8))
def test_a_sum_is_partial_when_some_prices_are_known_and_some_are_not(requests: list[Usage]) -> None:
    known = [one.cost_usd for one in requests if one.cost_usd is not None]
    sum_of_all = total(requests)
    assert sum_of_all.cost_usd == (pytest.approx(sum(known)) if known else None)
    assert sum_of_all.is_cost_partial == (0 < len(known) < len(requests))
