"""Tools as JSON documents, for programs that list them."""

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.access import UNAVAILABLE, Access
from desktop_agent.core.tools.spec import AnyTool


def tool_document(tool: AnyTool, access: Access) -> JsonObject:
    """Return what `tools list --json` says of a tool. Its schema takes a moment."""
    definition = access.definition(tool)
    return {
        "name": definition.name,
        "description": definition.description,
        "input_schema": definition.input_schema,
        "capabilities": list(tool.capabilities),
        "read_only": tool.is_read_only,
        "source": tool.source,
        "available": not definition.description.startswith(UNAVAILABLE),
    }
