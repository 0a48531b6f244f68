"""Which resource is meant, and which can be offered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.mcp.server_status import OfferedResource
from desktop_agent.core.mentions.grammar import mentions_in
from desktop_agent.core.mentions.matching import meant_by, ways_to_mention

ONE = OfferedResource(uri="note://one", name="one")
PLAN = OfferedResource(uri="note://plan", name="Release plan", title="The plan")
TWINS = (OfferedResource(uri="note://1", name="twin"), OfferedResource(uri="note://2", name="twin"))
LISTED = (ONE, PLAN, *TWINS)


@pytest.mark.parametrize(
    ("target", "meant"), [("note://one", ONE), ("one", ONE), ("The plan", PLAN), ("note://2", TWINS[1]), ("two", None)]
)
def test_a_target_is_an_address_a_name_or_a_title(target: str, meant: OfferedResource | None) -> None:
    assert meant_by(target, LISTED) == meant


def test_an_address_that_is_not_listed_is_read_as_it_is() -> None:
    assert meant_by("note://2026/x", LISTED) == OfferedResource(uri="note://2026/x", name="note://2026/x")


@pytest.mark.parametrize(
    ("target", "why"),
    [("twin", "2 resources have that name."), ("note://{year}/x", "`{year}`"), ("a:" + "x" * 5000, "4,096 characters")],
)
def test_what_is_not_clear_is_refused_in_words(target: str, why: str) -> None:
    with pytest.raises(UsageError, match=r"(?s).*") as refused:
        meant_by(target, LISTED)

    assert why in str(refused.value)


def test_names_that_cannot_be_read_are_offered_by_address_or_not_at_all() -> None:
    turned = OfferedResource(uri="note://turned", name="exe\u202etxt")
    hidden = OfferedResource(uri="note://\u202e", name="\x07")
    long = OfferedResource(uri="x:" + "y" * 10_000, name="n" * 500)

    ways = ways_to_mention("docs", (*LISTED, turned, hidden, long))

    assert [way for _, way in ways] == [
        "@docs:one",
        '@docs:"Release plan"',
        "@docs:note://1",
        "@docs:note://2",
        "@docs:note://turned",
    ]


@given(st.lists(st.builds(OfferedResource, uri=st.text(max_size=12), name=st.text(max_size=12)), max_size=6))
def test_what_is_offered_means_the_resource_that_it_was_offered_for(listed: list[OfferedResource]) -> None:
    unique = tuple({found.uri: found for found in listed}.values())
    for found, way in ways_to_mention("docs", unique):
        (mention,) = mentions_in(way)
        assert meant_by(mention.target, unique) == found
