"""A command that the sandbox stopped may run again outside of it, if the user says so."""

import os

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Denied
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.sandbox.find import find_sandbox
from tests.harness import Ground

COMMAND = "python3 -c \"print('tried', flush=True); open('.git/mine', 'w').write('x')\""
SCRIPT = ([Call("run_terminal_cmd", {"command": COMMAND})], [Say("ok")])


@pytest.fixture
def repository(ground: Ground) -> Ground:
    if find_sandbox(os.environ).sandbox is None:
        pytest.skip("no sandbox is available here")
    ground.write(".git/HEAD", "ref: refs/heads/main\n")
    return ground


async def test_the_second_run_is_asked_for_and_said_to_be_one(repository: Ground) -> None:
    """What people saw of the first run stays, so there must be a word between it and the second."""
    async with repository.session(SCRIPT) as s:
        assert not (await s.begin()).request.is_escalation
        assert (await s.answer()).request.title == "Run this command outside the sandbox?"
        await s.rx.expect(ev.TurnEnded)
        seen = "".join(event.text for event in s.rx.all(ev.ToolOutputDelta))
        first, _, second = seen.partition("\n[Again, outside the sandbox]\n")
        assert first.startswith("tried\n")
        assert "Read-only file system" in first or "Permission denied" in first
        assert second == "tried\n"
        assert not s.results()[0].is_error
    assert repository.read(".git/mine") == "x"


async def test_after_a_no_nothing_runs_again(repository: Ground) -> None:
    async with repository.session(SCRIPT) as s:
        await s.begin()
        await s.answer(Denied())
        await s.rx.expect(ev.TurnEnded)
        assert "".join(event.text for event in s.rx.all(ev.ToolOutputDelta)).count("tried") == 1
        assert "It was not run outside the sandbox" in s.results()[0].content
    assert not (repository.workspace / ".git" / "mine").exists()
