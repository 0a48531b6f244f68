"""Signing in with an agent: what it offers, in what form it says so, and what happens to the turn that failed."""

import asyncio
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.definition import AgentDefinition, LoginWay
from desktop_agent.core.agents.offers import how_to_sign_in, ways_to_sign_in
from desktop_agent.core.agents.peer import AUTH_REQUIRED
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import AgentSignIn
from tests.core.agents.scene import Scene, said
from tests.system_processes import descendants

MINE = AgentDefinition(name="mine", command="my-agent", args=("--acp",))


def ways(agent: AgentDefinition, *methods: dict[str, Any]) -> tuple[LoginWay, ...]:
    read = [wire.read({"id": "x", "name": "Sign in", **method}, wire.AuthMethod) for method in methods]
    return ways_to_sign_in(agent, read)


@pytest.mark.parametrize(
    ("method", "command", "env"),
    [
        ({"type": "terminal", "args": ["--login"], "env": {"A": "b"}}, ("my-agent", "--acp", "--login"), {"A": "b"}),
        ({"type": "terminal", "args": ["/opt/bin/my-agent", "--setup"]}, ("my-agent", "--acp", "--setup"), {}),
        (
            {"_meta": {"terminal-auth": {"command": "copilot", "args": ["login"], "env": {"A": "b"}}}},
            ("copilot", "login"),
            {"A": "b"},
        ),
        ({"_meta": {"type": "terminal", "args": ["--auth-type=x"]}}, ("my-agent", "--acp", "--auth-type=x"), {}),
        ({}, (), {}),
    ],
    ids=["terminal", "vibe", "copilot", "qwen", "agent"],
)
def test_each_form_of_a_sign_in_is_understood(
    method: dict[str, Any], command: tuple[str, ...], env: dict[str, str]
) -> None:
    (way,) = ways(MINE, method)
    assert (way.command, way.env, way.variables) == (command, env, ())


def test_a_key_is_asked_for_by_its_variable_and_place() -> None:
    old = {"type": "env_var", "varName": "OLD_KEY"}
    new = {"id": "y", "type": "env_var", "vars": [{"name": "ONE_KEY"}, {"name": "TWO_KEY", "label": "Two"}]}
    found = ways(MINE, old, new)
    assert [way.variables for way in found] == [("OLD_KEY",), ("ONE_KEY", "TWO_KEY")]
    assert how_to_sign_in("mine", found) == (
        "It takes a key in OLD_KEY, ONE_KEY, TWO_KEY: "
        "`desktop-agent agents add mine --secret OLD_KEY` puts it into your keyring."
    )
    assert "`desktop-agent agents login mine` does it. Or give it a key. It takes a key in" in how_to_sign_in(
        "mine", [*ways(MINE, {}), *found]
    )


def test_a_confined_agent_is_given_a_key_because_a_sign_in_is_hidden_from_it() -> None:
    confined = AgentDefinition(name="mine", command="my-agent", sandbox="strict")
    assert ways(confined, {}, {"type": "terminal"}) == ()
    assert "desktop-agent agents add mine --secret" in how_to_sign_in("mine", ())


def test_a_known_agent_that_names_no_command_has_its_own() -> None:
    (way,) = ways(AgentDefinition(name="goose", command="/opt/goose", args=("acp",)), {"name": "Configure Provider"})
    assert way.command == ("/opt/goose", "configure")


@given(st.lists(st.fixed_dictionaries({"id": st.text(max_size=80), "name": st.text(max_size=200)}), max_size=30))
def test_what_an_agent_calls_its_sign_ins_is_shown_on_a_line_of_limited_length(methods: list[dict[str, Any]]) -> None:
    found = ways(MINE, *methods)
    assert len(found) <= 8
    assert all(len(way.name) <= max(60, len(way.id)) and "\n" not in way.name for way in found if way.name != way.id)


