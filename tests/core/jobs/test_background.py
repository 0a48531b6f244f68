import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.jobs import LOG_LIMIT_BYTES, Jobs
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from tests.core.printed import until_logged
from tests.core.system.processes.commands import shell

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are shell commands")


@pytest.fixture
async def jobs(runner: ProcessRunner, tmp_path: Path) -> AsyncIterator[Jobs]:
    jobs = Jobs(runner, SystemClock(), folder=tmp_path / "logs")
    yield jobs
    await jobs.aclose()


async def test_a_job_that_cannot_start_leaves_nothing(jobs: Jobs, tmp_path: Path) -> None:
    command = Command(argv=("no-such-program-anywhere",), cwd=tmp_path, environ=os.environ)
    with pytest.raises(FileNotFoundError):
        await jobs.start(command, shown="x")
    assert jobs.list() == ()
    assert await asyncio.to_thread(lambda: list((tmp_path / "logs").iterdir())) == []


async def test_a_snapshot_has_memory_and_the_last_line(jobs: Jobs, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    script = "printf 'one\\ntwo\\n\\n'; sh -c 'echo > gate; sleep 100; true'; true"
    job = await jobs.start(shell(script, tmp_path), shown="x")
    await asyncio.to_thread((tmp_path / "gate").read_text)
    await until_logged(jobs, job.id, "two\n\n")
    without_its_children = psutil.Process(job.pid).memory_info().rss
    [seen] = await jobs.snapshot()
    assert (seen.id, seen.state, seen.last_line) == (job.id, "running", "two")
    assert seen.memory_bytes > without_its_children > 0
    await jobs.stop(job.id)
    [ended] = await jobs.snapshot()
    assert (ended.state, ended.last_line, ended.memory_bytes) == ("stopped", "two", 0)
    assert jobs.list() == (ended,)


async def test_a_job_that_prints_much_keeps_the_disk(jobs: Jobs, tmp_path: Path) -> None:
    job = await jobs.wait((await jobs.start(shell("yes | head -c 50000000; echo end", tmp_path), shown="x")).id)
    sizes = [log.stat().st_size for log in await asyncio.to_thread(lambda: sorted(job.log.parent.iterdir()))]
    assert len(sizes) == 2
    assert max(sizes) <= LOG_LIMIT_BYTES
    assert (await jobs.tail(job.id)).endswith("y\nend\n")
    assert job.last_line == "end"
