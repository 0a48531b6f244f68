"""A block that was moved is recognised as the same block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.diff.hunks import MAX_CHANGED_LINES, MIN_MOVED_LINES, Moves, moved_blocks
from desktop_agent.core.protocol.model import MovedBlock
from tests.core.diff.changes import make_diff

BLOCK = ["def moved():", "    first = 1", "", "    second = 2", "    return first"]
REST = [f"line {number}" for number in range(20)]


def text(*parts: list[str]) -> bytes:
    return "".join(f"{line}\n" for part in parts for line in part).encode()


INDENTED = [f"    {line}" if line else line for line in BLOCK]
SHORT = ["one", "", "two"]
CLOSING = ["one", "    }", "", "  }", "}"]
BEFORE = text(BLOCK, REST)
MOVED: dict[str, tuple[bytes, bytes, tuple[MovedBlock, ...]]] = {
    "a block that was moved": (BEFORE, text(REST, BLOCK), (MovedBlock(0, 20, 5),)),
    "one that was indented on its way": (BEFORE, text(REST, ["class New:"], INDENTED), (MovedBlock(0, 21, 5),)),
    "two lines are no block": (text(SHORT, REST), text(REST, SHORT), ()),
    "nor are brackets and blank lines": (text(CLOSING, REST), text(REST, CLOSING), ()),
    "one that only got another indentation": (text(REST, BLOCK), text(REST, [f"  {line}" for line in BLOCK]), ()),
    "one that was pasted twice moved once": (BEFORE, text(REST[:10], BLOCK, REST[10:], BLOCK), (MovedBlock(0, 10, 5),)),
    "of several places the one where more lines agree": (
        BEFORE, text(REST[:10], BLOCK[:-1], REST[10:], BLOCK), (MovedBlock(0, 24, 5),)
    ),
    "converted line endings": (BEFORE, BEFORE.replace(b"\n", b"\r\n"), ()),
    "a rewrite of very many lines": (
        BEFORE, text(REST, [f"new {number}" for number in range(MAX_CHANGED_LINES)], BLOCK), ()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_a_block_that_was_moved_is_found_with_both_its_places(name: str) -> None:
    before, after, blocks = MOVED[name]
    assert moved_blocks(make_diff(before, after)) == blocks


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
