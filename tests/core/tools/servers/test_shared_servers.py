"""Sessions of one folder share a server's process while one of them is open."""

import asyncio
from collections.abc import Iterable

import psutil

from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.provider import Provider
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, in_order
from tests.harness import MODEL, Ground, Open, Receiver
from tests.system_processes import descendants


class Application:
    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._next = ScriptedProvider(in_order([]))
        self._bench: Workbench = ground.bench(self._next, self._provider)

    async def _provider(self, _model: ModelRef) -> Provider:
        return self._next

    async def open(self, script: Iterable[Reply]) -> Open:
        provider = self._next = ScriptedProvider(in_order(script))
        rx = Receiver()
        folder = self._ground.workspace
        session = await self._bench.create_session(folder, sink=rx, model=MODEL, approval="on_write")
        return Open(session, rx, provider, folder, asyncio.create_task(session.run(), name="session"), self._bench)

    @property
    def pids(self) -> list[int]:
        connections = self._bench.shared_tools.servers.connections(self._ground.workspace)
        return [each.status.pid for each in connections if each.status.pid is not None]


async def echo(s: Open, text: str) -> None:
    await s.turn()
    assert s.rx.all(ev.ToolCallFinished)[-1].result.content == text


def saying(*texts: str) -> list[Reply]:
    return [reply for text in texts for reply in ([Call("program__echo", {"text": text})], [Say("ok")])]


async def test_closing_one_session_leaves_the_others_server_running_and_the_last_one_leaves_nothing(
    ground: Ground,
) -> None:
    before = descendants()
    application = Application(ground)
    one = await application.open(saying("one"))
    await echo(one, "one")
    two = await application.open(saying("two", "still two"))
    await echo(two, "two")
    (pid,) = application.pids

    await one.close()

    assert psutil.pid_exists(pid)
    await echo(two, "still two")
    assert application.pids == [pid]
    await two.close()
    assert not psutil.pid_exists(pid)
    assert application.pids == []
    assert descendants() <= before
