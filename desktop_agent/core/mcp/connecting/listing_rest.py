"""What a server offers besides tools, asked of it as fields of its status."""

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.client import Client, ConnectionLostError
from desktop_agent.core.mcp.server_log import ServerLog


async def list_all_but_tools(client: Client, log: ServerLog) -> dict[str, object]:
    """Return its prompts, resources and templates. A server whose lists are broken is used for its tools."""
    try:
        prompts = await client.prompts() if client.facts.has_prompts else ()
        return {"prompts": prompts, **await list_resources_of(client)}
    except ConnectionLostError:
        raise
    except ServerError as error:
        log.say(f"Its prompts and resources could not be listed: {error}")
        return {"prompts": (), "resources": (), "templates": ()}


async def list_resources_of(client: Client) -> dict[str, object]:
    """Return its resources and templates. Raises `ServerError`."""
    if not client.facts.has_resources:
        return {"resources": (), "templates": ()}
    return {"resources": await client.resources(), "templates": await client.templates()}
