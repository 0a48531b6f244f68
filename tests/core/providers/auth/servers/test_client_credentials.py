"""Tokens for the application itself: got when a server wants one, without a user, and anew when they end."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from msgspec.structs import replace

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.definition import Address
from desktop_agent.core.providers.auth.server_credentials import keep_client_secret
from tests.core.providers.auth.servers.server_user import User
from tests.servers.browser import UserInBrowser
from tests.servers.mcp_authorization import Authorization
from tests.servers.mcp_http import Fault, McpHttpServer

WANTS_TOKEN = Fault(401)


def as_json(document: object) -> Fault:
    return Fault(200, json.dumps(document).encode(), "application/json")


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[User]:
    """Give the application as a client of its own. The server says what a test lets it say."""
    async with McpHttpServer() as server:
        user = User(server, Authorization(server.port), tmp_path)
        address = Address(
            url=server.url, client_id="nightly", issuer=user.authorization.issuer, grant="client_credentials"
        )
        user.definition = replace(user.definition, reached_by=address)
        yield user
        await user.pool.aclose()


def will_grant(user: User, token: str, *, issuer: str = "", expires_in: int = 3600) -> None:
    """Let the server ask for a token when it is asked for a sign-in, and hand one out, which it then takes."""
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
