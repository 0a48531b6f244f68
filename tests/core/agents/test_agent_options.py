"""What the user chooses of another program's agent: its options, its commands, and its own answers to a question."""

from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, Denied, ModelRef
from tests.core.agents.scene import Scene, said
from tests.harness import Open

OPTIONS: list[dict[str, Any]] = [
    {
        "id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "small",
        "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
    },
    {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False},
]  # fmt: skip
PLAN_EXIT = [
    {"optionId": "auto", "name": "Yes, and auto-accept edits", "kind": "allow_always"},
    {"optionId": "manual", "name": "Yes, and manually approve edits", "kind": "allow_once"},
    {"optionId": "plan", "name": "No, keep planning", "kind": "reject_once"},
]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path)
    made.script["options"] = [dict(option) for option in OPTIONS]
    return made


def value_of(opened: Open, option_id: str) -> str | bool:
    agent = opened.session.transcript.session.agent
    assert agent is not None
    return next(option.value for option in agent.options if option.id == option_id)


async def test_an_option_is_set_and_set_again_when_the_agent_starts_again(scene: Scene) -> None:
    async with scene.session([said("One."), {"exit": 3}]) as opened:
        await opened.prompt("first")
        assert (value_of(opened, "model"), value_of(opened, "fast")) == ("small", False)
        for option_id, value in (("model", "large"), ("fast", True)):  # the agent is not running now
            opened.submit(ops.SetAgentOption(option_id=option_id, value=value))
            await opened.rx.expect(ev.AgentOptionSet)
        assert (value_of(opened, "model"), value_of(opened, "fast")) == ("large", True)
        scene.script["prompts"] = [[said("Two.")]]
        _ = scene.model
        await opened.prompt("second")
        assert (value_of(opened, "model"), value_of(opened, "fast")) == ("large", True)
        opened.submit(ops.SetAgentOption(option_id="model", value="small"))
        await opened.rx.expect(ev.AgentOptionSet)
        assert value_of(opened, "model") == "small"
    assert [(one["configId"], one["value"]) for one in scene.sent("session/set_config_option")] == [
        ("model", "large"), ("fast", True), ("model", "small"),
    ]  # fmt: skip


async def test_what_the_agent_does_not_offer_is_refused_in_words_and_not_remembered(scene: Scene) -> None:
    async with scene.session([said("One.")]) as opened:
        opened.submit(ops.SetAgentOption(option_id="model", value="large"))
        notice = await opened.rx.expect(ev.Notice)
        assert (notice.title, notice.level) == ("No agent of another program is running.", "warning")
        await opened.prompt("first")
        for option_id, value, words in (
            ("model", "huge", "scripted cannot set Model to huge."), ("size", "huge", "scripted has no option size."),
        ):  # fmt: skip
            opened.submit(ops.SetAgentOption(option_id=option_id, value=value))
            assert (await opened.rx.expect(ev.Notice)).title == words
        assert not opened.rx.all(ev.AgentOptionSet)
        assert opened.session.transcript.session.agent_options == {}


async def test_modes_of_an_older_agent_are_an_option(scene: Scene) -> None:
    modes = [{"id": "default", "name": "Ask"}, {"id": "yolo", "name": "Never ask"}]
    scene.script |= {"options": [], "answers": {"session/new": {
        "sessionId": "s", "modes": {"currentModeId": "yolo", "availableModes": modes}
    }}}  # fmt: skip
    async with scene.session([said("One.")]) as opened:
        await opened.prompt("first")
        assert value_of(opened, "mode") == "default"
        opened.submit(ops.SetAgentOption(option_id="mode", value="yolo"))
        await opened.rx.expect(ev.AgentOptionSet)
        assert value_of(opened, "mode") == "yolo"
    assert [one["modeId"] for one in scene.sent("session/set_mode")] == ["default", "yolo"]


