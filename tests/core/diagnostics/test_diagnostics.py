"""What the model is told of the files that its calls changed, and what a server can do."""

import asyncio
import json
import signal
import socket
import sys
from pathlib import Path

import psutil
import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRequest
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.session.spending import TurnLimits
from desktop_agent.core.settings.sections import DiagnosticsSettings, Settings
from tests.core.diagnostics.scene import (
    WAIT,
    create,
    define,
    edit,
    found,
    log_of,
    told_in,
    trust,
    until,
    until_told,
    with_server,
)
from tests.harness import Ground
from tests.system_processes import running_with

MANY = TurnLimits(max_requests=400)
HERE = create("a.bad", "BAD one\nfine\n")


@pytest.mark.parametrize("mode", ["pull", "push", "versionless", "stale", "registering", "busy"])
async def test_the_model_is_told_of_what_is_new_after_the_call(ground: Ground, mode: str) -> None:
    with_server(ground, mode)
    script = until_told([HERE], [edit("a.bad", "fine", "BAD two\nODD three")])
    async with ground.session(script, approval="never", limits=MANY) as s:
        await s.prompt()
        first, *_, last = filter(None, told_in(s.last_request))
    assert "a.bad:1: error: BAD one [rule] (scripted)" in first
    assert "a.bad:2: error: BAD two" in last
    assert "BAD one" not in last
    assert "The files also have 1 older problem." in last
    assert "ODD" not in last, "warnings are for the review"
    *_, event = s.rx.all(ev.DiagnosticsFound)
    (file,) = event.files
    assert [(each.line, each.severity, each.is_new) for each in file.found] == [
        (2, "error", True),
        (1, "error", False),
        (3, "warning", True),
    ]
    changed = s.session.transcript.changed
    assert file.digest == next(reversed(changed.changes.values())).change.after.digest  # type: ignore[union-attr]
    assert changed.diagnosed["a.bad"]["scripted"] == file


@pytest.mark.parametrize("mode", ["push", "loading", "syntax first"])
async def test_what_was_wrong_before_the_first_change_is_not_new(ground: Ground, mode: str) -> None:
    """The server first sees the file after it was changed, perhaps before it knows the project."""
    ground.write("a.bad", "BAD old\nfine\n")
    with_server(ground, mode)
    script = until_told([edit("a.bad", "fine", "BAD new\nBAD old")])
    async with ground.session(script, approval="never", limits=MANY) as s:
        await s.prompt()
        (told,) = filter(None, told_in(s.last_request))
    assert "a.bad:2: error: BAD new" in told
    assert told.count("BAD old") == 1, "one of them is new"


@pytest.mark.parametrize("mode", ["in parts", "refreshing"])
async def test_what_a_server_finds_after_its_first_answer_is_told_once(ground: Ground, mode: str) -> None:
    with_server(ground, mode)
    script = until_told([HERE], [WAIT], [edit("a.bad", "fine", "fine too")], [WAIT])
    async with ground.session(script, approval="never", limits=MANY) as s:
        await s.prompt()
        results = "".join(told_in(s.last_request))
    assert results.count("BAD one") == 1


async def test_a_file_that_a_server_refuses_hides_no_other(ground: Ground) -> None:
    with_server(ground, "refusing")
    script = until_told([create("refused.bad", "BAD\n"), HERE])
    async with ground.session(script, approval="never", limits=MANY) as s:
        await s.prompt()
        (told,) = filter(None, told_in(s.last_request))
    assert "a.bad:1: error: BAD one" in told
    assert "It is not in a project" in log_of(ground)


@pytest.mark.nightly
async def test_a_server_that_is_silent_about_clean_files_is_not_waited_for_long(ground: Ground) -> None:
    ground.write("a.bad", "fine\n")
    with_server(ground, "quiet")
    ground.settings = Settings(diagnostics=DiagnosticsSettings(wait_seconds=0.0))
    async with ground.session(until_told([edit("a.bad", "fine", "BAD")]), approval="never", limits=MANY) as s:
        await s.prompt()
        (told,) = filter(None, told_in(s.last_request))
    assert "a.bad:1: error: BAD" in told


