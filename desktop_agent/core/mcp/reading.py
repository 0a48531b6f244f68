"""Definitions out of tables of settings and out of other tools' JSON: every mistake is named, the others count."""

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.web_address import has_userinfo
from desktop_agent.core.mcp.definition import (
    CALL_TIMEOUT_S,
    IDLE_S,
    STARTUP_TIMEOUT_MS,
    Address,
    DefinedBy,
    Program,
    ServerDefinition,
)
from desktop_agent.core.mcp.reading_sign_in import SIGN_IN_KEYS, sign_in_values
from desktop_agent.core.mcp.secret_headers import without_secrets
from desktop_agent.core.mcp.server_sandbox import KEYS as SANDBOX_KEYS
from desktop_agent.core.mcp.server_sandbox import sandbox_in
from desktop_agent.core.settings.loading import FileProblem, FoundTable
from desktop_agent.core.settings.table_file import choice_in, flag_in, table_of, text_in, texts_in

# ruff: noqa: TRY004 - one kind of error for everything wrong with a definition

LIST = "mcp.definitions"
"""The list of tables in a settings file."""

_NAME = re.compile(r"(?!.*__|.{33})[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9-])?")
"""Short enough that the name of a tool beside it still fits what providers accept; `__` stands between the two."""

_LIMITS = ("startup_timeout_ms", "call_timeout_seconds", "ttl_seconds")
_SWITCHES = ("enabled", "disabled_tools")
_OF_PROGRAMS = ("command", "args", "env", "cwd", "encoding", "encoding_errors", *SANDBOX_KEYS)
_OF_ADDRESSES = ("url", "headers", "secret_headers", "allow_unencrypted", *SIGN_IN_KEYS)
KEYS = ("name", *_OF_PROGRAMS, *_OF_ADDRESSES, *_LIMITS, *_SWITCHES)


class Definitions(Struct, frozen=True, kw_only=True):
    """The servers that are defined, in their order, and what cannot be used."""

    servers: tuple[ServerDefinition, ...] = ()
    problems: tuple[FileProblem, ...] = ()

    def named(self, name: str) -> ServerDefinition | None:
        """Return the server of that name, if there is one."""
        return next((server for server in self.servers if server.name == name), None)


def read_definitions(tables: Iterable[FoundTable]) -> Definitions:
    """Return the servers that the tables define. A project's server never takes the place of one of the user's."""
    found: dict[str, ServerDefinition] = {}
    problems: list[FileProblem] = []
    for table in tables:
        if table.key != LIST:
            continue
        try:
            definition = definition_in(table.value)
            _require_no_secrets(definition)
        except ValueError as error:
            problems.append(_problem(table, str(error)))
            continue
        if definition.name in found:
            message = f"there is another server named {definition.name!r}; only the first counts"
            problems.append(_problem(table, message))
        else:
            origin: DefinedBy = "project" if table.is_project else "user"
            found[definition.name] = replace(_with_folder(definition, table), defined_by=origin)
    return Definitions(servers=tuple(found.values()), problems=tuple(problems))


def _problem(table: FoundTable, message: str) -> FileProblem:
    return FileProblem(table.path, f"{LIST} {table.number}", message, table.line)


def _require_no_secrets(definition: ServerDefinition) -> None:
    """A secret in a file is read by every program of the user, and copied with the file."""
    _, secrets = without_secrets(definition)
    if secrets:
        name = next(iter(secrets))
        raise ValueError(
            f"the header {name} is a secret, which belongs in the keyring: take it out of this file, and define the "
            f"server with `desktop-agent mcp add {definition.name} --url URL --header '{name}=…'`"
        )


def definition_in(entry: object) -> ServerDefinition:
    """Return the server that one table defines. Raises `ValueError` that says what is wrong with it."""
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
    """Return the name that a table gives. Raises `ValueError` for one that cannot be used."""
    if "name" not in values:
        raise ValueError("mcp definition missing required 'name'")
    name = values["name"]
    if not isinstance(name, str) or not name.strip():
        raise ValueError("mcp definition 'name' must contain text")
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"mcp definition {name!r}: a name has letters, digits, '-' and single '_', at most 32")
    return name


def _program(values: Mapping[str, object]) -> Program:
    _require_none_of(values, _OF_ADDRESSES, "a server that is started")
    if not text_in(values, "command").strip():
        raise ValueError("mcp definition missing required 'command'")
    return Program(
        command=text_in(values, "command"),
        args=_arguments(values.get("args", [])),
        env=_variables(values.get("env", {})),
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
    return Address(
        url=url,
        headers=_variables(values.get("headers", {})),
        secret_headers=texts_in(values, "secret_headers"),
        allow_unencrypted="allow_unencrypted" in values and flag_in(values, "allow_unencrypted"),
        **sign_in_values(values),
    )


def _require_none_of(values: Mapping[str, object], keys: Iterable[str], what: str) -> None:
    if wrong := next((key for key in keys if key in values), None):
        raise ValueError(f"{what} has no {wrong!r}")


def _arguments(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(shlex.split(value))
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
        raise ValueError("args must be a list or string")
    return tuple(cast("list[str]", value))


def _variables(value: object) -> dict[str, str]:
    """Return variables that are written as a table, as a list of tables, or as a list of KEY=VALUE."""
    entries = cast("list[object]", value) if isinstance(value, list) else [value]
    found: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, str):
            name, sign, text = entry.partition("=")
            if not sign or not name:
                raise ValueError("env entries provided as strings must be KEY=VALUE")
            found[name] = text
        elif isinstance(entry, dict):
            found |= _texts(cast("dict[str, object]", entry))
        else:
            raise ValueError("env must be a table, a list of tables or of KEY=VALUE")
    return found


def _texts(entry: Mapping[str, object]) -> dict[str, str]:
    if set(entry) == {"name", "value"}:  # as lists of tables are often written
        entry = {str(entry["name"]): entry["value"]}
    if wrong := next((key for key, text in entry.items() if not isinstance(text, str)), None):
        raise ValueError(f"the value of {wrong} must be a text")
    return cast("dict[str, str]", dict(entry))


def _positive(values: Mapping[str, object], key: str, usual: float) -> float:
    value = values.get(key, usual)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LONGEST:
        raise ValueError(f"{key} must be positive")
    return value


_LONGEST = 10**9


def _with_folder(definition: ServerDefinition, table: FoundTable) -> ServerDefinition:
    """Return the definition with its folder absolute: it is relative to the file it is written in."""
    program = definition.reached_by
    if not isinstance(program, Program) or not program.cwd:
        return definition
    folder = table.path.parent.parent if table.is_project else table.path.parent  # a project's file is in a folder
    return replace(definition, reached_by=replace(program, cwd=str(folder / program.cwd)))
