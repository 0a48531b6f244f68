"""`desktop-agent mcp test`: starts one server, lists its tools, prints their cost, and ends the server."""

import argparse
import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec.structs import asdict

from desktop_agent.cli.console import Console, table
from desktop_agent.cli.mcp import required_definition
from desktop_agent.cli.signals import run_cancellable
from desktop_agent.composition.application import build_server_pool
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.base.plain_text import named, number_of
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.server_status import STATE_WORDS, TROUBLED, ServerFacts, unused_line
from desktop_agent.core.mcp.trust import ToolTrust, tool_change
from desktop_agent.core.protocol.model import JsonObject, ToolChange
from desktop_agent.core.providers.auth.server_sign_ins import ServerKeyring
from desktop_agent.core.slash.commands import command_name
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.core.tools.mcp_tool import McpTool

_ERAS = {"stateless": "without a handshake", "handshake": "with a handshake"}
_LINES = 20
_MOST_LISTED = 20
_LONGEST_LINE = 80


class ServerReport:
    def __init__(self, connection: Connection, trust: ToolTrust) -> None:
        self._connection = connection
        offered = connection.status.tools
        self._tools = [McpTool(connection, tool) for tool in offered]
        self._costs = [round(tool.tokens) for tool in self._tools]
        self._changes = {tool.name: tool_change(trust, connection.definition, tool) for tool in offered}

    def document(self) -> JsonObject:
        status = self._connection.status
        return {
            "name": status.name,
            "works": not status.problem,
            "problem": status.problem,
            "hint": status.hint,
            "confinement": self._connection.definition.confinement,
            "server": asdict(status.facts) if status.facts is not None else None,
            "tools": [
                {
                    "name": tool.offered.name,
                    "tokens": cost,
                    "description": tool.offered.description,
                    "unusable": tool.offered.unusable,
                    "view": tool.offered.view,
                    "definition": change.kind if (change := self._changes[tool.offered.name]) else "allowed",
                }
                for tool, cost in zip(self._tools, self._costs, strict=True)
            ],
            "left_out": status.left_out,
            "log": self._connection.log.tail(),
            "prompts": [prompt.name for prompt in status.prompts],
            "resources": [resource.uri for resource in status.resources],
        }

    def text(self) -> str:
        status, facts = self._connection.status, self._connection.status.facts
        if status.problem or facts is None:
            said = self._connection.log.tail(_LINES)
            lines = [f"{status.name} does not work: {status.problem or STATE_WORDS[status.state]}", status.hint]
            lines += ["", "Its last output:", said] if said else []
            return "\n".join(filter(None, lines))
        changes = [change for change in self._changes.values() if change is not None]
        return "\n".join(
            [*self._tool_lines(facts), *_change_lines(changes, len(self._tools)), *self._prompt_and_resource_lines()]
        )

    def _tool_lines(self, facts: ServerFacts) -> list[str]:
        status = self._connection.status
        who = " ".join(filter(None, (facts.name, facts.version))) or "an unnamed server"
        priced = zip(self._tools, self._costs, strict=True)
        rows = [(tool.offered.name, f"{cost:,}", _first_line(tool)) for tool, cost in priced]
        return [
            f"{status.name} works: {who}, protocol {facts.protocol} ({_ERAS[facts.era]}).",
            f"{number_of(len(rows), 'tool')}, about {number_of(sum(self._costs), 'token')} in each request.",
            *filter(None, [self._connection.definition.confinement, unused_line(status)]),
            "",
            table([("tool", "tokens", ""), *rows], right=(1,)),
        ]

    def _prompt_and_resource_lines(self) -> list[str]:
        status = self._connection.status
        lines: list[str] = []
        if status.prompts:
            names = ", ".join(f"/{command_name(status.name, prompt.name)}" for prompt in status.prompts)
            lines += ["", f"{number_of(len(status.prompts), 'prompt')}: {names}"]
        if status.resources:
            uris = ", ".join(named(resource.uri) for resource in status.resources[:_MOST_LISTED])
            more = ", …" if len(status.resources) > _MOST_LISTED else ""
            lines += ["", f"{number_of(len(status.resources), 'resource')}: {uris}{more}"]
        return lines


def _change_lines(changes: list[ToolChange], of: int) -> list[str]:
    changed = [change for change in changes if change.kind == "changed"]
    lines: list[str] = []
    if changed:
        names = ", ".join(named(change.tool) for change in changed)
        lines += ["", f"Changed since you allowed {'it' if len(changed) == 1 else 'them'}: {names}."]
        for change in changed:
            lines += ["", f"{named(change.tool)}:", *(f"  {line}" for line in change.diff.split("\n"))]
    new = [named(change.tool) for change in changes if change.kind == "unknown"]
    if new and len(new) < of:
        lines += ["", f"Not among those that you allowed: {', '.join(new)}."]
    if lines:
        lines += ["", "Your rules do not apply to these until you allow them as they are now: at their next call, or"]
        lines += ["all at once with --accept."]
    return lines


def _first_line(tool: McpTool) -> str:
    if tool.offered.unusable:
        return f"Not usable. {tool.offered.unusable}"
    line = tool.description.strip().partition("\n")[0]
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def main(args: argparse.Namespace, console: Console) -> int:
    paths = AppPaths.from_environment()
    workspace = real_path(args.workspace or current_folder())
    definition = required_definition(paths, workspace, args.name)
    console.say(f"Starting {definition.where} …")
    testing = _start(definition, workspace, paths, console.say)
    connection = asyncio.run(run_cancellable(testing))  # noqa: TID251 - entry point
    trust, works = ToolTrust(paths.tool_trust), connection.status.state not in TROUBLED
    if args.accept and works:
        trust.trust(definition, connection.status.tools)
    report = ServerReport(connection, trust)
    console.result(report.document(), report.text())
    return int(not works)


async def _start(
    definition: ServerDefinition, workspace: Path, paths: AppPaths, tell: Callable[[str], None]
) -> Connection:
    pool = build_server_pool(paths, os.environ, SystemClock(), ServerKeyring(tell=tell), SandboxProbe(os.environ))
    connection = pool.lease(definition, workspace).connection
    try:
        with suppress(ServerError):  # the status has it
            await connection.tools()
    finally:
        await pool.aclose()
    return connection
