"""The part of a sign-in in the browser: what an attempt makes up, and the port that takes the answer."""

import asyncio
import re
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.providers.auth.browser_sign_in import (
    MAX_HEAD_BYTES,
    Attempt,
    RedirectReceiver,
    is_same,
    read_parameters,
    read_request,
)
from tests.servers.browser import ask
from tests.servers.mcp_authorization import free_port

UNRESERVED = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def test_the_challenge_is_the_one_of_the_standards_example() -> None:
    """RFC 7636, appendix B."""
    attempt = Attempt("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "state", "nonce")
    assert attempt.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_every_attempt_has_its_own_texts_of_the_length_that_the_standard_asks_for() -> None:
    attempts = [Attempt.new() for _ in range(20)]
    texts = [text for attempt in attempts for text in (attempt.verifier, attempt.state, attempt.nonce)]
    assert len(set(texts)) == len(texts)
    assert all(UNRESERVED.fullmatch(text) for text in texts)


def test_the_representation_shows_nothing() -> None:
    attempt = Attempt.new()
    assert not any(text in repr(attempt) for text in (attempt.verifier, attempt.state, attempt.nonce))


def test_texts_are_the_same_only_when_all_of_them_is() -> None:
    assert is_same("état", "état")
    assert not is_same("\udcff", "x")
    assert not is_same("", "x")


STATE = "the-state-of-this-sign-in"


@pytest.fixture
async def receiver() -> AsyncGenerator[RedirectReceiver]:
    async with RedirectReceiver("/auth/callback", state=STATE) as receiver:
        yield receiver


async def test_the_answer_arrives_and_the_user_may_close_the_window(receiver: RedirectReceiver) -> None:
    shown = await ask(f"{receiver.address}?code=abc&state={STATE}&scope=")
    assert dict(await receiver.answer()) == {"code": "abc", "state": STATE, "scope": ""}
    assert shown.status == 200
    assert "You can close this window" in shown.body
    assert not receiver.has_refused


async def test_the_page_keeps_the_code_to_itself(receiver: RedirectReceiver) -> None:
    shown = await ask(f"{receiver.address}?code=abc-secret&state={STATE}")
    assert shown.headers["referrer-policy"] == "no-referrer"
    assert shown.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert "abc-secret" not in shown.body
    assert STATE not in shown.body


async def test_it_listens_on_this_machine_only_and_on_a_free_port(receiver: RedirectReceiver) -> None:
    assert urlsplit(receiver.address).hostname == "127.0.0.1"
    async with RedirectReceiver("/auth/callback", state=STATE) as other:
        assert other.address != receiver.address


async def test_a_second_use_of_the_answer_is_refused(receiver: RedirectReceiver) -> None:
    assert (await ask(f"{receiver.address}?code=abc&state={STATE}")).status == 200
    assert (await ask(f"{receiver.address}?code=other&state={STATE}")).status == 410
    assert (await receiver.answer())["code"] == "abc"


@pytest.mark.parametrize("state", ["", "the-state-of-another", STATE[:-1], f"{STATE}x", "stäte", STATE.upper()])
async def test_another_state_is_refused_and_the_right_one_still_counts(receiver: RedirectReceiver, state: str) -> None:
    assert (await ask(f"{receiver.address}?code=evil&state={state}".encode().decode("latin-1"))).status == 400
    assert receiver.has_refused
    assert (await ask(f"{receiver.address}?code=abc&state={STATE}")).status == 200
    assert (await receiver.answer())["code"] == "abc"


async def test_an_answer_that_says_a_thing_twice_is_refused(receiver: RedirectReceiver) -> None:
    assert (await ask(f"{receiver.address}?code=a&code=b&state={STATE}")).status == 400
    assert (await ask(f"{receiver.address}?code=a&state={STATE}&state=x")).status == 400


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/auth/callback/", "/auth/callback/x", "/auth"])
async def test_other_paths_that_a_browser_asks_for_change_nothing(receiver: RedirectReceiver, path: str) -> None:
    root = receiver.address.removesuffix("/auth/callback")
    assert (await ask(f"{root}{path}?code=a&state={STATE}")).status == 404
    assert not receiver.has_refused
    assert (await ask(f"{receiver.address}?code=abc&state={STATE}")).status == 200


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "OPTIONS"])
async def test_only_a_get_counts(receiver: RedirectReceiver, method: str) -> None:
    assert (await ask(f"{receiver.address}?code=a&state={STATE}", method=method)).status == 405


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost", "127.0.0.1:1"])
async def test_a_request_that_was_meant_for_another_host_is_refused(receiver: RedirectReceiver, host: str) -> None:
    assert (await ask(f"{receiver.address}?code=a&state={STATE}", host=host)).status == 421


