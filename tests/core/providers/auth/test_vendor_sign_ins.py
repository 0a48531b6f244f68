"""Sign-ins with ChatGPT and OpenRouter, and the local port that receives the answer."""

import asyncio
import logging
import re
import traceback
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.providers.auth.browser_sign_in import (
    MAX_HEAD_BYTES,
    Attempt,
    RedirectReceiver,
    is_same,
    read_parameters,
    read_request,
)
from desktop_agent.core.providers.auth.sign_ins import (
    CHATGPT,
    ChatGptRenewal,
    Registration,
    host_id,
    sign_in_with_chatgpt,
    sign_in_with_openrouter,
)
from desktop_agent.core.providers.auth.token_renewal import SignedOutError
from desktop_agent.core.providers.auth.tokens import Tokens
from tests.core.providers.auth.hand_clock import HandClock
from tests.servers.authorization_server import EMAIL, ISSUED_CLIENT, KEY, SUBJECT, AuthorizationServer, query_of
from tests.servers.browser import ClosedBrowser, UserInBrowser, ask
from tests.servers.ports import free_port


def test_it_is_made_once_and_kept(tmp_path: Path) -> None:
    name = host_id(tmp_path / "data")
    assert name.startswith("urn:uuid:")
    assert host_id(tmp_path / "data") == name
    assert host_id(tmp_path / "another installation") != name


def test_those_who_ask_at_the_same_time_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(host_id, [tmp_path] * 16))) == 1


@pytest.mark.parametrize("broken", [b"", b"\xff\xfe", b"somebody", b"urn:uuid:no"])
def test_a_broken_one_is_made_anew(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "host-id").write_bytes(broken)
    assert host_id(tmp_path) == host_id(tmp_path)


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(CredentialsError) as caught:
        host_id(tmp_path / "data")
    assert "data" in caught.value.detail


HOST_ID = "urn:uuid:00000000-0000-4000-8000-000000000001"
NO_TOKENS = "ChatGPT answered the sign-in with something other than tokens."
EARLIER = Registration(client_id=ISSUED_CLIENT, subject=SUBJECT, email=EMAIL)


async def signed_in(
    server: AuthorizationServer, browser: UserInBrowser | None = None, earlier: Registration | None = None
) -> tuple[Registration, Tokens]:
    async with browser or UserInBrowser() as used:
        return await sign_in_with_chatgpt(
            used, host_id=HOST_ID, clock=SystemClock(), earlier=earlier, service=server.chatgpt()
        )


async def failed(server: AuthorizationServer, earlier: Registration | None = None) -> CredentialsError:
    with pytest.raises(CredentialsError) as caught:
        await signed_in(server, earlier=earlier)
    return caught.value


async def test_the_first_sign_in_asks_for_what_the_service_documents() -> None:
    async with AuthorizationServer() as server:
        await signed_in(server)
    (asked,), (exchange,) = server.asked, server.token_requests
    assert {
        name: asked[name] for name in asked if name not in ("state", "nonce", "code_challenge", "redirect_uri")
    } == {
        "client_id": "dynamic_agent_client",
        "ext_agent_host_id": HOST_ID,
        "agent_name_hint": "Desktop Agent",
        "response_type": "code",
        "scope": "openid profile email offline_access resource.invoke chatgpt.tokens.use.direct",
        "resource": "https://api.openai.com/v1",
        "code_challenge_method": "S256",
    }
    assert asked["redirect_uri"].startswith("http://127.0.0.1:")
    assert asked["redirect_uri"].endswith("/auth/callback")
    assert exchange["client_id"] == ISSUED_CLIENT
    assert exchange["resource"] == "https://api.openai.com/v1"
    assert "code_verifier" in exchange


async def test_signing_in_again_uses_what_the_first_time_brought() -> None:
    async with AuthorizationServer() as server:
        first, _ = await signed_in(server)
        again, _ = await signed_in(server, earlier=first)
    assert again == first
    once, twice = server.asked
    assert twice["client_id"] == ISSUED_CLIENT
    assert twice["login_hint"] == EMAIL
    assert "agent_name_hint" not in twice
    for name in ("state", "nonce", "code_challenge"):
        assert once[name] != twice[name]


