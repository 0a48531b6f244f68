"""Levels of effort, and what is known of a model in words."""

import pytest

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.models.known_model import (
    LEVELS,
    KnownModel,
    ability_words,
    effort_meant,
    effort_words,
    levels_of,
    price_words,
    size_words,
)
from desktop_agent.core.models.prices import Rates
from desktop_agent.core.models.vendors import VENDORS, vendor_of


def model(
    provider: str = "openai", *, efforts: tuple[str, ...] | None = None, thinks: bool | None = None
) -> KnownModel:
    return KnownModel(provider=provider, name="m", efforts=efforts, thinks=thinks)


@pytest.mark.parametrize("provider", [vendor.id for vendor in VENDORS])
def test_where_nobody_says_every_level_of_the_format_may_be_asked_for(provider: str) -> None:
    assert levels_of(model(provider)) == LEVELS[vendor_of(provider).wire]


def test_what_is_known_of_a_model_goes_before_its_format() -> None:
    assert levels_of(model(efforts=("low",))) == ("low",)
    assert levels_of(model(efforts=())) == levels_of(model(thinks=False)) == ()
    assert levels_of(model(thinks=False, efforts=("low",))) == ("low",)


def test_a_level_is_read_as_people_write_it() -> None:
    assert effort_meant(" High ", model()) == "high"
    assert effort_meant("default", model()) == effort_meant("", model()) == ""
    assert effort_meant("default", model(efforts=())) == ""


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (model(efforts=("low",)), "Available: default, low."),
        (model("anthropic"), "Available: default, low, medium, high, xhigh, max."),
        (model(efforts=()), "Only default is possible."),
    ],
)
def test_a_level_that_is_not_known_is_refused_with_those_that_are(known: KnownModel, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        effort_meant("none-such", known)
    assert refused.value.hint == reason


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (None, "unknown"), (1, "1"), (999, "999"), (1_000, "1k"), (40_960, "41k"), (200_000, "200k"),
        (999_949, "1M"), (1_048_576, "1.05M"), (2_000_000, "2M"),
    ],
)  # fmt: skip
def test_sizes_are_rounded_to_three_digits(tokens: int | None, words: str) -> None:
    assert size_words(tokens) == words


def test_a_price_is_what_is_read_and_what_is_written() -> None:
    assert price_words(Rates(input=3.0, output=15.0)) == "$3 / $15"
    assert price_words(Rates(input=0.25, output=2.5)) == "$0.25 / $2.50"
    assert price_words(Rates(input=0.075, output=0.3)) == "$0.075 / $0.30"
    assert price_words(Rates(input=0.0, output=1.0)) == "$0 / $1"
    assert price_words(Rates(input=0.0, output=0.0)) == "free"
    assert price_words(None) == "unknown"


def test_abilities_are_named_as_far_as_they_are_known() -> None:
    silent = KnownModel(provider="openai", name="m")
    assert (ability_words(silent), effort_words(silent)) == ("unknown", "unknown")
    full = KnownModel(provider="openai", name="m", takes_images=True, takes_tools=True, thinks=False)
    assert (ability_words(full), effort_words(full)) == ("images, tools, no thinking", "none")
    partly = KnownModel(provider="openai", name="m", takes_images=False, efforts=("low", "high"))
    assert (ability_words(partly), effort_words(partly)) == ("no images; tools, thinking: unknown", "low, high")