@pytest.mark.parametrize(
    "head",
    [
        b"\r\n\r\n",
        b"GET /auth/callback\r\n\r\n",
        b"GET /auth/callback HTTP/1.1\r\n\r\n",
        b"GET /auth/callback HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_refused(receiver: RedirectReceiver, head: bytes) -> None:
    assert (await ask(receiver.address, head=head)).status == 400


async def test_a_request_without_end_is_cut_off(receiver: RedirectReceiver) -> None:
    endless = b"GET /auth/callback HTTP/1.1\r\nX: " + b"x" * (2 * MAX_HEAD_BYTES)
    assert (await ask(receiver.address, head=endless)).status == 431


async def test_connections_that_say_nothing_stand_in_no_way(receiver: RedirectReceiver) -> None:
    port = urlsplit(receiver.address).port
    idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
    assert (await ask(f"{receiver.address}?code=abc&state={STATE}")).status == 200
    assert (await receiver.answer())["code"] == "abc"
    for _, writer in idle:
        writer.close()


async def test_a_browser_that_does_not_wait_for_the_page_has_answered_all_the_same(receiver: RedirectReceiver) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", urlsplit(receiver.address).port)
    host = urlsplit(receiver.address).netloc
    writer.write(f"GET /auth/callback?code=abc&state={STATE} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    writer.close()
    assert (await receiver.answer())["code"] == "abc"


async def test_afterwards_the_port_is_closed() -> None:
    async with RedirectReceiver("/auth/callback", state=STATE) as receiver:
        address = receiver.address
    with pytest.raises(ConnectionError):
        await ask(address)


async def test_without_a_state_the_path_is_the_secret() -> None:
    async with RedirectReceiver("/sign-in/secret", state=None, host="localhost") as receiver:
        assert receiver.address.startswith("http://localhost:")
        root = receiver.address.removesuffix("/sign-in/secret")
        assert (await ask(f"{root}/sign-in/guessed?code=a")).status == 404
        assert (await ask(f"{receiver.address}?code=abc")).status == 200
        assert dict(await receiver.answer()) == {"code": "abc"}


async def test_a_state_that_is_made_later_counts_from_then_on() -> None:
    async with RedirectReceiver("/callback", state=None) as receiver:
        receiver.expect(STATE)
        assert (await ask(f"{receiver.address}?code=foreign")).status == 400
        assert (await ask(f"{receiver.address}?code=abc&state={STATE}")).status == 200
        assert (await receiver.answer())["code"] == "abc"


async def test_a_registered_port_is_used_and_one_that_is_taken_is_named() -> None:
    port = free_port()
    async with RedirectReceiver("/callback", state=STATE, port=port) as receiver:
        assert receiver.address == f"http://127.0.0.1:{port}/callback"
        with pytest.raises(CredentialsError, match=f"port {port} of this machine"):
            await RedirectReceiver("/callback", state=STATE, port=port).__aenter__()


async def test_without_a_port_the_user_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(asyncio, "start_server", refuse)
    with pytest.raises(CredentialsError, match=r"no port of this machine"):
        await RedirectReceiver("/auth/callback", state=STATE).__aenter__()


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader_of_requests(head: bytes) -> None:
    request = read_request(head)
    assert request is None or "?" not in request.path


@given(st.text(max_size=200))
def test_no_query_breaks_the_reader_of_parameters(query: str) -> None:
    parameters = read_parameters(query)
    assert parameters is None or all(isinstance(value, str) for value in parameters.values())
