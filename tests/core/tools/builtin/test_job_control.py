"""`job_control`: every action and every error, on real jobs."""

import asyncio
import json
import os
import sys
from typing import Any

import psutil
import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.tools.builtin import job_control as module
from desktop_agent.core.tools.builtin.job_control import JobControl
from desktop_agent.core.tools.builtin.run_terminal_cmd import RunTerminalCmd
from tests.core.printed import until_logged
from tests.core.tools.conftest import Workspace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are shell commands")

TOOL = JobControl()
COMMANDS = RunTerminalCmd()


async def begin(work: Workspace, command: str) -> str:
    result = await work.call(COMMANDS, command=command, is_background=True)
    return str(result.metadata["job_id"])


async def ask(work: Workspace, **arguments: object) -> dict[str, Any]:
    return await work.answer(TOOL, **arguments)


async def test_jobs_are_listed_as_they_are_now(work: Workspace) -> None:
    """Z-47: the list, the state and the exit status."""
    os.mkfifo(work.root / "gate")
    ended = await begin(work, "echo one; echo; exit 3")
    await work.context.jobs.wait(ended)
    running = await begin(
        work, "printf '\\033[32mready\\033[0m\\n'; echo > gate; sleep 100; :"
    )  # or it would be `sleep` itself
    await asyncio.to_thread((work.root / "gate").read_text)
    await until_logged(work.context.jobs, running, "ready")
    first, second = (await ask(work, action="list"))["jobs"]
    assert (first["job_id"], first["state"], first["exit_code"], first["last_line"]) == (ended, "exited", 3, "one")
    assert first["command"] == "echo one; echo; exit 3"
    assert (second["job_id"], second["state"], second["exit_code"], second["last_line"]) == (
        running,
        "running",
        None,
        "ready",
    )
    assert second["memory_mb"] > 0
    assert second["pid"] == work.context.jobs.list()[1].pid


async def test_of_many_jobs_the_running_and_the_latest_are_listed(
    work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_LISTED", 2)
    running = await begin(work, "sleep 100")
    ended = [await begin(work, "true") for _ in range(2)]
    for job_id in ended:
        await work.context.jobs.wait(job_id)
    answer = await ask(work, action="list")
    assert [job["job_id"] for job in answer["jobs"]] == [running, ended[1]]
    assert answer["omitted"] == 1


async def test_the_end_of_the_output_is_plain_text_within_what_was_asked_for(work: Workspace) -> None:
    job_id = await begin(work, r"seq 1000; printf '\033[1m10%%\r100%%\033[0m\n€€'")
    await work.context.jobs.wait(job_id)
    answer = await ask(work, action="output", job_id=job_id, tail_lines=3)
    assert (answer["output"], answer["truncated"]) == ("1000\n100%\n€€", True)
    answer = await ask(work, action="output", job_id=job_id, tail_bytes=5)
    assert answer["output"] == "€"
    assert answer["job"]["state"] == "exited"
    content = (await work.call(TOOL, action="output", job_id=job_id, tail_lines=256)).content
    assert json.loads(content)["output"].startswith("747\n")


async def test_a_cancelled_wait_leaves_the_job(work: Workspace) -> None:
    job_id = await begin(work, "sleep 100")
    waiting = asyncio.create_task(ask(work, action="wait", job_id=job_id))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    [job] = work.context.jobs.list()
    assert job.state == "running"


async def test_stopping_ends_the_job_and_says_what_it_had_printed(work: Workspace) -> None:
    os.mkfifo(work.root / "gate")
    job_id = await begin(work, "echo up; echo > gate; sleep 100")
    await asyncio.to_thread((work.root / "gate").read_text)
    answer = await ask(work, action="stop", job_id=job_id)
    assert (answer["job"]["state"], answer["output"], answer["truncated"]) == ("stopped", "up\n", False)
    assert not psutil.pid_exists(answer["job"]["pid"])
    assert (await ask(work, action="stop", job_id=job_id))["job"]["state"] == "stopped"


@pytest.mark.parametrize("action", ["output", "wait", "stop"])
async def test_an_unknown_job_is_answered_with_those_there_are(work: Workspace, action: str) -> None:
    with pytest.raises(ToolError, match="none has been started") as caught:
        await ask(work, action=action, job_id="job-x")
    assert caught.value.error_type == "not_found"
    known = await begin(work, "true")
    with pytest.raises(ToolError, match=f"Known jobs: {known}"):
        await ask(work, action=action, job_id="job-x")
