"""The client that the public conformance suite runs: `python -m tests.core.mcp.conformance.client URL`.

It is our connection, not the SDK's client: what the suite finds is what a session would meet. The suite says by
`MCP_CONFORMANCE_SCENARIO` what to do.
"""

import asyncio
import os
import sys
from pathlib import Path

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.pool import ServerPool

ARGUMENTS: dict[str, dict[str, object]] = {"add_numbers": {"a": 5, "b": 3}}
"""What tools that need arguments are called with."""


async def call_everything(connection: Connection) -> None:
    """Call every tool that the server offers, as a model may."""
    for tool in await connection.tools():
        await connection.call(tool.name, ARGUMENTS.get(tool.name, {}))


async def main(url: str) -> None:
    """Do with the server at `url` what every scenario asks for: reach it, and call what it has."""
    pool = ServerPool(SystemClock(), dict(os.environ), None)
    try:
        await call_everything(
            pool.lease(ServerDefinition(name="suite", reached_by=Address(url=url)), Path.cwd()).connection
        )
    finally:
        await pool.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))  # noqa: TID251 - entry point