def signs_in(scene: Scene, account: str, *methods: dict[str, Any]) -> None:
    scene.script["account"] = account
    begun = {"protocolVersion": 1, "authMethods": [{"id": "browser", "name": "A browser"}, *methods]}
    scene.script["answers"] = {"initialize": begun}


async def test_the_failed_turn_says_how_to_sign_in_and_can_be_tried_again(scene: Scene) -> None:
    account = scene.folder / "account"
    terminal = {"id": "tty", "name": "A terminal", "type": "terminal", "args": ["--login"]}
    signs_in(scene, str(account), terminal, {"id": "key", "name": "A key", "type": "env_var", "varName": "A_KEY"})
    async with scene.session([said("Now I can.")]) as opened:
        agent = scene.model.model
        assert (await opened.prompt("go")).reason == "provider_error"
        (notice,) = opened.rx.all(ev.Notice)
        assert (notice.code, notice.title) == ("not_signed_in", f"{notice.title.split()[0]} is not signed in.")
        assert notice.sign_ins == (
            AgentSignIn(agent=agent, id="browser", name="A browser"),
            AgentSignIn(agent=agent, id="tty", name="A terminal", is_in_terminal=True),
        )
        assert "desktop-agent agents login" in notice.hint
        assert "A_KEY" in notice.hint
        account.write_text("signed in elsewhere")
        assert (await opened.prompt("go")).reason == "completed"


async def test_an_agent_that_forgets_its_sign_in_is_signed_in_again_when_it_starts(scene: Scene) -> None:
    signs_in(scene, "")
    async with scene.session([said("One."), {"exit": 3}]) as opened:
        assert (await opened.prompt("first")).reason == "provider_error"
        app = opened.bench.agents
        definition = await opened.bench.agent_meant(scene.model.model, scene.ground.workspace)
        report = await app.test(definition, "browser")
        assert report.problem == ""
        await opened.prompt("first")
        scene.script["prompts"] = [[said("Two.")]]
        _ = scene.model
        assert (await opened.prompt("second")).reason == "completed"
    assert {one["methodId"] for one in scene.sent("authenticate")} == {"browser"}


@pytest.mark.parametrize(
    "answer", [{"code": -32603, "message": "login please"}, {"sessionId": ""}], ids=["error", "no id"]
)
async def test_no_session_of_an_agent_with_sign_ins_may_be_for_a_missing_one(
    scene: Scene, answer: dict[str, Any]
) -> None:
    signs_in(scene, str(scene.folder))
    scene.script["answers"]["session/new"] = answer
    async with scene.session([]) as opened:
        await opened.prompt("go")
        (notice,) = opened.rx.all(ev.Notice)
        assert (notice.code, len(notice.sign_ins)) == ("not_signed_in", 1)
        assert notice.hint.startswith("Perhaps it is not signed in. ")


async def test_a_sign_in_that_is_missed_during_a_prompt_is_taken_up_by_a_new_start(scene: Scene) -> None:
    signs_in(scene, str(scene.folder))
    scene.script["answers"]["session/prompt"] = {"code": AUTH_REQUIRED, "message": "expired"}
    async with scene.session([]) as opened:
        await opened.prompt("go")
        await opened.prompt("again")
        assert [notice.code for notice in opened.rx.all(ev.Notice)] == ["not_signed_in", "not_signed_in"]
    assert len(scene.sent("initialize")) == 2


async def test_a_sign_in_waits_for_the_user_and_can_be_cancelled(scene: Scene) -> None:
    waits = scene.folder / "account-waits"
    os.mkfifo(waits)
    signs_in(scene, str(scene.folder / "account"))
    before = descendants()
    async with scene.session([]) as opened:
        definition = await opened.bench.agent_meant(scene.model.model, scene.ground.workspace)
        signing = asyncio.create_task(opened.bench.agents.test(definition, "wait"))
        assert await asyncio.to_thread(waits.read_text) == "it waits"
        signing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await signing
        assert descendants() <= before
