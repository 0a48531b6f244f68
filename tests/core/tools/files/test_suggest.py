"""Suggestions name existing things, and are quick on large input."""

from pathlib import Path

import pytest

from desktop_agent.core.tools.files.suggest import closest_paths, paths_named, same_words


@pytest.mark.parametrize(
    ("missing", "there", "meant"),
    [
        ("nope.txt", "requirements-mypy.txt", False),
        ("nope.txt", "note.txt", True),
        ("a.py", "b.py", False),
        ("test_nope.py", "test_suggest.py", False),
        ("readme.md", "README.md", True),
        ("config", "config.toml", True),
        ("main.js", "main.ts", True),
        ("suggest_test.py", "test_suggest.py", True),
        ("suggest.py", "test_suggest.py", True),
        (".gitignor", ".gitignore", True),
    ],
)
def test_a_path_is_suggested_only_when_its_name_is_alike(
    tmp_path: Path, missing: str, there: str, *, meant: bool
) -> None:
    (tmp_path / there).touch()
    assert closest_paths(tmp_path / missing, tmp_path) == ((there,) if meant else ())


def test_a_name_is_found_wherever_it_is_nearest_first(tmp_path: Path) -> None:
    for folder in ("x/y/z", "x", "node_modules", ".hidden", "w"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "a.py").touch()
    assert paths_named("a.py", tmp_path) == ("w/a.py", "x/a.py", "x/y/z/a.py")
    assert paths_named("b.py", tmp_path) == ()


def test_white_space_within_lines_is_ignored_but_not_their_number() -> None:
    text = "a\n\tb  c\nd\n"
    assert same_words("b c", text) == 2
    assert same_words(" b c\nd", text) == 2
    assert same_words("b c d", text) is None
    assert same_words("b\nc", text) is None
    assert same_words(" \n ", text) is None
    assert same_words("d\n\n\n", text) == 3
