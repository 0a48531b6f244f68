import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.diff import as_read, diff_change
from desktop_agent.core.diff.hunks import ENDINGS, all_keys, review_hunks, with_landmarks
from desktop_agent.core.diff.text import encode_lines
from desktop_agent.core.merge import Clashing, merge_bytes, undone_keys, without_hunks
from desktop_agent.core.protocol.model import FileChange, FileDiff
from desktop_agent.core.system.files import FileState

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"e\n", b"x\r\n"]), max_size=12).map(b"".join)


def test_edits_in_different_places_are_both_taken() -> None:
    merge = merge_bytes(b"1\n2\n3\n4\n5\n", b"one\n2\n3\n4\n5\n", b"1\n2\n3\n4\nfive\n")
    assert merge is not None
    assert merge.content() == b"one\n2\n3\n4\nfive\n"


def test_the_same_edit_on_both_sides_is_no_clash() -> None:
    merge = merge_bytes(b"1\n2\n3\n", b"1\ntwo\n3\n", b"1\ntwo\n3\n")
    assert merge is not None
    assert merge.content() == b"1\ntwo\n3\n"


def test_different_edits_of_one_line_clash_and_the_rest_is_clean() -> None:
    merge = merge_bytes(b"1\n2\n3\n4\n5\n", b"1\n2\n3\n4\nours\n", b"1\n2\n3\n4\ntheirs\n")
    assert merge is not None
    assert merge.pieces == (b"1\n2\n3\n4\n", Clashing((b"5\n",), (b"ours\n",), (b"theirs\n",)))
    with pytest.raises(ValueError, match="clash"):
        merge.content()


def test_edits_that_touch_clash_as_in_git() -> None:
    merge = merge_bytes(b"1\n2\n3\n", b"one\n2\n3\n", b"1\ntwo\n3\n")
    assert merge is not None
    assert not merge.is_clean


def test_a_last_line_without_newline_stays_without() -> None:
    merge = merge_bytes(b"1\n2\n3\n4\n5", b"one\n2\n3\n4\n5", b"1\n2\n3\n4\n5")
    assert merge is not None
    assert merge.content() == b"one\n2\n3\n4\n5"


def test_utf16_is_merged_by_its_lines_and_keeps_its_mark() -> None:
    base, ours, theirs = (text.encode("utf-16") for text in ("1\n2\n3\n4\n", "one\n2\n3\n4\n", "1\n2\n3\nfour\n"))
    merge = merge_bytes(base, ours, theirs)
    assert merge is not None
    assert merge.content() == "one\n2\n3\nfour\n".encode("utf-16")


@pytest.mark.parametrize("other", [b"\0\n", "1\n".encode("utf-16")])
def test_what_is_no_text_or_of_another_encoding_is_not_merged(other: bytes) -> None:
    assert merge_bytes(b"1\n", other, b"2\n") is None
    assert merge_bytes(other, b"1\n", b"2\n") is None


@given(base=LINES, ours=LINES, theirs=LINES)
def test_a_side_that_did_nothing_takes_everything_of_the_other(base: bytes, ours: bytes, theirs: bytes) -> None:
    for merge, expected in ((merge_bytes(base, ours, base), ours), (merge_bytes(base, base, theirs), theirs)):
        assert merge is not None
        assert merge.content() == expected


@given(base=LINES, ours=LINES, theirs=LINES)
def test_merging_is_the_same_from_either_side(base: bytes, ours: bytes, theirs: bytes) -> None:
    there, back = merge_bytes(base, ours, theirs), merge_bytes(base, theirs, ours)
    assert there is not None
    assert back is not None
    assert there.is_clean == back.is_clean
    if there.is_clean:
        assert there.content() == back.content()


@given(base=LINES, ours=LINES, theirs=LINES)
def test_the_pieces_hold_every_line_of_both_sides_edits(base: bytes, ours: bytes, theirs: bytes) -> None:
    merge = merge_bytes(base, ours, theirs)
    assert merge is not None
    for which, side in ((1, ours), (2, theirs)):
        whole = b"".join(b"".join(piece[which]) if isinstance(piece, Clashing) else piece for piece in merge.pieces)
        added = set(side.splitlines(keepends=True)) - set(base.splitlines(keepends=True))
        assert added <= set(whole.splitlines(keepends=True))


def test_what_merges_cleanly_merges_to_the_same_in_git(tmp_path: Path) -> None:
    names = ("ours", "base", "theirs")
    base = b"".join(b"line %d\n" % number for number in range(60))
    for first in range(0, 60, 7):
        for second in range(0, 60, 9):
            ours = base.replace(b"line %d\n" % first, b"our %d\nour too\n" % first)
            theirs = base.replace(b"line %d\n" % second, b"")
            for name, content in zip(names, (ours, base, theirs), strict=True):
                (tmp_path / name).write_bytes(content)
            command = ["git", "merge-file", "-p", *names]
            git = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)  # noqa: TID251
            merge = merge_bytes(base, ours, theirs)
            assert merge is not None
            assert merge.is_clean == (git.returncode == 0)
            if merge.is_clean:
                assert merge.content() == git.stdout


NUMBERED = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "é\n", "", "\n"]), max_size=40).map("".join)


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


def test_a_hunk_of_a_file_in_another_encoding_is_taken_out_byte_for_byte() -> None:
    before, after = (
        "".join(f"Größe {n + 9 * (n in changed)} für Straße\r\n" for n in range(40)).encode("cp1252")
        for changed in ((), (5, 30))
    )
    diff = diff_of(before, after)
    first, second = (hunk.key for hunk in review_hunks(diff))
    now = without_hunks(diff, {first})
    assert now.splitlines()[5] == "Größe 5 für Straße".encode("cp1252")
    assert (len(now), without_hunks(diff, {first, second})) == (len(after) - 1, before)
    read = as_read(with_landmarks(diff), before, after)
    assert undone_keys(read, as_read(with_landmarks(diff_of(now, after)), now, after)) == {first}
    assert undone_keys(read, diff_of(now, after)) == {first}


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


@given(before=NUMBERED, after=NUMBERED)
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
    """Without its mark the file is no text; a doubled mark adds a character."""
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