async def test_a_wrong_state_does_not_count_and_the_user_is_told_in_the_end() -> None:
    clock = HandClock()
    async with AuthorizationServer(redirect={"state": "of-another-sign-in"}) as server:
        async with UserInBrowser() as browser:
            running = asyncio.ensure_future(
                sign_in_with_chatgpt(browser, host_id=HOST_ID, clock=clock, service=server.chatgpt())
            )
            await browser.has_seen_a_page.wait()
            clock.move(600)
            with pytest.raises(CredentialsError, match="answer belongs to another sign-in"):
                await running
        assert [page.status for page in browser.pages] == [400]
        assert server.token_requests == []


async def test_a_page_that_guesses_does_not_end_a_sign_in_whose_address_is_opened_by_hand() -> None:
    async with AuthorizationServer() as server, UserInBrowser(opens=False) as browser:
        running = asyncio.ensure_future(signed_in(server, browser))
        await browser.is_at_the_user.wait()
        redirect = query_of(browser.opened[0])["redirect_uri"]
        assert (await ask(f"{redirect}?error=access_denied&state=guessed")).status == 400
        browser.visit(browser.shown_by_hand[0])
        assert (await running)[0] == EARLIER


async def test_the_user_does_not_finish_it_in_time() -> None:
    clock, browser = HandClock(), ClosedBrowser()
    async with AuthorizationServer() as server:
        running = asyncio.ensure_future(
            sign_in_with_chatgpt(browser, host_id=HOST_ID, clock=clock, service=server.chatgpt())
        )
        await browser.is_open.wait()
        clock.move(600)
        with pytest.raises(CredentialsError, match="not finished within 10 minutes"):
            await running
    with pytest.raises(ConnectionError):
        await ask(query_of(browser.opened[0])["redirect_uri"])


async def test_what_opening_the_browser_raises_is_not_lost() -> None:
    class Broken(UserInBrowser):
        async def open(self, address: str) -> bool:
            raise CredentialsError("No browser.")

    async with AuthorizationServer() as server:
        with pytest.raises(CredentialsError, match="No browser"):
            await signed_in(server, Broken())


@pytest.mark.parametrize(
    ("redirect", "title"),
    [
        ({"error": "access_denied"}, "The sign-in with ChatGPT was declined."),
        ({"error": "server_error"}, "ChatGPT did not sign you in."),
        ({"error": "<b>spoofed</b>"}, "ChatGPT did not sign you in."),
        ({"code": ""}, "ChatGPT sent the browser back without an answer."),
        ({"client_id": "dynamic_agent_client"}, "ChatGPT did not register this application for your account."),
        ({"client_id": ""}, "ChatGPT did not register this application for your account."),
    ],
)
async def test_an_answer_that_is_no_yes_is_explained(redirect: dict[str, str], title: str) -> None:
    async with AuthorizationServer(redirect=redirect) as server:
        error = await failed(server)
        assert server.token_requests == []
    assert error.title == title
    assert error.hint
    assert "spoofed" not in error.detail


async def test_a_registration_that_changes_is_refused() -> None:
    async with AuthorizationServer(redirect={"client_id": "oaiapp_another"}) as server:
        assert "did not register" in (await failed(server, earlier=EARLIER)).title
        assert server.token_requests == []


@pytest.mark.parametrize("scope", ["openid profile email offline_access resource.invoke", ""])
async def test_a_sign_in_that_does_not_allow_the_plan_is_no_sign_in(scope: str) -> None:
    async with AuthorizationServer(grant={"scope": scope}) as server:
        error = await failed(server)
    assert error.title == "ChatGPT does not allow this application to use your plan."
    assert "chatgpt.tokens.use.direct" in error.detail


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of-another-sign-in"},
        {"nonce": None},
        {"aud": "oaiapp_another"},
        {"aud": [ISSUED_CLIENT, "another"]},
        {"aud": [ISSUED_CLIENT, "another"], "azp": "another"},
        {"azp": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"sub": ""},
        {"sub": 7},
    ],
)
async def test_an_identity_of_something_else_is_refused(claims: dict[str, object]) -> None:
    async with AuthorizationServer(claims=claims) as server:
        error = await failed(server)
    assert error.title == "The identity that ChatGPT sent does not belong to this sign-in. Nothing was saved."


