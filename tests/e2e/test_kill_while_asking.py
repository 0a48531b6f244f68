"""Kill the process while it asks, and answer in another one: the model sees no difference."""

import asyncio
import shutil
import sys
from pathlib import Path

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ModelRef
from desktop_agent.core.providers.provider import Provider
from tests.harness import FrozenClock, Ground
from tests.providers import anthropic_provider
from tests.servers.anthropic_server import AnthropicServer
from tests.servers.script import reply, text, thinking, tool_use

ANSWERS = (
    reply(
        thinking("What to do?", signature="sig=="),
        text("Changing it."),
        tool_use("edit_file", path="a.py", old_str="x = 1", new_str="x = 2").with_id("toolu_1"),
        tool_use("read_file", path="a.py").with_id("toolu_2"),
    ),
    reply(text("Changed.")),
)


async def answered(folder: Path, *, is_killed: bool) -> list[object]:
    """Play the turn, with or without a kill in the middle; return the request bodies."""
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    async with AnthropicServer(*ANSWERS) as server:

        async def source(_model: ModelRef) -> Provider:
            return anthropic_provider(api_key="key", base_url=server.url)

        if is_killed:
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.e2e.asking_lab", str(folder), server.url, stdout=asyncio.subprocess.PIPE
            )
            assert child.stdout is not None
            session_id = (await child.stdout.readline()).decode().strip()
            child.kill()
            await child.wait()
            ground = Ground(folder)
            ground.clock = FrozenClock()
            async with ground.session([], resume=session_id, provider_source=source) as s:
                assert s.transcript.turns.status == "waiting"
                [request] = s.transcript.pending_approvals
                await s.carry_out(ops.AnswerApproval(call_id=request.call_id, decision=Allowed()), ev.TurnEnded)
        else:
            ground = Ground(folder)
            ground.clock = FrozenClock()
            ground.write("a.py", "x = 1\n")
            async with ground.session([], provider_source=source) as s:
                await s.prompt("go", answers=1)
        assert server.violations == []
        assert (folder / "workspace" / "a.py").read_text() == "x = 2\n"
        return [exchange.body for exchange in server.messages]


async def test_an_answer_after_a_kill_gives_the_request_that_would_have_been_sent(tmp_path: Path) -> None:
    folder = tmp_path / "ground"
    bodies = await answered(folder, is_killed=False)
    assert len(bodies) == 2
    assert await answered(folder, is_killed=True) == bodies
