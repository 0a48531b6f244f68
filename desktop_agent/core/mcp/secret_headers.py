"""Headers that are credentials: their values are in the keyring, and the settings file has only their names.

An entry belongs to one header of one server at one address: another address has another entry, so no credential goes
where it was not meant to go. All of it blocks, and raises `CredentialsError`.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from msgspec.structs import replace

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.secrets import is_secret_header
from desktop_agent.core.base.web_address import address_of
from desktop_agent.core.mcp.definition import Address, ServerDefinition


class Keyring(Protocol):
    """What keeps secrets by the name of their entry."""

    def get(self, entry: str, /) -> str | None: ...

    def set(self, entry: str, secret: str, /) -> None: ...

    def delete(self, entry: str, /) -> None: ...


def without_secrets(definition: ServerDefinition) -> tuple[ServerDefinition, Mapping[str, str]]:
    """Return the definition as it may be written down, and the headers that it may not have."""
    address = definition.reached_by
    if not isinstance(address, Address):
        return definition, {}
    secrets = {name: value for name, value in address.headers.items() if is_secret_header(name, value)}
    if not secrets:
        return definition, {}
    public = {name: value for name, value in address.headers.items() if name not in secrets}
    names = tuple(dict.fromkeys((*address.secret_headers, *secrets)))
    return replace(definition, reached_by=replace(address, headers=public, secret_headers=names)), secrets


def keep_secret_headers(keyring: Keyring, definition: ServerDefinition, secrets: Mapping[str, str]) -> None:
    """Keep the values of a server's secret headers: all of them or none."""
    kept: list[str] = []
    try:
        for name, value in secrets.items():
            keyring.set(_entry(definition, name), value)
            kept.append(name)
    except CredentialsError:
        with suppress(CredentialsError):
            for name in kept:
                keyring.delete(_entry(definition, name))
        raise


def read_secret_headers(keyring: Keyring, definition: ServerDefinition) -> Mapping[str, str]:
    """Return the secret headers of a server with their values. Raises for one that has none, too."""
    found: dict[str, str] = {}
    for name in _names(definition):
        value = keyring.get(_entry(definition, name))
        if value is None:
            raise CredentialsError(
                f"The keyring has no value for its header {name}.",
                hint=f"Remove the server, and add it again with --header '{name}=…'.",
            )
        found[name] = value
    return found


def forget_secret_headers(keyring: Keyring, definition: ServerDefinition) -> None:
    """Delete the values of a server's secret headers. No error when there are none."""
    for name in _names(definition):
        keyring.delete(_entry(definition, name))


def _names(definition: ServerDefinition) -> tuple[str, ...]:
    return definition.reached_by.secret_headers if isinstance(definition.reached_by, Address) else ()


def _entry(definition: ServerDefinition, header: str) -> str:
    assert isinstance(definition.reached_by, Address)
    url = definition.reached_by.url
    return f"mcp:{definition.name}@{address_of(url) or url}/header/{header.lower()}"
