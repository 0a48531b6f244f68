"""The servers of one session: leased, started when a turn needs them, and registered with their current tools."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.mcp.connection import Connection, Lease, ServerPool
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.definition_file import Definitions
from desktop_agent.core.mcp.server_status import TROUBLED, OfferedTool
from desktop_agent.core.mcp.trust import TrustedTools, definition_digest
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.tools.access import ToolRegistry
from desktop_agent.core.tools.mcp_tool import McpTool, SessionTrust

_MOST_NAMED = 5

WantedServers = Callable[[], Definitions]


class _Registered(Struct, frozen=True):
    definition: ServerDefinition
    offered: tuple[OfferedTool, ...]
    trusted: TrustedTools
    allowed_count: int

    def is_still(self, now: "_Registered") -> bool:
        """Whether `now` would give the same tools. Schemas are not compared, because there may be thousands."""
        is_same = self.offered is now.offered and self.trusted is now.trusted
        return is_same and self.definition == now.definition and self.allowed_count == now.allowed_count


class SessionServers(Struct, eq=False):
    """Starts and registers the servers of a session. Call `refresh` before each request, and `close` once."""

    _pool: ServerPool
    _workspace: Path
    _wanted: WantedServers
    _registry: ToolRegistry
    _trust: SessionTrust
    _log: EventLog
    _leases: dict[str, Lease] = field(default_factory=dict[str, Lease])
    _registered: dict[str, _Registered] = field(default_factory=dict[str, _Registered])
    _said: dict[str, str] = field(default_factory=dict[str, str])
    _said_changed: set[tuple[str, str, Digest]] = field(default_factory=set[tuple[str, str, Digest]])

    async def refresh(self, turn: int) -> None:
        """Register the servers' current tools. Call this before calls run, and before the model is told the tools."""
        definitions = self._wanted()
        for problem in definitions.problems:
            if self._said.get(problem.key) != str(problem):
                self._said[problem.key] = str(problem)
                title = "An MCP server is not defined as it should be, so it is not used."
                await self._notify(turn, title, str(problem))
        self._lease(definitions)
        await asyncio.gather(*(self._refresh(turn, lease) for lease in self._leases.values()))

    def _lease(self, definitions: Definitions) -> None:
        wanted = {definition.name: definition for definition in definitions.servers}
        for name, lease in tuple(self._leases.items()):
            if name not in wanted or lease.connection.definition.fingerprint != wanted[name].fingerprint:
                self._drop(name)
        for definition in wanted.values():
            if definition.name not in self._leases:
                self._leases[definition.name] = self._pool.lease(definition, self._workspace)
            self._leases[definition.name].connection.definition = definition

    def connections(self) -> tuple[Connection, ...]:
        self._lease(self._wanted())
        return tuple(lease.connection for lease in self._leases.values())

    def close(self) -> None:
        for name in tuple(self._leases):
            self._drop(name)

    async def _refresh(self, turn: int, lease: Lease) -> None:
        connection = lease.connection
        name = connection.definition.name
        if name not in self._registered or connection.status.state in TROUBLED or connection.is_relisting:
            try:
                await connection.tools()
            except ServerError as error:
                await self._say(turn, name, error)
                return
        self._said.pop(name, None)
        await self._register(turn, lease)

    async def _register(self, turn: int, lease: Lease) -> None:
        connection = lease.connection
        definition, offered = connection.definition, connection.status.tools
        trusted = await asyncio.to_thread(self._trust.read, definition)
        now = _Registered(definition, offered, trusted, self._trust.allowed_count)
        known = self._registered.get(definition.name)
        if known is not None and known.is_still(now):
            return
        self._registered[definition.name] = now
        used = [tool for tool in offered if tool.name not in definition.disabled_tools and not tool.unusable]
        told = await asyncio.to_thread(self._trust.told, definition, used, trusted)
        tools = [McpTool(connection, tool, self._trust, told.get(tool.name)) for tool in used]
        self._registry.put(definition.name, tools)
        await self._say_changes(turn, definition, [tool for tool in used if tool.name in told])

    async def _say_changes(self, turn: int, definition: ServerDefinition, changed: list[OfferedTool]) -> None:
        digests = await asyncio.to_thread(lambda: [definition_digest(tool) for tool in changed])
        keys = {(definition.fingerprint, tool.name, digest) for tool, digest in zip(changed, digests, strict=True)}
        news = sorted(name for _, name, _ in keys - self._said_changed)
        self._said_changed |= keys
        if not news:
            return
        names = ", ".join(map(named, news[:_MOST_NAMED])) + (", …" if len(news) > _MOST_NAMED else "")
        title = f"The MCP server {definition.name} changed what you allowed: {names}."
        hint = "The model goes on with what you allowed. With the next call you are shown what changed, and asked."
        await self._notify(turn, title, hint, code="mcp_tool_changed")

    async def _say(self, turn: int, name: str, error: ServerError) -> None:
        cause = self._leases[name].connection.status.problem
        if self._said.get(name) == cause:
            return
        self._said[name] = cause
        title = error.title.removesuffix(".")
        hint = " ".join(filter(None, (error.hint, "The turn goes on without its tools.")))
        await self._notify(turn, f"{title}.", hint)

    async def _notify(self, turn: int, title: str, hint: str, *, code: str = "mcp_server") -> None:
        await self._log.record(ev.Notice(level="warning", code=code, title=title, hint=hint, turn=turn))

    def _drop(self, name: str) -> None:
        self._leases.pop(name).give_back()
        self._registered.pop(name, None)
        self._registry.put(name, ())
