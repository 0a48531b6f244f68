"""Signing in with OpenRouter ends with a key, and only the browser's own answer does."""

import asyncio

import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.providers.auth.vendor_sign_ins import sign_in_with_openrouter
from tests.servers.authorization_server import KEY, AuthorizationServer, query_of
from tests.servers.browser import UserInBrowser, ask


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
    """Its proof is of another sign-in: what PKCE is for."""
    async with AuthorizationServer(redirect={"code": "of-somebody-else"}) as server, UserInBrowser() as browser:
        with pytest.raises(CredentialsError, match="refused to finish"):
            await sign_in_with_openrouter(browser, clock=SystemClock(), service=server.openrouter())


async def test_declining_is_explained() -> None:
    async with (
        AuthorizationServer(redirect={"error": "access_denied"}, without=("code",)) as server,
        UserInBrowser() as browser,
    ):
        with pytest.raises(CredentialsError, match="OpenRouter was declined"):
            await sign_in_with_openrouter(browser, clock=SystemClock(), service=server.openrouter())
    assert "was declined" in browser.pages[0].body


@pytest.mark.parametrize("body", ["{}", "[]", '{"key": ""}', '{"key": "two words"}', '{"key": 7}', "<html>"])
async def test_an_answer_without_a_key_is_explained(body: str) -> None:
    async with AuthorizationServer(token_answer=(200, body)) as server, UserInBrowser() as browser:
        with pytest.raises(CredentialsError, match="something else than a key") as caught:
            await sign_in_with_openrouter(browser, clock=SystemClock(), service=server.openrouter())
    assert "two words" not in caught.value.detail
