"""Hunks taken out of a file, and distinguished from those that are in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import ENDINGS, all_keys, review_hunks
from desktop_agent.core.diff.text import encode_lines
from desktop_agent.core.merge.hunk_edit import undone_keys, without_hunks
from desktop_agent.core.protocol.model import FileChange, FileDiff
from desktop_agent.core.system.files import FileState

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "é\n", "", "\n"]), max_size=40).map("".join)


def diff_of(before: bytes, after: bytes) -> FileDiff:
    change = FileChange(
        id="1.1",
        path="a.txt",
        kind="modified",
        author="agent",
        before=FileState(content=before).image(),
        after=FileState(content=after).image(),
    )
    return diff_change(change, before, after)


def undone_in(diff: FileDiff, now: bytes) -> frozenset[HunkKey]:
    return undone_keys(diff, diff_of(now, encode_lines(diff.new_lines, "utf-8")))


def numbered(*changed: int) -> bytes:
    return b"".join(b"changed %d\n" % n if n in changed else b"line %d\n" % n for n in range(60))


def test_one_hunk_is_taken_out_and_the_others_stay() -> None:
    diff = diff_of(numbered(), numbered(5, 25, 45))
    keys = [hunk.key for hunk in review_hunks(diff)]
    assert len(set(keys)) == 3
    assert without_hunks(diff, {keys[1]}) == numbered(5, 45)
    assert without_hunks(diff, set(keys)) == numbered()
    assert without_hunks(diff, ()) == numbered(5, 25, 45)


def test_a_key_is_the_same_where_the_hunk_has_moved() -> None:
    shifted = [hunk.key for hunk in review_hunks(diff_of(b"new\n" * 9 + numbered(), b"new\n" * 9 + numbered(5, 45)))]
    assert shifted == [hunk.key for hunk in review_hunks(diff_of(numbered(), numbered(5, 45)))]


def test_hunks_that_say_the_same_have_keys_of_their_own() -> None:
    before = b"same\n" + numbered() + b"same\n"
    diff = diff_of(before, before.replace(b"same\n", b"other\n"))
    first, second = (hunk.key for hunk in review_hunks(diff))
    assert second == f"{first}-2"
    assert without_hunks(diff, {second}) == b"other\n" + numbered() + b"same\n"


def test_converted_line_endings_are_a_hunk_of_their_own() -> None:
    diff = diff_of(numbered(), numbered(5).replace(b"\n", b"\r\n"))
    (hunk,) = review_hunks(diff)
    assert all_keys(diff) == (hunk.key, ENDINGS)
    assert without_hunks(diff, {ENDINGS}) == numbered(5).replace(b"changed 5\n", b"changed 5\r\n")
    assert without_hunks(diff, {hunk.key, ENDINGS}) == numbered()


def test_an_undone_hunk_is_known_although_lines_moved_and_others_changed() -> None:
    diff = diff_of(numbered(), numbered(5, 25, 45))
    keys = [hunk.key for hunk in review_hunks(diff)]
    now = b"mine\n" + without_hunks(diff, {keys[1]}).replace(b"line 58\n", b"my 58\n")
    assert undone_in(diff, now) == {keys[1]}
    assert undone_in(diff, numbered(5, 25, 45)) == frozenset()
    assert undone_in(diff, numbered()) == set(keys)


@given(before=LINES, after=LINES)
def test_taking_all_out_gives_the_old_text_and_each_is_known_as_gone(before: str, after: str) -> None:
    diff = diff_of(before.encode(), after.encode())
    keys = [hunk.key for hunk in review_hunks(diff)]
    assert without_hunks(diff, keys) == before.encode()
    assert undone_in(diff, before.encode()) == set(keys)


@given(changed=st.sets(st.integers(0, 59)), data=st.data())
def test_exactly_those_that_were_taken_out_are_known_as_gone(changed: set[int], data: st.DataObject) -> None:
    diff = diff_of(numbered(), numbered(*changed))
    keys = [hunk.key for hunk in review_hunks(diff)]
    out = data.draw(st.sets(st.sampled_from(keys))) if keys else set[str]()
    assert undone_in(diff, without_hunks(diff, out)) == out


UTF16 = (("utf-16-le", "\ufeff"), ("utf-16-be", "\ufeff"))


@pytest.mark.parametrize("top", ["changed\n", "new\nline 0\n", ""])
@pytest.mark.parametrize(("encoding", "mark"), UTF16)
@pytest.mark.parametrize(("old_encoding", "old_mark"), [*UTF16, ("utf-8", "\ufeff"), ("utf-8", "")])
def test_the_first_hunk_of_a_file_in_utf_16_is_taken_out_and_its_mark_stays(
    old_encoding: str, old_mark: str, encoding: str, mark: str, top: str
) -> None:
    """A mark that is lost makes the file no text, and one that is doubled a character too many."""
    old = numbered().decode()
    rest = numbered(45).decode().removeprefix("line 0\n")
    diff = diff_of((old_mark + old).encode(old_encoding), (mark + top + rest).encode(encoding))
    first, second = (hunk.key for hunk in review_hunks(diff))
    assert without_hunks(diff, {first}) == (mark + "line 0\n" + rest).encode(encoding)
    assert without_hunks(diff, {first, second}) == (mark + old).encode(encoding)


def test_a_file_that_is_no_utf_16_any_more_gets_no_mark_with_a_hunk() -> None:
    diff = diff_of(("\ufeff" + numbered().decode()).encode("utf-16-le"), numbered(0, 45))
    first, _ = (hunk.key for hunk in review_hunks(diff))
    assert without_hunks(diff, {first}) == numbered(45)
