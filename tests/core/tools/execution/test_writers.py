"""The authors of changes between calls: real programs and the user write files."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.capture.capture import Snapshot
from desktop_agent.core.system.files import FileState, FileTransition, read_state
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.tools.execution.writers import Maker, RunningServer, WatchedJob, Writers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts the bytes of every process")

OBEYS = 'while read -r order; do eval "$order"; echo done; done'
SERVER, OTHER, JOB = Maker(1, "call", "mcp"), Maker(1, "other call", "mcp"), Maker(2, "job call", "shell")
NOBODY_KNOWS = "unknown"
WAITING = (psutil.STATUS_SLEEPING, psutil.STATUS_STOPPED)


class Obedient:
    def __init__(self) -> None:
        self.child: ChildProcess | None = None
        self._done = asyncio.Queue[bytes]()

    async def start(self, runner: ProcessRunner, folder: Path) -> ChildProcess:
        command = Command(argv=("/bin/sh", "-c", OBEYS), cwd=folder, environ=dict(os.environ), takes_input=True)
        self.child = await runner.start(command, self._take, lambda _: None)
        return self.child

    async def does(self, order: str) -> None:
        """Have the order carried out; the program is idle afterwards."""
        assert self.child is not None
        await self.child.send(f"{order}\n".encode())
        await self._done.get()
        await self.rests()

    async def rests(self) -> None:
        assert self.child is not None
        process = psutil.Process(self.child.pid)
        while not (self.child.activity.is_idle() and process.status() in WAITING):
            await asyncio.to_thread(self.child.activity.look)

    async def ends(self) -> None:
        assert self.child is not None
        self.child.end_input()
        await self.child.wait()

    def _take(self, content: bytes) -> None:
        for _ in range(content.count(b"\n")):
            self._done.put_nowait(content)


class Party:
    def __init__(self, runner: ProcessRunner, root: Path) -> None:
        self._runner = runner
        self.root = root
        self.writers = Writers(root)
        self._servers: list[RunningServer] = []
        for name in ("a", "b", "c"):
            (root / name).write_text("0123456789\n")
        (root / "folder").mkdir()
        self._seen = self._state()

    async def server(
        self,
        name: str = "w",
        call: str = "call",
        *,
        may_write: Callable[[str], bool] = lambda _: True,
        is_shared: bool = False,
    ) -> Obedient:
        program = Obedient()
        child = await program.start(self._runner, self.root)
        self._servers.append(RunningServer(name, child.activity, may_write, is_shared))
        self.writers.note_servers(self._servers)
        if call:
            self.writers.note_call(name, 1, call)
        await program.rests()
        return program

    async def job(self) -> Obedient:
        program = Obedient()
        child = await program.start(self._runner, self.root)
        job = WatchedJob(turn=2, call_id="job call", snapshot=Snapshot(1), activity=child.activity)
        self.writers.jobs["job"] = job
        await program.rests()
        return program

    def looked(self) -> None:
        self.writers.begin_look()
        self.writers.skip()
        self._seen = self._state()

    def look(self) -> dict[str, Maker | None]:
        self.writers.begin_look()
        before, now = self._seen, self._state()
        found = [
            FileTransition(path, before.get(path), now.get(path))
            for path in sorted(before.keys() | now.keys())
            if before.get(path) != now.get(path)
        ]
        makers = self.writers.makers_of(found)
        self.writers.end_look()
        self._seen = now
        return {item.path: maker for item, maker in zip(found, makers, strict=True)}

    def moment_passes(self) -> None:
        """Return when new writes get another date than earlier ones, even a rounded date."""
        probe = self.root.parent / "probe"
        probe.write_text("")
        begun_ns = probe.stat().st_ctime_ns
        while probe.stat().st_ctime_ns < begun_ns + 30_000_000:
            probe.write_text("")

    def _state(self) -> dict[str, FileState | None]:
        paths = (path for path in self.root.rglob("*"))
        return {str(path.relative_to(self.root)): read_state(path, with_special=True) for path in paths}


@pytest.fixture
async def party(tmp_path: Path) -> AsyncIterator[Party]:
    runner = ProcessRunner(SystemClock(), grace_s=0.3)
    (tmp_path / "ws").mkdir()
    yield Party(runner, tmp_path / "ws")
    await runner.aclose()


CHANGES = {
    "append": "echo late >> a",
    "create": "echo late > new",
    "create empty": ": > new",
    "overwrite": "echo something else > a",
    "cut": ": > a",
    "delete": "rm a",
    "rename": "mv a new",
    "replace": "echo new > new; mv new a",
    "mode": "chmod 755 a",
    "link": "ln -s a new",
    "folder": "mkdir new",
    "in a folder": "echo late > folder/new",
    "move a folder": "echo x > folder/x; mv folder elsewhere",
    "by another program": 'python3 -c \'open("a", "a").write("late\\n")\'',
    "copy": "cp a new",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("maker", [SERVER, JOB, None], ids=["a server", "a background command", "the user"])
@pytest.mark.sampled(3, "change", "maker")
async def test_what_is_written_beside_idle_programs_is_its_writers(
    party: Party, maker: Maker | None, change: str
) -> None:
    programs = {SERVER: await party.server(), OTHER: await party.server("other", "other call"), JOB: await party.job()}
    party.looked()
    if maker is not None:
        await programs[maker].does(CHANGES[change])
    else:
        editor = await asyncio.create_subprocess_exec("/bin/sh", "-c", CHANGES[change], cwd=party.root)
        await editor.wait()
    for program in programs.values():
        await program.rests()
    found = party.look()
    assert found
    assert set(found.values()) == {maker}


async def test_a_server_and_the_user_are_told_apart_by_the_times_of_their_files(party: Party) -> None:
    server = await party.server()
    party.looked()
    await server.does("echo late >> a")
    party.moment_passes()
    (party.root / "b").write_text("mine\n")
    party.moment_passes()
    await server.rests()
    await server.does("echo late >> c")
    assert party.look() == {"a": SERVER, "b": None, "c": SERVER}


async def test_two_servers_and_a_job_are_told_apart(party: Party) -> None:
    one, other, job = await party.server(), await party.server("other", "other call"), await party.job()
    party.looked()
    await one.does("echo one >> a")
    await other.does("echo another >> b")
    await job.does("echo third >> c")
    assert party.look() == {"a": SERVER, "b": OTHER, "c": JOB}


async def test_nobody_knows_who_wrote_more_than_a_server_did_at_the_same_time(party: Party) -> None:
    server = await party.server()
    party.looked()
    assert server.child is not None
    (party.root / "b").write_text("much more than that\n" * 100)
    await server.does("echo late >> a")
    found = party.look()
    assert found["a"] == SERVER
    assert found["b"] is not None
    assert (found["b"].author, found["b"].call_id) == (NOBODY_KNOWS, "")


async def test_a_server_that_has_ended_wrote_what_it_wrote_before_and_nothing_after(party: Party) -> None:
    server = await party.server()
    party.looked()
    await server.does("echo late >> a")
    await server.ends()
    party.moment_passes()
    (party.root / "b").write_text("mine\n")
    assert party.look() == {"a": SERVER, "b": None}
    (party.root / "c").write_text("mine\n")
    assert party.look() == {"c": None}


async def test_the_last_words_of_a_server_are_its_own(party: Party) -> None:
    server = await party.server()
    party.looked()
    assert server.child is not None
    await server.child.send(b"echo late >> a; exit\n")
    await server.child.wait()
    assert party.look() == {"a": SERVER}


async def test_a_server_that_may_not_write_a_file_did_not(party: Party) -> None:
    server = await party.server(may_write=lambda path: path.startswith("folder/"))
    party.looked()
    await server.does("echo late >> a; echo late > folder/new")
    assert party.look()["a"] is None
    assert party.look() == {}


async def test_a_server_of_several_sessions_that_this_one_never_called_may_be_anybodys(party: Party) -> None:
    server = await party.server(call="", is_shared=True)
    party.looked()
    await server.does("echo late >> a")
    (maker,) = party.look().values()
    assert maker is not None
    assert maker.author == NOBODY_KNOWS


async def test_a_server_that_writes_elsewhere_all_the_time_is_not_taken_for_the_maker(
    party: Party, tmp_path: Path
) -> None:
    """For such a server, having written just now is no evidence: the user may have written at the same moment."""
    server = await party.server()
    party.looked()
    log = tmp_path / "log"
    for _ in range(50):  # it logs for a while, and no file here changes
        await server.does(f"echo a line that is long enough >> {log}")
        assert party.look() == {}
    await server.does("echo x >> a")
    assert authors(party.look()) == {"a": NOBODY_KNOWS}
    (party.root / "b").write_text("0123456789\nmine\n")
    await server.does(f"echo a line that is long enough >> {log}")
    assert authors(party.look()) == {"b": NOBODY_KNOWS}


async def test_nobody_knows_which_of_the_changes_of_one_moment_a_program_made_that_wrote_enough_for_one(
    party: Party,
) -> None:
    server = await party.server()
    party.looked()
    (party.root / "a").write_text("0123456789\n12345\n")
    (party.root / "b").write_text("0123456789\n12345\n")
    await server.does("echo 12345 >> c")
    assert {maker.author if maker else "person" for maker in party.look().values()} == {NOBODY_KNOWS}


def authors(found: dict[str, Maker | None]) -> dict[str, str]:
    return {path: maker.author if maker is not None else "person" for path, maker in found.items()}


async def test_what_the_user_saves_beside_a_program_that_builds_something_of_it_is_not_the_programs(
    party: Party,
) -> None:
    job = await party.job()
    party.looked()
    (party.root / "a").write_text("0123456789 and more\n")
    await job.does("tr 0-9 a-j < a > built; wc a > folder/sizes")
    found = authors(party.look())
    assert found["a"] == NOBODY_KNOWS
    (party.root / "a").write_text("0123456789 and still more\n")
    await job.does("tr 0-9 a-j < a > built")
    assert authors(party.look())["a"] != "shell"


async def test_a_file_that_a_server_and_then_the_user_wrote_is_neithers(party: Party) -> None:
    server = await party.server()
    party.looked()
    await server.does("echo late >> a")
    party.moment_passes()
    with (party.root / "a").open("a") as file:
        file.write("mine\n")
    assert authors(party.look()) == {"a": NOBODY_KNOWS}


async def test_a_file_that_the_user_and_then_a_server_wrote_is_neithers(party: Party) -> None:
    server = await party.server()
    party.looked()
    (party.root / "a").write_text("mine, and shorter later\n")
    await server.does("echo late >> a")
    assert authors(party.look()) == {"a": NOBODY_KNOWS}


async def test_what_the_user_deleted_is_not_a_servers_that_made_a_file_beside_it_later(party: Party) -> None:
    server = await party.server()
    party.looked()
    (party.root / "a").unlink()
    party.moment_passes()
    await server.does("echo late > new")
    assert authors(party.look()) == {"a": NOBODY_KNOWS, "new": "mcp"}


async def test_what_a_program_writes_through_its_memory_is_not_the_users(party: Party) -> None:
    server = await party.server()
    party.looked()
    code = 'import mmap; f = open("a", "r+b"); m = mmap.mmap(f.fileno(), 0); m[:5] = b"other"; m.flush()'
    await server.does(f"python3 -c '{code}'")
    assert authors(party.look())["a"] in ("mcp", NOBODY_KNOWS)


async def test_what_a_program_writes_that_it_was_just_starting_is_its_own(party: Party) -> None:
    """A process that was never seen before writes while its parent waits for it."""
    server = await party.server()
    for _ in range(20):
        party.looked()
        await server.does("sh -c 'sh -c \"echo late >> a\"'")
        assert authors(party.look()) == {"a": "mcp"}


async def test_a_server_that_often_runs_for_nothing_is_not_named_for_what_takes_no_writing(party: Party) -> None:
    server = await party.server()
    party.looked()
    for _ in range(50):
        await server.does(":")
        assert party.look() == {}
    (party.root / "a").unlink()
    await server.does(":")
    assert authors(party.look()) == {"a": NOBODY_KNOWS}


async def test_paused_programs_do_not_run_and_run_on(party: Party) -> None:
    job = await party.job()
    assert job.child is not None
    activity = job.child.activity
    await asyncio.to_thread(activity.pause)
    await job.rests()
    await job.child.send(b"echo late >> a\n")
    party.moment_passes()
    assert activity.is_idle()
    assert (party.root / "a").read_text() == "0123456789\n"
    await asyncio.to_thread(activity.resume)
    await job.does("echo later >> a")
    assert (party.root / "a").read_text().splitlines()[1:] == ["late", "later"]
