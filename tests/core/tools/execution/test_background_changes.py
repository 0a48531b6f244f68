"""The records of a background command have all its own changes, and none of its sandbox."""

import asyncio
import os
from pathlib import Path

import pytest

from desktop_agent.core.base.mount_stand_ins import STAMP_NS
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Reply, Say
from tests.harness import Ground, Open


def in_background(command: str) -> Call:
    return Call("run_terminal_cmd", {"command": command, "is_background": True})


def run(command: str) -> Call:
    return Call("run_terminal_cmd", {"command": command})


@pytest.fixture
async def walled(walled: Ground) -> Ground:
    assert walled.probe is not None
    sandbox = (await walled.probe.search()).sandbox
    if sandbox is None or sandbox.name != "bubblewrap":
        pytest.skip("this machine has no bubblewrap")
    return walled


def changed(s: Open) -> dict[str, str]:
    return {change.path: event.call_id for event in s.rx.all(ev.ChangesRecorded) for change in event.changes}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_the_walls_of_a_background_command_are_in_no_record_and_go_with_it(walled: Ground) -> None:
    script: list[Reply] = [[in_background("echo up; sleep 1000")], [run("touch b.txt")], [Say("ok")]]
    async with walled.session(script, approval="on_request") as s:
        await s.prompt()
        assert {".git", ".desktop-agent"} < set(names_in(walled.workspace)), "it runs, so its sandbox is there"
        assert list(changed(s)) == ["b.txt"]
        job = (await s.rx.expect(ev.JobsReported)).jobs[0]
        await s.carry_out(ops.StopJob(job_id=job.id), ev.JobsReported, lambda event: event.jobs[0].state == "stopped")
        assert names_in(walled.workspace) == ["b.txt"]


async def test_what_a_killed_application_left_of_its_walls_goes_when_it_starts_anew(ground: Ground) -> None:
    for name in (".git", ".desktop-agent"):
        (ground.workspace / name).mkdir()
        os.utime(ground.workspace / name, ns=(STAMP_NS, STAMP_NS))
    async with ground.session([[Say("ok")]]):
        assert names_in(ground.workspace) == []


def control(action: str, **more: object) -> Call:
    return Call("job_control", {"action": action, **more})


async def test_what_a_background_command_changes_is_recorded_as_its_own_at_every_look_and_at_its_end(
    walled: Ground,
) -> None:
    """A plain folder, a real sandbox, and a command that acts when the test says so."""
    os.mkfifo(walled.workspace / "go")
    os.mkfifo(walled.workspace / "did")
    loop = "while read line < go; do echo $line >> log.txt; echo > did; done"
    step = run("echo one > go; read x < did; touch mine.txt")
    script: list[Reply] = [[in_background(loop)], [step], [control("list")], [Say("ok")]]
    async with walled.session(script, approval="on_request") as s:
        await s.prompt()
        began, ran, _ = (event.call_id for event in s.rx.all(ev.ToolCallFinished))
        assert changed(s).keys() == {"log.txt", "mine.txt"}
        assert changed(s)["mine.txt"] == ran
        await make_job_write(walled, "two")
        await s.carry_out(ops.LookAtChanges(), ev.ChangesRecorded, lambda event: event.call_id == began)
        assert [change.path for event in of_call(s, began) for change in event.changes] == ["log.txt"]
        await make_job_write(walled, "three")
        job = (await s.rx.expect(ev.JobsReported)).jobs[0]
        last = await s.carry_out(ops.StopJob(job_id=job.id), ev.ChangesRecorded, lambda event: event.is_last_look)
        assert walled.blob(last.changes[0].after) == b"one\ntwo\nthree\n"
        assert not any(event.uncaptured for event in s.rx.all(ev.ChangesRecorded))
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection(call_id=began)), ev.ChangesUndone)
        assert walled.read("log.txt") == "one\n", "that was seen while the other command ran, and is recorded as its"


