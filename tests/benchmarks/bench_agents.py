"""From a prompt to the first update of a real agent: our session beside a client of the protocol's own SDK.

The agent is Codex at a model server on this machine that answers at once; both clients ask the same program, in turns.
"""

import asyncio
import os
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from tests.e2e.agents.real_agents import AGAIN, AGENTS, HERE, KEY, fixtures, ground_of
from tests.servers.aimock import aimock

PROMPTS: Final = 15
MOST_RATIO: Final = 1.2


class _Client:
    def __init__(self) -> None:
        self.said = asyncio.Event()

    def on_connect(self, _connection: object) -> None: ...

    async def session_update(self, session_id: str, update: Any, **_: object) -> None:
        if update.session_update == "agent_message_chunk" and update.content.text in HERE:
            self.said.set()  # anything else is a warning, which this client has no other place for


async def test_the_first_words_of_an_agent_come_as_soon_as_in_the_sdks_client(tmp_path: Path) -> None:
    agent, ours, theirs = AGENTS["codex"], list[float](), list[float]()
    with aimock(*fixtures(agent, tmp_path / "workspace"), keys=[KEY], folder=tmp_path) as server:
        ground, model = ground_of(agent, tmp_path, server.url)
        environ = {**os.environ, "HOME": str(tmp_path), **agent.environ(server.url, tmp_path)}
        client, (program, *arguments) = _Client(), agent.command()
        async with (
            spawn_agent_process(client, program, *arguments, env=environ, cwd=ground.workspace) as (sdk, _),  # pyright: ignore[reportArgumentType] - of its methods it needs these
            ground.session([], model=model, sandbox="none") as opened,
        ):
            await sdk.initialize(protocol_version=PROTOCOL_VERSION)
            session = await sdk.new_session(cwd=str(ground.workspace), mcp_servers=[])
            for _ in range(PROMPTS + 1):
                client.said.clear()
                begun = time.perf_counter()
                turn = asyncio.create_task(sdk.prompt(session_id=session.session_id, prompt=[text_block(AGAIN)]))
                await client.said.wait()
                theirs.append(time.perf_counter() - begun)
                await turn
                begun = time.perf_counter()
                opened.submit(ops.SubmitPrompt(text=AGAIN))
                await opened.rx.expect(ev.TextDelta)
                ours.append(time.perf_counter() - begun)
                await opened.rx.expect(ev.TurnEnded)
    own, other = median(ours[1:]) * 1000, median(theirs[1:]) * 1000
    print(f"from the prompt to the first words: {own:.0f} ms, in the SDK's client {other:.0f} ms: {own / other:.2f}×")
    assert own / other <= MOST_RATIO
