"""Finding a path among many by a few letters: the last part first, beginnings of words before the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.path_index import PathIndex

PATHS = [
    "README.md",
    "core/session/turn.py",
    "core/session/turn_runner.py",
    "core/tools/return_value.py",
    "tests/session/test_turn.py",
    "ui/TurnView.tsx",
    "docs/a turn/notes.md",
]


def found(query: str, paths: list[str] | None = None, limit: int = 10) -> list[str]:
    return [match.text for match in PathIndex(paths or PATHS).find(query, limit=limit)]


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
    assert found(query)[: len(best)] == best


def test_what_contains_the_letters_elsewhere_comes_behind() -> None:
    assert found("turn")[-2:] == ["core/tools/return_value.py", "docs/a turn/notes.md"]


def test_nothing_typed_and_nothing_fitting_find_nothing() -> None:
    assert found(" ") == []
    assert found("zq") == []


def test_the_spans_say_what_fitted() -> None:
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
