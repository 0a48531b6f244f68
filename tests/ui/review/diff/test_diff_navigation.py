"""The search finds text everywhere, in reading order, once."""

import pytest

from desktop_agent.core.diff.rows import DiffRows, RowMode
from desktop_agent.ui.review.diff.diff_navigation import DiffSearch
from tests.ui.review.stage import make_diff

BEFORE = "".join(f"line {number}\n" for number in range(40))
AFTER = BEFORE.replace("line 20\n", "LINE twenty, Needle\n")


def found(rows: DiffRows, needle: str) -> list[tuple[str, int, int]]:
    return [(match.side, match.line, match.offset) for match in DiffSearch(rows.diff).find(rows, needle, 100)]


@pytest.mark.parametrize("mode", ["side_by_side", "unified"])
def test_case_does_not_matter_and_folded_lines_are_searched(mode: RowMode) -> None:
    rows = DiffRows(make_diff(BEFORE, AFTER), mode)
    assert found(rows, "needle") == [("new", 20, 13)]
    assert found(rows, "Line 39") == [("new", 39, 0)]


def test_removed_lines_come_before_those_that_replace_them() -> None:
    rows = DiffRows(make_diff(BEFORE, AFTER), "side_by_side")
    assert found(rows, "line 20") == [("old", 20, 0)]
    assert found(rows, "line")[20:22] == [("old", 20, 0), ("new", 20, 0)]


def test_unchanged_lines_are_found_once() -> None:
    assert len(found(DiffRows(make_diff(BEFORE, AFTER), "side_by_side"), "line ")) == 41


def test_more_matches_than_wanted_are_not_looked_for() -> None:
    rows = DiffRows(make_diff(BEFORE, AFTER), "unified")
    assert len(DiffSearch(rows.diff).find(rows, "line", 5)) == 6, "one of them was removed"


@pytest.mark.parametrize("needle", ["", "\n", "not in there"])
def test_nothing_is_found_where_nothing_is(needle: str) -> None:
    assert found(DiffRows(make_diff(BEFORE, AFTER), "unified"), needle) == []


def test_letters_that_get_longer_in_lower_case_shift_nothing() -> None:
    assert found(DiffRows(make_diff("", "İİİ x\n"), "unified"), "X") == [("new", 0, 4)]
