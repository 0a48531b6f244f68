"""What the tools of MCP servers come to in the settings, found in a thread: a server may have hundreds."""

import asyncio
from collections.abc import Callable

from desktop_agent.app.background_tasks import Try
from desktop_agent.core.context.tokens import tool_tokens
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.server_status import OfferedTool
from desktop_agent.core.tools.servers.mcp_tool import McpTool
from desktop_agent.ui.settings.settings_view import ToolView


class ServerTools:
    """The tools of all servers as the page of servers shows them, kept until a server lists others."""

    def __init__(self, try_: Try, changed: Callable[[], None]) -> None:
        """`changed` is called when tools are known that were not."""
        self._try = try_
        self._changed = changed
        self._known: dict[str, tuple[tuple[OfferedTool, ...], tuple[ToolView, ...]]] = {}
        """By server: what it listed, and what that comes to."""
        self._wanted: dict[str, Connection] = {}
        self._is_looking = False

    def of(self, connection: Connection) -> tuple[ToolView, ...]:
        """Return the tools that a server listed last, or those before, until they are known."""
        name, offered = connection.definition.name, connection.status.tools
        listed, views = self._known.get(name, ((), ()))
        if offered == ():
            return ()
        if listed is not offered:
            self._wanted[name] = connection
            if not self._is_looking:
                self._is_looking = True
                self._try(self._look())
        return views

    async def _look(self) -> None:
        try:
            while self._wanted:
                name, connection = self._wanted.popitem()
                offered = connection.status.tools
                self._known[name] = offered, await asyncio.to_thread(_views, connection, offered)
        finally:
            self._is_looking = False
        self._changed()


def _views(connection: Connection, offered: tuple[OfferedTool, ...]) -> tuple[ToolView, ...]:
    return tuple(_view(McpTool(connection, tool)) for tool in offered)


def _view(tool: McpTool) -> ToolView:
    offered = tool.offered
    about = offered.unusable or tool.description.strip().partition("\n")[0]
    tokens = round(tool_tokens([tool.definition()]))
    return ToolView(name=offered.name, about=about, tokens=tokens, is_usable=not offered.unusable)
