"""`desktop-agent tools`: which tools the model has, and what each takes."""

import argparse
import json

from desktop_agent.commands.console import Console, table
from desktop_agent.core.errors import UsageError
from desktop_agent.core.model import JsonObject, ToolDefinition
from desktop_agent.core.tools.builtin import first_tools
from desktop_agent.core.tools.registry import ToolRegistry


def main(args: argparse.Namespace, console: Console) -> int:
    """Carry out one of the subcommands."""
    registry = ToolRegistry(first_tools())
    definitions = registry.definitions()
    if args.action == "list":
        documents = [_document(registry, definition) for definition in definitions]
        rows = [[definition.name, definition.description.splitlines()[0]] for definition in definitions]
        console.result({"tools": documents}, table(rows))
        return 0
    wanted = next((definition for definition in definitions if definition.name == args.name), None)
    if wanted is None:
        raise UsageError(f"There is no tool {args.name!r}.", hint="`desktop-agent tools list` shows them all.")
    schema = json.dumps(wanted.input_schema, indent=2)
    console.result(_document(registry, wanted), f"{wanted.name}\n\n{wanted.description}\n\n{schema}")
    return 0


def _document(registry: ToolRegistry, definition: ToolDefinition) -> JsonObject:
    tool = registry.get(definition.name)
    assert tool is not None
    return {
        "name": definition.name,
        "description": definition.description,
        "input_schema": definition.input_schema,
        "capabilities": list(tool.capabilities),
        "read_only": tool.is_read_only,
        "source": tool.source,
        "available": True,
    }
