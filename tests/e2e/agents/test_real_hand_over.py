"""A conversation begins in Claude Code, Codex or OpenCode, goes on here with that agent, there, and here again."""

import asyncio
import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from desktop_agent.core.agents.installed import way_back
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.scripted import Say, ScriptedProvider, in_order
from tests.core.agents.scene import texts
from tests.e2e.agents.real_agents import KEY, PATIENCE_S, RealAgent, ground_of
from tests.e2e.agents.test_real_agents import judge_our_lines
from tests.harness import MODEL, Ground, Open
from tests.servers.aimock import Aimock, aimock, said

pytestmark = pytest.mark.nightly

BEGUN, HERE, THERE, BACK = "Begun with violets.", "Here with tulips.", "There with lilies.", "Back with orchids."
ANSWERS = {BEGUN: "A violet answer.", HERE: "A tulip answer.", THERE: "A lily answer.", BACK: "An orchid answer."}
OTHER, OTHER_ANSWER = "With roses, of a model.", "A rose answer."


@pytest.fixture
def server(tmp_path: Path) -> Generator[Aimock]:
    other: JsonObject = {"match": {}, "response": {"content": "Flowers"}}
    answers = (said(prompt, answer) for prompt, answer in reversed(ANSWERS.items()))
    with aimock(*answers, other, keys=[KEY], folder=tmp_path) as server:
        yield server


async def say_alone(agent: RealAgent, folder: Path, url: str, session: str, prompt: str) -> None:
    """Say something in the agent's own program."""
    here = {"HOME": str(folder), "PWD": str(folder / "workspace")}  # OpenCode believes that
    environ = {**os.environ, **here, **agent.environ(url, folder)}
    process = await asyncio.create_subprocess_exec(
        *agent.alone(url, session, prompt),
        cwd=folder / "workspace",
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE_S):
        printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode(errors="replace")
    assert ANSWERS[prompt] in printed.decode(errors="replace")


def asked(server: Aimock, prompt: str) -> str:
    """Return the request in which the model was asked to answer `prompt`, with what was said before."""
    bodies = [json.dumps(one.body) for one in server.requests()]
    return max((body for body in bodies if prompt in body), key=len)


async def imported(agent: RealAgent, ground: Ground, folder: Path) -> str:
    (file,) = await asyncio.to_thread(lambda: list(folder.glob(agent.keeps)))
    bench = ground.bench(ScriptedProvider(in_order([])))
    return (await bench.stored.import_file(file)).session_id


async def answered(opened: Open, prompt: str) -> None:
    assert (await opened.prompt(prompt)).reason == "completed"
    assert texts(opened)[-1] == ANSWERS[prompt]


async def test_a_conversation_goes_from_the_agents_own_program_to_here_and_back_and_nothing_is_said_twice(
    agent: RealAgent, server: Aimock, tmp_path: Path
) -> None:
    ground, model = ground_of(agent, tmp_path, server.url)
    session_id = None
    if agent.keeps:
        await say_alone(agent, tmp_path, server.url, "", BEGUN)
        session_id = await imported(agent, ground, tmp_path)
    async with ground.session([[Say(OTHER_ANSWER)]], model=model, sandbox="none", resume=session_id) as opened:
        if session_id is None:
            await answered(opened, BEGUN)
        await opened.carry_out(ops.SetMode(model=MODEL), ev.ModeSet)
        await opened.prompt(OTHER)
        await opened.carry_out(ops.SetMode(model=model), ev.ModeSet)
        await answered(opened, HERE)
        sessions = opened.session.transcript.session.agent_sessions
        session_id = opened.session.id
    (known,) = sessions
    assert known.kind == agent.name
    back = way_back(sessions, str(ground.workspace))
    assert back is not None
    assert back.command.endswith(f" {known.id}")
    said_before = [asked(server, HERE).count(one) for one in (BEGUN, ANSWERS[BEGUN], OTHER, OTHER_ANSWER, HERE)]
    assert said_before == [1] * 5

    await say_alone(agent, tmp_path, server.url, known.id, THERE)
    async with ground.session([], resume=session_id) as opened:
        await answered(opened, BACK)
        (event,) = opened.rx.all(ev.AgentSessionOpened)
        # `opencode run` quotes what it is given
        assert [(one.prompt.strip(chr(34)), one.answer) for one in event.said] == [(THERE, ANSWERS[THERE])]
        assert event.agent_session == known.id
    before = (*list(ANSWERS)[:3], *list(ANSWERS.values())[:3], OTHER, OTHER_ANSWER)
    assert [asked(server, BACK).count(one) for one in before] == [1] * 8
    async with ground.session([], resume=session_id) as opened:
        await opened.prompt(BACK)
        assert not opened.rx.all(ev.AgentSessionOpened), "what was said there is read in once"
        assert not [one for one in opened.rx.all(ev.Notice) if "could not be compared" in one.title]
    methods = judge_our_lines(tmp_path)
    assert methods.count("session/new") == (0 if agent.keeps else 1)
    assert methods.count("session/load") == (3 if agent.keeps else 2)
