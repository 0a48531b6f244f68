"""Claude Code, Codex and OpenCode edit, run a command, are undone by hunk, and go on after they or we were killed."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from tests.acp.editor import judge
from tests.core.agents.scene import texts
from tests.e2e.agents.real_agents import (
    AGAIN,
    COMMAND,
    DONE,
    HERE,
    KEY,
    POEM,
    RUN,
    TASK,
    RealAgent,
    fixtures,
    ground_of,
)
from tests.harness import Ground, Open
from tests.servers.aimock import Aimock, aimock

pytestmark = pytest.mark.nightly

EDITED = POEM.replace("line 2\n", "LINE 2\n").replace("line 39\n", "LINE 39\n").replace("line 20\n", "LINE 20\n")


@pytest.fixture
def server(agent: RealAgent, tmp_path: Path) -> Generator[Aimock]:
    with aimock(*fixtures(agent, tmp_path / "workspace"), keys=[KEY], folder=tmp_path) as server:
        yield server


def judge_our_lines(folder: Path) -> list[str]:
    """Judge everything that was sent to the agent by the published schema, and return the methods."""
    lines = (folder / "lines").read_text(encoding="utf-8").splitlines()
    sent = [json.loads(line[2:]) for line in lines if line.startswith(">")]
    for message in sent:
        if "method" in message:
            judge(message["method"], "Request" if "id" in message else "Notification", message["params"])
    return [message["method"] for message in sent if "method" in message]


async def check_undo_by_hunk(ground: Ground, opened: Open) -> None:
    (row,) = (one for one in net_changes(opened.session.transcript.changes.values()) if one.path == "poem.txt")
    blobs = [ground.blob(image) for image in (row.change.before, row.change.after)]
    _, middle, _ = (named.key for named in review_hunks(diff_change(row.change, *blobs)))
    await opened.undo(ChangeSelection(path="poem.txt", hunks=(middle,)))
    assert ground.read("poem.txt") == EDITED.replace("LINE 20\n", "line 20\n")
    await opened.redo_step()
    assert ground.read("poem.txt") == EDITED
    await opened.undo()
    assert ground.read("poem.txt") == POEM
    assert not (ground.workspace / "shell.txt").exists()
    await opened.redo_step()
    assert (ground.read("poem.txt"), ground.read("shell.txt")) == (EDITED, "made\n")


async def test_a_real_agent_is_asked_reviewed_undone_by_hunk_and_goes_on_after_it_was_killed(
    agent: RealAgent, server: Aimock, tmp_path: Path
) -> None:
    ground, model = ground_of(agent, tmp_path, server.url)
    ground.write("poem.txt", POEM)
    async with ground.session([], model=model, sandbox="none") as opened:
        assert (await opened.prompt(TASK, answers=3)).reason == "completed"
        assert texts(opened)[-1] == DONE
        asked = [event.request for event in opened.rx.all(ev.ApprovalRequested)]
        assert asked[-1].command == COMMAND
        assert all(question.changes for question in asked[:-1]), "an edit is asked about with its difference"
        assert (ground.read("poem.txt"), ground.read("shell.txt")) == (EDITED, "made\n")
        recorded = [change for event in opened.rx.all(ev.ChangesRecorded) for change in event.changes]
        assert {(change.path, change.author) for change in recorded} == {("poem.txt", "agent"), ("shell.txt", "agent")}
        commands = [one.call.arguments.get("command") for one in opened.rx.all(ev.ToolCallStarted)]
        assert commands[-1] == COMMAND
        await check_undo_by_hunk(ground, opened)

        opened.submit(ops.SubmitPrompt(text=RUN))
        assert (await opened.rx.expect(ev.ApprovalRequested)).request.command == "touch never.txt"
        os.kill(int((tmp_path / "lines.pid").read_text()), signal.SIGKILL)
        assert (await opened.rx.expect(ev.TurnEnded)).reason == "provider_error"
        assert (await opened.prompt(AGAIN)).reason == "completed"
        assert texts(opened)[-1] == HERE
        assert not (ground.workspace / "never.txt").exists()
        assert len(opened.rx.all(ev.AgentSessionOpened)) == 1, "it is the same session of the agent"
    methods = judge_our_lines(tmp_path)
    assert methods.count("session/new") == 1
    assert "session/resume" in methods
    assert {request.status for request in server.requests()} == {200}


async def test_a_turn_that_we_did_not_survive_is_undone_exactly_and_the_agent_goes_on(
    agent: RealAgent, server: Aimock, tmp_path: Path
) -> None:
    ground, _ = ground_of(agent, tmp_path, server.url)
    ground.write("poem.txt", POEM)
    command = [sys.executable, "-m", "tests.e2e.agents.real_agents", str(tmp_path), agent.name, server.url]
    killed = await asyncio.create_subprocess_exec(*command)
    assert await killed.wait() == -signal.SIGKILL
    (session_id,) = (path.name for path in ground.paths.sessions.iterdir() if path.is_dir())
    async with ground.session([], resume=session_id) as opened:
        edited = ground.read("poem.txt")
        assert edited != POEM
        await opened.undo()
        assert ground.read("poem.txt") == POEM
        await opened.redo_step()
        assert ground.read("poem.txt") == edited
        assert (await opened.prompt(AGAIN)).reason == "completed"
        assert texts(opened)[-1] == HERE
    assert judge_our_lines(tmp_path).count("session/new") == 1
