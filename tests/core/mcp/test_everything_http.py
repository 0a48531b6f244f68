"""The reference server of the makers of the protocol, over streamable HTTP: called, and found again after a restart."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from desktop_agent.core.mcp.client import SampledAnswer, SamplingRequest
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.server_pool import ServerPool
from desktop_agent.core.mcp.server_status import Progress
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


async def test_what_two_calls_at_once_ask_the_model_is_answered_each_by_its_own_session(connect: Connect) -> None:
    port = free_port()
    connection = connect(ServerDefinition(name="everything", reached_by=Address(url=f"http://127.0.0.1:{port}/mcp")))
    asked: dict[str, str] = {}
    both = asyncio.Barrier(2)

    async def call(session: str) -> str:
        async def sample(request: SamplingRequest) -> SampledAnswer:
            asked[session] = request.messages[-1].text
            await both.wait()
            return SampledAnswer(text=f"answered in {session}", model="m")

        arguments = {"prompt": f"asked in {session}", "maxTokens": 10}
        return text_of(await connection.call("trigger-sampling-request", arguments, sample=sample))

    async with everything(port):
        replies = await asyncio.gather(call("one"), call("two"))
        await connection.stop()

    for session, reply in zip(("one", "two"), replies, strict=True):
        assert f"asked in {session}" in asked[session]
        assert f"answered in {session}" in reply
