"""Finding a name, such as the path of a file, by a few letters."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from desktop_agent.core.base.matching import Match, Matches, NarrowingSearch, PathIndex, find_matches

PATHS = ["README.md", "src/pages/view.py", "src/pages.py", "tests/test_pages.py", "docs/spare page.md"]


def found(query: str, paths: list[str] | None = None) -> list[str]:
    return [match.text for match in find_matches(paths or PATHS, query, limit=10).best]


def test_the_name_counts_more_than_the_folder_and_its_beginning_more_than_its_end() -> None:
    assert found("pages") == ["src/pages.py", "tests/test_pages.py", "src/pages/view.py"]
    assert found("pages.py") == ["src/pages.py", "tests/test_pages.py"]


def test_every_word_must_be_there_in_any_order_and_case() -> None:
    assert found("PAGES test") == ["tests/test_pages.py"]
    assert found("pages docs") == []


def test_short_paths_come_first_among_equals() -> None:
    assert found("a", ["xx/a", "a", "x/a"]) == ["a", "x/a", "xx/a"]


def test_letters_in_order_are_enough_when_no_word_fits() -> None:
    assert found("tpgs") == ["tests/test_pages.py"]
    assert find_matches(PATHS, "rdm", limit=10).best == [Match("README.md", ((0, 1), (3, 4), (7, 8)))]


def test_the_spans_say_what_fitted() -> None:
    assert find_matches(["src/pages.py"], "pag src", limit=1).best == [Match("src/pages.py", ((0, 3), (4, 7)))]
    assert find_matches(["aaa"], "aa a", limit=1).best == [Match("aaa", ((1, 3),))]


def test_more_matches_than_the_limit_are_counted() -> None:
    assert find_matches([f"file{number}" for number in range(50)], "file", limit=3).total == 50


def test_nothing_typed_finds_nothing() -> None:
    assert find_matches(PATHS, "  ", limit=10) == Matches([], 0)


def test_letters_whose_lower_case_is_longer_do_not_mislead() -> None:
    assert find_matches(["İstanbul.txt"], "stan", limit=1).best == [Match("İstanbul.txt", ())]


@given(st.lists(st.text(min_size=1), max_size=8, unique=True), st.text(max_size=5))
def test_spans_are_ordered_and_inside_the_path(paths: list[str], query: str) -> None:
    matches = find_matches(paths, query, limit=5)
    assert len(matches.best) <= min(5, matches.total)
    for path, spans in matches.best:
        flat = [at for span in spans for at in span]
        assert flat == sorted(flat)
        assert all(0 <= at <= len(path) for at in flat)
        assert all(start < end for start, end in spans)


INDEXED = [
    *("README.md", "core/session/turn.py", "core/session/turn_runner.py", "core/tools/return_value.py"),
    *("tests/session/test_turn.py", "ui/TurnView.tsx", "docs/a turn/notes.md"),
]


def found_in_index(query: str, paths: list[str] | None = None, limit: int = 10) -> list[str]:
    return [match.text for match in PathIndex(paths or INDEXED).find(query, limit=limit)]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        (
            "turn",
            ["ui/TurnView.tsx", "core/session/turn.py", "core/session/turn_runner.py", "tests/session/test_turn.py"],
        ),
        ("view", ["ui/TurnView.tsx"]),
        ("session/turn", ["core/session/turn.py", "core/session/turn_runner.py"]),
        ("sesrun", ["core/session/turn_runner.py"]),
        ("TVtsx", ["ui/TurnView.tsx"]),
        ("session test", ["tests/session/test_turn.py"]),
    ],
)
def test_the_best_come_first(query: str, best: list[str]) -> None:
    assert found_in_index(query)[: len(best)] == best


def test_what_contains_the_letters_elsewhere_comes_behind() -> None:
    assert found_in_index("turn")[-2:] == ["core/tools/return_value.py", "docs/a turn/notes.md"]


def test_nothing_typed_and_nothing_fitting_find_nothing() -> None:
    assert found_in_index(" ") == []
    assert found_in_index("zq") == []


def test_the_spans_of_a_path_say_what_fitted() -> None:
    (match,) = PathIndex(["core/session/turn_runner.py"]).find("sesrun", limit=1)
    assert [match.text[start:end] for start, end in match.spans] == ["ses", "run"]
    assert PathIndex(["İstanbul.txt"]).find("stan", limit=1)[0].spans == ()


@given(st.lists(st.text("abAB/_. é", min_size=1, max_size=12), max_size=8, unique=True), st.text("abAB/_", max_size=4))
def test_only_paths_with_the_letters_in_order_are_found_and_some_if_there_are_any(paths: list[str], query: str) -> None:
    def has_letters(path: str) -> bool:
        rest = iter(path.lower())
        return all(letter in rest for letter in query.lower())

    matches = PathIndex(paths).find(query, limit=10)
    with_word = {path for path in paths if query and query.lower() in path.lower()}
    with_letters = {path for path in paths if query and has_letters(path)}
    shown = {match.text for match in matches}
    assert shown == with_word if with_word else shown <= with_letters and bool(shown) == bool(with_letters)
    for match in matches:
        flat = [at for span in match.spans for at in span]
        assert flat == sorted(flat)
        assert "".join(match.text[start:end] for start, end in match.spans).lower() in ("", query.lower())


_NAMES = st.lists(st.text("abAB/._\u0130", min_size=1, max_size=8), max_size=30, unique=True)
_TYPED = st.lists(st.text("abAB/. x", max_size=5), min_size=1, max_size=5)


@example(["BBB", "BABBA"], ["B", "BB", "A"], 1)  # matched by words until the last key, then by letters of another name
@given(_NAMES, _TYPED, st.integers(1, 6))
def test_whatever_was_typed_before_the_answer_is_that_of_a_search_from_nothing(
    names: list[str], typed: list[str], limit: int
) -> None:
    search, query = NarrowingSearch(names), ""
    for piece in typed:
        query = "" if len(query) > 6 else query + piece
        assert search.find(query, limit=limit) == find_matches(names, query, limit=limit)
