"""What proves that the application is the client that a definition names: a secret, or a private key, in the keyring.

An entry belongs to one client of one server at one address, so it goes nowhere else when the definition changes. All of
it blocks, and raises `CredentialsError`.
"""

from hashlib import blake2b

from desktop_agent.core.base.web_address import address_of
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.secret_headers import Keyring
from desktop_agent.core.providers.auth.tokens.long_entries import delete_long, read_long, write_long


def keep_client_secret(keyring: Keyring, definition: ServerDefinition, secret: str) -> None:
    """Keep the secret of the client that the definition names."""
    write_long(keyring, _entry(definition), secret)


def read_client_secret(keyring: Keyring, definition: ServerDefinition) -> str:
    """Return it; empty when there is none."""
    return read_long(keyring, _entry(definition)) or "" if _has_client(definition) else ""


def forget_client_secret(keyring: Keyring, definition: ServerDefinition) -> None:
    """Delete it. No error when there is none."""
    if _has_client(definition):
        delete_long(keyring, _entry(definition))


def _has_client(definition: ServerDefinition) -> bool:
    return isinstance(definition.reached_by, Address) and bool(definition.reached_by.client_id)


def _entry(definition: ServerDefinition) -> str:
    address = definition.reached_by
    assert isinstance(address, Address)
    client = blake2b(f"{address.client_id}\n{address.issuer}".encode(), digest_size=8).hexdigest()
    return f"mcp:{definition.name}@{address_of(address.url) or address.url}/client/{client}"