async def test_a_command_of_the_agent_is_sent_to_it_and_compaction_is_left_to_it(scene: Scene) -> None:
    commands = [
        {"name": "compact", "description": "Make room"},
        {"name": "Review", "description": "", "input": {"hint": "what"}},
    ]
    told = {"update": {"sessionUpdate": "available_commands_update", "availableCommands": commands}}
    async with scene.session([said("One."), told], [said("Two.")], [said("Three.")]) as opened:
        opened.submit(ops.Compact())
        assert "summarises its conversation by itself" in (await opened.rx.expect(ev.Notice)).title
        await opened.prompt("first")
        opened.submit(ops.RunCommand(text="/review the last commit"))
        await opened.rx.expect(ev.TurnEnded)
        opened.submit(ops.RunCommand(text="/compact the tests"))
        assert (await opened.rx.expect(ev.CommandRun)).output == "scripted was sent its own command `/compact`."
        await opened.rx.expect(ev.TurnEnded)
    prompts = [one["prompt"][-1]["text"] for one in scene.sent("session/prompt")]
    assert prompts == ["first", "/review the last commit", "/compact the tests"]


@pytest.mark.parametrize("chosen", ["auto", "manual", "plan"])
async def test_the_agents_own_answers_are_the_only_ones(scene: Scene, chosen: str) -> None:
    asked = {"toolCallId": "1", "title": "Ready to code?", "kind": "switch_mode"}
    async with scene.session([{"ask": asked, "options": PLAN_EXIT}, said("Done."), {"end": True}]) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        question = await opened.answer(Allowed(answers={"option": chosen}))
        assert question.request.question is not None
        (field,) = question.request.question.fields
        assert [(option.value, option.label) for option in field.options] == [
            (option["optionId"], option["name"]) for option in PLAN_EXIT
        ]
        await opened.rx.expect(ev.TurnEnded)
    assert outcome(scene) == {"outcome": "selected", "optionId": chosen}


async def test_no_answer_to_the_agents_own_question_is_its_no(scene: Scene) -> None:
    asked = {"toolCallId": "1", "title": "Ready to code?", "kind": "switch_mode"}
    async with scene.session([{"ask": asked, "options": PLAN_EXIT}, {"end": True}]) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        await opened.answer(Denied())
        await opened.rx.expect(ev.TurnEnded)
    assert outcome(scene) == {"outcome": "selected", "optionId": "plan"}


async def test_a_yes_is_for_once_and_an_edited_command_is_not_run(scene: Scene) -> None:
    options = [{"optionId": kind, "name": name, "kind": kind} for kind, name in (
        ("allow_always", "Always allow"), ("allow_once", "Allow"), ("reject_once", "Reject")
    )]  # fmt: skip
    asked = {"toolCallId": "1", "title": "make", "kind": "execute", "rawInput": {"command": "touch made.txt"}}
    steps = [{"ask": asked, "options": options}, {"run": "touch made.txt"}, {"end": True}]
    async with scene.session(steps, steps, approval="on_write", sandbox="restricted") as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        await opened.answer(Allowed(edited_command="true"))
        await opened.rx.expect(ev.TurnEnded)
        assert not (scene.ground.workspace / "made.txt").exists()
        opened.submit(ops.SubmitPrompt(text="again"))
        await opened.answer(Allowed(scope="session"))
        await opened.rx.expect(ev.TurnEnded)
        assert (scene.ground.workspace / "made.txt").exists()
    assert outcome(scene) == {"outcome": "selected", "optionId": "allow_once"}


@pytest.mark.parametrize(
    ("provider", "model", "name", "shown"),
    [
        ("anthropic", "claude-5", "claude-5", "anthropic/claude-5"),
        ("acp", "my.agent", "my.agent", "my.agent"),
        ("acp", "/opt/bin/weaver.sh --acp", "weaver", "/opt/bin/weaver.sh --acp"),
        ("acp", "'/opt/my tools/weaver' --acp", "weaver", "'/opt/my tools/weaver' --acp"),
        ("acp", " ", " ", " "),
    ],
)
def test_an_agent_is_called_by_its_name_or_its_program(provider: str, model: str, name: str, shown: str) -> None:
    ref = ModelRef(provider=provider, model=model)
    assert (ref.name, ref.shown) == (name, shown)


def outcome(scene: Scene) -> object:
    answers = [message["result"]["outcome"] for side, message in scene.lines() if side == ">" and "result" in message]
    return answers[-1]
