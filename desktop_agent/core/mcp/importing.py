"""Servers out of the JSON that other tools keep theirs in: `mcpServers` as most write it, `servers` as VS Code does."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.mcp.definition import Program, ServerDefinition
from desktop_agent.core.mcp.reading import definition_in

_PLACES = (("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",))
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9-]+")
_INPUT = re.compile(r"\$\{input:[^}]*\}")


class ImportedServers(Struct, frozen=True, kw_only=True):
    """What was found: the servers that can be taken over, and why the others cannot, by name."""

    servers: tuple[ServerDefinition, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()


def servers_in_file(path: Path) -> ImportedServers:
    """Return the servers of such a file. Blocks. Raises `UsageError` as `servers_in_json` does."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read.", detail=str(error)) from error
    found = servers_in_json(text)
    return replace(found, servers=tuple(_absolute(server, real_path(path).parent) for server in found.servers))


def _absolute(server: ServerDefinition, folder: Path) -> ServerDefinition:
    """Return the server with its folder absolute: it is relative to the file it was written in, which is not ours."""
    program = server.reached_by
    if isinstance(program, Program) and program.cwd:
        return replace(server, reached_by=replace(program, cwd=str(folder / program.cwd)))
    return server


def servers_in_json(text: str) -> ImportedServers:
    """Return the servers of such a file. Raises `UsageError` when it has no list of servers."""
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("The file is not JSON.", detail=str(error)) from error
    servers: list[ServerDefinition] = []
    problems: list[tuple[str, str]] = []
    for name, entry in _entries(document).items():
        try:
            servers.append(_definition(name, entry))
        except ValueError as error:
            problems.append((name, str(error)))
    return ImportedServers(servers=tuple(servers), problems=tuple(problems))


def _entries(document: object) -> Mapping[str, object]:
    for place in _PLACES:
        found = document
        for key in place:
            found = cast("dict[str, object]", found).get(key) if isinstance(found, dict) else None
        if isinstance(found, dict):
            return cast("dict[str, object]", found)
    raise UsageError("There is no list of MCP servers in the file.", hint='It should have a key "mcpServers".')


def _definition(name: str, entry: object) -> ServerDefinition:
    if not isinstance(entry, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 -- one kind of error for all that is wrong with an entry
    values = cast("dict[str, object]", entry)
    if values.get("type") == "sse":
        raise ValueError("servers of the old SSE transport are not supported; ask for its streamable HTTP address")
    if _INPUT.search(json.dumps(values)):
        raise ValueError("it asks for values with ${input:…}; add it by hand with these values")
    taken = {key: values[key] for key in ("command", "args", "env", "cwd", "url", "headers") if values.get(key)}
    if "serverUrl" in values:  # as Windsurf writes it
        taken["url"] = values["serverUrl"]
    is_enabled = not values.get("disabled") and values.get("enabled", True) is True
    return definition_in({"name": plain_name(name), **taken, **({} if is_enabled else {"enabled": False})})


def plain_name(name: str) -> str:
    """Return the name as a server of ours may have it."""
    return _NOT_IN_NAMES.sub("-", name).strip("-")[:32].strip("-") or "server"
