"""Signing in with a real MCP server and its authorisation server, and what a connection does with it."""

import asyncio
from pathlib import Path

import pytest
from keyring.errors import NoKeyringError

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, CredentialsError, ServerError, UsageError
from desktop_agent.core.mcp.definition import Address, Program, ServerDefinition
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_credentials import ServerKeyring
from desktop_agent.core.providers.auth.server_sign_ins import ServerSignIns
from tests.core.mcp.test_connection import text_of, try_now, until
from tests.core.providers.auth.servers.server_user import User
from tests.memory_keyring import BrokenKeyring
from tests.servers.browser import ClosedBrowser, UserInBrowser
from tests.servers.mcp_authorization import Authorization
from tests.servers.mcp_http import Fault, McpHttpServer


async def test_a_server_that_wants_a_sign_in_says_how_and_opens_no_browser(user: User) -> None:
    with pytest.raises(ServerError) as caught:
        await user.call()

    assert "It needs you to sign in." in str(caught.value)
    assert caught.value.hint == "Sign in: `desktop-agent mcp sign-in tickets`."
    assert (user.connection.status.state, user.connection.status.failures) == ("failed", 0)
    assert user.backend.entries == {}
    assert user.authorization.registered == 0


async def test_after_the_sign_in_the_server_is_used_also_by_another_application(user: User) -> None:
    browser = await user.sign_in()

    assert await user.call() == "hello"
    other = user.another_application()
    reply = await other.lease(user.definition, user.data).connection.call("echo", {"text": "there"})
    await other.aclose()

    assert text_of(reply) == "there"
    assert len(browser.opened) == 1
    assert "Back to Desktop Agent" in browser.pages[0].body
    assert {entry.rpartition("/")[2] for _, entry in user.backend.entries} == {"registration", "refresh", "access"}


async def test_a_token_that_is_refused_is_renewed_once_for_all_who_call(user: User) -> None:
    await user.sign_in()
    await user.connection.tools()
    user.authorization.revoke_access()

    replies = await asyncio.gather(*(user.call() for _ in range(5)))

    assert replies == ["hello"] * 5
    assert user.authorization.renewals == 1


async def test_a_token_that_has_ended_is_renewed_before_it_is_sent(user: User) -> None:
    user.authorization.lifetime_s = 1  # within the margin in which it is renewed
    await user.sign_in()
    user.authorization.lifetime_s = 3600

    assert await user.call() == "hello"
    assert user.authorization.renewals == 1


async def test_two_applications_renew_one_after_the_other(user: User) -> None:
    await user.sign_in()
    other = user.another_application()
    theirs = other.lease(user.definition, user.data).connection
    await asyncio.gather(user.connection.tools(), theirs.tools())
    user.authorization.revoke_access()

    await asyncio.gather(user.call(), theirs.call("echo", {"text": "x"}))
    await other.aclose()

    assert user.authorization.renewals == 1


async def test_a_sign_in_that_was_revoked_is_said_in_the_call_and_made_again(user: User) -> None:
    await user.sign_in()
    await user.connection.tools()
    user.authorization.revoke()

    with pytest.raises(ServerError, match="needs you to sign in") as caught:
        await user.call()
    assert "mcp sign-in tickets" in caught.value.hint
    await until(user.pool, user.connection, "failed")

    await user.sign_in()
    await try_now(user.connection)
    assert await user.call() == "hello"


async def test_signing_out_forgets_everything(user: User) -> None:
    await user.sign_in()

    await user.sign_ins.sign_out(user.definition)

    assert user.backend.entries == {}
    with pytest.raises(ServerError, match="needs you to sign in"):
        await user.call()


async def test_what_goes_wrong_with_a_sign_in_is_said_and_nothing_is_kept(user: User) -> None:
    async def failure() -> AgentError:
        with pytest.raises(AgentError) as caught:
            await user.sign_in()
        assert user.backend.entries == {}
        assert not [
            secret for secret in user.authorization.secrets if secret in f"{caught.value} {caught.value.detail}"
        ]
        return caught.value

    user.authorization.is_declining = True
    assert "was declined" in (await failure()).title
    user.authorization.is_declining = False
    user.authorization.strays = {"state": "of-another-sign-in"}
    assert "does not belong to this sign-in" in (await failure()).title
    user.authorization.strays = {"iss": "https://evil.example"}
    assert "does not belong to this sign-in" in (await failure()).title
    user.authorization.strays = {"code": "made-up"}
    assert "refused to finish" in (await failure()).title
    user.authorization.strays = {}
    user.authorization.registers = False
    assert "does not register this application" in (await failure()).title
    user.server.will("ping", Fault(401), Fault(401))
    user.authorization.registers = True
    assert "does not take the sign-in" in (await failure()).title


async def test_cancelling_in_the_browser_keeps_nothing(user: User) -> None:
    browser = ClosedBrowser()
    signing_in = asyncio.create_task(user.sign_ins.sign_in(user.definition, browser))
    await browser.is_open.wait()
    signing_in.cancel()

    with pytest.raises(asyncio.CancelledError):
        await signing_in
    assert user.backend.entries == {}


async def test_without_a_keyring_nobody_is_sent_to_the_browser(user: User) -> None:
    sign_ins = ServerSignIns(ServerKeyring(SystemKeyStore(BrokenKeyring(NoKeyringError()))), user.data, SystemClock())
    async with UserInBrowser() as browser:
        with pytest.raises(CredentialsError, match="no keyring"):
            await sign_ins.sign_in(user.definition, browser)
    assert browser.opened == []


async def test_a_server_that_wants_no_sign_in_says_so(tmp_path: Path) -> None:
    async with McpHttpServer() as server, UserInBrowser() as browser:
        user = User(server, Authorization(server.port), tmp_path)
        with pytest.raises(ServerError, match="asked for no sign-in"):
            await user.sign_ins.sign_in(user.definition, browser)
    assert {method for method, name, _ in server.requests if not name} == {"GET"}  # it registers nowhere


async def test_a_server_that_wants_a_sign_in_for_its_calls_alone_is_signed_in_with(user: User) -> None:
    user.server.will("ping", Fault(202))

    await user.sign_in()

    assert await user.call() == "hello"
    assert len(user.authorization.authorized) == 1


async def test_there_is_nothing_to_sign_in_with_for_a_program_or_beside_a_header(user: User) -> None:
    program = ServerDefinition(name="git", reached_by=Program(command="x"))
    header = ServerDefinition(name="h", reached_by=Address(url=user.server.url, secret_headers=("Authorization",)))
    for definition in (program, header):
        with pytest.raises(UsageError):
            await user.sign_ins.sign_in(definition, UserInBrowser())