async def test_an_identity_for_several_that_names_us_is_ours() -> None:
    async with AuthorizationServer(claims={"aud": [ISSUED_CLIENT, "another"], "azp": ISSUED_CLIENT}) as server:
        assert (await signed_in(server))[0] == EARLIER


@pytest.mark.parametrize("id_token", [None, "x", "a.b.c", "a.!!!.c", "eyJ9.eyJ9.x"])
async def test_an_identity_that_is_none_is_refused(id_token: str | None) -> None:
    async with AuthorizationServer(grant={"id_token": id_token}) as server:
        assert "does not belong to this sign-in" in (await failed(server)).title


async def test_another_user_than_the_account_is_of_is_refused() -> None:
    async with AuthorizationServer(claims={"sub": "user-4567"}) as server:
        assert (await failed(server, earlier=EARLIER)).title == ("You signed in with a different ChatGPT account.")


@pytest.mark.parametrize(
    ("status", "body", "title"),
    [
        (400, '{"error": "invalid_grant", "error_description": "code-1"}', "ChatGPT refused to finish the sign-in."),
        (401, '{"error": {"code": "invalid_client", "message": "m"}}', "ChatGPT refused to finish the sign-in."),
        (403, "<html>a page of a proxy</html>", "ChatGPT refused to finish the sign-in."),
        (500, "oops", "ChatGPT cannot answer a sign-in now."),
        (429, "{}", "ChatGPT cannot answer a sign-in now."),
        (200, "<html>no JSON</html>", NO_TOKENS),
        (200, "[]", NO_TOKENS),
        (200, '{"access_token": ""}', NO_TOKENS),
        (200, '{"access_token": "two\\nlines"}', NO_TOKENS),
        (200, '{"access_token": "t", "expires_in": -1}', NO_TOKENS),
        (200, '{"access_token": "t", "token_type": "mac"}', NO_TOKENS),
        (307, "", "ChatGPT gave no answer that a sign-in may have."),
    ],
)
async def test_a_token_endpoint_that_gives_none_is_explained(status: int, body: str, title: str) -> None:
    async with AuthorizationServer(token_answer=(status, body)) as server:
        error = await failed(server)
    assert error.title == title
    assert error.hint
    assert "code-1" not in error.detail


async def test_a_service_that_cannot_be_reached_is_explained() -> None:
    async with AuthorizationServer() as server, UserInBrowser() as browser:
        service = server.chatgpt()
        async with AuthorizationServer() as gone:
            nowhere = gone.url
        unreachable = type(service)(authorize_url=service.authorize_url, token_url=f"{nowhere}/token")
        with pytest.raises(CredentialsError, match="could not be reached") as caught:
            await sign_in_with_chatgpt(browser, host_id=HOST_ID, clock=SystemClock(), service=unreachable)
    assert nowhere in caught.value.hint


async def test_tokens_never_go_to_an_address_that_is_not_encrypted() -> None:
    tokens = Tokens(access="a", refresh="r")
    service = type(CHATGPT)(token_url="http://auth.example/token")
    with pytest.raises(ProviderError, match="not encrypted"):
        await ChatGptRenewal("oaiapp_1", clock=SystemClock(), service=service).renewed(tokens)


async def test_a_renewal_brings_the_next_refresh_token() -> None:
    async with AuthorizationServer() as server:
        renewal = ChatGptRenewal(ISSUED_CLIENT, clock=SystemClock(), service=server.chatgpt())
        first = server.issue_refresh_token()
        renewed = await renewal.renewed(Tokens(access="old", refresh=first, scopes=CHATGPT.required_scopes))
    assert renewed.refresh not in (None, first)
    assert renewed.scopes == CHATGPT.required_scopes
    (request,) = server.token_requests
    assert request == {
        "grant_type": "refresh_token",
        "client_id": ISSUED_CLIENT,
        "refresh_token": first,
        "resource": "https://api.openai.com/v1",
    }


