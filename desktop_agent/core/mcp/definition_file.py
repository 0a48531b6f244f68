"""Definitions in the settings file: read them, naming every mistake, and add, remove or switch one.

Secrets are in the keyring, each for one address. Functions that read it block, and raise `CredentialsError`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import Keyring, is_secret_pair, read_all
from desktop_agent.core.base.web_address import address_of, has_userinfo, is_readable_on_the_way, why_no_address
from desktop_agent.core.mcp.definition import (
    CALL_TIMEOUT_S,
    IDLE_S,
    SANDBOX_KEYS,
    STARTUP_TIMEOUT_MS,
    Address,
    DefinedBy,
    Grant,
    Program,
    ServerDefinition,
    sandbox_in,
    sandbox_table,
)
from desktop_agent.core.settings.loading import FileProblem, FoundTable
from desktop_agent.core.settings.table_file import (
    NamedTables,
    choice_in,
    flag_in,
    pairs_in,
    size_in,
    table_of,
    text_in,
    texts_in,
    unusual,
    words_in,
)
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings

SIGN_IN_KEYS = ("client_id", "issuer", "grant", "callback_port")

_PLAIN = regex(r"[\x21-\x7e]{0,2000}")
_MOST_PORT = 65_535


def _with_sign_in(address: Address, values: Mapping[str, object]) -> Address:
    client_id, issuer = text_in(values, "client_id"), text_in(values, "issuer")
    if _PLAIN.fullmatch(client_id) is None:
        raise ValueError("client_id must be of printable ASCII without spaces")
    if client_id.startswith("https://") and urlsplit(client_id).path in ("", "/"):
        raise ValueError(
            "a client_id that is a URL must have a path, because it leads to a description of the application"
        )
    if issuer and not _is_issuer(issuer):
        raise ValueError("issuer must begin with https://, as the authorisation server writes it")
    grant = cast("Grant", choice_in(values, "grant", get_args(Grant), "authorization_code"))
    if grant == "client_credentials" and not (client_id and issuer):
        raise ValueError("grant client_credentials needs client_id and issuer; the secret is sent only to that issuer")
    port = size_in(values, "callback_port") or 0
    if port > _MOST_PORT or (port and not client_id):
        raise ValueError("callback_port must be a port number, and needs the client_id that it is registered with")
    return replace(address, client_id=client_id, issuer=issuer, grant=grant, callback_port=port)


def _is_issuer(url: str) -> bool:
    is_web = url.startswith(("https://", "http://")) and _PLAIN.fullmatch(url) is not None
    return is_web and not is_readable_on_the_way(url) and not has_userinfo(url)


def without_secrets(definition: ServerDefinition) -> tuple[ServerDefinition, Mapping[str, str]]:
    match definition.reached_by:
        case Address(headers=given):
            fields = ("headers", "secret_headers")
        case Program(env=given):
            fields = ("env", "secret_env")
    secrets = {name: value for name, value in given.items() if value and is_secret_pair(name, value)}
    if not secrets:
        return definition, {}
    public = {name: value for name, value in given.items() if name not in secrets}
    names = tuple(dict.fromkeys((*_names(definition), *secrets)))
    reached_by = replace(definition.reached_by, **dict(zip(fields, (public, names), strict=True)))
    return replace(definition, reached_by=reached_by), secrets


def read_secrets(keyring: Keyring, definition: ServerDefinition) -> Mapping[str, str]:
    """Return the secret headers or variables of a server. Raises also when a value is missing."""
    is_header = isinstance(definition.reached_by, Address)
    what, option = ("header", "--header") if is_header else ("variable", "--env")

    def missing(name: str) -> CredentialsError:
        hint = f"Remove the server, and add it again with {option} '{name}=…'."
        return CredentialsError(f"The keyring has no value for its {what} {name}.", hint=hint)

    return read_all(keyring, {name: _entry(definition, name) for name in _names(definition)}, missing)


def forget_secrets(keyring: Keyring, definition: ServerDefinition) -> None:
    for name in _names(definition):
        keyring.delete(_entry(definition, name))


def _names(definition: ServerDefinition) -> tuple[str, ...]:
    reached_by = definition.reached_by
    return reached_by.secret_headers if isinstance(reached_by, Address) else reached_by.secret_env


def _entry(definition: ServerDefinition, header: str) -> str:
    if isinstance(definition.reached_by, Program):
        return f"mcp:{definition.name}/env/{header}"
    url = definition.reached_by.url
    return f"mcp:{definition.name}@{address_of(url) or url}/header/{header.lower()}"


# ruff: noqa: TRY004 - one kind of error for everything wrong with a definition

LIST = "mcp.definitions"
_SERVERS = NamedTables(key=LIST, noun="server", command="mcp")

_NAME = regex(r"(?!.*__|.{33})[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9-])?")
"""Names of servers begin tools' names, so they are short and lack the separator `__`."""

