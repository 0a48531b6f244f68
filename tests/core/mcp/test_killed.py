"""The application is killed outright while servers run: nothing of them is left."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.core.stubborn import is_alive

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
