"""Unsupported features of servers are reported to the user or the model."""

import json

import pytest
from mcp_types import ServerCapabilities, Tool

from desktop_agent.core.mcp.sdk.sdk_results import NEEDS_TASK, ONLY_FOR_VIEW, offered_tool, unused_in
from desktop_agent.core.mcp.server_status import OfferedTool, unused_line
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.tools.mcp_tool import NO_VIEW
from tests.core.mcp.conftest import Connect, server
from tests.core.mcp.conftest import connect as connect
from tests.core.mcp.conftest import pool as pool
from tests.harness import Ground

VIEW: JsonObject = {"_meta": {"ui": {"resourceUri": "ui://clock/app.html"}}}
TASK: JsonObject = {"execution": {"taskSupport": "required"}}
APP_ONLY: JsonObject = {"_meta": {"ui": {"resourceUri": "ui://clock/app.html", "visibility": ["app"]}}}


async def called(ground: Ground, tool: str, arguments: JsonObject) -> tuple[str, list[str]]:
    async with ground.session([[Call(f"program__{tool}", arguments)], [Say("ok")]]) as s:
        await s.begin()
        result = (await s.rx.expect(ev.ToolCallFinished)).result.content
        await s.rx.expect(ev.TurnEnded)
        return result, [each.name for each in s.last_request.tools]


def read(more: JsonObject) -> OfferedTool:
    return offered_tool(Tool.model_validate({"name": "t", "inputSchema": {"type": "object"}, **more}))


@pytest.mark.parametrize(
    ("more", "view", "unusable"),
    [
        ({}, "", ""),
        (VIEW, "ui://clock/app.html", ""),
        ({"_meta": {"ui/resourceUri": "ui://old"}}, "ui://old", ""),
        ({"_meta": {"ui": ["no object"]}}, "", ""),
        ({"_meta": {"ui": {"resourceUri": 7}}}, "", ""),
        (APP_ONLY, "ui://clock/app.html", ONLY_FOR_VIEW),
        (TASK, "", NEEDS_TASK),
        ({"execution": {"taskSupport": "optional"}}, "", ""),
    ],
)
def test_a_tool_says_whether_it_can_be_used_here(more: JsonObject, view: str, unusable: str) -> None:
    tool = read(more)
    assert (tool.view, tool.unusable) == (view, unusable)


async def test_tools_that_cannot_be_used_are_not_offered_to_the_model(ground: Ground) -> None:
    ground.write("tools.json", json.dumps({"write": TASK, "picture": APP_ONLY}))

    _, offered = await called(ground, "echo", {"text": "hello"})

    assert "program__echo" in offered
    assert not {"program__write", "program__picture"} & set(offered)


async def test_a_tool_with_an_interactive_view_works_and_says_that_it_is_not_shown(ground: Ground) -> None:
    ground.write("tools.json", json.dumps({"echo": VIEW}))

    result, _ = await called(ground, "echo", {"text": "It is noon."})

    assert result == f"It is noon.\n{NO_VIEW}"


async def test_a_content_of_a_kind_that_is_not_known_is_named_between_the_others(ground: Ground) -> None:
    texts: list[JsonObject] = [{"type": "text", "text": "before"}, {"type": "text", "text": "after"}]
    contents = [texts[0], {"type": "hologram", "data": "x"}, texts[1]]

    result, _ = await called(ground, "result", {"result": {"content": contents}})

    assert result.split("\n") == ["before", "[The server sent 'hologram' here, which is not known: left out.]", "after"]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"task": {"taskId": "1", "status": "working"}}, "a task, which is not supported here"),
        ({"resultType": "hologram"}, "a result of the kind 'hologram', which is not supported here"),
        ({"content": 7}, "does not follow the protocol"),
    ],
)
async def test_a_result_of_a_kind_that_is_not_known_is_refused_in_words(
    ground: Ground, result: JsonObject, words: str
) -> None:
    said, _ = await called(ground, "result", {"result": result})

    assert words in said


async def test_what_a_server_declares_and_is_not_used_is_said(connect: Connect) -> None:
    connection = connect(server("extensions"))
    await connection.tools()

    assert unused_line(connection.status) == "Not used: tasks, io.example/maps⟨U+202E⟩."


def test_what_is_not_used_is_bounded() -> None:
    can = ServerCapabilities.model_validate({"extensions": {f"{number}{'x' * 500}": {} for number in range(500)}})
    assert len("".join(unused_in(can))) < 4_000
