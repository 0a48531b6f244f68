"""The reference server of the makers of the protocol, over streamable HTTP: called, and found again after a restart."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.offers import Progress
from desktop_agent.core.mcp.pool import ServerPool
from tests.core.mcp.conftest import Connect
from tests.core.mcp.test_connection import text_of, until
from tests.npm.programs import npm_program
from tests.servers.mcp_authorization import free_port


@asynccontextmanager
async def everything(port: int) -> AsyncGenerator[None]:
    process = await asyncio.create_subprocess_exec(
        *npm_program("mcp-server-everything"),
        "streamableHttp",
        env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        while str(port).encode() not in await process.stderr.readline():
            assert process.returncode is None
        yield
    finally:
        process.kill()
        await process.communicate()


async def test_it_is_called_and_found_again_after_a_restart(connect: Connect, pool: ServerPool) -> None:
    port = free_port()
    connection = connect(ServerDefinition(name="everything", reached_by=Address(url=f"http://127.0.0.1:{port}/mcp")))
    progress: list[Progress] = []

    async with everything(port):
        assert "Echo: hello" in text_of(await connection.call("echo", {"message": "hello"}))
        await connection.call("trigger-long-running-operation", {"duration": 0.1, "steps": 2}, progress.append)
        assert [step.done for step in progress] == [1, 2]
        facts = connection.status.facts
        assert facts is not None
        assert facts.era == "handshake"
    await until(pool, connection, "failed")  # the stream of its notices has ended, and nothing listens any more
    async with everything(port):
        connection._may_try_at = 0.0  # pyright: ignore[reportPrivateUsage] -- as if the pause were over
        assert "Echo: again" in text_of(await connection.call("echo", {"message": "again"}))
        await connection.stop()
