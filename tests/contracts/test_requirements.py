"""Every requirement about tools is named by a test, or has a reason for having none."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.contracts.requirement_ids import DECIDED, IDS

_TESTS = Path(__file__).parent.parent
_CITED = re.compile(r"\b(?:T|V|R|C|O|E|S|SC|Z)-\d{2,3}[a-e]?\b")


@pytest.fixture(scope="module")
def cited() -> Mapping[str, list[str]]:
    """The paths of the tests that name each id, without the list of ids itself."""
    found: dict[str, list[str]] = {}
    for file in _TESTS.rglob("*.py"):
        if file.name not in (Path(__file__).name, "requirement_ids.py"):
            for identifier in set(_CITED.findall(file.read_text("utf-8"))):
                found.setdefault(identifier, []).append(file.relative_to(_TESTS).as_posix())
    return found


def test_every_requirement_is_shown_by_a_test_or_decided(cited: Mapping[str, list[str]]) -> None:
    assert [identifier for identifier in IDS if identifier not in cited and identifier not in DECIDED] == []


def test_no_decision_is_left_for_what_a_test_shows(cited: Mapping[str, list[str]]) -> None:
    assert {identifier: cited[identifier] for identifier in DECIDED if identifier in cited} == {}


def test_every_id_that_is_named_exists(cited: Mapping[str, list[str]]) -> None:
    known = set(IDS)
    assert len(known) == len(IDS)
    assert {identifier: files for identifier, files in cited.items() if identifier not in known} == {}
    assert [identifier for identifier in DECIDED if identifier not in known] == []


def test_every_decision_has_a_reason() -> None:
    assert [identifier for identifier, reason in DECIDED.items() if len(reason.partition(": ")[2]) < len("MCP.")] == []