@pytest.mark.parametrize(
    ("code", "is_over"),
    [("invalid_grant", True), ("refresh_token_reused", True), ("token_expired", True), ("invalid_request", False)],
)
async def test_only_some_refusals_end_the_sign_in(code: str, is_over: bool) -> None:
    async with AuthorizationServer(token_answer=(400, f'{{"error": "{code}"}}')) as server:
        renewal = ChatGptRenewal(ISSUED_CLIENT, clock=SystemClock(), service=server.chatgpt())
        with pytest.raises(CredentialsError) as caught:
            await renewal.renewed(Tokens(access="a", refresh="r"))
    assert isinstance(caught.value, SignedOutError) == is_over
    assert code in caught.value.detail


async def test_no_secret_shows_up_in_what_is_printed_logged_or_raised(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    async with AuthorizationServer() as server, UserInBrowser() as browser:
        said += [repr(await signed_in(server, browser)), str(browser.pages)]
        secrets = set(server.secrets)
    for behaviour in ({"claims": {"nonce": "x"}}, {"grant": {"scope": ""}}, {"token_answer": (400, '{"error": "x"}')}):
        async with AuthorizationServer(**behaviour) as server:
            error = await failed(server)
            said += ["".join(traceback.format_exception(error)), repr(error), error.detail]
            secrets |= server.secrets
    said.append(caplog.text)
    assert len(secrets) > 10
    assert [secret for secret in secrets if any(secret in text for text in said)] == []


async def test_a_sign_in_brings_a_key() -> None:
    async with AuthorizationServer() as server, UserInBrowser() as browser:
        assert await sign_in_with_openrouter(browser, clock=SystemClock(), service=server.openrouter()) == KEY
    (asked,), (proof,) = server.asked, server.token_requests
    assert set(asked) == {"callback_url", "code_challenge", "code_challenge_method"}
    assert asked["callback_url"].startswith("http://localhost:")
    assert set(proof) == {"code", "code_verifier", "code_challenge_method"}
    assert server.violations == []


async def test_an_answer_to_a_guessed_path_does_not_count() -> None:
    async with AuthorizationServer() as server, UserInBrowser(opens=False) as browser:
        running = asyncio.ensure_future(
            sign_in_with_openrouter(browser, clock=SystemClock(), service=server.openrouter())
        )
        await browser.is_at_the_user.wait()
        callback = query_of(browser.opened[0])["callback_url"]
        assert (await ask(f"{callback.rpartition('/')[0]}/guessed?code=evil")).status == 404
        browser.visit(browser.opened[0])
        assert await running == KEY


async def test_a_code_that_was_put_in_by_another_is_refused() -> None:
    """PKCE: the code's proof belongs to another sign-in."""
    async with AuthorizationServer(redirect={"code": "of-somebody-else"}) as server, UserInBrowser() as browser:
        with pytest.raises(CredentialsError, match="refused to finish"):
            await sign_in_with_openrouter(browser, clock=SystemClock(), service=server.openrouter())


@pytest.mark.parametrize("body", ["{}", "[]", '{"key": ""}', '{"key": "two words"}', '{"key": 7}', "<html>"])
async def test_an_answer_without_a_key_is_explained(body: str) -> None:
    async with AuthorizationServer(token_answer=(200, body)) as server, UserInBrowser() as browser:
        with pytest.raises(CredentialsError, match="something other than a key") as caught:
            await sign_in_with_openrouter(browser, clock=SystemClock(), service=server.openrouter())
    assert "two words" not in caught.value.detail


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
        *(b"\r\n\r\n", b"GET /auth/callback\r\n\r\n", b"GET /auth/callback HTTP/1.1\r\n\r\n"),
        *(b"GET /auth/callback HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"),
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
