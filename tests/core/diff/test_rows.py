"""Rows show every line once, fold unchanged lines, and align related ones."""

import tracemalloc
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.diff.hunks import CONTEXT_LINES, MIN_FOLDED_LINES, all_keys, review_hunks, with_landmarks
from desktop_agent.core.diff.rows import DiffRows, RowMode
from desktop_agent.core.protocol.model import Edit, FileDiff
from tests.core.diff.changes import make_diff

MODES: tuple[RowMode, ...] = ("side_by_side", "unified")
numbered = [b"line %d\n" % number for number in range(60)]
content = st.lists(st.integers(0, 59), max_size=80).map(lambda picks: b"".join(numbered[pick] for pick in picks))


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, bytes]:
    old = [b"row %d\n" % number for number in range(draw(st.integers(0, 60)))]
    new = list(old)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(new)))
        new[at : at + draw(st.integers(0, 6))] = [b"new %d\n" % number for number in range(draw(st.integers(0, 6)))]
    ending = draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    return b"".join(old), b"".join(line[:-1] + ending for line in new)


def shown_lines(diff: FileDiff, rows: DiffRows) -> tuple[list[int], list[int]]:
    old: list[int] = []
    new: list[int] = []
    for index in range(len(rows)):
        row = rows[index]
        if gap := rows.gap(index):
            old += range(gap.old_start, gap.old_start + gap.size)
            new += range(gap.new_start, gap.new_start + gap.size)
        old += [] if row.old is None else [row.old]
        new += [] if row.new is None else [row.new]
    return old, new


@pytest.mark.parametrize("mode", MODES)
@given(texts=edited() | st.tuples(content, content), data=st.data())
def test_every_line_is_in_exactly_one_row(mode: RowMode, texts: tuple[bytes, bytes], data: st.DataObject) -> None:
    diff = make_diff(*texts)
    rows = DiffRows(diff, mode)
    names = [gap.old_start for index in rows.bars if (gap := rows.gap(index))]
    opened = frozenset(data.draw(st.sets(st.sampled_from(names)))) if names else frozenset[int]()
    rows = DiffRows(diff, mode, opened=opened)
    assert shown_lines(diff, rows) == (list(range(len(diff.old_lines))), list(range(len(diff.new_lines))))


@pytest.mark.parametrize("mode", MODES)
@given(texts=edited() | st.tuples(content, content))
def test_a_line_is_found_in_the_row_that_shows_or_hides_it(mode: RowMode, texts: tuple[bytes, bytes]) -> None:
    diff = make_diff(*texts)
    rows = DiffRows(diff, mode)
    sides: tuple[tuple[Literal["old", "new"], int], ...] = ("old", len(diff.old_lines)), ("new", len(diff.new_lines))
    for side, count in sides:
        for line in range(count):
            index = rows.find(side, line)
            if gap := rows.gap(index):
                start = gap.old_start if side == "old" else gap.new_start
                assert start <= line < start + gap.size
            else:
                assert (rows[index].old if side == "old" else rows[index].new) == line


def test_unchanged_lines_far_from_a_change_are_folded() -> None:
    before = b"".join(numbered)
    rows = DiffRows(make_diff(before, before.replace(b"line 30\n", b"changed\n")), "side_by_side")
    kinds = [rows[index].kind for index in range(len(rows))]
    context = ["context"] * CONTEXT_LINES
    assert kinds == ["gap", "hunk", *context, "changed", *context, "gap"]
    first, last = rows.gap(0), rows.gap(len(rows) - 1)
    assert first
    assert last
    assert (first.size, last.size) == (30 - CONTEXT_LINES, 60 - 31 - CONTEXT_LINES)


@pytest.mark.parametrize(("distance", "is_folded"), [(2 * CONTEXT_LINES + 3, False), (2 * CONTEXT_LINES + 4, True)])
def test_a_gap_hides_at_least_four_lines(distance: int, is_folded: bool) -> None:
    assert MIN_FOLDED_LINES == 4
    before = b"".join(numbered)
    after = before.replace(b"line 10\n", b"x\n").replace(b"line %d\n" % (11 + distance), b"y\n")
    rows = DiffRows(make_diff(before, after), "side_by_side")
    assert len(rows.changes) == (2 if is_folded else 1)


