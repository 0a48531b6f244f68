"""What is known of a model in words: the unknown is named, and nothing else is."""

import pytest

from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.model_words import ability_words, effort_words, price_words, size_words
from desktop_agent.core.models.prices import Rates


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
