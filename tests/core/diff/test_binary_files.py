"""The bytes where two versions of a binary file differ."""

import pytest

from desktop_agent.core.diff.diff import first_difference


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