async def test_a_line_that_moved_is_not_new(ground: Ground) -> None:
    ground.write("a.bad", "fine\nBAD old\n")
    with_server(ground, "pull")
    script = until_told([edit("a.bad", "fine", "fine\n\n\nBAD new")])
    async with ground.session(script, approval="never", limits=MANY) as s:
        await s.prompt()
        (told,) = filter(None, told_in(s.last_request))
    assert "BAD old" not in told


async def test_what_a_command_changed_is_checked_too(ground: Ground) -> None:
    with_server(ground, "push")
    command = Call("run_terminal_cmd", {"command": "echo BAD shell > made.bad"})
    async with ground.session(until_told([command]), approval="never", limits=MANY) as s:
        await s.prompt()
        (told,) = filter(None, told_in(s.last_request))
    assert "made.bad:1: error: BAD shell" in told


@pytest.mark.parametrize("tell", ["warnings", "nothing"])
async def test_the_user_chooses_what_the_model_is_told(ground: Ground, tell: str) -> None:
    with_server(ground, "push")
    ground.settings = Settings(diagnostics=DiagnosticsSettings(tell=tell))  # type: ignore[arg-type]
    seen: list[ev.Event] = []
    script = until(lambda: bool(seen), [create("a.bad", "ODD one\n")])
    async with ground.session(script, approval="never", limits=MANY) as s:
        s.rx.at_once = lambda event: seen.append(event) if isinstance(event, ev.DiagnosticsFound) else None
        await s.prompt()
        assert any(told_in(s.last_request)) == (tell == "warnings")
    assert found(s)


async def test_the_first_start_holds_no_call_up(ground: Ground) -> None:
    with_server(ground, "mute")
    async with ground.session([[HERE], [edit("a.bad", "one", "two")], [Say("Done.")]], approval="never") as s:
        await s.prompt()
        assert not any(told_in(s.last_request))
    assert ground.read("a.bad") == "BAD two\nfine\n"


async def test_a_late_answer_is_told_after_a_later_call(ground: Ground) -> None:
    with_server(ground, "late")
    ground.settings = Settings(diagnostics=DiagnosticsSettings(wait_seconds=0.0))
    later = [edit("a.bad", "fine", "BAD two")]
    told_two = until_told([HERE], later, [WAIT], [WAIT], [WAIT])
    async with ground.session(told_two, approval="never", limits=MANY) as s:
        await s.prompt()
        results = told_in(s.last_request)
    assert "BAD one" in "".join(results)
    assert not results[0], "the call itself did not wait"


async def test_a_server_is_ended_with_the_session(ground: Ground) -> None:
    with_server(ground, "push", "server-of-this-test")
    phases: list[str] = []
    async with ground.session(until_told([HERE]), approval="never", limits=MANY) as s:
        s.bench.server_listeners.append(
            lambda: phases.extend(state.phase for state in s.bench.server_states_in(ground.workspace))
        )
        await s.prompt()
        assert running_with("server-of-this-test", psutil.process_iter())
    assert not running_with("server-of-this-test", psutil.process_iter())
    assert phases == ["starting", "running", "idle"], "listeners were told of each"


@pytest.mark.parametrize("mode", ["parent", "mute", "unconfined"])
async def test_a_server_ends_with_all_that_it_started_when_we_are_killed(tmp_path: Path, mode: str) -> None:
    name = f"server-of-{tmp_path.name}"
    command = [sys.executable, "-m", "tests.core.diagnostics.server_kill_lab", str(tmp_path / "lab"), mode, name]
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() == -signal.SIGKILL
    left = running_with(name, psutil.process_iter())
    _, alive = await asyncio.to_thread(psutil.wait_procs, left, timeout=30)
    assert not alive


