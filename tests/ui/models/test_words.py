"""Sizes, prices and ages are short, and what is not known is said to be so."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from desktop_agent.core.models.prices import Rates
from desktop_agent.ui.models.words import age_words, cost_words, described, price_words, size_words
from tests.ui.models.stage import ANTHROPIC, DEMO, NOW, OPUS, WORK, offer


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (200_000, "200k"),
        (131_072, "131k"),
        (1_000_000, "1M"),
        (1_048_576, "1M"),
        (1_050_000, "1.05M"),
        (2_097_152, "2M"),
        (999_999, "1M"),
        (512, "512"),
        (None, ""),
        (0, ""),
    ],
)
def test_a_context_window_is_said_in_thousands_or_millions(tokens: int | None, words: str) -> None:
    assert size_words(tokens) == words


@pytest.mark.parametrize(
    ("price", "words"),
    [
        ((3, 15), "$3 / $15"),
        ((0.25, 2.5), "$0.25 / $2.50"),
        ((0.075, 0.3), "$0.075 / $0.30"),
        ((0, 0), "free"),
        ((0, 1), "$0 / $1"),
    ],
)
def test_a_price_is_that_of_a_million_tokens_in_and_out(price: tuple[float, float], words: str) -> None:
    assert price_words(Rates(input=price[0], output=price[1])) == words


def test_a_price_that_is_not_known_is_never_free() -> None:
    assert price_words(None) == "price unknown"
    assert "Its price is not known" in described(offer(OPUS))


def test_what_a_model_can_is_said_in_words_as_far_as_it_is_known() -> None:
    plain = offer(OPUS, "Opus", 200_000, (3, 15))
    blind = replace(plain.known, takes_images=False, thinks=True)
    assert described(replace(plain, known=blind)) == [
        "Opus",
        "opus-5",
        "Reads 200k tokens at once",
        "$3 for a million tokens read, $15 for a million written",
        "Sees no images",
        "Thinks before it answers",
    ]
    assert not any("image" in line for line in described(offer(OPUS)))


def test_what_a_plan_covers_is_not_called_free() -> None:
    plan = replace(WORK, is_plan=True)
    assert cost_words(Rates(input=0, output=0), plan) == "in your plan"
    assert cost_words(None, WORK) == "price unknown"
    assert "Your plan covers what it costs" in described(offer(OPUS), plan)


@pytest.mark.parametrize(
    ("days", "words"),
    [(0, "Anthropic: list of today"), (1, "Anthropic: list from yesterday"), (3, "Anthropic: list from 3 days ago")],
)
def test_a_list_says_how_old_it_is(days: int, words: str) -> None:
    assert age_words(replace(ANTHROPIC, listed_at=NOW - timedelta(days=days)), NOW) == words


def test_a_list_that_was_never_asked_for_says_so_and_one_that_cannot_be_says_nothing() -> None:
    assert age_words(WORK, NOW) == "Anthropic (work): its list was never asked for"
    assert age_words(replace(WORK, is_refreshing=True), NOW) == "Asking Anthropic (work)…"
    assert age_words(replace(ANTHROPIC, problem="No."), NOW) == "Anthropic: its list could not be read"
    assert age_words(DEMO, NOW) == ""
