"""Tuples of lines are ordinary tuples, but for the garbage collector."""

import gc

from desktop_agent.core.changes.line_tuples import tuple_of_lines


def test_the_collector_does_not_go_over_the_lines() -> None:
    lines = tuple_of_lines([f"line {number}\n" for number in range(3)])
    assert lines == ("line 0\n", "line 1\n", "line 2\n")
    assert not gc.is_tracked(lines)


def test_no_lines_are_the_empty_tuple() -> None:
    assert tuple_of_lines([]) == ()


def test_a_collection_and_the_end_of_the_tuple_change_nothing() -> None:
    line = "".join(("some ", "line"))
    lines = tuple_of_lines([line] * 10)
    gc.collect()
    assert lines == (line,) * 10
    del lines
    gc.collect()
    assert line == "some line"
