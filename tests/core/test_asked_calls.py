"""A question shows a call's tool and exact arguments, so that no call can pass for another."""

import json
import sys
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ApprovalRequest, JsonObject
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.transcript import asked_call
from tests.harness import Ground

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab:-| \n"', max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab -\n:", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def asking(arguments: Mapping[str, object]) -> ApprovalRequest:
    return ApprovalRequest(
        call_id="c1",
        tool="files__write",
        title="Let files run write?",
        reason="",
        arguments_digest="0",
        server="files",
        server_tool="write",
        arguments=dict(arguments),
    )


def test_the_server_its_tool_and_every_argument_stand_on_lines_of_their_own() -> None:
    arguments: JsonObject = {
        "path": "a.txt",
        "mode": 12345678901234567890,
        "text": "one\nmode: 0\n",
        "edits": [{"old": "a\nb", "new": ""}, {"old": "c", "new": "d"}],
        "two words": None,
    }
    assert asked_call(asking(arguments)).splitlines() == [
        "files/write",
        '  path: "a.txt"',
        "  mode: 12345678901234567890",
        "  text: |",
        "    one",
        "    mode: 0",
        "  edits:",
        "    -",
        "      old: |-",
        "        a",
        "        b",
        '      new: ""',
        '    - {"old": "c", "new": "d"}',
        '  "two words": null',
    ]


def test_a_call_without_arguments_says_what_is_called() -> None:
    assert asked_call(asking({})) == "files/write"


@given(st.dictionaries(st.text("ab -\n:", min_size=1, max_size=4), VALUES, min_size=1, max_size=3), st.data())
def test_two_calls_that_differ_never_look_the_same(one: JsonObject, data: st.DataObject) -> None:
    other = data.draw(st.dictionaries(st.text("ab -\n:", min_size=1, max_size=4), VALUES, min_size=1, max_size=3))
    if json.dumps(one) != json.dumps(other):
        assert asked_call(asking(one)) != asked_call(asking(other))


@pytest.mark.parametrize(
    "value",
    [
        "x" * 1_000_000,
        "hello\n" * 170_000,
        {f"k{number}": "v" * 80 for number in range(20_000)},
        [[1, 2, 3]] * 70_000,
    ],
    ids=["a line", "lines", "names", "items"],
)
def test_of_what_is_too_long_to_be_shown_no_more_is_written_than_is_asked_for(value: object) -> None:
    """The window's thread draws it."""
    steps = 0

    def count(_frame: object, _event: str, _arg: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        shown = asked_call(asking({"value": value}), 1_000)
    finally:
        sys.setprofile(None)
    assert len(shown) >= 1_000
    assert steps < 20_000
    assert asked_call(asking({"value": value})).startswith(shown)


def test_what_is_nested_deeply_is_shown_whole() -> None:
    value: object = "end"
    for _ in range(200):
        value = {"a": [value]}
    shown = asked_call(asking({"value": value}))
    assert shown.count("a:") + shown.count('"a":') == 200
    assert shown.count('"end"') == 1


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (
            Call("grep", {"pattern": "x", "path": "."}),
            {"pattern": "x", "path": "."},
        ),
        (Call("create_file", {"path": "a", "content": "b"}), {}),
        (Call("run_terminal_cmd", {"command": "cat", "stdin": "x" * 5_000}), {"stdin": "x" * 5_000}),
        (Call("run_terminal_cmd", {"command": "cat", "env": {"A": "x" * 5_000}}), {"env": {"A": "x" * 5_000}}),
        (Call("run_terminal_cmd", {"command": "cat", "stdin": "short"}), {}),
        (Call("request_approval", {"action": "Go on?", "reason": "r", "details": "all of it"}), {}),
    ],
)
async def test_a_question_shows_all_arguments_that_stand_in_no_other_form(
    ground: Ground, call: Call, shown: JsonObject
) -> None:
    async with ground.session([[call], [Say("ok")]], approval="always") as s:
        s.submit(ops.SubmitPrompt(text="go"))
        asked = (await s.answer()).request
        await s.rx.expect(ev.TurnEnded)
    assert asked.arguments == shown


async def test_what_the_model_says_a_command_is_for_comes_with_the_question(ground: Ground) -> None:
    call = Call("run_terminal_cmd", {"command": "touch a", "explanation": " Make a file. "})
    async with ground.session([[call], [Say("ok")]], approval="always") as s:
        s.submit(ops.SubmitPrompt(text="go"))
        asked = (await s.answer()).request
        await s.rx.expect(ev.TurnEnded)
    assert asked.explanation == "Make a file."
