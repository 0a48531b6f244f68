"""A block that was cut in one place and pasted in another is known as the same block."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.diff.hunks import MAX_CHANGED_LINES, MIN_MOVED_LINES, Moves, moved_blocks
from desktop_agent.core.protocol.model import MovedBlock
from tests.core.diff.conftest import make_diff

BLOCK = ["def moved():", "    first = 1", "", "    second = 2", "    return first"]
REST = [f"line {number}" for number in range(20)]


def text(*parts: list[str]) -> bytes:
    return "".join(f"{line}\n" for part in parts for line in part).encode()


def test_a_block_that_was_moved_is_found_with_both_its_places() -> None:
    diff = make_diff(text(BLOCK, REST), text(REST, BLOCK))
    assert moved_blocks(diff) == (MovedBlock(0, 20, 5),)


def test_a_block_that_was_indented_on_its_way_is_the_same() -> None:
    indented = [f"    {line}" if line else line for line in BLOCK]
    diff = make_diff(text(BLOCK, REST), text(REST, ["class New:"], indented))
    assert moved_blocks(diff) == (MovedBlock(0, 21, 5),)


def test_two_lines_are_no_block() -> None:
    diff = make_diff(text(["one", "", "two"], REST), text(REST, ["one", "", "two"]))
    assert moved_blocks(diff) == ()


def test_brackets_and_blank_lines_do_not_make_a_block() -> None:
    closing = ["one", "    }", "", "  }", "}"]
    assert moved_blocks(make_diff(text(closing, REST), text(REST, closing))) == ()


def test_a_block_that_only_got_another_indentation_has_not_moved() -> None:
    diff = make_diff(text(REST, BLOCK), text(REST, [f"  {line}" for line in BLOCK]))
    assert moved_blocks(diff) == ()


def test_a_block_that_was_pasted_twice_has_moved_once() -> None:
    diff = make_diff(text(BLOCK, REST), text(REST[:10], BLOCK, REST[10:], BLOCK))
    assert moved_blocks(diff) == (MovedBlock(0, 10, 5),)


def test_of_several_places_the_one_where_more_lines_agree_is_taken() -> None:
    diff = make_diff(text(BLOCK, REST), text(REST[:10], BLOCK[:-1], REST[10:], BLOCK))
    assert moved_blocks(diff) == (MovedBlock(0, 24, 5),)


def test_converted_line_endings_move_nothing() -> None:
    before = text(REST, BLOCK)
    assert moved_blocks(make_diff(before, before.replace(b"\n", b"\r\n"))) == ()


def test_a_rewrite_of_very_many_lines_has_no_marks() -> None:
    many = [f"new {number}" for number in range(MAX_CHANGED_LINES)]
    assert moved_blocks(make_diff(text(BLOCK, REST), text(REST, many, BLOCK))) == ()


def test_each_line_knows_its_block() -> None:
    moves = Moves([MovedBlock(10, 3, 4), MovedBlock(2, 30, 3)])
    assert [moves.of_old(line) for line in (1, 2, 4, 5)] == [None, (2, 30, 3), (2, 30, 3), None]
    assert [moves.of_new(line) for line in (2, 3, 6, 7)] == [None, (10, 3, 4), (10, 3, 4), None]


lines = st.lists(st.sampled_from(["a", "b", "  a", "", "}", "c", "d"]), max_size=30)


@given(before=lines, after=lines)
def test_blocks_are_equal_lines_that_were_changed_and_none_is_in_two(before: list[str], after: list[str]) -> None:
    diff = make_diff(text(before), text(after))
    removed = {line for edit in diff.edits for line in range(edit.old_start, edit.old_end)}
    added = {line for edit in diff.edits for line in range(edit.new_start, edit.new_end)}
    for old, new, size in moved_blocks(diff):
        said = [line.strip() for line in diff.old_lines[old : old + size]]
        assert said == [line.strip() for line in diff.new_lines[new : new + size]]
        assert len([line for line in said if line]) >= MIN_MOVED_LINES
        for line in range(size):
            removed.remove(old + line)
            added.remove(new + line)
