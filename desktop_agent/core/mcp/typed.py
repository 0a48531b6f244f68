"""A server out of what the user types: a name, and a command line or an address."""

import os
import shlex
from collections.abc import Iterable

from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.reading import definition_in
from desktop_agent.core.mcp.server_sandbox import ServerSandbox, sandbox_in, sandbox_table


def typed_definition(
    name: str,
    where: str,
    sandbox: ServerSandbox | None = None,
    headers: Iterable[tuple[str, str]] = (),
    client_id: str = "",
) -> ServerDefinition:
    """Return the server that is meant. Raises `ValueError` in words.

    One at an address has the `headers`, by name, and the `client_id`; the sandbox is for one that is started here.
    """
    where = where.strip()
    if is_address(where):
        typed = {"headers": [f"{header}={value}" for header, value in headers], "client_id": client_id}
        given = {key: value for key, value in typed.items() if value}
        return definition_in({"name": name.strip(), "url": where, **given})
    words = shlex.split(where, posix=os.name == "posix")
    if not words:
        raise ValueError("it needs a command line or an address")
    return definition_in({"name": name.strip(), "command": words[0], "args": words[1:], **sandbox_table(sandbox)})


def is_address(where: str) -> bool:
    """Whether this is an address, and not a command line."""
    return where.strip().lower().startswith(("https://", "http://"))


def typed_sandbox(folders: str, read_folders: str, hosts: str) -> ServerSandbox:
    """Return what a server may do in the sandbox, each a list with commas. Raises `ValueError` in words."""
    typed = {"folders": folders, "read_folders": read_folders, "hosts": hosts}
    lists = {key: [word.strip() for word in text.split(",") if word.strip()] for key, text in typed.items()}
    found = sandbox_in({"sandbox": True, **lists})
    assert found is not None
    return found
