"""Sizes, prices and ages are short, and unknown ones are named so."""

from datetime import timedelta

from msgspec.structs import replace

from desktop_agent.core.models.known_model import Rates
from desktop_agent.ui.models.model_popup import age_words, cost_words, described, window_words
from tests.ui.models.stage import ANTHROPIC, DEMO, NOW, OPUS, WORK, offer


def test_what_is_not_known_is_never_made_up() -> None:
    assert (window_words(None), window_words(200_000)) == ("", "200k")
    assert cost_words(None, None) == "price unknown"
    assert cost_words(Rates(input=0, output=0), None) == "free"
    assert cost_words(Rates(input=3, output=15), None) == "$3 / $15"
    assert "Price not known" in described(offer(OPUS))


def test_what_a_model_can_is_said_in_words_as_far_as_it_is_known() -> None:
    plain = offer(OPUS, "Opus", 200_000, (3, 15))
    blind = replace(plain.known, takes_images=False, thinks=True)
    assert described(replace(plain, known=blind)) == [
        *("Opus", "opus-5", "Context of 200k tokens", "$3 per million input tokens, $15 per million output tokens"),
        *("Sees no images", "Thinks before it answers"),
    ]
    assert not any("image" in line for line in described(offer(OPUS)))


def test_what_a_plan_covers_is_not_called_free() -> None:
    plan = replace(WORK, is_plan=True)
    assert cost_words(Rates(input=0, output=0), plan) == "in your plan"
    assert cost_words(None, WORK) == "price unknown"
    assert "Included in your plan" in described(offer(OPUS), plan)


def test_a_list_says_how_old_it_is_and_one_that_was_never_asked_for_says_so() -> None:
    for days, words in ((0, "list of today"), (1, "list from yesterday"), (3, "list from 3 days ago")):
        assert age_words(replace(ANTHROPIC, listed_at=NOW - timedelta(days=days)), NOW) == f"Anthropic: {words}"
    assert age_words(WORK, NOW) == "Anthropic (work): list not loaded yet"
    assert age_words(replace(WORK, is_refreshing=True), NOW) == "Asking Anthropic (work)…"
    assert age_words(replace(ANTHROPIC, problem="No."), NOW) == "Anthropic: list could not be loaded"
    assert age_words(DEMO, NOW) == ""
