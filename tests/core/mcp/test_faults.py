"""Many server faults in one process: each is noticed, and nothing is left behind."""

import asyncio
import gc
import os
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.connection import Connection, Lease, ServerPool
from desktop_agent.core.system.processes.line_process import LineProcess
from tests.core.mcp.conftest import server
from tests.core.stubborn import is_alive


class Place:
    def __init__(self, pool: ServerPool, name: str, folder: Path) -> None:
        self.pool = pool
        self.name = name
        self.folder = folder
        self._leases: list[Lease] = []

    def connect(self, *behaviours: str, **limits: float) -> Connection:
        self._leases.append(self.pool.lease(server(*behaviours, name=self.name, **limits), self.folder))
        return self._leases[-1].connection

    async def leave(self) -> None:
        for lease in self._leases:
            await lease.connection.stop()
            lease.give_back()


Fault = Callable[[Place], Coroutine[None, None, None]]
"""Makes a server fail, and returns when the caller has noticed."""


async def failing(work: Awaitable[object]) -> str:
    try:
        await work
    except ServerError as error:
        return error.title
    raise AssertionError("the fault was not noticed")


async def dies_under_a_call(place: Place) -> None:
    said = await failing(place.connect().call("die", {}))
    assert "exit code 7" in said


async def is_killed_under_a_call(place: Place) -> None:
    connection = place.connect()
    await connection.tools()
    call = asyncio.create_task(connection.call("hang", {}))
    await asyncio.sleep(0)
    assert connection.status.pid is not None
    os.kill(connection.status.pid, signal.SIGKILL)
    assert "signal 9" in await failing(call)


async def hangs_at_its_start(place: Place) -> None:
    said = await failing(place.connect("mute", startup_timeout_ms=200).tools())
    assert "did not answer within 0.2 s" in said


async def never_answers(place: Place) -> None:
    connection = place.connect(call_timeout_s=0.1)
    assert "was silent" in await failing(connection.call("hang", {}))
    assert place.connect() is connection, "a limit of its own makes no other server"
    await connection.call("echo", {"text": "still here"})


async def is_stopped_by_the_user(place: Place) -> None:
    connection = place.connect()
    await connection.tools()
    call = asyncio.create_task(connection.call("hang", {}))
    await asyncio.sleep(0)
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call
    await connection.call("echo", {"text": "still here"})


async def floods_its_standard_error(place: Place) -> None:
    connection = place.connect()
    await connection.call("flood", {})
    assert len(connection.log.tail()) <= 64 * 1024


async def prints_garbage(place: Place) -> None:
    said = await failing(place.connect("babbles").tools())
    assert "is not the protocol" in said


async def sends_too_much(place: Place) -> None:
    said = await failing(place.connect().call("huge", {}))
    assert "more than 16 MiB" in said


async def changes_its_tools(place: Place) -> None:
    connection = place.connect()
    before = await connection.tools()
    changed = asyncio.Event()
    stop = place.pool.subscribe(lambda _: changed.set() if connection.status.tools != before else None)
    await connection.call("more", {})
    await asyncio.wait_for(changed.wait(), 30)
    stop()


async def is_ended_while_it_dies(place: Place) -> None:
    connection = place.connect()
    await connection.tools()
    call = asyncio.create_task(connection.call("die", {}))
    await asyncio.sleep(0)
    await connection.stop()
    await failing(call)


async def leaves_a_child_behind(place: Place) -> None:
    connection = place.connect("forks")
    await connection.tools()
    assert (place.folder / "child").exists()
    await failing(connection.call("die", {}))


FAULTS: tuple[Fault, ...] = (
    dies_under_a_call,
    is_killed_under_a_call,
    hangs_at_its_start,
    never_answers,
    is_stopped_by_the_user,
    floods_its_standard_error,
    prints_garbage,
    sends_too_much,
    changes_its_tools,
    is_ended_while_it_dies,
    leaves_a_child_behind,
)


AT_ONCE = 3


async def suffer(pool: ServerPool, folder: Path, count: int, seed: int) -> None:
    drawn = [FAULTS[number % len(FAULTS)] for number in range(count)]
    random.Random(seed).shuffle(drawn)
    free = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, fault: Fault) -> None:
        async with free:
            own = folder / f"{seed}.{number}"
            own.mkdir()
            place = Place(pool, f"server{number}", own)
            try:
                await fault(place)
            except BaseException as error:
                error.add_note(f"in the fault {fault.__name__}")
                raise
            finally:
                await place.leave()

    async with asyncio.TaskGroup() as group:
        for number, fault in enumerate(drawn):
            group.create_task(one(number, fault), name=f"fault {fault.__name__}")


MANY = 200
MOST_GROWTH_BYTES = 48 * 1024**2


async def left() -> tuple[int, int, int]:
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others, timeout=20)
    me = psutil.Process()
    return me.num_fds(), len(me.children(recursive=True)), len(asyncio.all_tasks())


def living() -> int:
    gc.collect()
    return sum(isinstance(each, Connection | LineProcess) for each in gc.get_objects())


async def test_no_fault_of_a_server_leaves_anything_behind(pool: ServerPool, tmp_path: Path) -> None:
    await suffer(pool, tmp_path, 1, seed=0)
    before = await left()

    await suffer(pool, tmp_path, len(FAULTS), seed=1)

    assert await left() == before
    await pool.aclose()
    assert living() == 0


@pytest.mark.nightly
async def test_two_hundred_faults_cost_no_descriptor_no_process_and_no_memory(pool: ServerPool, tmp_path: Path) -> None:
    await suffer(pool, tmp_path, 2 * len(FAULTS), seed=0)
    before, begun_bytes = await left(), psutil.Process().memory_info().rss

    await suffer(pool, tmp_path, MANY, seed=1)

    assert await left() == before
    assert living() <= 2 * AT_ONCE, "what the last of them used, until another is leased"
    assert psutil.Process().memory_info().rss - begun_bytes < MOST_GROWTH_BYTES


HOLDER = """
import asyncio, os, sys
from pathlib import Path
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mcp.connection import ServerPool
from tests.core.mcp.conftest import server

async def hold():
    pool = ServerPool(SystemClock(), dict(os.environ), None)
    connection = pool.lease(server("stubborn", "forks"), Path(sys.argv[1])).connection
    await connection.tools()
    print(connection.status.pid, flush=True)
    await connection.call("hang", {})

asyncio.run(hold())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what ends commands after a kill reads /proc")
def test_a_killed_application_leaves_neither_a_server_nor_its_child(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        pids = [int(holder.stdout.readline()), int((tmp_path / "child").read_text())]
        assert all(map(is_alive, pids))
        holder.kill()

    processes = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    _, left = psutil.wait_procs(processes, timeout=30)
    assert not [process.pid for process in left if is_alive(process.pid)]