async def test_a_server_that_crashes_is_started_again_a_few_times(ground: Ground) -> None:
    with_server(ground, "crash", maxRestarts=2)
    made = 0
    after_last = 5

    def script(_request: ModelRequest) -> Reply:
        nonlocal made, after_last
        made += 1
        after_last -= log_of(ground).count("started") >= 3
        step = create("a.bad", "BAD 1\n") if made == 1 else edit("a.bad", f"{made - 1}", f"{made}")
        return [step, WAIT] if after_last else [Say("Done.")]

    async with ground.session(script, approval="never", limits=MANY) as s:
        await s.prompt()
        (state,) = s.bench.server_states_in(ground.workspace)
    assert log_of(ground).count("started") == 3
    assert (state.phase, state.problem) == ("failed", "It ended with exit code 3. started")


@pytest.mark.parametrize("mode", ["flood", "asking", "huge", "endless header", "garbage", "many", "odd"])
async def test_a_hostile_server_changes_nothing(ground: Ground, mode: str) -> None:
    with_server(ground, mode)
    ground.settings = Settings(diagnostics=DiagnosticsSettings(wait_seconds=1.0))
    calls = [[edit("a.bad", f"{n}", f"{n + 1}")] for n in range(4)]
    async with ground.session([[create("a.bad", "BAD 0\n")], [WAIT], *calls, [Say("Done.")]], approval="never") as s:
        await s.prompt()
        told = "".join(told_in(s.last_request))
    assert ground.read("a.bad") == "BAD 4\n"
    assert "elsewhere" not in told
    assert "never asked" not in told
    assert "\u202e" not in told
    assert "\x1b" not in told
    assert len(told) < 40_000
    assert all(len(each.message) <= 400 for each in found(s))
    assert all(len(file.found) <= 50 for event in s.rx.all(ev.DiagnosticsFound) for file in event.files)


async def test_a_server_reads_the_folder_and_nothing_more(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    ground.write(".env", "KEY=1")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with_server(ground, "spy", str(listening.getsockname()[1]))
        async with ground.session(until_told([HERE]), approval="never", limits=MANY) as s:
            await s.prompt()
            (told,) = filter(None, told_in(s.last_request))
    assert "could: nothing" in told
    assert not (ground.workspace / "seen.txt").exists()


async def test_a_server_downloads_nothing(ground: Ground, tmp_path: Path) -> None:
    npx = tmp_path / "npx"
    npx.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    npx.chmod(0o755)
    with_server(ground, "push", command=str(npx), env={"npm_config_registry": "https://registry.example"})
    async with ground.session(until_told([HERE]), approval="never", limits=MANY) as s:
        await s.prompt()
    assert "downloads" not in log_of(ground)


async def test_a_projects_server_does_not_run_before_trust(ground: Ground) -> None:
    define(ground, "push")
    async with ground.session([[HERE], [WAIT], [Say("Done.")]], approval="never") as s:
        await s.prompt()
    assert not log_of(ground)
    assert not s.rx.all(ev.DiagnosticsFound)


@pytest.mark.parametrize("is_script", [False, True])
async def test_a_projects_server_that_changed_waits_again(ground: Ground, is_script: bool) -> None:
    define(ground, "push")
    trust(ground)
    if is_script:
        ground.write("server.py", "import sys\nprint('started', file=sys.stderr)\n")
    else:
        define(ground, "pull")
    async with ground.session([[HERE], [WAIT], [Say("Done.")]], approval="never") as s:
        await s.prompt()
    assert not log_of(ground)


async def test_a_server_that_is_switched_off_does_not_run(ground: Ground) -> None:
    with_server(ground, "push")
    ground.settings = Settings(diagnostics=DiagnosticsSettings(off=("scripted",)))
    async with ground.session([[HERE], [WAIT], [Say("Done.")]], approval="never") as s:
        await s.prompt()
    assert not log_of(ground)


async def test_a_resumed_session_knows_the_marks(ground: Ground) -> None:
    with_server(ground, "push")
    async with ground.session(until_told([HERE]), approval="never", limits=MANY) as s:
        await s.prompt()
    async with ground.session([], resume=s.id) as again:
        assert again.transcript.changed.diagnosed["a.bad"]["scripted"].found
    assert json.loads(ground.journal(s.id).read_text().splitlines()[-2])["type"]
