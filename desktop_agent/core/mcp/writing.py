"""Definitions into the settings file: added, removed and switched, with everything else in the file as it was."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.mcp.definition import (
    CALL_TIMEOUT_S,
    IDLE_S,
    STARTUP_TIMEOUT_MS,
    Address,
    Program,
    ServerDefinition,
)
from desktop_agent.core.mcp.reading import LIST, definition_in
from desktop_agent.core.mcp.secret_headers import Keyring, keep_secret_headers, without_secrets
from desktop_agent.core.mcp.server_sandbox import sandbox_table
from desktop_agent.core.settings.table_file import TableList


def add_definitions(
    path: Path,
    definitions: tuple[ServerDefinition, ...],
    keyring: Keyring,
    keep_others: Callable[[], None] = lambda: None,
) -> None:
    """Add servers to the settings file, and their secret headers to the keyring, with only their names in the file.

    `keep_others` keeps what else the keyring is to have of them, once it is certain that they can be added.

    Blocks. Raises `UsageError` when there is one of a name already or the file is broken, `CredentialsError` when the
    keyring does not keep a secret, and `StorageError`; nothing is written then.
    """
    split = [without_secrets(definition) for definition in definitions]
    tables = [table_of_definition(definition) for definition, _ in split]

    def change(entries: TableList) -> None:
        for table in tables:
            if _place_of(entries, str(table["name"])) is not None:
                raise UsageError(
                    f"There is a server named {table['name']!r} already.",
                    hint=f"Remove it first: `desktop-agent mcp remove {table['name']}`.",
                )
            entries.append(table, is_spaced=True)
        keep_others()
        for definition, secrets in split:
            keep_secret_headers(keyring, definition, secrets)

    _change_list(path, change)


def remove_definition(path: Path, name: str) -> ServerDefinition | None:
    """Take a server out of the settings file, and return it, or `None` for one that could not be used. Blocks.

    What the keyring has of it stays. Raises `UsageError` when there is none, and `StorageError`.
    """
    removed: list[Mapping[str, object]] = []

    def change(entries: TableList) -> None:
        place = _required(entries, name)
        removed.append(entries.plain()[place])
        entries.remove(place)

    _change_list(path, change)
    with suppress(ValueError):
        return definition_in(removed[0])
    return None


def switch_server(path: Path, name: str, *, is_enabled: bool) -> None:
    """Let a server be used, or not. Blocks. Raises as `remove_definition` does."""
    _change_one(path, name, lambda _: {"enabled": None if is_enabled else False})


def switch_tool(path: Path, name: str, tool: str, *, is_enabled: bool) -> None:
    """Let the model be offered a tool of a server, or not. Blocks. Raises as `remove_definition` does."""

    def change(table: Mapping[str, object]) -> dict[str, object | None]:
        disabled = [item for item in cast("list[str]", table.get("disabled_tools", [])) if item != tool]
        disabled += [] if is_enabled else [tool]
        return {"disabled_tools": disabled or None}

    _change_one(path, name, change)


def table_of_definition(definition: ServerDefinition) -> dict[str, object]:
    """Return the table that defines the server: what is as usual is left out."""
    table: dict[str, object] = {"name": definition.name}
    match definition.reached_by:
        case Program() as program:
            table |= {"command": program.command, "args": list(program.args), "env": dict(program.env)}
            table |= {"cwd": program.cwd}
            table |= {"encoding": program.encoding} if program.encoding != "utf-8" else {}
            table |= {"encoding_errors": program.encoding_errors} if program.encoding_errors != "strict" else {}
            table |= sandbox_table(program.sandbox)
        case Address() as address:
            table |= {"url": address.url, "headers": dict(address.headers)}
            table |= {"secret_headers": list(address.secret_headers)}
            table |= {"allow_unencrypted": True} if address.allow_unencrypted else {}
            table |= {"client_id": address.client_id, "issuer": address.issuer}
            table |= {"grant": address.grant} if address.grant != "authorization_code" else {}
            table |= {"callback_port": address.callback_port} if address.callback_port else {}
    usual = (
        ("startup_timeout_ms", definition.startup_timeout_ms, STARTUP_TIMEOUT_MS),
        ("call_timeout_seconds", definition.call_timeout_s, CALL_TIMEOUT_S),
        ("ttl_seconds", definition.ttl_seconds, IDLE_S),
    )
    table |= {key: value for key, value, default in usual if value != default}
    table |= {"disabled_tools": list(definition.disabled_tools)}
    table |= {} if definition.is_enabled else {"enabled": False}
    found = {key: value for key, value in table.items() if value not in ("", [], {})}
    definition_in(found)  # what is written must be what can be read
    return found


def _change_list(path: Path, change: Callable[[TableList], None]) -> None:
    from desktop_agent.core.settings.settings_file import change_tables  # with a parser that takes a while to import

    change_tables(path, LIST, change)


def _change_one(path: Path, name: str, change: Callable[[Mapping[str, object]], Mapping[str, object | None]]) -> None:
    """Change what `change` returns of the table with this name; None takes a key out."""

    def change_one(entries: TableList) -> None:
        place = _required(entries, name)
        entries.update(place, change(entries.plain()[place]))

    _change_list(path, change_one)


def _required(entries: TableList, name: str) -> int:
    place = _place_of(entries, name)
    if place is None:
        known = [str(entry.get("name")) for entry in entries.plain()]
        hint = f"There are: {', '.join(known)}." if known else "None is defined: `desktop-agent mcp add` defines one."
        raise UsageError(f"There is no server named {name!r} in your settings.", hint=hint)
    return place


def _place_of(entries: TableList, name: str) -> int | None:
    return entries.find(lambda entry: entry.get("name") == name)
