"""Claude Code, Codex and OpenCode are stopped at a command and in a sentence, and read a message in the middle."""

import asyncio
import os
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import JsonObject
from tests.core.agents.scene import texts
from tests.e2e.agents.real_agents import AGAIN, HERE, KEY, PATIENCE_S, POEM, RealAgent, ground_of
from tests.servers.aimock import Aimock, aimock
from tests.trees import tree_of

pytestmark = pytest.mark.nightly

RUN, SPEAK, MESSAGE, HEARD = "Run it, please.", "Tell me a long story.", "Rather a short one.", "In short: the end."
STORY = "Once upon a time there was a poem. " * 60


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A pipe into which the command prints its process when it has begun."""
    os.mkfifo(tmp_path / "begun")
    return tmp_path / "begun"


@pytest.fixture
def server(agent: RealAgent, tmp_path: Path, begun: Path) -> Generator[Aimock]:
    command = f"echo made > shell.txt; sleep 1000 & echo $! > {begun}; wait"
    answers: tuple[JsonObject, ...] = (
        {"match": {"userMessage": MESSAGE}, "response": {"content": HEARD}},
        {"match": {"userMessage": AGAIN}, "response": {"content": HERE}},
        {"match": {"userMessage": RUN}, "response": agent.runs(command)},
        {"match": {"userMessage": SPEAK}, "response": {"content": STORY}, "latency": 50, "chunkSize": 8},
        {"match": {}, "response": {"content": "A poem"}},
    )
    with aimock(*answers, keys=[KEY], folder=tmp_path) as server:
        yield server


async def test_a_stop_ends_the_command_of_a_real_agent_and_the_next_prompt_works(
    agent: RealAgent, server: Aimock, tmp_path: Path, begun: Path
) -> None:
    ground, model = ground_of(agent, tmp_path, server.url)
    ground.write("poem.txt", POEM)
    async with ground.session([], model=model, sandbox="none") as opened:
        opened.submit(ops.SubmitPrompt(text=RUN))
        await opened.answer()
        left = psutil.Process(int(await asyncio.to_thread(begun.read_text)))
        opened.submit(ops.Interrupt())
        assert (await opened.rx.expect(ev.TurnEnded)).reason == "interrupted"
        seen = tree_of(ground.workspace)
        _, alive = await asyncio.to_thread(psutil.wait_procs, [left], timeout=PATIENCE_S)
        assert not alive
        started = {event.call.id for event in opened.rx.all(ev.ToolCallStarted)}
        assert {event.call_id for event in opened.rx.all(ev.ToolCallFinished)} == started
        assert (await opened.prompt(AGAIN)).reason == "completed"
        assert texts(opened)[-1] == HERE
        assert tree_of(ground.workspace) == seen
        await opened.undo()
        assert not (ground.workspace / "shell.txt").exists()


async def test_a_stop_in_a_sentence_keeps_what_was_said_and_the_next_prompt_works(
    agent: RealAgent, server: Aimock, tmp_path: Path
) -> None:
    ground, model = ground_of(agent, tmp_path, server.url)
    async with ground.session([], model=model, sandbox="none") as opened:
        opened.submit(ops.SubmitPrompt(text=SPEAK))
        await opened.rx.expect(ev.TextDelta)
        opened.submit(ops.Interrupt())
        assert (await opened.rx.expect(ev.TurnEnded)).reason == "interrupted"
        (said,) = texts(opened)
        assert STORY.startswith(said)
        assert said != STORY
        assert (await opened.prompt(AGAIN)).reason == "completed"
        assert texts(opened)[-1] == HERE


async def test_a_message_into_the_turn_is_read_in_it_once(agent: RealAgent, server: Aimock, tmp_path: Path) -> None:
    ground, model = ground_of(agent, tmp_path, server.url)
    async with ground.session([], model=model, sandbox="none") as opened:
        opened.submit(ops.SubmitPrompt(text=SPEAK))
        await opened.rx.expect(ev.TextDelta)
        opened.submit(ops.Steer(text=MESSAGE))
        end = await opened.rx.expect(ev.TurnEnded)
        assert (end.turn, end.reason) == (1, "completed")
        assert [one.text for one in opened.rx.all(ev.Steered)] == [MESSAGE]
        assert texts(opened)[-1] == HEARD
        assert opened.session.transcript.turns.queued == []
        assert (await opened.prompt(AGAIN)).reason == "completed"
    asked = [str(request.body["messages"]) for request in server.requests()]
    assert {last.count(text) for last in asked if AGAIN in last for text in (SPEAK, MESSAGE)} == {1}
