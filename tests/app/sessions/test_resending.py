"""Resending an edited prompt first restores the files through the session that changed them."""

import asyncio
from pathlib import Path

import pytest

from desktop_agent.app.navigator import undo_since
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call, Hang, Say
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.window.session_handle import SessionHandle
from tests.harness import PATIENCE_S, Ground, Open
from tests.journals import turn


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ground")


def bridged(s: Open) -> SessionHandle:
    handle = SessionHandle(Transcript(), s.submit)
    for event in s.rx.events:
        handle.deliver(event)
    heard = s.rx.events.append

    class Both(list[ev.Event]):
        def append(self, event: ev.Event) -> None:
            heard(event)
            super().append(event)
            handle.deliver(event)

    s.rx.events = Both(s.rx.events)
    return handle


def edit(old: int, new: int) -> Call:
    return Call("edit_file", {"path": "a.py", "old_str": f"x = {old}", "new_str": f"x = {new}"})


async def test_what_the_turn_and_later_ones_changed_is_taken_back(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    replies = [[edit(1, 2)], [Say("One.")], [edit(2, 3)], [Say("Two.")], [edit(3, 4)], [Say("Three.")]]
    async with ground.session(replies, approval="never") as s:
        for _ in range(3):
            await s.prompt()
        handle = bridged(s)
        await undo_since(handle, 2)
        assert ground.read("a.py") == "x = 2\n"
        records = len(s.rx.recorded)
        await undo_since(handle, 2)
        assert len(s.rx.recorded) == records, "there is nothing more to take back"
        await undo_since(handle, 1)
        assert ground.read("a.py") == "x = 1\n"


async def test_while_the_agent_works_nothing_is_taken_back(ground: Ground) -> None:
    ground.write("a.py", "x = 1\n")
    async with ground.session([[edit(1, 2)], [Say("One.")], [Say("…"), Hang()]], approval="never") as s:
        await s.prompt()
        await s.carry_out(ops.SubmitPrompt(text="more"), ev.TextDelta, lambda event: event.turn == 2)
        with pytest.raises(AgentError, match="working"):
            await asyncio.wait_for(undo_since(bridged(s), 1), PATIENCE_S)
        assert ground.read("a.py") == "x = 2\n"


async def test_of_a_session_that_could_not_be_opened_nothing_is_taken_back() -> None:
    transcript = Transcript()
    for event in (*turn(1), *turn(2)):
        transcript.apply(event)

    class Refusing:
        def submit(self, op: ops.Op) -> None:
            asyncio.get_running_loop().call_soon(handle.failed.emit, AgentError("The session could not be read."))

    handle = SessionHandle(transcript, Refusing().submit)
    with pytest.raises(AgentError, match="could not be read"):
        await asyncio.wait_for(undo_since(handle, 1), PATIENCE_S)
