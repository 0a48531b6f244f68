"""Typing on among very many names gives what a search from nothing gives."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.matching import find_matches
from desktop_agent.core.search.files.narrowing import NarrowingSearch

_NAMES = st.lists(st.text("abAB/._\u0130", min_size=1, max_size=8), max_size=30, unique=True)
_TYPED = st.lists(st.text("abAB/. x", max_size=5), min_size=1, max_size=5)


@given(_NAMES, _TYPED, st.integers(1, 6))
def test_whatever_was_typed_before_the_answer_is_that_of_a_search_from_nothing(
    names: list[str], typed: list[str], limit: int
) -> None:
    search, query = NarrowingSearch(names), ""
    for piece in typed:
        query = "" if len(query) > 6 else query + piece
        assert search.find(query, limit=limit) == find_matches(names, query, limit=limit)
