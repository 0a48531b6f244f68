"""What a session knows of the tools that the user allowed: what changed of them, and what a yes makes of that."""

import asyncio
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.offers import OfferedTool
from desktop_agent.core.mcp.trust.definitions import definition_digest
from desktop_agent.core.mcp.trust.records import ToolTrust, TrustedTools, tool_change
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import Rule, ToolChange
from desktop_agent.core.tools.servers.naming import wire_name


class SessionTrust:
    """Compares what servers offer with what is on record, and puts on record what the user allows."""

    def __init__(self, trust: ToolTrust, log: EventLog) -> None:
        self._trust = trust
        self._log = log
        self._allowed_once: set[tuple[str, str, Digest]] = set()
        """Definitions that the user saw and let act in this session: the model may be told of them."""

    async def read(self, server: ServerDefinition) -> TrustedTools:
        """Return what is on record of a server."""
        return await asyncio.to_thread(self._trust.read, server)

    async def change(self, server: ServerDefinition, tool: OfferedTool) -> ToolChange | None:
        """Return how a tool differs from what the user allowed; None: it does not."""
        return await asyncio.to_thread(tool_change, self._trust, server, tool)

    @property
    def allowed_count(self) -> int:
        """How many definitions the user let act in this session: with another one, what the model is told changes."""
        return len(self._allowed_once)

    def is_allowed_once(self, server: ServerDefinition, tool: str, digest: Digest) -> bool:
        """Whether the user let the tool with this definition act in this session."""
        return (server.fingerprint, tool, digest) in self._allowed_once

    async def told(
        self, server: ServerDefinition, tools: Iterable[OfferedTool], trusted: TrustedTools
    ) -> dict[str, OfferedTool]:
        """Return the definitions that the model is told in place of what the server says now; `trusted` is on record.

        They are those that the user allowed, of tools that have changed since: what a server writes into a tool that is
        in use reaches the model when the user has seen it.
        """
        return await asyncio.to_thread(self._told, server, tools, trusted) if trusted.tools else {}

    async def allow(
        self,
        server: ServerDefinition,
        tool: OfferedTool,
        others: Iterable[OfferedTool],
        rules: Sequence[Rule],
        *,
        is_lasting: bool,
    ) -> None:
        """Take in that the user allowed a tool as it is: for this call, or from now on.

        A rule that names further tools of the server is for those too, as they are now; but not for one that changed
        since it was allowed, because that change was not shown.
        """
        self._allowed_once.add((server.fingerprint, tool.name, await asyncio.to_thread(definition_digest, tool)))
        if not is_lasting:
            return
        known = (await self.read(server)).tools
        named = [other for other in others if other.name not in known and _is_named(rules, server, other)]
        try:
            await asyncio.to_thread(self._trust.trust, server, (*named, tool))
        except StorageError as error:
            title = "What you allowed of the tool could not be kept, so you will be asked again."
            detail = error.detail or str(error)
            await self._log.record(
                ev.Notice(level="error", code="mcp_tool_changed", title=title, hint=error.hint, detail=detail)
            )

    def _told(
        self, server: ServerDefinition, tools: Iterable[OfferedTool], trusted: TrustedTools
    ) -> dict[str, OfferedTool]:
        told: dict[str, OfferedTool] = {}
        for tool in tools:
            before = trusted.tools.get(tool.name)
            digest = definition_digest(tool)
            is_seen = (server.fingerprint, tool.name, digest) in self._allowed_once
            if before is not None and not is_seen and definition_digest(before) != digest:
                told[tool.name] = before
        return told


def _is_named(rules: Sequence[Rule], server: ServerDefinition, tool: OfferedTool) -> bool:
    name = wire_name(server.name, tool.name)
    return any(rule.kind == "tool" and rule.effect == "allow" and fnmatchcase(name, rule.pattern) for rule in rules)