def test_the_line_that_became_the_other_stands_beside_it_or_is_known_to_the_unified_row() -> None:
    diff = make_diff(b"def total(items):\n    return 0\n", b"# sums up\ndef total(items, tax):\n    return tax\n")
    rows = DiffRows(diff, "side_by_side")
    assert [rows[index][:3] for index in range(1, len(rows))] == [
        ("added", None, 0),
        ("changed", 0, 1),
        ("changed", 1, 2),
    ]
    rows = DiffRows(diff, "unified")
    assert [(rows[index].kind, rows[index].peer) for index in range(1, len(rows))] == [
        ("removed", 1),
        ("removed", 2),
        ("added", None),
        ("added", 0),
        ("added", 1),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_converted_line_endings_are_folded_like_unchanged_lines_and_counted(mode: RowMode) -> None:
    before = b"".join(line.replace(b"\n", b"\r\n") for line in numbered)
    rows = DiffRows(make_diff(before, b"".join(numbered)), mode)
    gap = rows.gap(0)
    assert len(rows) == 1
    assert gap
    assert (gap.size, gap.converted) == (60, 60)


def test_a_change_of_mode_alone_is_one_gap() -> None:
    rows = DiffRows(make_diff(b"".join(numbered), b"".join(numbered), mode=0o755), "unified")
    assert [rows[index].kind for index in range(len(rows))] == ["gap"]
    assert rows.changes == []


def test_nothing_is_made_per_line() -> None:
    before = b"x\n" * 200_000
    diff = make_diff(before, before + b"y\n")
    tracemalloc.start()
    try:
        rows = DiffRows(diff, "side_by_side", opened=frozenset({0}))
        size_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(rows) == 200_002
    assert rows[200_001].kind == "added"
    assert size_bytes < 50_000


def test_what_is_no_lines_has_a_head_of_its_own() -> None:
    converted = replace(make_diff(b"a\nb\nc\n", b"a\r\nb\r\nc\r\n"), old_mode=0o100644, new_mode=0o100755)
    rows = DiffRows(converted, "unified", has_heads=True)
    assert [rows.key(row) for row in rows.changes] == ["endings", "mode"] == list(all_keys(converted))
    assert [rows.hunk(row) for row in rows.changes] == [None, None]
    assert rows.converted_lines() == 3
    assert DiffRows(converted, "unified").changes == []


def test_a_file_without_lines_is_one_head() -> None:
    rows = DiffRows(make_diff(b"\0old", b"\0new"), "side_by_side", has_heads=True)
    assert [rows.key(row) for row in rows.changes] == ["file"]
    assert len(rows) == 1


def test_notes_that_a_head_says_are_not_said_twice() -> None:
    diff = make_diff(b"a\nb\n", b"a\r\nb\r\n")
    rows = DiffRows(replace(diff, notes=(*diff.notes, "something else")), "unified", has_heads=True)
    assert rows.notes == ("something else",)
    assert rows.head_note(0) == "only line endings changed (LF → CRLF)"


@pytest.mark.parametrize("mode", MODES)
@given(texts=edited())
def test_every_key_has_a_row(mode: RowMode, texts: tuple[bytes, bytes]) -> None:
    diff = make_diff(*texts)
    rows = DiffRows(diff, mode, has_heads=True)
    assert sorted(rows.key(row) or "" for row in rows.changes) == sorted(all_keys(diff))
    if diff.old_lines or diff.new_lines:
        assert shown_lines(diff, rows) == (list(range(len(diff.old_lines))), list(range(len(diff.new_lines))))


def every_row(diff: FileDiff, rows: DiffRows) -> list[tuple[str, int | None, int | None]]:
    """The expected rows, computed one after another without pairs, by the rule of `DiffRows`."""
    made: list[tuple[str, int | None, int | None]] = []

    def parallel(old: int, new: int, count: int) -> None:
        if count >= MIN_FOLDED_LINES and old not in rows.opened:
            made.append(("gap", old, new))
        else:
            made.extend(("context", old + at, new + at) for at in range(count))

    def changed(edit: Edit) -> None:
        removed = [("removed", old, None) for old in range(edit.old_start, edit.old_end)]
        added = [("added", None, new) for new in range(edit.new_start, edit.new_end)]
        longer = removed if len(removed) > len(added) else added
        made.extend([("edit", None, None)] * len(longer) if rows.mode == "side_by_side" else [*removed, *added])

    old_at = new_at = 0
    for _, hunk in review_hunks(diff):
        before = hunk.old_start - old_at
        if before >= MIN_FOLDED_LINES:
            parallel(old_at, new_at, before)
            old_at, new_at = hunk.old_start, hunk.new_start
        made.append(("hunk", None, None))
        for edit in hunk.edits:
            made.extend(("context", old, old - old_at + new_at) for old in range(old_at, edit.old_start))
            changed(edit)
            old_at, new_at = edit.old_end, edit.new_end
        made.extend(("context", old, old - old_at + new_at) for old in range(old_at, hunk.old_end))
        old_at, new_at = hunk.old_end, hunk.new_end
    parallel(old_at, new_at, len(diff.old_lines) - old_at)
    return made


@pytest.mark.parametrize("mode", MODES)
@given(texts=edited() | st.tuples(content, content), has_landmarks=st.booleans(), data=st.data())
def test_rows_that_are_found_are_those_that_would_be_made(
    mode: RowMode, texts: tuple[bytes, bytes], has_landmarks: bool, data: st.DataObject
) -> None:
    diff = make_diff(*texts)
    diff = with_landmarks(diff) if has_landmarks else diff
    closed = DiffRows(diff, mode)
    names = [gap.old_start for index in closed.bars if (gap := closed.gap(index))]
    opened = frozenset(data.draw(st.sets(st.sampled_from(names)))) if names else frozenset[int]()
    like = data.draw(st.sampled_from([None, closed, DiffRows(diff, "unified")]))
    rows = DiffRows(diff, mode, opened=opened, like=like)
    expected = every_row(diff, rows)
    assert len(rows) == len(expected)
    for index, (kind, old, new) in enumerate(expected):
        gap = rows.gap(index)
        if kind == "gap":
            assert gap
            assert (gap.old_start, gap.new_start) == (old, new)
        elif kind == "edit":
            assert rows[index].kind in ("changed", "removed", "added")
        else:
            assert rows[index][:3] == (kind, old, new)
    assert rows.changes == [index for index, row in enumerate(expected) if row[0] == "hunk"]
    assert rows.bars == [index for index, row in enumerate(expected) if row[0] in ("hunk", "gap")]
    assert rows.keys == [rows.key(row) for row in rows.changes] == [key for key, _ in review_hunks(diff)]


@pytest.mark.parametrize("mode", MODES)
@given(texts=edited() | st.tuples(content, content), data=st.data())
def test_the_lines_of_some_rows_are_those_of_each(
    mode: RowMode, texts: tuple[bytes, bytes], data: st.DataObject
) -> None:
    diff = make_diff(*texts)
    rows = DiffRows(diff, mode)
    side: Literal["old", "new"] = data.draw(st.sampled_from(["old", "new"]))
    if not len(rows):
        return
    first = data.draw(st.integers(0, len(rows) - 1))
    last = data.draw(st.integers(first, len(rows) - 1))
    shown = [rows[index] for index in range(first, last + 1)]
    if mode == "unified":
        lines = [
            diff.old_lines[r.old or 0] if r.kind == "removed" else diff.new_lines[r.new or 0]
            for r in shown
            if r.kind not in ("hunk", "gap")
        ]
        assert list(rows.lines(first, last)) == lines
    elif side == "old":
        assert list(rows.lines(first, last, side)) == [diff.old_lines[r.old] for r in shown if r.old is not None]
    else:
        assert list(rows.lines(first, last, side)) == [diff.new_lines[r.new] for r in shown if r.new is not None]


@pytest.mark.parametrize("mode", MODES)
@given(texts=edited() | st.tuples(content, content), data=st.data())
def test_rows_asked_for_together_are_those_asked_for_one_by_one(
    mode: RowMode, texts: tuple[bytes, bytes], data: st.DataObject
) -> None:
    rows = DiffRows(make_diff(*texts), mode, has_heads=data.draw(st.booleans()))
    first, last = data.draw(st.integers(0, len(rows))), data.draw(st.integers(-1, len(rows) + 1))
    assert rows.between(first, last) == [rows[index] for index in range(first, min(last + 1, len(rows)))]
