"""A server in the sandbox tries to get out, and can do its work."""

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.definition import ServerSandbox
from desktop_agent.core.sandbox.find import SandboxReport, SandboxSearch
from tests.core.mcp.confined.conftest import Ground, OpenPool, Servers, confiner_for, said_by
from tests.core.mcp.test_connection import until
from tests.core.stubborn import is_alive
from tests.sandboxes import sandbox_named

FORK = """
import os, subprocess, sys
orphan = subprocess.Popen(
    [sys.executable, "-S", "-c", "import os, signal; os.setsid(); signal.signal(15, signal.SIG_IGN); signal.pause()"],
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={},
)
said = orphan.pid
"""


def reading(path: Path) -> str:
    return f"said = open({str(path)!r}).read()"


def writing(path: Path) -> str:
    return f"open({str(path)!r}, 'w').write('theirs'); said = 'written'"


async def test_it_reads_the_open_folder_and_none_of_its_secrets_nor_of_the_home(
    servers: Servers, ground: Ground
) -> None:
    connection = servers.connect(ServerSandbox())

    assert await said_by(connection, reading(ground.workspace / "src" / "a.txt")) == "a\n"
    home = ground.home
    for path in (home / ".ssh" / "id_test", home / "diary.txt", home / "notes" / "one.txt", ground.workspace / ".env"):
        assert (await said_by(connection, reading(path))).startswith(("FileNotFoundError", "PermissionError")), path


async def test_it_is_not_started_with_other_files_than_the_user_trusted(servers: Servers, ground: Ground) -> None:
    trusted = ground.workspace / "src" / "a.txt"
    connection = servers.connect(ServerSandbox(), may_start=trusted.exists)
    assert await said_by(connection, "said = 'here'") == "here"
    await connection.stop()
    trusted.unlink()
    with pytest.raises(ServerError, match="iles that it runs are not as you trusted them"):
        await said_by(connection, "said = 'here'")
    assert connection.status.state == "waiting"


async def test_it_writes_only_the_folders_it_was_given(servers: Servers, ground: Ground) -> None:
    connection = servers.connect(ServerSandbox(folders=("src", str(ground.home / "notes"))))

    for path in (ground.workspace / "src" / "new.txt", ground.home / "notes" / "new.txt"):
        assert await said_by(connection, writing(path)) == "written"
        assert path.read_text() == "theirs"
    for path in (ground.workspace / "new.txt", ground.outside / "new.txt", ground.home / "new.txt"):
        assert "Error" in await said_by(connection, writing(path))
        assert not path.exists()
    assert "Error" in await said_by(connection, writing(ground.home / "notes" / ".git" / "config"))
    assert "Error" in await said_by(connection, f"import os; os.mkdir({str(ground.workspace / 'src' / '.git')!r})")


async def test_the_open_folder_is_a_folder_that_it_may_be_given_and_its_repository_stays(
    servers: Servers, ground: Ground
) -> None:
    (ground.workspace / ".git").mkdir()
    (ground.workspace / ".git" / "config").write_text("[core]\n")
    connection = servers.connect(ServerSandbox(folders=(".",)))

    assert await said_by(connection, writing(ground.workspace / "new.txt")) == "written"
    assert "Error" in await said_by(connection, writing(ground.workspace / ".git" / "config"))
    assert "Error" in await said_by(connection, writing(ground.workspace / ".desktop-agent"))

    assert (ground.workspace / ".git" / "config").read_text() == "[core]\n"


async def test_it_reads_what_of_the_home_it_was_given(servers: Servers, ground: Ground) -> None:
    connection = servers.connect(ServerSandbox(read_folders=(str(ground.home / "notes"),)))

    assert await said_by(connection, reading(ground.home / "notes" / "one.txt")) == "a note"
    assert "Error" in await said_by(connection, writing(ground.home / "notes" / "new.txt"))


async def test_it_reaches_no_program_outside(servers: Servers, ground: Ground) -> None:
    connection = servers.connect(ServerSandbox())
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        said = await said_by(connection, f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)")
        assert said.startswith("ConnectionRefusedError")
        with closing(socket.socket(socket.AF_UNIX)) as door:
            door.bind(str(ground.workspace / "door"))
            door.listen()
            code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(ground.workspace / 'door')!r})"
            assert (await said_by(connection, code)).startswith("PermissionError")


