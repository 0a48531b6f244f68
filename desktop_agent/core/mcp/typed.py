"""A server out of what the user types: a name, and a command line or an address."""

import os
import shlex

from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.reading import definition_in


def typed_definition(name: str, where: str) -> ServerDefinition:
    """Return the server that is meant. Raises `ValueError` that says what is wrong."""
    where = where.strip()
    if where.lower().startswith(("https://", "http://")):
        return definition_in({"name": name.strip(), "url": where})
    words = shlex.split(where, posix=os.name == "posix")
    if not words:
        raise ValueError("it needs a command line or an address")
    return definition_in({"name": name.strip(), "command": words[0], "args": words[1:]})
