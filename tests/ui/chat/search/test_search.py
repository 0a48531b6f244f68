"""A search takes small steps, however long an entry is and however often it has what is sought."""

import pytest

from desktop_agent.core.transcript import Entry
from desktop_agent.ui.chat.entries.entry import EntryRow
from desktop_agent.ui.chat.search.search import Search
from desktop_agent.ui.chat.text.column_text import TextMatch
from tests.ui.chat.stage import answer, prompt

COUNT = 20_000


@pytest.mark.parametrize("entry", [prompt("needle " * COUNT), answer("needle " * COUNT)], ids=["prompt", "answer"])
def test_the_search_of_a_long_line_can_stop_between_its_parts(entry: Entry) -> None:
    row = EntryRow(entry, 0)
    search = Search("needle")
    steps = sum(1 for _ in search.read([row]))
    assert steps >= 7 * COUNT // 4_000
    assert search.total == COUNT
    assert row.stream is None, "what was read for the search is let go"


def test_what_stands_over_a_cut_within_a_line_is_found_in_the_part_where_it_begins() -> None:
    search = Search("needle")
    row = EntryRow(prompt("x" * 3_997 + "NEEDLE" + "x" * 100), 0)
    for _ in search.read_row(row):
        pass
    assert search.found[row] == [TextMatch(0, 3_997, 4_000)]


def test_the_way_through_many_matches_goes_round_in_both_directions() -> None:
    rows = [EntryRow(prompt("needle needle"), 0), EntryRow(prompt("hay"), 1), EntryRow(prompt("needle"), 2)]
    search = Search("needle")
    for _ in search.read(rows):
        pass
    search.step(1, 2)
    forward = [(search.position, search.step(1, 2)) for _ in range(4)]
    assert [position for position, _ in forward] == [3, 1, 2, 3]
    backward = [(search.step(-1, 2), search.position)[1] for _ in range(3)]
    assert backward == [3, 2, 1]


def test_a_row_that_changes_while_it_is_read_is_read_anew() -> None:
    row = EntryRow(prompt("needle " * COUNT), 0)
    search = Search("needle")
    old = search.read_row(row)
    next(old)
    row.entry = prompt("one needle")
    for steps in (search.read_row(row), old):
        for _ in steps:
            pass
    assert search.total == 1
