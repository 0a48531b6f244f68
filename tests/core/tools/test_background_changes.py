"""What a background command leaves in the records: its own changes, all of them, and nothing of its walls."""

import os
from pathlib import Path

import pytest

from desktop_agent.core import events as ev
from desktop_agent.core import ops
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.stand_ins import STAMP_NS
from desktop_agent.core.tools.confiner import SandboxProbe
from tests.harness import Ground, Open


def in_background(command: str) -> Call:
    return Call("run_terminal_cmd", {"command": command, "is_background": True})


def run(command: str) -> Call:
    return Call("run_terminal_cmd", {"command": command})


async def needs_bubblewrap(ground: Ground) -> None:
    probe = SandboxProbe({"PATH": "/usr/local/bin:/usr/bin:/bin"})
    sandbox = (await probe.search()).sandbox
    if sandbox is None or sandbox.name != "bubblewrap":
        pytest.skip("this machine has no bubblewrap")
    ground.probe = probe


def changed(s: Open) -> dict[str, str]:
    """The path and author's call of everything on record."""
    return {change.path: event.call_id for event in s.rx.all(ev.ChangesRecorded) for change in event.changes}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_the_walls_of_a_background_command_are_in_no_record_and_go_with_it(ground: Ground) -> None:
    await needs_bubblewrap(ground)
    script: list[Reply] = [[in_background("echo up; sleep 1000")], [run("touch b.txt")], [Say("ok")]]
    async with ground.session(script, approval="on_request") as s:
        await s.prompt()
        assert {".git", ".desktop-agent"} < set(names_in(ground.workspace)), "it runs, so its walls stand"
        assert list(changed(s)) == ["b.txt"]
        job = (await s.rx.expect(ev.JobsReported)).jobs[0]
        s.submit(ops.StopJob(job_id=job.id))
        await s.rx.expect(ev.JobsReported, lambda event: event.jobs[0].state == "stopped")
        assert names_in(ground.workspace) == ["b.txt"]


async def test_what_a_killed_application_left_of_its_walls_goes_when_it_starts_anew(ground: Ground) -> None:
    for name in (".git", ".desktop-agent"):
        (ground.workspace / name).mkdir()
        os.utime(ground.workspace / name, ns=(STAMP_NS, STAMP_NS))
    async with ground.session([[Say("ok")]]):
        assert names_in(ground.workspace) == []
