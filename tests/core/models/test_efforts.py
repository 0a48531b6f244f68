"""Levels of effort: what may be asked of which model."""

import pytest

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.models.efforts import LEVELS, effort_meant, levels_of
from desktop_agent.core.models.known_model import KnownModel
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
        (model(efforts=("low",)), "Known are: default, low."),
        (model("anthropic"), "Known are: default, low, medium, high, xhigh, max."),
        (model(efforts=()), "Only default is possible."),
    ],
)
def test_a_level_that_is_not_known_is_refused_with_those_that_are(known: KnownModel, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        effort_meant("none-such", known)
    assert refused.value.hint == reason
