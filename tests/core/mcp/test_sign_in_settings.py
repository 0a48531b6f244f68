"""How the application signs in with a server, as a definition says it: read, written, and shown before it counts."""

from pathlib import Path

import pytest

from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.definition_file import add_definitions, definition_in, read_definitions
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_credentials import ServerKeyring
from desktop_agent.core.settings.loading import load_settings
from tests.memory_keyring import MemoryKeyring

URL, ISSUER = "https://tickets.example/mcp", "https://login.example"


@pytest.mark.parametrize(
    "address",
    [
        Address(url=URL, client_id="desktop-agent", callback_port=8123),
        Address(url=URL, client_id="https://team.example/desktop-agent.json"),
        Address(url=URL, client_id="nightly", issuer=ISSUER, grant="client_credentials"),
        Address(url=URL, issuer="http://127.0.0.1:9000"),
    ],
)
def test_what_is_written_is_read_back_the_same(address: Address, tmp_path: Path) -> None:
    path, server = tmp_path / "config.toml", ServerDefinition(name="tickets", reached_by=address)

    add_definitions(path, (server,), ServerKeyring(SystemKeyStore(MemoryKeyring())))

    assert read_definitions(load_settings(path, {}).tables).servers == (server,)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"client_id": "two words"}, "printable ASCII"),
        ({"client_id": "https://team.example"}, "must have a path"),
        ({"issuer": "login.example"}, "must begin with https://"),
        ({"issuer": "http://login.example"}, "must begin with https://"),
        ({"issuer": "https://me:secret@login.example"}, "must begin with https://"),
        ({"grant": "password"}, "must be one of authorization_code, client_credentials"),
        ({"grant": "client_credentials", "client_id": "x"}, "needs client_id, and issuer"),
        ({"grant": "client_credentials", "issuer": ISSUER}, "needs client_id, and issuer"),
        ({"callback_port": 8123}, "for a client_id"),
        ({"callback_port": 65536, "client_id": "x"}, "must be a port"),
        ({"callback_port": "8123", "client_id": "x"}, "whole number"),
    ],
)
def test_every_mistake_is_named(values: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        definition_in({"name": "tickets", "url": URL, **values})


def test_a_program_has_nobody_to_sign_in_with() -> None:
    with pytest.raises(ValueError, match="has no 'client_id'"):
        definition_in({"name": "git", "command": "uvx", "client_id": "x"})


def test_who_signs_in_where_is_shown_before_a_project_counts() -> None:
    machine = Address(url=URL, client_id="nightly", issuer=ISSUER, grant="client_credentials")
    shown = ServerDefinition(name="tickets", reached_by=machine).in_full

    assert shown == f"{URL} (signed in as nightly at {ISSUER}, without asking you)"
    assert ServerDefinition(name="t", reached_by=Address(url=URL)).in_full == URL
