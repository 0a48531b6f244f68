"""Headers that are credentials: in the keyring, in no file, and sent to the one server they are for."""

from pathlib import Path

import pytest
from keyring.errors import NoKeyringError

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError, ServerError
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.definition_file import (
    add_definitions,
    forget_secret_headers,
    read_definitions,
    read_secret_headers,
    remove_definition,
    without_secrets,
)
from desktop_agent.core.mcp.server_pool import ServerPool
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_credentials import KeyringCredentials, ServerKeyring
from desktop_agent.core.settings.loading import load_settings
from tests.memory_keyring import BrokenKeyring, MemoryKeyring
from tests.servers.mcp_http import Fault, McpHttpServer

TOKEN = "team-token-which-has-no-known-shape"
URL = "https://tickets.example/mcp?team=1"


def definition(url: str = URL, **headers: str) -> ServerDefinition:
    headers = headers or {"Authorization": f"Bearer {TOKEN}", "Team": "blue"}
    return ServerDefinition(name="tickets", reached_by=Address(url=url, headers=headers))


def added(path: Path, backend: MemoryKeyring, url: str = URL) -> ServerDefinition:
    """Return the definition as it is read after it was added."""
    add_definitions(path, (definition(url),), ServerKeyring(SystemKeyStore(backend)))
    (server,) = read_definitions(load_settings(path, {}).tables).servers
    return server


def test_the_file_has_the_name_of_a_secret_header_and_the_keyring_its_value(tmp_path: Path) -> None:
    path, backend = tmp_path / "config.toml", MemoryKeyring()

    server = added(path, backend)

    assert TOKEN not in path.read_text()
    assert server.reached_by == Address(url=URL, headers={"Team": "blue"}, secret_headers=("Authorization",))
    assert backend.entries == {
        ("desktop-agent", "mcp:tickets@https://tickets.example/header/authorization"): f"Bearer {TOKEN}"
    }


def test_removing_the_server_forgets_its_secrets(tmp_path: Path) -> None:
    path, backend = tmp_path / "config.toml", MemoryKeyring()
    added(path, backend)

    removed = remove_definition(path, "tickets")
    assert removed is not None
    forget_secret_headers(ServerKeyring(SystemKeyStore(backend)), removed)

    assert backend.entries == {}


def test_nothing_is_written_without_a_keyring(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    keyring = ServerKeyring(SystemKeyStore(BrokenKeyring(NoKeyringError())))

    with pytest.raises(CredentialsError, match="no keyring") as caught:
        add_definitions(path, (definition(),), keyring)

    assert not path.exists()
    assert "ANTHROPIC" not in caught.value.hint


def test_another_address_does_not_get_the_secret_of_the_first(tmp_path: Path) -> None:
    path, backend = tmp_path / "config.toml", MemoryKeyring()
    added(path, backend)
    path.write_text(path.read_text().replace("tickets.example", "evil.example"))
    (server,) = read_definitions(load_settings(path, {}).tables).servers

    with pytest.raises(CredentialsError, match="no value for its header Authorization"):
        read_secret_headers(ServerKeyring(SystemKeyStore(backend)), server)


def test_a_secret_that_the_user_wrote_into_the_file_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'[[mcp.definitions]]\nname = "t"\nurl = "{URL}"\nheaders = {{ X-Api-Key = "{TOKEN}" }}\n')

    found = read_definitions(load_settings(path, {}).tables)

    assert found.servers == ()
    assert "belongs in the keyring" in str(found.problems[0])
    assert TOKEN not in str(found.problems[0])


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("authorization", "Basic eA==", True),
        ("Cookie", "a=b", True),
        ("X-API-Key", "short", True),
        ("X-Auth-Token", "x", True),
        ("X-Team", "sk-ant-api03-abcdefghijklmnop", True),
        ("X-Team", "ghp_abcdefghijklmnopqrstuvwx", True),
        ("X-Team", "blue", False),
        ("MCP-Protocol-Version", "2025-11-25", False),
    ],
)
def test_secrets_are_known_by_their_name_or_their_value(name: str, value: str, *, is_secret: bool) -> None:
    public, secrets = without_secrets(definition(**{name: value}))

    assert secrets == ({name: value} if is_secret else {})
    assert isinstance(public.reached_by, Address)
    assert public.reached_by.secret_headers == ((name,) if is_secret else ())


async def test_the_server_gets_the_secret_and_repeats_it_in_vain(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    said = f'{{"jsonrpc":"2.0","id":null,"error":{{"code":-32603,"message":"bad token {TOKEN}"}}}}'
    async with McpHttpServer() as reached:
        server = added(tmp_path / "config.toml", backend, reached.url)
        credentials = KeyringCredentials(ServerKeyring(SystemKeyStore(backend)), tmp_path, SystemClock())
        pool = ServerPool(SystemClock(), {}, tmp_path / "logs", credentials=credentials)
        connection = pool.lease(server, tmp_path).connection
        await connection.tools()
        reached.will("tools/call", Fault(400, said.encode(), "application/json"))
        with pytest.raises(ServerError, match=r"bad token \*\*\*"):
            await connection.call("echo", {"text": "x"})
        connection.log.say(f"I was given {TOKEN}")
        await pool.aclose()

    assert all(headers["authorization"] == f"Bearer {TOKEN}" for _, _, headers in reached.requests)
    shown = f"{connection.status} {connection.log.tail()} {(tmp_path / 'logs' / 'tickets.log').read_text()}"
    assert TOKEN not in shown


async def test_a_server_without_its_secret_is_not_asked(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    async with McpHttpServer() as reached:
        server = added(tmp_path / "config.toml", backend, reached.url)
        backend.entries.clear()
        credentials = KeyringCredentials(ServerKeyring(SystemKeyStore(backend)), tmp_path, SystemClock())
        pool = ServerPool(SystemClock(), {}, None, credentials=credentials)
        with pytest.raises(ServerError, match="no value for its header Authorization"):
            await pool.lease(server, tmp_path).connection.tools()
        await pool.aclose()

    assert reached.requests == []
