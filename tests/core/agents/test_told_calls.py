"""Calls as Claude Code 2.1.332, Codex 0.171 and OpenCode 1.18.33 tell them, and what becomes of it in the journal."""

import shlex
from typing import Any

from msgspec import convert

from desktop_agent.core.agents.calls import AgentCall
from desktop_agent.core.agents.wire import CallFields
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from tests.core.agents.scene import Scene, call, ended, said

COMMAND = "npm test"


def told(*pieces: dict[str, Any], kind: str = "execute") -> tuple[AgentCall, list[str]]:
    one = AgentCall(wire_id="1", kind=kind)
    return one, [one.take(convert({"toolCallId": "1", **piece}, CallFields)) for piece in pieces]


def content(text: str) -> list[dict[str, Any]]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def test_what_claude_says_of_a_call_before_it_runs_is_no_output() -> None:
    one, printed = told(
        {"status": "pending", "rawInput": {}},
        {"rawInput": {"command": COMMAND}, "title": COMMAND},
        {"rawInput": {"command": COMMAND, "description": "Run the tests"}, "content": content("Run the tests")},
        {"status": "completed", "rawOutput": "3 passed"},
    )
    assert printed == [""] * 4
    assert (one.explanation, one.result()) == ("Run the tests", "3 passed")


def test_what_claude_puts_in_a_fence_is_shown_without_it() -> None:
    one, printed = told({"status": "completed", "content": content("```console\nfirst\nsecond\n```")})
    assert printed == [one.result()] == ["first\nsecond"]


def test_codex_tells_pieces_of_output_and_the_exit_code_beside_the_call() -> None:
    one, printed = told(
        {"status": "in_progress", "content": [{"type": "terminal", "terminalId": "1"}]},
        {"_meta": {"terminal_output_delta": {"data": "one\n"}}},
        {"status": "failed", "_meta": {"terminal_output_delta": {"data": "two\n"}, "terminal_exit": {"exit_code": 3}}},
    )
    assert printed == ["", "one\n", "two\n"]
    assert one.result() == "one\ntwo\nExit code 3."


def test_a_command_that_codex_quotes_as_one_word_is_judged_as_the_command_line() -> None:
    script = "sed -i 's/a/b/' x; echo \"c\""
    quoted = shlex.quote(script)
    one, _ = told({"title": quoted, "rawInput": {"command": quoted}})
    assert (one.command, one.explanation) == (script, "")
    assert told({"rawInput": {"command": "ls"}})[0].command == "ls"


async def test_a_call_that_is_told_piece_by_piece_is_recorded_when_it_is_complete(scene: Scene) -> None:
    pieces = [{"path": "poem.txt"}, {"path": "poem.txt", "old": "a"}, {"path": "poem.txt", "old": "a", "new": "b"}]
    updates = [
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "1", "rawInput": piece}} for piece in pieces
    ]
    steps = [call("1", "edit", "Edit", rawInput={}), *updates, {"ask": {"toolCallId": "1"}}, ended("1", "ok")]
    async with scene.session(steps) as opened:
        await opened.prompt("go", answers=1)
        (started,) = opened.rx.all(ev.ToolCallStarted)
        assert started.call.arguments == pieces[-1]


async def test_a_call_begins_without_more_words_when_the_agent_goes_on_or_says_no_more(scene: Scene) -> None:
    steps = [
        call("1", "execute", "bash", rawInput={"cwd": "."}), call("2", "read", "Read", rawInput={"path": "poem.txt"}),
        said("And on."), {"hang": True},
    ]  # fmt: skip
    async with scene.session(steps) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        started = await opened.rx.expect(ev.ToolCallStarted)
        assert started.title == "Read", "of the other, the command is not known yet"
        opened.submit(ops.Interrupt())
        await opened.rx.expect(ev.TurnEnded)


async def test_a_call_of_which_the_agent_says_no_more_begins_after_a_while(scene: Scene) -> None:
    steps = [call("1", "execute", COMMAND, rawInput={"command": COMMAND}), {"hang": True}]
    async with scene.session(steps) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        assert (await opened.rx.expect(ev.ToolCallStarted)).title == COMMAND
        opened.submit(ops.Interrupt())
        await opened.rx.expect(ev.TurnEnded)


async def test_a_title_that_comes_after_the_turn_is_taken_with_the_next(scene: Scene) -> None:
    titled = {"update": {"sessionUpdate": "session_info_update", "title": "A poem"}}
    async with scene.session([said("One."), {"after": titled}], [said("Two.")]) as opened:
        await opened.prompt("first")
        await opened.prompt("second")
        assert opened.session.transcript.session.title == "A poem"
