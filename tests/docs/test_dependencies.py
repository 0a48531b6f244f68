"""Every dependency has exactly one line in the document."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DOCUMENT = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=;~! \[]", requirement)[0] for requirement in requirements}


def documented(heading: str) -> set[str]:
    section = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


def test_every_runtime_dependency_has_a_line_and_no_other_has() -> None:
    assert documented("To run") == names(PROJECT["project"]["dependencies"])


def test_every_optional_dependency_has_a_line_and_no_other_has() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert documented("Optional") == {name for requirements in extras.values() for name in names(requirements)}


def test_every_test_dependency_has_a_line_and_no_other_has() -> None:
    assert documented("To test") == names(PROJECT["dependency-groups"]["test"])


def test_every_build_dependency_has_a_line_and_no_other_has() -> None:
    groups = PROJECT["dependency-groups"]
    assert documented("To build") == names(groups["build"]) | names(groups["freeze"])


def test_every_line_says_what_for_which_licence_and_which_wheels() -> None:
    tables = DOCUMENT.partition("\n## Wheels\n")[0]
    rows = [line.strip("| ").split(" | ") for line in tables.splitlines() if line.startswith("| `")]
    assert [row[0] for row in rows if len(row) != 4 or not all(cell.strip() for cell in row)] == []


def pinned(lock: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    text = (ROOT / "packaging" / lock).read_text(encoding="utf-8")
    for name, version in re.findall(r"^([\w.-]+)(?:\[[^\]]*\])?(==[^\\\n]+?)\s*\\?$", text, re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-cluster.txt", "requirements-freeze.txt"])
def test_what_runs_is_what_is_tested(lock: str) -> None:
    tested = pinned("requirements-test.txt")
    assert pinned(lock)
    assert {name: versions for name, versions in pinned(lock).items() if tested.get(name) != versions} == {}
