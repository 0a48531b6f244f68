"""A conversation goes on with the agent in whose own program it began, and back: neither is told anything twice."""

import json
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.agents.calls import SessionReplay
from desktop_agent.core.agents.installed import way_back
from desktop_agent.core.agents.wire import read_update
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import AgentSession, ModelRef, SaidElsewhere
from desktop_agent.core.providers.scripted import Say, ScriptedProvider, in_order
from desktop_agent.core.transcript import NoticeEntry
from tests.core.agents.scene import Scene, said, texts
from tests.harness import MODEL, Open

THERE = "7c1b0d5e-0000-4000-8000-000000000001"
FIRST, SECOND = "Why does the build fail?", "And how do I fix it?"
CLAUDE = "@agentclientprotocol/claude-agent-acp"


def chunk(kind: str, text: str) -> dict[str, Any]:
    return {"sessionUpdate": f"{kind}_message_chunk", "content": {"type": "text", "text": text}}


def turn(prompt: str, answer: str) -> list[dict[str, Any]]:
    return [chunk("user", prompt), chunk("agent", answer)]


class Handing(Scene):
    """A conversation of Claude Code, imported, and an agent that has its session."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.begin(load=True)
        self.script["replay"] = [*turn(FIRST, "A typo."), *turn(SECOND, "Like this.")]

    def begin(self, *, load: bool, resume: bool = False, name: str = CLAUDE) -> None:
        able: dict[str, Any] = {"loadSession": load, "sessionCapabilities": {"resume": {}} if resume else {}}
        info = {"name": name, "title": "Claude Agent", "version": "1"}
        started: dict[str, Any] = {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": able}
        self.script["answers"] = {"initialize": started, "session/load": {}, "session/resume": {}}

    async def imported(self, *, workspace: Path | None = None, is_again: bool = False) -> str:
        lines: list[dict[str, Any]] = []
        for number, (kind, text) in enumerate(
            (("user", FIRST), ("assistant", "A typo."), ("user", SECOND), ("assistant", "Like this.")), 1
        ):
            content = text if kind == "user" else [{"type": "text", "text": text}]
            message = {"role": kind, "content": content, "id": f"m{number}", "model": "claude-opus-4"}
            about = {"uuid": f"l{number}", "parentUuid": f"l{number - 1}" if number > 1 else None, "sessionId": THERE}
            at = f"2026-03-04T10:00:0{number}.000Z"
            lines.append(about | {"type": kind, "cwd": str(self.ground.workspace), "timestamp": at, "message": message})
        file = self.folder / f"{THERE}.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        bench = self.ground.bench(ScriptedProvider(in_order([])))
        return (await bench.stored.import_file(file, workspace=workspace, is_again=is_again)).session_id

    def told(self, number: int = -1) -> list[str]:
        return [block["text"] for block in self.sent("session/prompt")[number]["prompt"]]

    def methods(self) -> list[str]:
        asked = [str(message.get("method")) for side, message in self.lines() if side == ">"]
        return [method for method in asked if method.startswith("session/")]


async def choose(opened: Open, model: ModelRef) -> None:
    await opened.carry_out(ops.SetMode(model=model), ev.ModeSet)


@pytest.fixture
def scene(tmp_path: Path) -> Handing:
    return Handing(tmp_path)


def notices(opened: Open) -> list[ev.Notice]:
    return [entry.notice for entry in opened.session.transcript.entries if isinstance(entry, NoticeEntry)]


@pytest.mark.parametrize("is_loaded", [True, False])
async def test_the_agents_own_session_goes_on_and_nothing_is_told_or_recorded_twice(
    scene: Handing, *, is_loaded: bool
) -> None:
    scene.begin(load=is_loaded, resume=True)
    scene.script["prompts"] = [[said("Gladly.")], [said("Again.")]]
    async with scene.ground.session([], resume=await scene.imported()) as opened:
        assert notices(opened)[-1].hint.startswith("Choose Claude Code where a model is chosen")
        await choose(opened, scene.model)
        assert (await opened.prompt("Do it.")).reason == "completed"
        assert (await opened.prompt("Once more.")).reason == "completed"
        assert texts(opened) == ["Gladly.", "Again."]
        (known,) = opened.rx.all(ev.AgentSessionOpened)
        assert (known.agent_session, known.kind, known.through_turn, known.said) == (THERE, "claude", 2, ())
        assert opened.session.transcript.turn == 4
    scene.judge_lines()
    assert scene.methods() == ["session/load" if is_loaded else "session/resume", "session/prompt", "session/prompt"]
    assert (scene.told(0), scene.told(1)) == (["Do it."], ["Once more."])


async def test_turns_of_another_model_since_the_import_are_told_and_those_before_are_not(scene: Handing) -> None:
    scene.script["prompts"] = [[said("Gladly.")]]
    async with scene.ground.session([[Say("From the model.")]], resume=await scene.imported()) as opened:
        await choose(opened, MODEL)
        await opened.prompt("A question in between.")
        await choose(opened, scene.model)
        await opened.prompt("Do it.")
    told = "\n".join(scene.told())
    assert "A question in between." in told
    assert "From the model." in told
    assert scene.told()[-1] == "Do it."
    assert FIRST not in told
    assert "Like this." not in told


@pytest.mark.parametrize("why", ["forgotten", "other agent", "other folder", "neither loads nor resumes"])
async def test_without_the_agents_own_session_the_conversation_is_told_in_words(scene: Handing, why: str) -> None:
    scene.script["prompts"] = [[said("Gladly.")]]
    workspace = None
    if why == "forgotten":
        scene.script["answers"]["session/load"] = {"code": -32002, "message": "no such session"}
    elif why == "other agent":
        scene.begin(load=True, name="@agentclientprotocol/codex-acp")
    elif why == "other folder":
        workspace = scene.folder / "elsewhere"
        workspace.mkdir()
    else:
        scene.begin(load=False)
    async with scene.ground.session([], resume=await scene.imported(workspace=workspace)) as opened:
        await choose(opened, scene.model)
        assert (await opened.prompt("Do it.")).reason == "completed"
    assert ("session/load" in scene.methods()) is (why == "forgotten")
    assert scene.methods()[-2:] == ["session/new", "session/prompt"]
    assert [text for text in scene.told() if text in (FIRST, SECOND)] == [FIRST, SECOND]
    assert scene.told()[-1] == "Do it."


async def test_an_id_that_is_none_is_never_sent_to_an_agent(scene: Handing) -> None:
    session_id = await scene.imported()
    journal = scene.ground.journal(session_id)
    assert f'"agent_session":"{THERE}"' in journal.read_text(encoding="utf-8")
    hostile = AgentSession(agent="", id="x; rm -rf ~", kind="claude", through_turn=1)
    assert way_back([hostile], "/tmp") is None


async def test_what_was_said_in_the_agents_own_program_is_read_in_once_and_told_to_another_model(
    scene: Handing,
) -> None:
    scene.script["prompts"] = [[said("Gladly.")]]
    session_id = await scene.imported()
    async with scene.ground.session([], resume=session_id) as opened:
        await choose(opened, scene.model)
        await opened.prompt("Do it.")
    scene.script["replay"] += [*turn("Do it.", "Gladly."), *turn("Do it.", "It is done."), *turn("Sure?", "Yes.")]
    scene.script["prompts"] = [[said("Back.")]]
    for is_again in (False, True):  # then nothing is new
        _ = scene.model
        async with scene.ground.session([[Say("From the model.")]], resume=session_id) as opened:
            await opened.prompt("Here I am.")
            assert scene.told() == ["Here I am."]
            (shown,) = (one for one in notices(opened) if "went on in Claude Code." in one.title)
            assert "It is done." in shown.detail
            if is_again:
                assert not opened.rx.all(ev.AgentSessionOpened)
                await choose(opened, MODEL)
                await opened.prompt("Go on.")
                request = repr(opened.provider.requests[-1].messages)
                assert [request.count(one) for one in ("It is done.", "Sure?", "Back.")] == [1, 1, 2]
            else:
                (event,) = opened.rx.all(ev.AgentSessionOpened)
                assert event.said == (
                    SaidElsewhere(prompt="Do it.", answer="It is done."), SaidElsewhere(prompt="Sure?", answer="Yes.")
                )  # fmt: skip
        scene.script["replay"] += turn("Here I am.", "Back.")


async def test_an_agent_that_breaks_off_while_it_tells_its_session_is_started_again_and_resumes_it(
    scene: Handing,
) -> None:
    scene.begin(load=True, resume=True)
    scene.script["answers"]["session/load"] = {"exit": 3}
    scene.script["prompts"] = [[said("Gladly.")]]
    async with scene.ground.session([], resume=await scene.imported()) as opened:
        await choose(opened, scene.model)
        assert (await opened.prompt("Do it.")).reason == "completed"
    assert scene.methods() == ["session/load", "session/resume", "session/prompt"]
    assert scene.told() == ["Do it."]


async def test_a_session_that_says_something_else_is_not_read_in_but_named(scene: Handing) -> None:
    scene.script["replay"] = turn("[A summary of what was said]", "I see.")
    scene.script["prompts"] = [[said("Gladly.")]]
    async with scene.ground.session([], resume=await scene.imported()) as opened:
        await choose(opened, scene.model)
        await opened.prompt("Do it.")
        assert any("could not be compared" in one.title for one in notices(opened))
    assert scene.told() == ["Do it."]


async def test_killed_between_load_and_prompt_it_goes_on_as_if_it_had_only_been_asked(scene: Handing) -> None:
    session_id = await scene.imported()
    scene.script["prompts"] = [[said("Gladly.")]]
    async with scene.ground.session([], resume=session_id) as opened:
        await choose(opened, scene.model)
        await opened.prompt("Do it.")
    journal = scene.ground.journal(session_id)
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"type":"agent_session_opened"' in line)
    journal.write_bytes(b"".join(lines[: last + 1]))  # as after a SIGKILL
    _ = scene.model
    async with scene.ground.session([], resume=session_id) as opened:
        assert (await opened.prompt("Once more.")).reason == "completed"
        assert not opened.rx.all(ev.AgentSessionOpened)
    told = "\n".join(scene.told())
    assert (told.count("Do it."), told.count("Once more."), told.count(FIRST)) == (1, 1, 0)
    assert scene.methods().count("session/load") == 2


async def test_a_released_agent_is_started_again_and_its_session_is_loaded_again(scene: Handing) -> None:
    scene.script["prompts"] = [[said("Gladly.")]]
    async with scene.ground.session([], resume=await scene.imported()) as opened:
        await choose(opened, scene.model)
        await opened.prompt("Do it.")
        opened.submit(ops.ReleaseAgents())
        scene.script["replay"] += [*turn("Do it.", "Gladly."), *turn("Sure?", "Yes.")]
        _ = scene.model
        await opened.prompt("Here I am.")
        (event,) = (one for one in opened.rx.all(ev.AgentSessionOpened) if one.said)
        assert event.said == (SaidElsewhere(prompt="Sure?", answer="Yes."),)
    assert scene.methods() == ["session/load", "session/prompt"] * 2


def test_the_way_back_names_the_newest_session_of_a_known_agent() -> None:
    sessions = [
        AgentSession(agent="", id=THERE, kind="claude"),
        AgentSession(agent="mine", id="x-1", kind=""),
        AgentSession(agent="my codex", id="019a-b", kind="codex"),
        AgentSession(agent="gemini", id="y-1", kind="gemini"),
    ]
    back = way_back(sessions, "/home/me/my project")
    assert back is not None
    assert back == ("Codex", "cd '/home/me/my project' && codex resume 019a-b")
    assert way_back(sessions[:2], "/p") == ("Claude Code", f"cd /p && claude --resume {THERE}")
    assert way_back(sessions[1:2], "/p") is None


@pytest.mark.parametrize(
    ("heard", "told", "new"),
    [
        (["a", "b"], ["a", "b"], []),
        (["a", "b"], ["a", "b", "b", "a"], ["b", "a"]),
        (["a", "b", "lost"], ["a", "b", "c"], ["c"]),  # one that was cut off before the agent got it
        (["a", "b", "c"], ["c", "d"], ["d"]),  # what came before is summarised
        (["a", "b"], ["a", "x", "b"], []),  # read in before, by a version that did not say so
        (["a"], ["x"], []),
    ],
)
def test_only_what_comes_after_the_last_known_message_is_new(heard: list[str], told: list[str], new: list[str]) -> None:
    replay = SessionReplay(heard)
    for update in [update for prompt in told for update in turn(prompt, f"to {prompt}")]:
        read = read_update({"sessionId": "s", "update": update})
        assert not isinstance(read, str)
        replay.take(read.update)
    assert replay.said() == tuple(SaidElsewhere(prompt=one, answer=f"to {one}") for one in new)
    assert replay.is_comparable is bool(set(heard) & set(told))
