"""Signing in as a client that is known already: registered by hand, with a secret or without."""

import pytest
from mcp.shared.auth import OAuthClientInformationFull
from msgspec.structs import replace
from pydantic import AnyUrl

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.providers.auth.server_credentials import keep_client_secret
from tests.core.providers.auth.servers.server_user import User
from tests.servers.mcp_authorization import free_port

SECRET = "a-secret-that-was-made-by-hand"


def registered(user: User, *, secret: str = "", issuer: str = "") -> ServerDefinition:
    """Register the application with the service by hand, and return the definition that says so."""
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
