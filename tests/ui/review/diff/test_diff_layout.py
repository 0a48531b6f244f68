import pytest

from desktop_agent.core.diff.rows import DiffRows
from desktop_agent.ui.review.diff.diff_layout import BAR_HEIGHT, ROW_HEIGHT, Geometry, panes
from tests.core.diff.changes import make_diff

LINES = "".join(f"line {number}\n" for number in range(60))
EDITED = LINES.replace("line 10\n", "ten\n").replace("line 40\n", "forty\n")


def test_side_by_side_has_two_panes_with_a_hairline_between_them() -> None:
    old, new = panes(DiffRows(make_diff(LINES, EDITED), "side_by_side"), 561, 6.5)
    assert (old.side, new.side) == ("old", "new")
    assert (old.left, old.right, new.left, new.right) == (0, 280, 281, 561)
    assert old.text_left - old.left == new.text_left - new.left


@pytest.mark.parametrize(("before", "numbers"), [(LINES, ["old", "new"]), (None, ["new"])])
def test_a_unified_diff_has_one_pane_with_the_line_numbers_of_its_sides(before: str | None, numbers: list[str]) -> None:
    (pane,) = panes(DiffRows(make_diff(before, EDITED), "unified"), 400, 6.5)
    assert [side for side, _ in pane.numbers] == numbers
    assert pane.side is None


def test_long_files_get_room_for_their_line_numbers() -> None:
    short = panes(DiffRows(make_diff(None, "x\n"), "unified"), 400, 6.5)[0]
    long = panes(DiffRows(make_diff(None, "x\n" * 123_456), "unified"), 400, 6.5)[0]
    assert long.text_left - short.text_left >= 6 * 6.5 - 28


def test_wrapped_lines_and_blocks_make_room_and_belong_to_their_rows() -> None:
    rows = DiffRows(make_diff(LINES, EDITED, mode=0o755), "unified")
    blocks = {0: 50, 3: 80, 4: 7, len(rows) - 1: 33}
    wrapped = {2: 3, 3: 1, len(rows) - 2: 40}
    geometry = Geometry(rows, row_height=ROW_HEIGHT, blocks=blocks, extra_parts=wrapped)
    assert (geometry.row_at(-50), geometry.row_at(geometry.height + 50)) == (0, len(rows) - 1)
    y = geometry.notes_height
    assert y == BAR_HEIGHT
    for row in range(len(rows)):
        height = BAR_HEIGHT if rows[row].kind in ("hunk", "gap") else ROW_HEIGHT * (1 + wrapped.get(row, 0))
        block = blocks.get(row, 0)
        if row in wrapped:
            parts = [geometry.part_at(row, y + ROW_HEIGHT * part) for part in range(1 + wrapped[row])]
            assert parts == list(range(1 + wrapped[row]))
        assert (geometry.top(row), geometry.row_height_at(row)) == (y, height)
        assert geometry.block_top(row) == y + height
        assert {geometry.row_at(pixel) for pixel in range(y, y + height + block)} == {row}
        assert [geometry.is_in_block(pixel) for pixel in range(y, y + height + block)] == (
            [False] * height + [True] * block
        )
        y += height + block
    assert geometry.height == y
