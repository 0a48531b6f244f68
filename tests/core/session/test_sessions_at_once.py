"""Several sessions in one process do not delay each other."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.providers.scripted import Call, Hang, Say, ScriptedProvider, in_order
from desktop_agent.core.session.session import Session
from desktop_agent.core.tools.tool import ReadTool, ToolArguments, ToolContext
from tests.harness import MODEL, Ground, Receiver


class Nothing(ToolArguments):
    pass


class Lurking(ReadTool[Nothing]):
    name = "lurk"
    description = "Lurks."
    arguments_type = Nothing

    def __init__(self) -> None:
        self.closed = 0

    def title(self, arguments: Nothing) -> str:
        return "lurk"

    async def run(self, arguments: Nothing, context: ToolContext) -> ToolResult:
        return ToolResult(content="lurking")

    async def aclose(self) -> None:
        self.closed += 1


@asynccontextmanager
async def running(bench: Workbench, workspace: Path) -> AsyncGenerator[tuple[Session, Receiver]]:
    rx = Receiver()
    session = await bench.create_session(workspace, sink=rx, model=MODEL, approval="never")
    task = asyncio.create_task(session.run())
    try:
        yield session, rx
    finally:
        session.submit(ops.Shutdown())
        await task


@pytest.mark.parametrize("is_shared", [True, False])
async def test_two_sessions_work_side_by_side(ground: Ground, tmp_path: Path, is_shared: bool) -> None:
    other = ground.workspace if is_shared else tmp_path / "other"
    other.mkdir(exist_ok=True)
    create = Call("create_file", {"path": "mine.txt", "content": "mine\n"})
    second = ScriptedProvider(in_order([[create], [Say("Done.")]]))
    async with (
        running(ground.bench(ScriptedProvider(in_order([[Say("Working."), Hang()]]))), ground.workspace) as (
            busy,
            heard,
        ),
        running(ground.bench(second), other) as (session, rx),
    ):
        busy.submit(ops.SubmitPrompt(text="work"))
        await heard.expect(ev.TextDelta)
        session.submit(ops.SubmitPrompt(text="write"))
        ended = await rx.expect(ev.TurnEnded)
        assert ended.reason == "completed"
        assert (other / "mine.txt").read_text() == "mine\n"
        assert (busy.transcript.turns.status, session.transcript.turns.status) == ("working", "idle")


async def test_a_full_pool_of_threads_does_not_keep_another_session_from_writing_its_journal(ground: Ground) -> None:
    async with running(ground.bench(ScriptedProvider(in_order([]))), ground.workspace) as (session, rx):
        session.submit(ops.RenameSession(title="ready"))
        await rx.expect(ev.SessionRenamed)
        go_on = threading.Event()
        hogs = [asyncio.create_task(asyncio.to_thread(go_on.wait)) for _ in range(100)]
        await asyncio.sleep(0)
        try:
            session.submit(ops.RenameSession(title="written"))
            assert (await rx.expect(ev.SessionRenamed)).title == "written"
        finally:
            go_on.set()
            await asyncio.gather(*hogs)


async def test_closing_one_session_leaves_the_tools_of_the_other_at_work(ground: Ground) -> None:
    tool = Lurking()
    ground.extra_tools = (tool,)
    bench = ground.bench(ScriptedProvider(in_order([])))
    async with running(bench, ground.workspace):
        async with running(bench, ground.workspace):
            pass
        assert tool.closed == 0
    assert tool.closed == 1
