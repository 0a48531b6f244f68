"""Three-way merge, with git's own as the judge."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.merge.merge import Clashing, merge_bytes

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
