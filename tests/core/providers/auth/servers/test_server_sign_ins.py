"""Sign-ins at a real MCP server: by the user, with known or own clients, and with wider scopes."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from keyring.errors import NoKeyringError
from mcp.shared.auth import OAuthClientInformationFull
from msgspec.structs import replace
from pydantic import AnyUrl

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, CredentialsError, ServerError, UsageError
from desktop_agent.core.mcp.definition import Address, Program, ServerDefinition
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring, ServerSignIns, keep_client_secret
from tests.core.mcp.test_connection import text_of, try_now, until
from tests.core.providers.auth.servers.server_user import User
from tests.memory_keyring import BrokenKeyring
from tests.servers.browser import ClosedBrowser, UserInBrowser
from tests.servers.mcp_authorization import Authorization
from tests.servers.mcp_http import Fault, McpHttpServer
from tests.servers.ports import free_port


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


WANTS_WRITE = Fault(403, b"{}", "application/json", 'Bearer error="insufficient_scope", scope="write"')


async def refused(user: User, fault: Fault) -> ServerError:
    user.server.will("tools/call", fault)
    with pytest.raises(ServerError) as caught:
        await user.call()
    return caught.value


async def test_more_is_asked_for_in_the_next_sign_in_with_all_that_was_granted_before(user: User) -> None:
    await user.sign_in()

    error = await refused(user, WANTS_WRITE)
    assert error.title == "It needs you to allow more: write."
    assert error.hint == "Sign in again: `desktop-agent mcp sign-in tickets`."
    assert await user.call() == "hello"  # calls that need no wider scope go on
    await user.sign_in()

    assert [scopes for _, scopes in user.authorization.authorized] == [["use"], ["use", "write"]]
    assert not [entry for _, entry in user.backend.entries if "challenge" in entry]


async def test_a_connection_that_runs_uses_the_new_sign_in_at_once(user: User) -> None:
    await user.sign_in()
    await refused(user, WANTS_WRITE)
    await user.sign_in()
    state = user.connection.status.state

    user.server.will("tools/call", WANTS_WRITE)  # the connection still has the old token

    assert await user.call() == "hello"
    assert (state, user.connection.status.state) == ("ready", "ready")
    assert user.authorization.renewals == 0


async def test_what_was_allowed_and_is_refused_all_the_same_asks_for_no_further_sign_in(user: User) -> None:
    await user.sign_in()
    await refused(user, WANTS_WRITE)
    await user.sign_in()
    user.server.will("tools/call", WANTS_WRITE)

    error = await refused(user, WANTS_WRITE)

    assert "although you allowed all that it asks for" in error.title
    assert "sign-in" not in error.hint


async def test_a_refusal_that_does_not_say_what_is_wanted_asks_for_no_sign_in(user: User) -> None:
    await user.sign_in()

    for challenge in ('Bearer error="insufficient_scope"', 'Bearer error="access_denied", scope="write"'):
        error = await refused(user, Fault(403, b"{}", "application/json", challenge))
        assert "does not allow this" in error.title


async def test_signing_out_forgets_what_was_wanted(user: User) -> None:
    await user.sign_in()
    await refused(user, WANTS_WRITE)

    await user.sign_ins.sign_out(user.definition)

    assert user.backend.entries == {}


SECRET = "a-secret-that-was-made-by-hand"


def registered(user: User, *, secret: str = "", issuer: str = "") -> ServerDefinition:
    port = free_port()
    user.authorization.know(
        OAuthClientInformationFull(
            client_id="by-hand",
            client_secret=secret or None,
            redirect_uris=[AnyUrl(f"http://127.0.0.1:{port}/callback")],
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            scope="use",
        )
    )
    address = Address(url=user.server.url, client_id="by-hand", issuer=issuer, callback_port=port)
    return replace(user.definition, reached_by=address)


async def test_a_client_that_is_registered_by_hand_needs_no_registration(user: User) -> None:
    user.definition = registered(user)
    user.authorization.registers = False

    browser = await user.sign_in()

    assert await user.call() == "hello"
    assert user.authorization.registered == 0
    assert [client for client, _ in user.authorization.authorized] == ["by-hand"]
    assert "Back to Desktop Agent" in browser.pages[0].body


async def test_its_secret_is_in_the_keyring_alone_and_renews_the_sign_in(user: User) -> None:
    user.definition = registered(user, secret=SECRET, issuer=f"{user.authorization.issuer}/")
    user.authorization.secrets.add(SECRET)
    keep_client_secret(user.keyring, user.definition, SECRET)

    await user.sign_in()
    await user.connection.tools()
    user.authorization.revoke_access()

    assert await user.call() == "hello"
    assert user.authorization.renewals == 1
    await user.sign_ins.forget(user.definition)
    assert user.backend.entries == {}


async def test_another_client_or_another_issuer_does_not_get_the_secret(user: User) -> None:
    user.definition = registered(user, secret=SECRET)
    keep_client_secret(user.keyring, user.definition, SECRET)
    address = user.definition.reached_by
    assert isinstance(address, Address)
    user.definition = replace(user.definition, reached_by=replace(address, issuer=user.authorization.issuer))

    with pytest.raises(ServerError, match="refused to finish"):
        await user.sign_in()


async def test_nobody_is_sent_to_another_authorisation_server_than_the_definition_names(user: User) -> None:
    user.definition = registered(user, issuer="https://login.example")

    with pytest.raises(ServerError, match=r"another authorisation server than https://login\.example"):
        await user.sign_in()

    assert user.authorization.authorized == []
    assert user.backend.entries == {}


async def test_a_service_that_registers_nobody_says_what_to_do(user: User) -> None:
    user.authorization.registers = False

    with pytest.raises(ServerError) as caught:
        await user.sign_in()

    assert "--client-id" in caught.value.hint


async def test_a_client_that_describes_itself_registers_where_such_a_description_is_not_taken(user: User) -> None:
    address = Address(url=user.server.url, client_id="https://team.example/desktop-agent.json")
    user.definition = replace(user.definition, reached_by=address)

    await user.sign_in()

    assert await user.call() == "hello"
    assert user.authorization.registered == 1


async def test_a_secret_that_is_wrong_keeps_nothing(user: User) -> None:
    user.definition = registered(user, secret=SECRET)
    keep_client_secret(user.keyring, user.definition, "another")
    before = dict(user.backend.entries)

    with pytest.raises(ServerError, match="refused to finish"):
        await user.sign_in()

    assert user.backend.entries == before


WANTS_TOKEN = Fault(401)


def as_json(document: object) -> Fault:
    return Fault(200, json.dumps(document).encode(), "application/json")


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[User]:
    async with McpHttpServer() as server:
        user = User(server, Authorization(server.port), tmp_path)
        address = Address(
            url=server.url, client_id="nightly", issuer=user.authorization.issuer, grant="client_credentials"
        )
        user.definition = replace(user.definition, reached_by=address)
        yield user
        await user.pool.aclose()


def will_grant(user: User, token: str, *, issuer: str = "", expires_in: int = 3600) -> None:
    """Let the server require a sign-in, and the service issue a token that the server accepts."""
    own, named = user.authorization.issuer, issuer or user.authorization.issuer
    metadata = {
        "issuer": named,
        "authorization_endpoint": f"{own}/authorize",
        "token_endpoint": f"{own}/token",
        "response_types_supported": ["code"],
    }
    user.server.will("ping", WANTS_TOKEN, Fault(202))
    user.server.will(
        "",
        as_json({"resource": user.server.url, "authorization_servers": [named]}),
        as_json(metadata),
        as_json({"access_token": token, "token_type": "Bearer", "expires_in": expires_in}),
    )


def sent_tokens(user: User) -> list[str]:
    sent = [headers.get("authorization", "") for _, method, headers in user.server.requests if "/" in method]
    return list(dict.fromkeys(token.removeprefix("Bearer ") for token in sent if token))


def pem(key: PrivateKeyTypes) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


async def test_a_token_is_got_when_the_server_wants_one(program: User) -> None:
    keep_client_secret(program.keyring, program.definition, "s3cret")
    program.server.will("server/discover", WANTS_TOKEN)
    will_grant(program, "first")

    assert await program.call() == "hello"

    assert sent_tokens(program) == ["first"]
    shown = f"{program.connection.status} {program.connection.log.tail()}"
    assert not [secret for secret in ("first", "s3cret") if secret in shown]


async def test_a_token_that_has_ended_is_got_anew_without_a_user(program: User) -> None:
    keep_client_secret(program.keyring, program.definition, "s3cret")
    program.server.will("server/discover", WANTS_TOKEN)
    for token in ("first", "second", "third"):
        will_grant(program, token, expires_in=1 if token != "third" else 3600)  # within the margin of a renewal

    assert await program.call() == "hello"

    assert sent_tokens(program)[0] == "first"
    assert sent_tokens(program)[-1] == "third"


@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(65537, 2048),
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP384R1()),
        ed25519.Ed25519PrivateKey.generate(),
    ],
    ids=["rsa", "p256", "p384", "ed25519"],
)
async def test_a_private_key_proves_who_it_is(program: User, key: PrivateKeyTypes) -> None:
    keep_client_secret(program.keyring, program.definition, pem(key))
    will_grant(program, "signed")

    await program.sign_ins.sign_in(program.definition, UserInBrowser())

    program.server.will("server/discover", WANTS_TOKEN)
    assert await program.call() == "hello"
    assert sent_tokens(program) == ["signed"]


async def test_what_is_missing_or_wrong_is_said_and_nothing_is_sent(program: User) -> None:
    locked = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")
    )
    for secret, says in (
        ("", "no secret for its client_id"),
        ("-----BEGIN PRIVATE KEY-----\nnone", "private key for its client_id cannot be used"),
        (locked.decode(), "private key for its client_id cannot be used"),
        (pem(x25519.X25519PrivateKey.generate()), "private key for its client_id cannot be used"),
    ):
        if secret:
            keep_client_secret(program.keyring, program.definition, secret)
        with pytest.raises(ServerError, match=says) as caught:
            await program.sign_ins.sign_in(program.definition, UserInBrowser())
        assert "BEGIN" not in f"{caught.value} {caught.value.hint} {caught.value.detail}"
    assert program.server.requests == []


async def test_the_secret_goes_to_no_other_authorisation_server(program: User) -> None:
    keep_client_secret(program.keyring, program.definition, "s3cret")
    will_grant(program, "theirs", issuer=f"{program.authorization.issuer}/evil")

    with pytest.raises(ServerError, match="another authorisation server"):
        await program.sign_ins.sign_in(program.definition, UserInBrowser())

    assert not [method for method, _, _ in program.server.requests[1:] if method == "POST"]


async def test_more_that_is_wanted_is_asked_for_without_a_user(program: User) -> None:
    keep_client_secret(program.keyring, program.definition, "s3cret")
    program.server.will("server/discover", WANTS_TOKEN)
    will_grant(program, "narrow")
    await program.connection.tools()

    program.server.will(
        "tools/call", Fault(403, b"{}", "application/json", 'Bearer error="insufficient_scope", scope="write"')
    )
    with pytest.raises(ServerError, match="needs you to sign in"):  # so soon after the last token
        await program.call()
    assert [entry for _, entry in program.backend.entries if "challenge" in entry]