_LIMITS = ("startup_timeout_ms", "call_timeout_seconds", "ttl_seconds")
_SWITCHES = ("enabled", "disabled_tools")
_OF_PROGRAMS = ("command", "args", "env", "secret_env", "cwd", "encoding", "encoding_errors", *SANDBOX_KEYS)
_OF_ADDRESSES = ("url", "headers", "secret_headers", "allow_unencrypted", *SIGN_IN_KEYS)
_KEYS_OF_FIELDS = {"call_timeout_s": "call_timeout_seconds", "is_enabled": "enabled"}
KEYS = ("name", *_OF_PROGRAMS, *_OF_ADDRESSES, *_LIMITS, *_SWITCHES)


class Definitions(Struct, frozen=True, kw_only=True):
    servers: tuple[ServerDefinition, ...] = ()
    problems: tuple[FileProblem, ...] = ()

    def named(self, name: str) -> ServerDefinition | None:
        return next((server for server in self.servers if server.name == name), None)


ALL_SERVERS = "mcp://local"
"""The value in `mcp.servers` that stands for every defined server."""


def used_definitions(settings: WorkspaceSettings) -> Definitions:
    """Return the servers that sessions in this folder use. A session starts them when it begins."""
    mcp = settings.current.mcp
    if not mcp.enable:
        return Definitions()
    found = read_definitions(settings.loaded.tables)
    is_all = ALL_SERVERS in mcp.servers
    used = (server for server in found.servers if server.is_enabled and (is_all or server.name in mcp.servers))
    return replace(found, servers=tuple(used))


def read_definitions(tables: Iterable[FoundTable]) -> Definitions:
    """Return the servers that the tables define. A project's server never replaces a user's."""
    servers, problems = _SERVERS.read(tables, _defined)
    return Definitions(servers=servers, problems=problems)


def _defined(table: FoundTable) -> ServerDefinition:
    definition = definition_in(table.value)
    if table.plugin:  # its values are in no file: variables of the user's were filled in
        return replace(definition, defined_by="plugin", may_start=table.may_start)
    _require_no_secrets(definition, is_project=table.is_project)
    origin: DefinedBy = "project" if table.is_project else "user"
    folder = table.path.parent.parent if table.is_project else table.path.parent
    return replace(with_folder(definition, folder), defined_by=origin, may_start=table.may_start)


def _require_no_secrets(definition: ServerDefinition, *, is_project: bool) -> None:
    """Refuse secrets in a file, because every program of the user can read the file."""
    if isinstance(definition.reached_by, Program):
        if is_project and definition.reached_by.secret_env:
            raise ValueError("a project's server gets no secrets from your keyring: remove secret_env")
        return
    _, secrets = without_secrets(definition)
    if secrets:
        name = next(iter(secrets))
        raise ValueError(
            f"the header {name} is a secret, which belongs in the keyring: take it out of this file, and define the "
            f"server with `desktop-agent mcp add {definition.name} --url URL --header '{name}=…'`"
        )


def definition_in(entry: object) -> ServerDefinition:
    if not isinstance(entry, dict):
        raise ValueError(f"{LIST} entries must be tables")
    values = table_of(cast("dict[str, object]", entry), KEYS)
    name = server_name(values)
    if "url" in values and "command" in values:
        raise ValueError(f"mcp definition {name!r} has a command and a url; a server is started or reached, not both")
    return ServerDefinition(
        name=name,
        reached_by=_address(values) if "url" in values else _program(values),
        startup_timeout_ms=int(_positive(values, "startup_timeout_ms", STARTUP_TIMEOUT_MS)),
        call_timeout_s=_positive(values, "call_timeout_seconds", CALL_TIMEOUT_S),
        ttl_seconds=_positive(values, "ttl_seconds", IDLE_S),
        is_enabled=flag_in(values, "enabled") if "enabled" in values else True,
        disabled_tools=texts_in(values, "disabled_tools"),
    )


def server_name(values: Mapping[str, object]) -> str:
    if "name" not in values:
        raise ValueError("mcp definition missing required 'name'")
    name = values["name"]
    if not isinstance(name, str) or not name.strip():
        raise ValueError("mcp definition 'name' must contain text")
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"mcp definition {name!r}: a name may have at most 32 letters, digits, '-' and single '_'")
    return name


def _program(values: Mapping[str, object]) -> Program:
    _require_none_of(values, _OF_ADDRESSES, "a server that is started")
    if not text_in(values, "command").strip():
        raise ValueError("mcp definition missing required 'command'")
    return Program(
        command=text_in(values, "command"),
        args=words_in(values, "args"),
        env=pairs_in(values, "env"),
        secret_env=texts_in(values, "secret_env"),
        cwd=text_in(values, "cwd"),
        encoding=text_in(values, "encoding") or "utf-8",
        encoding_errors=cast(
            'Literal["strict", "ignore", "replace"]',
            choice_in(values, "encoding_errors", ("strict", "ignore", "replace"), "strict"),
        ),
        sandbox=sandbox_in(values),
    )