async def test_what_it_gets_of_the_environment_leads_nowhere(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = servers.connect(ServerSandbox(), DEBUG="*")

    said = await said_by(connection, "import os; said = '\\n'.join(f'{n}={v}' for n, v in os.environ.items())")

    names = {line.partition("=")[0] for line in said.splitlines()}
    assert "DEBUG" in names
    assert not names & {"DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"}


async def test_stopped_it_leaves_nothing_even_of_what_detached_itself(servers: Servers, ground: Ground) -> None:
    connection = servers.connect(ServerSandbox())
    assert (await said_by(connection, FORK)).isdecimal()
    assert connection.status.pid is not None
    family = [psutil.Process(connection.status.pid), *psutil.Process(connection.status.pid).children(recursive=True)]
    assert len(family) >= 3

    await connection.stop()

    _, left = await asyncio.to_thread(psutil.wait_procs, family, 20)  # the kernel ends them, one after another
    assert not left
    assert [path.name for path in (ground.cache / "mcp").iterdir()] == ["packages"], "no temporary folder is left"


async def test_it_lives_on_between_calls_and_starts_again(servers: Servers) -> None:
    connection = servers.connect(ServerSandbox())
    pid = "import os; said = open('/tmp/once', 'a+').tell(); open('/tmp/once', 'a').write('x')"

    assert [await said_by(connection, pid) for _ in range(3)] == ["0", "1", "2"]
    await connection.restart()
    assert await said_by(connection, pid) == "0", "a temporary folder for each life"


async def test_where_nothing_confines_it_is_not_started(open_pool: OpenPool, ground: Ground) -> None:
    report = SandboxReport(name="bubblewrap", is_available=False, reason="The program bwrap is not installed.")
    search = SandboxSearch(sandbox=None, reports=(report,))
    without = Servers(open_pool(confiner_for(None, ground.cache / "mcp", search=search)), ground)
    never = Servers(open_pool(None), ground)

    for servers, why in ((without, "The program bwrap is not installed."), (never, "nothing here confines servers")):
        connection = servers.connect(ServerSandbox())
        with pytest.raises(ServerError, match="must run in the sandbox") as caught:
            await connection.tools()
        assert why in caught.value.title
        assert connection.status.pid is None
    assert "desktop-agent doctor" in without.connect(ServerSandbox()).status.hint


async def test_a_folder_that_is_not_there_is_named(servers: Servers, ground: Ground) -> None:
    connection = servers.connect(ServerSandbox(folders=("gone",)))

    with pytest.raises(ServerError, match="does not exist") as caught:
        await connection.tools()

    assert str(ground.workspace / "gone") in caught.value.title


async def test_landlock_confines_as_well_but_lets_nobody_reach_some_hosts_only(
    open_pool: OpenPool, ground: Ground
) -> None:
    landlock = sandbox_named("landlock", os.environ)
    servers = Servers(open_pool(confiner_for(landlock, ground.cache / "mcp")), ground)

    connection = servers.connect(ServerSandbox(folders=(".",)))
    assert await said_by(connection, writing(ground.workspace / "src" / "new.txt")) == "written"
    assert "Error" in await said_by(connection, reading(ground.home / "diary.txt"))
    assert "Error" in await said_by(connection, writing(ground.outside / "new.txt"))
    assert "Error" in await said_by(connection, "import socket; socket.create_connection(('127.0.0.1', 9), 5)")

    with pytest.raises(ServerError, match="cannot let a program reach some hosts only"):
        await servers.connect(ServerSandbox(hosts=("example.org",))).tools()


async def test_a_server_that_may_start_is_cancelled_while_it_starts(servers: Servers, ground: Ground) -> None:
    connection = servers.connect(ServerSandbox(hosts=("example.org",)))
    starting = asyncio.create_task(connection.tools())
    await until(servers.pool, connection, "starting")

    await connection.stop()

    with pytest.raises(ServerError):
        await starting
    assert not list((ground.cache / "mcp").glob("tmp-*"))


CONFINED = """
import asyncio, os, sys
from pathlib import Path
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mcp.connection import ServerPool
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