async def test_nothing_of_a_background_command_counts_as_the_users_while_another_turn_is_undone(ground: Ground) -> None:
    """The command keeps writing to a file that the undo also writes."""
    lines = "".join(f"{number}\n" for number in range(50))
    ground.write("log.txt", lines)
    loop = "i=0; while :; do echo job$i >> log.txt; i=$((i+1)); echo . ; sleep 0.01; done"
    script: list[Reply] = [[run("sed -i 5s/.*/five/ log.txt")], [Say("ok")], [in_background(loop)], [Say("ok")]]
    async with ground.session(script, approval="on_request") as s:
        await s.prompt()
        await s.prompt()
        for _ in range(5):
            undone = await s.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=1)), ev.ChangesUndone)
            assert [outcome.reason for outcome in undone.outcomes] == [""]
            redone = await s.carry_out(ops.RedoChanges(selection=ChangeSelection(turn=1)), ev.ChangesRedone)
            assert [outcome.reason for outcome in redone.outcomes] == [""]
        job = s.rx.all(ev.JobsReported)[-1].jobs[0]
        await s.carry_out(ops.StopJob(job_id=job.id), ev.JobsReported, lambda event: event.jobs[0].state == "stopped")
        written = [line for line in ground.read("log.txt").splitlines() if line.startswith("job")]
        assert written == [f"job{number}" for number in range(len(written))], "no line is lost"
        changes = [record.change for record in s.session.transcript.changes.values()]
        assert {change.author for change in changes} == {"shell", "undo"}
        assert not any(change.is_shared for change in changes)
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.ChangesUndone)
    assert ground.read("log.txt") == lines


def of_call(s: Open, call_id: str) -> list[ev.ChangesRecorded]:
    return [event for event in s.rx.all(ev.ChangesRecorded) if event.call_id == call_id]


async def make_job_write(ground: Ground, line: str) -> None:
    def exchange() -> None:
        (ground.workspace / "go").write_text(f"{line}\n")
        (ground.workspace / "did").read_text()

    await asyncio.to_thread(exchange)


async def test_what_a_background_command_changes_before_the_session_closes_can_be_undone_in_the_next(
    walled: Ground,
) -> None:
    os.mkfifo(walled.workspace / "go")
    os.mkfifo(walled.workspace / "did")
    walled.write("a.txt", "a\n")
    job = in_background("read line < go; echo $line > a.txt; echo > did; sleep 1000")
    async with walled.session([[job], [Say("ok")]], approval="on_request") as s:
        await s.prompt()
        await make_job_write(walled, "b")
        session_id = s.id
    async with walled.session([], resume=session_id) as s:
        assert [record.change.path for record in s.session.transcript.changes.values()] == ["a.txt"]
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.ChangesUndone)
        assert walled.read("a.txt") == "a\n"


async def test_what_a_background_command_of_a_killed_application_changed_is_recorded_at_the_next_start(
    walled: Ground,
) -> None:
    os.mkfifo(walled.workspace / "go")
    os.mkfifo(walled.workspace / "did")
    job = in_background("while read line < go; do echo $line >> a.txt; echo > did; done")
    async with walled.session([[job], [Say("ok")]], approval="on_request") as s:
        await s.prompt()
        await make_job_write(walled, "seen")
        s.submit(ops.LookAtChanges())
        s.submit(ops.RenameSession(title="looked at"))
        await s.rx.expect(ev.SessionRenamed)  # the look has ended, also in the baseline
        await make_job_write(walled, "unseen")
        session_id = s.id
        journal = walled.paths.sessions / session_id / "journal.jsonl"
        cut = journal.read_bytes()
        baseline = next(walled.paths.cache.glob("baselines/*.sqlite3"))
        kept = baseline.read_bytes()
    journal.write_bytes(cut)
    baseline.write_bytes(kept)
    async with walled.session([], resume=session_id) as s:
        last = await s.rx.expect(ev.ChangesRecorded, lambda event: event.is_last_look)
        assert [walled.blob(change.after) for change in last.changes] == [b"seen\nunseen\n"]
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection()), ev.ChangesUndone)
        assert not (walled.workspace / "a.txt").exists()


async def test_a_background_command_that_has_ended_at_once_is_recorded_once(walled: Ground) -> None:
    script: list[Reply] = [[in_background("echo x > a.txt")], [control("list")], [Say("ok")]]
    async with walled.session(script, approval="on_request") as s:
        await s.prompt()
        reports = [event for event in s.rx.all(ev.JobsReported) if event.jobs[0].state == "exited"]
        if not reports:  # it ends before the turn does, or after it
            reports = [await s.rx.expect(ev.JobsReported, lambda event: event.jobs[0].state == "exited")]
        assert reports[0].jobs[0].exit_code == 0
        assert [change.path for event in s.rx.all(ev.ChangesRecorded) for change in event.changes] == ["a.txt"]