def _address(values: Mapping[str, object]) -> Address:
    _require_none_of(values, _OF_PROGRAMS, "a server at an address")
    url = text_in(values, "url", is_needed=True)
    if not url.startswith(("https://", "http://")):
        raise ValueError("url must begin with https:// or http://")
    if has_userinfo(url):
        raise ValueError("url has a user name or a password before the @; a credential belongs in the keyring")
    if why := why_no_address(re.split("[?#]", url)[0]):
        raise ValueError(f"url cannot be used: {why}")
    address = Address(
        url=url,
        headers=pairs_in(values, "headers"),
        secret_headers=texts_in(values, "secret_headers"),
        allow_unencrypted="allow_unencrypted" in values and flag_in(values, "allow_unencrypted"),
    )
    if is_readable_on_the_way(url) and not address.allow_unencrypted:
        raise ValueError(
            "url begins with http://, so others on the network could read and change what is sent: use its https:// "
            "address, or define it in the settings file with allow_unencrypted = true"
        )
    return _with_sign_in(address, values)


def _require_none_of(values: Mapping[str, object], keys: Iterable[str], what: str) -> None:
    if wrong := next((key for key in keys if key in values), None):
        raise ValueError(f"{what} has no {wrong!r}")


def _positive(values: Mapping[str, object], key: str, usual: float) -> float:
    value = values.get(key, usual)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LONGEST:
        raise ValueError(f"{key} must be positive")
    return value


_LONGEST = 10**9


def with_folder(definition: ServerDefinition, folder: Path) -> ServerDefinition:
    """Make a folder that is relative to the definition's file absolute."""
    program = definition.reached_by
    if not isinstance(program, Program) or not program.cwd:
        return definition
    return replace(definition, reached_by=replace(program, cwd=str(folder / program.cwd)))


def add_definitions(
    path: Path,
    definitions: tuple[ServerDefinition, ...],
    keyring: Keyring,
    keep_others: Callable[[], None] = lambda: None,
) -> tuple[tuple[str, str], ...]:
    """Add servers to the settings file and their secrets to the keyring. Blocks.

    Servers whose secrets the keyring refuses are left out and returned, by name with the reason; if it refuses all,
    this raises. `keep_others` is called when it is certain that the servers can be added. Raises `UsageError` for a
    name that exists or a broken file, `CredentialsError` and `StorageError`; nothing is added then.
    """
    return _SERVERS.add(path, [_split(definition) for definition in definitions], keyring, keep_others)


def replace_definition(path: Path, definition: ServerDefinition, keyring: Keyring) -> None:
    """Replace the definition with the same name. Blocks, and raises as `NamedTables.replace`."""
    _SERVERS.replace(path, _split(definition), keyring, _entries_in)


def _split(definition: ServerDefinition) -> tuple[dict[str, object], dict[str, str]]:
    """Return the table of a definition, and its secrets by their entries in the keyring."""
    public, secrets = without_secrets(definition)
    return table_of_definition(public), {_entry(public, name): value for name, value in secrets.items()}


def _entries_in(table: object) -> list[str]:
    definition = definition_in(table)
    return [_entry(definition, name) for name in _names(definition)]


def remove_definition(path: Path, name: str) -> ServerDefinition | None:
    """Remove a server; return `None` if it was unusable. Leaves the keyring. Raises `UsageError`, `StorageError`."""
    removed = _SERVERS.remove(path, name)
    with suppress(ValueError):
        return definition_in(removed)
    return None


def switch_server(path: Path, name: str, *, is_enabled: bool) -> None:
    _SERVERS.change(path, name, lambda _: {"enabled": None if is_enabled else False})


def switch_tool(path: Path, name: str, tool: str, *, is_enabled: bool) -> None:
    def change(table: Mapping[str, object]) -> dict[str, object | None]:
        disabled = [item for item in cast("list[str]", table.get("disabled_tools", [])) if item != tool]
        disabled += [] if is_enabled else [tool]
        return {"disabled_tools": disabled or None}

    _SERVERS.change(path, name, change)


def table_of_definition(definition: ServerDefinition) -> dict[str, object]:
    match definition.reached_by:
        case Program() as program:
            reached = unusual(program, Program(command="")) | sandbox_table(program.sandbox)
        case Address() as address:
            reached = unusual(address, Address(url=""))
    usual = ServerDefinition(
        name="", reached_by=definition.reached_by, defined_by=definition.defined_by, may_start=definition.may_start
    )
    others = {_KEYS_OF_FIELDS.get(field, field): value for field, value in unusual(definition, usual).items()}
    table = {"name": definition.name, **reached, **others}
    definition_in(table)  # what is written must be what can be read
    return table
