"""However a command is ended, no process of it is left, and its output is kept.

`stubborn` has the processes. `tests/benchmarks/bench_commands.py` measures the times.
"""

import asyncio
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.jobs import Jobs
from desktop_agent.core.system.processes.runner import GRACE_S, Command, ProcessOutcome, ProcessRunner
from tests.core.printed import Printed, until_logged
from tests.core.stubborn import STUBBORN, survivors
from tests.loop_time import LoopTime

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the commands and the look at them are Linux'")

BASH = shutil.which("bash") or ""
BWRAP = shutil.which("bwrap") or ""
GUARD_S = 30

Wrap = Callable[[Command], Command]


def plain(command: Command) -> Command:
    return command


def in_terminal(command: Command) -> Command:
    return replace(command, tty=True)


def in_bwrap(command: Command) -> Command:
    return replace(command, argv=(BWRAP, "--dev-bind", "/", "/", "--", *command.argv))


def in_bwrap_with_its_own_processes(command: Command) -> Command:
    options = ("--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent", "--new-session")
    return replace(command, argv=(BWRAP, *options, "--", *command.argv))


def in_bwrap_in_a_terminal(command: Command) -> Command:
    return in_terminal(in_bwrap_with_its_own_processes(command))


needs_bwrap = pytest.mark.skipif(not BWRAP, reason="needs bwrap")
every_way_to_run = pytest.mark.parametrize(
    "wrap",
    [
        plain,
        in_terminal,
        pytest.param(in_bwrap, marks=needs_bwrap),
        pytest.param(in_bwrap_with_its_own_processes, marks=needs_bwrap),
        pytest.param(in_bwrap_in_a_terminal, marks=needs_bwrap),
    ],
)


@pytest.fixture
async def runner() -> AsyncIterator[ProcessRunner]:
    runner = ProcessRunner(SystemClock())
    yield runner
    await runner.aclose()


@pytest.fixture
async def jobs(runner: ProcessRunner, tmp_path: Path) -> AsyncIterator[Jobs]:
    jobs = Jobs(runner, SystemClock(), folder=tmp_path / "logs")
    yield jobs
    await jobs.aclose()


@pytest.fixture
def mark(tmp_path: Path) -> str:
    return str(tmp_path)


def stubborn(wrap: Wrap, mark: str) -> Command:
    script = STUBBORN.format(mark=shlex.quote(mark))
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    return wrap(Command(argv=(BASH, "-c", script), cwd=Path("/"), environ=environ))


async def left(mark: str) -> list[int]:
    return await asyncio.to_thread(survivors, mark)


@every_way_to_run
async def test_a_timeout_leaves_nothing_and_keeps_what_was_printed(
    runner: ProcessRunner, wrap: Wrap, mark: str
) -> None:  # Z-45, Z-46
    time, ready = LoopTime(), Printed("ready")
    task = asyncio.create_task(runner.run(stubborn(wrap, mark), timeout_s=600, on_text=ready.take))
    async with asyncio.timeout(GUARD_S):
        await ready.wait()
    assert await left(mark)
    await time.let_pass(600)
    async with asyncio.timeout(GUARD_S):
        outcome = await task
    assert await left(mark) == []
    assert outcome.timed_out
    assert outcome.end.survivors == {}
    assert "ready" in outcome.output.head


@every_way_to_run
async def test_cancelling_leaves_nothing_and_hands_over_what_was_printed(
    runner: ProcessRunner, wrap: Wrap, mark: str
) -> None:  # Z-44
    ready = Printed("ready")
    partial: list[ProcessOutcome] = []
    running = runner.run(stubborn(wrap, mark), on_text=ready.take, on_cancelled=partial.append)
    task = asyncio.create_task(running)
    async with asyncio.timeout(GUARD_S):
        await ready.wait()
        assert await left(mark)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await left(mark) == []
    [outcome] = partial
    assert "ready" in outcome.output.head
    assert not outcome.timed_out


@every_way_to_run
async def test_stopping_a_job_leaves_nothing_and_keeps_its_log(jobs: Jobs, wrap: Wrap, mark: str) -> None:  # Z-47
    async with asyncio.timeout(GUARD_S):
        job = await jobs.start(stubborn(wrap, mark), shown="x")
        await until_logged(jobs, job.id, "ready")
        stopped = await jobs.stop(job.id)
    assert await left(mark) == []
    assert stopped.state == "stopped"
    assert "ready" in await jobs.tail(job.id)


@every_way_to_run
async def test_a_jobs_own_limit_leaves_nothing(jobs: Jobs, wrap: Wrap, mark: str) -> None:  # Z-47
    time = LoopTime()
    async with asyncio.timeout(GUARD_S):
        job = await jobs.start(stubborn(wrap, mark), shown="x", timeout_s=600)
        await until_logged(jobs, job.id, "ready")
    assert await left(mark)
    await time.let_pass(600)
    async with asyncio.timeout(GUARD_S):
        ended = await jobs.wait(job.id)
    assert await left(mark) == []
    assert ended.state == "timed_out"


@every_way_to_run
async def test_closing_the_session_leaves_nothing(runner: ProcessRunner, wrap: Wrap, mark: str, tmp_path: Path) -> None:
    """Z-47: background jobs are stopped at the session's end."""
    jobs = Jobs(runner, SystemClock(), folder=tmp_path / "logs")
    async with asyncio.timeout(GUARD_S):
        job = await jobs.start(stubborn(wrap, mark), shown="x")
        await until_logged(jobs, job.id, "ready")
        await jobs.aclose()
    assert await left(mark) == []


async def test_a_cancelled_run_that_nobody_asks_about_leaves_no_file(
    runner: ProcessRunner, mark: str, tmp_path: Path
) -> None:
    ready = Printed("ready")
    command = Command(argv=(BASH, "-c", "seq 100000; echo ready; sleep 300"), cwd=tmp_path, environ={"PATH": "/bin"})
    task = asyncio.create_task(runner.run(command, spool_folder=tmp_path / "spool", on_text=ready.take))
    await ready.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(lambda: list((tmp_path / "spool").iterdir())) == []


def test_the_grace_leaves_room_to_answer_within_a_second() -> None:
    assert GRACE_S <= 0.5
