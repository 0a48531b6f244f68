"""Many faults of servers in one process: each is noticed, and none leaves anything behind."""

import asyncio
import gc
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.sdk.process_transport import ServerProcess
from desktop_agent.core.mcp.server_pool import ServerPool
from tests.core.mcp.faults import AT_ONCE, FAULTS, suffer
from tests.core.stubborn import is_alive

MANY = 200
MOST_GROWTH_BYTES = 48 * 1024**2


async def left() -> tuple[int, int, int]:
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others, timeout=20)
    me = psutil.Process()
    return me.num_fds(), len(me.children(recursive=True)), len(asyncio.all_tasks())


def living() -> int:
    gc.collect()
    return sum(isinstance(each, Connection | ServerProcess) for each in gc.get_objects())


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
from desktop_agent.core.mcp.server_pool import ServerPool
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
