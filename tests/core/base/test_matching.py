"""Finding a name, such as the path of a file, by a few letters."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.matching import Match, Matches, find_matches

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
