"""What a server wants besides what a token allows: read only when it is said in the words of the protocol."""

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.mcp.sdk.http_transport import challenge_in

WANTED = 'Bearer error="insufficient_scope", scope="use write", resource_metadata="https://tickets.example/meta"'


def answer(header: bytes, status: int = 403) -> httpx2.Response:
    return httpx2.Response(status, headers=[(b"www-authenticate", header)])


def test_the_scopes_are_read() -> None:
    challenge = challenge_in(answer(WANTED.encode()))

    assert challenge is not None
    assert (challenge.header, challenge.scopes) == (WANTED, frozenset({"use", "write"}))


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (WANTED, 401),
        (WANTED.replace("insufficient_scope", "invalid_token"), 403),
        (WANTED.replace('scope="use write", ', ""), 403),
        (WANTED.replace("use write", 'use \\"'), 403),
        (WANTED.replace("use", "us\xe9"), 403),
        (WANTED + "x" * 2000, 403),
        ("", 403),
    ],
)
def test_anything_else_asks_for_nothing(header: str, status: int) -> None:
    assert challenge_in(answer(header.encode("latin-1"), status)) is None


@given(st.binary(max_size=200).filter(lambda text: b"\n" not in text and b"\r" not in text))
def test_no_header_is_too_strange(header: bytes) -> None:
    for text in (header, WANTED.encode() + header, header + WANTED.encode()):
        challenge = challenge_in(answer(text))
        assert challenge is None or all(scope.isascii() and scope.isprintable() for scope in challenge.scopes)
