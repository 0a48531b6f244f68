"""New servers: from a list of known ones, from what the user types, and from other tools' JSON."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.extensions.plugins import foreign_server
from desktop_agent.core.mcp.definition import (
    NOT_CONFINED,
    Address,
    Program,
    ServerDefinition,
    ServerSandbox,
    sandbox_in,
    sandbox_table,
)
from desktop_agent.core.mcp.definition_file import definition_in, with_folder
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.system.processes.shell import split_words

_NODE = "Node.js, for npx."
_UV = "uv, for uvx."
_AWS = "uv, for uvx, and credentials of AWS: a profile in ~/.aws."


class KnownServer(Struct, frozen=True, kw_only=True):
    name: str
    about: str
    needs: str
    where: str
    sandbox: ServerSandbox | None = None
    """The usual confinement; `None` if the server needs more than a sandbox allows, or runs elsewhere."""

    @property
    def confinement(self) -> str:
        if self.where.startswith("https://"):
            return ""
        return NOT_CONFINED if self.sandbox is None else self.sandbox.words


KNOWN_SERVERS: tuple[KnownServer, ...] = (
    KnownServer(
        name="filesystem", about="Reads, writes and searches files in the folders that it is given.", needs=_NODE,
        where="npx -y @modelcontextprotocol/server-filesystem .", sandbox=ServerSandbox(folders=(".",)),
    ),
    KnownServer(
        name="git", about="Reads git repositories, and changes them unless it is confined.", needs=f"git, and {_UV}",
        where="uvx mcp-server-git", sandbox=ServerSandbox(),
    ),
    KnownServer(
        name="fetch", about="Fetches web pages as text that models read well.", needs=_UV,
        where="uvx mcp-server-fetch", sandbox=ServerSandbox(hosts=("*",)),
    ),
    KnownServer(
        name="time", about="Tells the time, and converts it between time zones.", needs=_UV,
        where="uvx mcp-server-time", sandbox=ServerSandbox(),
    ),
    KnownServer(
        name="playwright", about="Drives a browser: opens pages, clicks, types and takes pictures.", needs=_NODE,
        where="npx -y @playwright/mcp@latest",
    ),
    KnownServer(
        name="chrome-devtools", about="Inspects pages in Chrome: console, network, performance.",
        needs=f"Chrome, and {_NODE}", where="npx -y chrome-devtools-mcp@latest",
    ),
    KnownServer(
        name="aws-api", about="Calls the services of AWS with your rights.", needs=_AWS,
        where="uvx awslabs.aws-api-mcp-server@latest",
    ),
    KnownServer(
        name="aws-billing", about="Explains what AWS costs, and where to save.", needs=_AWS,
        where="uvx awslabs.billing-cost-management-mcp-server@latest",
    ),
    KnownServer(
        name="github", about="Repositories, issues and pull requests on GitHub.",
        needs="A token, by desktop-agent mcp add github --from github --header 'Authorization=Bearer …'",
        where="https://api.githubcopilot.com/mcp/",
    ),
)  # fmt: skip


def known_server(name: str) -> KnownServer:
    found = next((server for server in KNOWN_SERVERS if server.name == name), None)
    if found is None:
        known = ", ".join(server.name for server in KNOWN_SERVERS)
        raise UsageError(f"There is no server named {name!r} in the catalogue.", hint=f"Available: {known}.")
    return found


def typed_definition(
    name: str,
    where: str,
    sandbox: ServerSandbox | None = None,
    headers: Iterable[tuple[str, str]] = (),
    client_id: str = "",
    env: Iterable[tuple[str, str]] = (),
) -> ServerDefinition:
    """Return the server at an address or run by a program. Raises `ValueError`, also for options of the other kind."""
    where = where.strip()
    if is_address(where):
        typed = {"headers": [f"{header}={value}" for header, value in headers], "client_id": client_id}
        given = {key: value for key, value in typed.items() if value}
        return definition_in({"name": name.strip(), "url": where, **given})
    words = split_words(where)
    if not words:
        raise ValueError("it needs a command line or an address")
    typed = {"name": name.strip(), "command": words[0], "args": words[1:], "env": dict(env)}
    return definition_in({**typed, **sandbox_table(sandbox)})


def edited_definition(before: ServerDefinition, typed: ServerDefinition) -> ServerDefinition:
    """Return the definition as typed, with all other values from `before`. Secrets without a value are kept."""
    reached_by = typed.reached_by
    match before.reached_by, reached_by:
        case Program() as old, Program(command=command, args=args, env=env, sandbox=sandbox):
            kept, public = kept_secrets(old.secret_env, env)
            reached_by = replace(old, command=command, args=args, env=public, secret_env=kept, sandbox=sandbox)
        case Address() as old, Address(url=url, headers=headers, client_id=client_id):
            kept, public = kept_secrets(old.secret_headers, headers)
            reached_by = replace(old, url=url, headers=public, secret_headers=kept, client_id=client_id)
        case _:
            pass
    return replace(before, reached_by=reached_by)


def kept_secrets(secrets: Iterable[str], typed: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the names of the secrets that stay as they are, because no value was typed, and all other values."""
    kept = tuple(name for name in secrets if typed.get(name) == "")
    return kept, {name: value for name, value in typed.items() if name not in kept}


def is_address(where: str) -> bool:
    return where.strip().lower().startswith(("https://", "http://"))


def typed_sandbox(folders: str, read_folders: str, hosts: str) -> ServerSandbox:
    """Parse comma-separated lists. Raises `ValueError`, whose message is for the user."""
    typed = {"folders": folders, "read_folders": read_folders, "hosts": hosts}
    lists = {key: [word.strip() for word in text.split(",") if word.strip()] for key, text in typed.items()}
    found = sandbox_in({"sandbox": True, **lists})
    assert found is not None
    return found


_PLACES = (("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",))


class ImportedServers(Struct, frozen=True, kw_only=True):
    """The servers that can be imported, and for each other server its name and the reason."""

    servers: tuple[ServerDefinition, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()


def servers_in_file(path: Path) -> ImportedServers:
    """Read the file of another tool. Blocks. Raises `UsageError` like `servers_in_json`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read.", detail=str(error)) from error
    found = servers_in_json(text)
    return replace(found, servers=tuple(with_folder(server, real_path(path).parent) for server in found.servers))


def servers_in_json(text: str, environ: Mapping[str, str] = os.environ) -> ImportedServers:
    """Read the JSON of another tool, with variables from `environ`. Raises `UsageError` if it lists no servers."""
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("The file is not JSON.", detail=str(error)) from error
    servers: list[ServerDefinition] = []
    problems: list[tuple[str, str]] = []
    for name, entry in _entries(document).items():
        try:
            servers.append(definition_in(foreign_server(name, entry, environ)))
        except ValueError as error:
            problems.append((name, str(error)))
    return ImportedServers(servers=tuple(servers), problems=tuple(problems))


def _entries(document: object) -> Mapping[str, object]:
    for place in _PLACES:
        found = document
        for key in place:
            found = as_object(found).get(key)
        if isinstance(found, dict):
            return as_object(cast("object", found))
    raise UsageError("There is no list of MCP servers in the file.", hint='It should have a key "mcpServers".')
