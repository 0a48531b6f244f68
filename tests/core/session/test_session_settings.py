"""A changed setting or model takes effect at the next request or call of an open session."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.known_model import ListedModel
from desktop_agent.core.models.model_catalog import MODELS_NAME, FetchedList, ListCache
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, JsonObject, ModelRef, ToolResultBlock, UserMessage
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, Think, in_order
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.workspace_settings import WorkspaceSettings
from tests.harness import Ground, Open, check_conversation
from tests.pictures import png
from tests.providers import keyed_provider
from tests.servers import fault
from tests.servers.dialects.chat import CHAT
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text

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


CLAUDE = ModelRef(provider="anthropic", model="claude-sonnet-5-5")
OPUS = ModelRef(provider="anthropic", model="claude-opus-5-5")
GPT = ModelRef(provider="openai", model="gpt-6-astra")
LOOK: Reply = [Call("view_image", {"path": "a.png"})]


async def ask(s: Open, model: ModelRef) -> list[ev.Notice]:
    before = len(s.rx.all(ev.Notice))
    s.submit(ops.SetMode(model=model))
    assert (await s.prompt()).reason == "completed"
    return s.rx.all(ev.Notice)[before:]


def list_models(ground: Ground, model: ModelRef, *, takes_images: bool | None) -> None:
    listed = FetchedList(
        fetched_at=ground.clock.now(), models=(ListedModel(name=model.model, takes_images=takes_images),)
    )
    ListCache(ground.paths.cache / MODELS_NAME).write(usual_account(model.provider), listed)


def pictures(s: Open) -> list[int]:
    messages = (message for message in s.last_request.messages if isinstance(message, UserMessage))
    return [len(block.images) for m in messages for block in m.content if isinstance(block, ToolResultBlock)]


async def test_thinking_that_stays_behind_is_named_once(ground: Ground) -> None:
    async with ground.session([[Think("Hm."), Say("One.")], [Say("Two.")], [Say("Three.")]]) as s:
        assert await ask(s, CLAUDE) == []
        (notice,) = await ask(s, GPT)
        assert (notice.code, notice.level, notice.turn) == ("switched", "info", 2)
        assert notice.title == "gpt-6-astra answers from here on. It does not get all of the conversation."
        assert "the earlier thinking of claude-sonnet-5-5" in notice.hint
        assert await ask(s, GPT) == []
        check_conversation(s.last_request)


async def test_a_level_of_effort_that_the_model_does_not_know_is_named_once(ground: Ground) -> None:
    listed = FetchedList(
        fetched_at=ground.clock.now(),
        models=(ListedModel(name=GPT.model, efforts=("low", "high")), ListedModel(name="gpt-plain", efforts=())),
    )
    ListCache(ground.paths.cache / MODELS_NAME).write(usual_account("openai"), listed)
    extreme = replace(GPT, effort="extreme")
    async with ground.session([[Say("Hello.")]] * 5) as s:
        (notice,) = await ask(s, extreme)
        assert (notice.code, notice.level, notice.turn) == ("unknown_effort", "warning", 1)
        assert notice.title == "gpt-6-astra does not support the effort 'extreme', so it uses its default."
        assert notice.hint.startswith("It supports low, high. Choose another")
        assert await ask(s, extreme) == []
        assert await ask(s, replace(GPT, effort="high")) == []
        (notice,) = await ask(s, ModelRef(provider="openai", model="gpt-plain", effort="high"))
        assert notice.hint.startswith("It has no effort levels.")
        assert await ask(s, CLAUDE) == []


async def test_a_level_of_effort_that_is_refused_is_named_once(ground: Ground) -> None:
    error: JsonObject = {"message": "No.", "type": "invalid_request_error", "param": "reasoning_effort"}
    refused = fault.exactly(400, {"error": error})
    async with ModelServer(refused, *[reply(text("Hello."))] * 3, key="key", dialect=CHAT) as server:
        provider = keyed_provider("openai-chat", "key", address=server.url)
        model = ModelRef(provider="openai-chat", model="gpt-plain", effort="high")
        async with ground.session([], provider=provider) as s:
            (notice,) = await ask(s, model)
            assert (notice.code, notice.level, notice.turn) == ("unknown_effort", "warning", 1)
            assert notice.title.startswith("gpt-plain refused the effort 'high', so it uses its default")
            assert await ask(s, model) == []


async def test_a_switch_without_a_loss_says_nothing(ground: Ground) -> None:
    async with ground.session([[Say("One.")], [Think("Hm."), Say("Two.")], [Say("Three.")]]) as s:
        assert await ask(s, GPT) == []
        assert await ask(s, CLAUDE) == []
        assert await ask(s, OPUS) == [], "the same account reads it"


async def test_what_the_model_before_did_not_get_either_is_no_news(ground: Ground) -> None:
    other = ModelRef(provider="xai", model="grok-4.7")
    async with ground.session([[Think("Hm."), Say("One.")], [Say("Two.")], [Say("Three.")], [Say("Four.")]]) as s:
        assert await ask(s, CLAUDE) == []
        assert len(await ask(s, GPT)) == 1
        assert await ask(s, other) == []
        assert await ask(s, CLAUDE) == [], "its own is back"


async def test_pictures_stay_behind_where_a_model_is_known_to_take_none(ground: Ground) -> None:
    ground.write("a.png", png())
    list_models(ground, GPT, takes_images=False)
    async with ground.session([LOOK, [Say("Black.")], [Say("I trust you.")], [Say("Black, still.")]]) as s:
        assert await ask(s, CLAUDE) == []
        assert pictures(s) == [1]
        (notice,) = await ask(s, GPT)
        assert notice.hint.startswith("Left out for this model: 1 picture, because it takes none.")
        assert pictures(s) == [0]
        assert s.last_request.images == {}
        check_conversation(s.last_request)
        assert await ask(s, CLAUDE) == []
        assert pictures(s) == [1], "nothing was removed"


async def test_a_model_of_which_nobody_says_it_is_taken_to_see(ground: Ground) -> None:
    ground.write("a.png", png())
    list_models(ground, GPT, takes_images=None)
    async with ground.session([LOOK, [Say("Black.")], [Say("Black.")]]) as s:
        assert await ask(s, CLAUDE) == []
        assert await ask(s, GPT) == []
        assert pictures(s) == [1]


async def test_a_session_that_is_opened_again_remembers_who_answered_last(ground: Ground) -> None:
    async with ground.session([[Think("Hm."), Say("One.")]]) as s:
        assert await ask(s, CLAUDE) == []
    async with ground.session([[Say("Two.")]], resume=s.id) as again:
        assert [notice.code for notice in await ask(again, GPT)] == ["switched"]
