"""The application is killed outright while a confined server runs: nothing of it is left."""

import os
import subprocess
import sys

import psutil

from tests.core.mcp.confined.conftest import Ground
from tests.core.stubborn import is_alive
from tests.sandboxes import sandbox_named

CONFINED = """
import asyncio, os, sys
from pathlib import Path
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mcp.server_pool import ServerPool
from desktop_agent.core.mcp.definition import ServerSandbox
from desktop_agent.core.sandbox.find import find_sandbox, SandboxSearch
from tests.core.mcp.confined.conftest import Ground, Servers, confiner_for, said_by
from tests.core.mcp.confined.test_walls import FORK

async def hold():
    base = Path(sys.argv[1])
    ground = Ground(home=base, workspace=base / "app", outside=base / "outside", cache=base / "cache")
    confiner = confiner_for(find_sandbox(os.environ).sandbox, ground.cache)
    pool = ServerPool(SystemClock(), dict(os.environ), None, confiner=confiner)
    connection = Servers(pool, ground).connect(ServerSandbox(hosts=("example.org",)))
    await said_by(connection, FORK)
    print(connection.status.pid, flush=True)
    if len(sys.argv) > 2:
        await pool.aclose()
    else:
        await said_by(connection, "import signal; signal.pause()")

asyncio.run(hold())
"""


def test_a_killed_application_leaves_nothing_of_a_confined_server_and_the_next_one_tidies_up(ground: Ground) -> None:
    sandbox_named("bubblewrap", os.environ)
    base = ground.workspace.parent.parent
    (base / "app").mkdir()
    program = [sys.executable, "-c", CONFINED, str(base)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        pid = int(holder.stdout.readline())
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        assert len(family) >= 3
        holder.kill()
    _, left = psutil.wait_procs(family, timeout=30)
    assert not [process.pid for process in left if is_alive(process.pid)]
    assert len(list((base / "cache").glob("tmp-*"))) == 1

    subprocess.check_call([*program, "end"], stdout=subprocess.DEVNULL)

    assert not list((base / "cache").glob("tmp-*"))
