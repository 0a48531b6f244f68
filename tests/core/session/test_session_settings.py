"""A changed setting holds from the next request or call of a session that is open, without a restart."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ToolResultBlock
from desktop_agent.core.providers.scripted import Call, Say, ScriptedProvider, in_order
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from tests.harness import Ground, Open

BOTH = [[Say("One.")], [Say("Two.")]]


@pytest.fixture
def live(ground: Ground) -> LiveSettings:
    path = ground.paths.config / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    ground.live = LiveSettings.load(path, {})
    return ground.live


def run(command: str, **more: object) -> Call:
    return Call("run_terminal_cmd", {"command": command, **more})


def twice(call: Call) -> list[list[Call | Say]]:
    return [[call], [Say("Done.")], [call], [Say("Done.")]]


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)


def prompt() -> ops.SubmitPrompt:
    return ops.SubmitPrompt(text="go")


def allowed(asked: ev.ApprovalRequested) -> ops.AnswerApproval:
    return ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed())


def settings_of(session: Open) -> WorkspaceSettings:
    return session.session._parts.settings  # pyright: ignore[reportPrivateUsage] - what everything in it asks


async def result_of_turn(session: Open) -> ToolResultBlock:
    await session.prompt()
    return session.results()[-1]


async def test_the_longest_answer(ground: Ground, live: LiveSettings) -> None:
    async with ground.session(BOTH) as s:
        await s.prompt()
        await live.change("model.max_tokens", 123)
        await s.prompt()
        assert [request.max_tokens for request in s.provider.requests] == [16_000, 123]


async def test_an_edit_of_the_file_is_noticed_by_the_next_request(ground: Ground, live: LiveSettings) -> None:
    async with ground.session(BOTH) as s:
        await s.prompt()
        assert live.path is not None
        write(live.path.parent, live.path.name, "[model]\nmax_tokens = 77\n")
        await s.prompt()
        assert [request.max_tokens for request in s.provider.requests] == [16_000, 77]


async def test_blocked_commands(ground: Ground, live: LiveSettings) -> None:
    async with ground.session(twice(run("echo hello")), approval="never", sandbox="restricted") as s:
        await s.prompt()
        await live.change("execution.blocked_commands", ["echo"])
        second = await result_of_turn(s)
        assert second.is_error
        assert "echo" in second.content


async def test_the_longest_command(ground: Ground, live: LiveSettings) -> None:
    command = f"{shlex.quote(sys.executable)} -c 'import time; time.sleep(600)'"
    async with ground.session([[run(command)], [Say("Done.")]], approval="always") as s:
        await live.change("execution.timeout_seconds", 0.3)
        s.submit(prompt())
        await s.answer()
        await s.rx.expect(ev.TurnEnded)
        facts = json.loads(s.results()[-1].content)["metadata"]
        assert facts["timed_out"] is True


async def test_other_folders(ground: Ground, live: LiveSettings, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    write(beside, "notes.txt", "remember the milk\n")
    async with ground.session(twice(Call("read_file", {"path": str(beside / "notes.txt")}))) as s:
        first = await result_of_turn(s)
        await live.change("execution.allowed_paths", [str(beside)])
        second = await result_of_turn(s)
        await live.reset("execution.allowed_paths")
    assert first.is_error
    assert "milk" in second.content


async def test_how_much_of_a_result_the_model_reads(ground: Ground, live: LiveSettings) -> None:
    ground.write("long.txt", "".join(f"line {number}\n" for number in range(500)))
    async with ground.session(twice(Call("read_file", {"path": "long.txt"}))) as s:
        first = await result_of_turn(s)
        await live.change("tools.limits.max_lines", 20)
        second = await result_of_turn(s)
    assert len(second.content.splitlines()) <= 20 < len(first.content.splitlines())


async def test_folders_that_are_not_watched(ground: Ground, live: LiveSettings) -> None:
    ground.write("made/a.txt", "1\n")
    write = f'{shlex.quote(sys.executable)} -c \'open("made/a.txt", "a").write("x")\''
    async with ground.session(twice(run(write)), approval="always") as s:
        for _ in range(2):
            s.submit(prompt())
            await s.answer()
            await s.rx.expect(ev.TurnEnded)
            await live.change("capture.ignored_folders", ["made"])
    recorded = [change.path for event in s.rx.all(ev.ChangesRecorded) for change in event.changes]
    assert recorded == ["made/a.txt"], "the second change is in a folder that is no longer watched"


async def test_a_folder_that_is_ignored_while_a_command_runs_does_not_seem_deleted(
    ground: Ground, live: LiveSettings
) -> None:
    ground.write("made/a.txt", "1\n")
    command = f"{shlex.quote(sys.executable)} -c 'print(1)'"
    async with ground.session([[run(command)], [Say("Done.")]], approval="always") as s:
        s.submit(prompt())
        asked = await s.rx.expect(ev.ApprovalRequested)
        assert asked.request.command
        await live.change("capture.ignored_folders", ["made"])
        s.submit(allowed(asked))
        await s.rx.expect(ev.TurnEnded)
    assert [change for event in s.rx.all(ev.ChangesRecorded) for change in event.changes] == []


async def test_approval_and_sandbox_hold_for_new_sessions_and_leave_open_ones(
    ground: Ground, live: LiveSettings
) -> None:
    bench = ground.bench(ScriptedProvider(in_order([]), clock=ground.clock))
    events: list[ev.Event] = []
    first = await bench.create_session(ground.workspace, sink=events.append)
    await live.change("execution.approval", "always")
    await live.change("execution.sandbox", "strict")
    second = await bench.create_session(ground.workspace, sink=events.append)
    for session in (first, second):
        session.submit(ops.Shutdown())
        await session.run()
    opened = [event for event in events if isinstance(event, ev.SessionOpened)]
    assert [(event.approval, event.sandbox) for event in opened] == [("on_write", "restricted"), ("always", "strict")]
    assert first.transcript.session.approval == "on_write"


async def test_a_trusted_project_tightens_the_sessions_in_it(ground: Ground, live: LiveSettings) -> None:
    ground.write(".desktop-agent/config.toml", '[execution]\nblocked_commands = ["echo"]\n')
    async with ground.session(twice(run("echo hello")), approval="never", sandbox="restricted") as s:
        first = await result_of_turn(s)
        settings = settings_of(s)
        proposal = settings.proposal
        assert proposal is not None
        assert settings.is_waiting
        settings.remember("trusted", proposal.text)
        second = await result_of_turn(s)
    assert "is not permitted" not in first.content, "nothing of it holds before it is trusted"
    assert second.is_error
    assert live.current.execution.blocked_commands == (), "the user's own settings stay as they are"


@pytest.mark.parametrize("path", [".desktop-agent/config.toml", ".DESKTOP-AGENT/config.toml"])
async def test_the_agent_does_not_write_a_projects_settings_unasked(ground: Ground, path: str) -> None:
    create = Call("create_file", {"path": path, "content": "[execution]\n"})
    async with ground.session([[create], [Say("Done.")]], approval="never") as s:
        result = await result_of_turn(s)
    assert result.is_error
    with pytest.raises(FileNotFoundError):
        ground.read(path)


async def test_the_agent_never_writes_the_settings_file_wherever_it_is(ground: Ground) -> None:
    file = ground.write("ci/agent.toml", '[execution]\napproval = "on_request"\n')
    ground.live = LiveSettings.load(file, {})
    call = Call("create_file", {"path": "ci/agent.toml", "content": "[execution]\n", "if_exists": "overwrite"})
    async with ground.session([[call], [Say("Done.")]], approval="on_request") as s:
        result = await result_of_turn(s)
    assert result.is_error
    assert "on_request" in ground.read("ci/agent.toml")
