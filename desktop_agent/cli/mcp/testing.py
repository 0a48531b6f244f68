"""`desktop-agent mcp test NAME`: start a server as a session would, say what it offers, and end it."""

import argparse
import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from desktop_agent.cli.console import Console
from desktop_agent.cli.interruptible import run_to_end
from desktop_agent.cli.mcp.listing import required_definition
from desktop_agent.cli.mcp.server_report import ServerReport
from desktop_agent.composition.tool_parts import build_server_pool
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.paths import AppPaths, real_path
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.trust import ToolTrust
from desktop_agent.core.providers.auth.server_credentials import ServerKeyring
from desktop_agent.core.system.workspace import current_folder
from desktop_agent.core.tools.execution.confiner import SandboxProbe


def main(args: argparse.Namespace, console: Console) -> int:
    """Test the server, and return 1 if it does not work."""
    paths = AppPaths.from_environment()
    workspace = real_path(args.workspace or current_folder())
    definition = required_definition(paths, workspace, args.name)
    console.say(f"Starting {definition.where} …")
    work = _Test(definition, workspace, paths, console.say)
    connection = asyncio.run(run_to_end(work))  # noqa: TID251 - entry point
    trust, works = ToolTrust(paths.tool_trust), connection.status.state not in ("failed", "resting")
    if args.accept and works:
        trust.trust(definition, connection.status.tools)
    report = ServerReport(connection, trust)
    console.result(report.document(), report.text())
    return int(not works)


class _Test:
    """One start of a server and its end."""

    def __init__(
        self, definition: ServerDefinition, workspace: Path, paths: AppPaths, tell: Callable[[str], None]
    ) -> None:
        keyring, probe = ServerKeyring(tell=tell), SandboxProbe(os.environ)
        self._pool = build_server_pool(paths, os.environ, SystemClock(), keyring, probe)
        self._connection = self._pool.lease(definition, workspace).connection
        self._start: asyncio.Task[object] | None = None

    def interrupt(self) -> None:
        if self._start is not None:
            self._start.cancel()

    async def run(self) -> Connection:
        """Return the connection after its end, with what it came to."""
        try:
            self._start = asyncio.ensure_future(self._connection.tools())
            await self._start
        except ServerError:
            pass  # the status has it
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            await self._pool.aclose()
        return self._connection
