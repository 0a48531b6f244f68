"""A diff shows exactly what changed in the bytes, in words where lines cannot."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.diff.diff import (
    MAX_COMPARED_BYTES,
    MAX_COMPARED_LINES,
    as_read,
    as_stored,
    count_lines,
    find_middle,
    is_only_endings,
)
from desktop_agent.core.diff.hunks import all_keys, hunk_names, marked, review_hunks, with_landmarks
from desktop_agent.core.diff.text import encode_lines
from desktop_agent.core.protocol.model import Edit, FileDiff
from tests.core.diff.changes import make_diff

line = st.sampled_from([b"a", b"b", b"  a", b"", b"\x0c", b"caf\xc3\xa9", b"\xfe!", b"x\ry", "\u2028".encode()])
ending = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n"])


def joined(parts: tuple[list[tuple[bytes, bytes]], bytes]) -> bytes:
    lines, tail = parts
    return b"".join(text + end for text, end in lines) + tail


content = st.tuples(st.lists(st.tuples(line, ending)), line).map(joined)


def applied(diff: FileDiff) -> tuple[str, ...]:
    """The old lines with the edits applied; only changed lines come from the new text."""
    result: list[str] = []
    at = 0
    for edit in diff.edits:
        result += diff.old_lines[at : edit.old_start]
        result += diff.new_lines[edit.new_start : edit.new_end]
        at = edit.old_end
    return (*result, *diff.old_lines[at:])


@given(before=content, after=content)
def test_the_edits_turn_the_old_bytes_into_the_new_ones(before: bytes, after: bytes) -> None:
    diff = make_diff(before, after)
    assert encode_lines(diff.old_lines, diff.old_encoding) == before
    assert encode_lines(applied(diff), diff.new_encoding) == after
    assert encode_lines(diff.new_lines, diff.new_encoding) == after


@given(before=content, after=content)
def test_edits_are_in_order_change_something_and_keep_the_lines_between_them(before: bytes, after: bytes) -> None:
    diff = make_diff(before, after)
    old_at = new_at = 0
    for edit in diff.edits:
        assert edit.old_start - old_at == edit.new_start - new_at >= 0
        assert diff.old_lines[edit.old_start : edit.old_end] != diff.new_lines[edit.new_start : edit.new_end]
        old_at, new_at = edit.old_end, edit.new_end
    assert len(diff.old_lines) - old_at == len(diff.new_lines) - new_at


@given(before=st.none() | content, after=st.none() | content)
def test_the_counts_of_the_ledger_are_the_counts_of_the_diff(before: bytes | None, after: bytes | None) -> None:
    diff = make_diff(before, after)
    assert count_lines(before, after) == (diff.added, diff.removed)


def test_unchanged_lines_are_kept_once_in_memory() -> None:
    diff = make_diff("é1\né2\né3\n".encode(), "é1\nnew\né3\n".encode())
    assert diff.old_lines[0] is diff.new_lines[0]
    assert diff.old_lines[2] is diff.new_lines[2]


# --- line endings -------------------------------------------------------------------------------------------------


def test_a_mere_conversion_of_line_endings_is_named() -> None:
    diff = make_diff(b"a\r\nb\r\n", b"a\nb\n")
    assert diff.notes == ("only line endings changed (CRLF → LF)",)
    assert [is_only_endings(diff, edit) for edit in diff.edits] == [True]


def test_the_one_real_edit_stands_out_of_a_conversion_of_line_endings() -> None:
    lines = [b"line %d" % number for number in range(9)]
    before = b"".join(line + b"\r\n" for line in lines)
    lines[4] = b"changed"
    diff = make_diff(before, b"".join(line + b"\n" for line in lines))
    real = [edit for edit in diff.edits if not is_only_endings(diff, edit)]
    assert [(edit.old_start, edit.old_end) for edit in real] == [(4, 5)]
    assert (diff.added, diff.removed) == (9, 9)
    assert diff.notes == ("line endings changed (CRLF → LF)",)


# --- notes --------------------------------------------------------------------------------------------------------


HUNDRED = b"".join(b"line %d\r\n" % number for number in range(100))
SEPARATORS = "a\x0bb\x0cc\x85d\u2028e\rf\n".encode()
NO_NEWLINE = "no newline at the end of the file"
COMPARED: dict[str, tuple[bytes | None, bytes | None, dict[str, Any], tuple[int, int], tuple[str, ...]]] = {
    "a line of CRLF": (HUNDRED, HUNDRED.replace(b"line 50\r", b"line fifty\r"), {}, (1, 1), ()),
    "created": (None, b"a\nb\n", {}, (2, 0), ()),
    "deleted": (b"a\nb\n", None, {}, (0, 2), ()),
    "created without lines": (None, b"", {}, (0, 0), ()),
    "lines end at newlines": (None, SEPARATORS, {}, (1, 0), ()),
    "a stray ending": (b"a\nb\nc\n", b"a\nb\r\nc\n", {}, (1, 1), ("only line endings changed (LF → mixed)",)),
    "five megabytes in a line": (b"x" * 5_000_000, b"x" * 4_999_999 + b"y", {}, (1, 1), ()),
    "one in a million": (b"a\n" * 1_000_000, b"a\n" * 400_000 + b"b\n" + b"a\n" * 600_000, {}, (1, 0), ()),
    "no newline any more": (b"a\n", b"a", {}, (1, 1), (NO_NEWLINE,)),
    "created without a newline": (None, b"a", {}, (1, 0), (NO_NEWLINE,)),
    "a newline": (b"a", b"a\n", {}, (1, 1), ("newline added at the end of the file",)),
    "still no newline": (b"a\nb", b"A\nb", {}, (1, 1), ()),
    "a mark": (b"a\n", b"\xef\xbb\xbfa\n", {}, (1, 1), ("byte order mark added",)),
    "no mark any more": (b"\xef\xbb\xbfa\n", b"a\n", {}, (1, 1), ("byte order mark removed",)),
    "no UTF-8": (
        b"a\n",
        b"a\xff\n",
        {},
        (1, 1),
        ("not all of it is UTF-8: other bytes are shown as numbers",),
    ),
    "another encoding": ("\ufeffa\n".encode("utf-16-le"), b"a\n", {}, (1, 1), ("encoding UTF-16-LE → UTF-8",)),
    "an encoding": (None, "\ufeffa\n".encode("utf-16-be"), {}, (1, 0), ("encoding UTF-16-BE",)),
    "a program": (None, b"#!/bin/sh\n", {"mode": 0o755}, (1, 0), ("executable (mode 755)",)),
    "a link": (b"text\n", b"target", {"kind": "symlink"}, (1, 1), ("file → symbolic link",)),
    "a new link": (None, b"../other", {"kind": "symlink"}, (1, 0), ("symbolic link",)),
    "a mode": (b"a\n", b"a\n", {"mode": 0o755}, (0, 0), ("mode 644 → 755",)),
}


@pytest.mark.parametrize("name", COMPARED)
def test_lines_are_counted_and_what_they_do_not_show_is_said_in_words(name: str) -> None:
    before, after, facts, counts, notes = COMPARED[name]
    diff = make_diff(before, after, **facts)
    assert ((diff.added, diff.removed), diff.notes, diff.is_binary) == (counts, notes, False)


GERMAN = "Größe: über 40 m\r\nStraße: schön\r\nläuft für alle\r\n"
GREEK, JAPANESE = "Ο γρήγορος σκύλος\nτρέχει μακριά\n", "これは日本語の文章です。\n漢字とひらがな\n"


@pytest.mark.parametrize(
    ("before", "after", "encodings"),
    [
        (GERMAN.encode("cp1252"), GERMAN.replace("schön", "schöner").encode("cp1252"), ("cp1252", "cp1252")),
        (b"Groesse\r\n", GERMAN.encode("cp1252"), ("cp1252", "cp1252")),
        (None, GERMAN.encode("cp1252"), ("cp1252", "cp1252")),
        (GERMAN.encode("cp1252"), None, ("cp1252", "cp1252")),
        (GERMAN.encode("cp1252"), GERMAN.encode(), ("cp1252", "utf-8")),
        (GREEK.encode(), GREEK.encode("cp1253"), ("utf-8", "cp1253")),
        (GERMAN.encode("cp1252"), ("\ufeff" + GERMAN).encode("utf-16-le"), ("cp1252", "utf-16-le")),
        (JAPANESE.encode("iso2022_jp"), JAPANESE.encode("iso2022_jp") * 2, ("iso2022_jp", "iso2022_jp")),
        (GERMAN.encode(), GERMAN.encode() + "schön\n".encode("cp1252"), ("utf-8", "utf-8")),
    ],
    ids=[
        "edited",
        "was ASCII",
        "created",
        "deleted",
        "converted to UTF-8",
        "from UTF-8",
        "to UTF-16",
        "ISO 2022",
        "a stray byte",
    ],
)
def test_lines_in_another_encoding_read_as_text_and_come_back_exactly(
    before: bytes | None, after: bytes | None, encodings: tuple[str, str]
) -> None:
    raw = make_diff(before, after)
    diff = as_read(with_landmarks(raw), before, after)
    assert (diff.old_encoding, diff.new_encoding) == encodings
    for lines, content, encoding in ((diff.old_lines, before, encodings[0]), (diff.new_lines, after, encodings[1])):
        assert encode_lines(lines, encoding) == (content or b"")
        assert "".join(lines).encode("utf-8", "surrogateescape").decode("utf-8", "replace").count("\ufffd") <= 1
    assert all_keys(diff) == all_keys(raw)
    assert as_stored(diff) == replace(raw, notes=diff.notes)
    is_read = encodings != ("utf-8", "utf-8")
    assert any(encodings[1].upper() in note for note in diff.notes) == (is_read or "UTF-8" in str(diff.notes))
    assert sum("encoding" in note for note in diff.notes) == is_read
    assert any("as numbers" in note for note in diff.notes) != is_read


# --- what is no text ----------------------------------------------------------------------------------------------


def test_a_binary_file_has_sizes_instead_of_lines() -> None:
    diff = make_diff(b"text\n", b"\x89PNG\0\0")
    assert diff.is_binary
    assert (diff.old_size, diff.new_size, diff.old_lines, diff.edits) == (5, 6, (), ())
    assert count_lines(b"text\n", b"\x89PNG\0\0") == (0, 0)


def test_a_nul_byte_far_into_a_text_does_not_hide_it() -> None:
    assert not make_diff(None, b"a" * 9_000 + b"\0\n").is_binary


def test_utf_16_is_text_and_comes_back_exactly() -> None:
    before, after = "\ufeffone\r\ntwo 🎉\r\n", "\ufeffone\r\nzwei 🎉\r\n"
    diff = make_diff(before.encode("utf-16-le"), after.encode("utf-16-le"))
    assert (diff.added, diff.removed, diff.is_binary) == (1, 1, False)
    assert encode_lines(diff.new_lines, diff.new_encoding) == after.encode("utf-16-le")


@pytest.mark.parametrize("broken", [b"\xff\xfea", b"\xff\xfe\x00\xd8a\0", b"\xff\xfe\0\0a\0\0\0"])
def test_what_only_looks_like_utf_16_is_binary(broken: bytes) -> None:
    assert make_diff(None, broken).is_binary
    assert count_lines(None, broken) == (0, 0)


@pytest.mark.parametrize(
    ("huge", "size"),
    [
        (b"0123456789\n" * (MAX_COMPARED_BYTES // 11 + 1), "52 MB, 4,766,256 lines"),
        (b"\n" * MAX_COMPARED_LINES, "3 MB, 3,000,001 lines"),
    ],
    ids=["many bytes", "many lines"],
)
def test_a_file_too_large_to_compare_says_so_and_is_not_called_binary(huge: bytes, size: str) -> None:
    diff = make_diff(b"\n", huge)
    assert diff.notes == (f"too large to compare line by line ({size})",)
    assert (diff.is_binary, diff.edits, diff.new_lines, diff.new_size) == (False, (), (), len(huge))
    assert count_lines(b"\n", huge) == (0, 0)


# --- texts that take too long -------------------------------------------------------------------------------------


@given(before=content, after=content)
def test_the_coarse_comparison_keeps_what_both_texts_start_and_end_with(before: bytes, after: bytes) -> None:
    old, new = [*io.BytesIO(before)], [*io.BytesIO(after)]
    edits = find_middle(before, after)
    assert bool(edits) == (before != after)
    for edit in edits:
        assert old[: edit.old_start] == new[: edit.new_start]
        assert old[edit.old_end :] == new[edit.new_end :]


def test_the_coarse_comparison_changes_no_line_that_it_need_not() -> None:
    assert find_middle(b"a\nb\nc\nd\n", b"a\nx\nd\n") == [Edit(old_start=1, old_end=3, new_start=1, new_end=2)]
    assert find_middle(b"a\n", b"a\na\n") == [Edit(old_start=1, old_end=1, new_start=1, new_end=2)]


# --- big and odd files --------------------------------------------------------------------------------------------


def test_a_conversion_of_a_big_file_keeps_its_one_edit_apart() -> None:
    before = b"".join(b"line %d\n" % number for number in range(100_000))
    diff = make_diff(before, before.replace(b"line 500\n", b"changed\n").replace(b"\n", b"\r\n"))
    real = [edit for edit in diff.edits if not is_only_endings(diff, edit)]
    assert [(edit.old_start, edit.old_end) for edit in real] == [(500, 501)]
    assert (diff.added, diff.removed, len(diff.edits)) == (100_000, 100_000, 3)


def test_every_other_line_of_a_big_file_is_an_edit_of_its_own() -> None:
    lines = [b"line %d\n" % number for number in range(20_000)]
    diff = make_diff(
        b"".join(lines), b"".join(b"# " + line if number % 2 else line for number, line in enumerate(lines))
    )
    assert (len(diff.edits), diff.added, diff.removed) == (10_000, 10_000, 10_000)


@given(
    st.booleans(),
    st.lists(st.integers(0, 9), unique=True, min_size=2, max_size=6),
    st.data(),
)
def test_what_was_decided_about_identical_changes_stays_with_them_when_some_come_or_go(
    is_alike: bool, places: list[int], data: st.DataObject
) -> None:
    """Also where the lines around them are the same."""
    old = ["TODO\n" if number % 12 == 6 else f"line {0 if is_alike else number}\n" for number in range(120)]

    def changed(here: set[int]) -> FileDiff:
        new = ["done\n" if number // 12 in here and number % 12 == 6 else text for number, text in enumerate(old)]
        return make_diff("".join(old), "".join(new))

    def place_of(diff: FileDiff) -> dict[str, int]:
        return {named.key: named.hunk.edits[0].old_start // 12 for named in review_hunks(diff)}

    some = st.sets(st.sampled_from(places))
    first = changed(set(places))
    decided = data.draw(some)
    keys = [key for key, place in place_of(first).items() if place in decided]
    marks = {names[0] for names in hunk_names(first, keys).values()}
    left = data.draw(some)
    later = changed(left)
    assert {place_of(later)[key] for key in marked(hunk_names(later), marks)} == decided & left
