"""The bytes where two versions of a binary file differ."""

import pytest

from desktop_agent.core.diff.binary_files import excerpt, first_difference, printable


@pytest.mark.parametrize(
    ("before", "after", "at"),
    [
        (b"", b"", None),
        (b"same", b"same", None),
        (b"abc", b"abd", 2),
        (b"abc", b"abcd", 3),
        (b"", b"x", 0),
        (bytes(200_000) + b"a", bytes(200_000) + b"b", 200_000),
    ],
)
def test_the_first_byte_that_differs_is_found(before: bytes, after: bytes, at: int | None) -> None:
    assert first_difference(before, after) == at


def test_the_excerpt_starts_at_a_round_place_before_the_difference() -> None:
    before = bytes(range(256)) * 4
    shown = excerpt(before, before[:300] + b"\xff" + before[301:])
    assert (shown.start, shown.difference, len(shown.before), len(shown.after)) == (288, 300, 256, 256)


def test_of_a_new_or_deleted_file_the_beginning_is_shown() -> None:
    assert excerpt(None, b"abc") == (0, b"", b"abc", None)
    assert excerpt(b"abc", None) == (0, b"abc", b"", None)


def test_what_cannot_be_printed_is_a_dot() -> None:
    assert printable(b"a\0\x7f\xffz ") == "a...z "
