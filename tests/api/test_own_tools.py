"""Functions of a program as tools: what the model learns of them, may send, and receives."""

import threading
from collections.abc import Callable
from typing import Annotated, Literal

import pytest
from pydantic import Field

from desktop_agent import ApprovalRequest, Call, FunctionTool, Result, Say, ToolError, UsageError, tool
from tests.api.conftest import MakeAgent


@tool(is_read_only=True)
def weather(
    city: str, days: Annotated[int, Field(ge=1, le=7, description="How many.")] = 1, unit: Literal["C", "F"] = "C"
) -> dict[str, object]:
    """Tell the weather of a city."""
    if city == "Atlantis":
        raise ToolError("Atlantis is under water.")
    if city == "":
        raise ZeroDivisionError("no city")
    return {"city": city, "days": days, "unit": unit, "is_main": threading.current_thread() is threading.main_thread()}


async def answers(agent_with: MakeAgent, tools: list[object], *calls: Call, **options: object) -> Result:
    async with agent_with(list(calls), [Say("Done.")], tools=tools, **options) as agent:
        return await agent.run("Call it.")


async def test_arguments_are_given_as_annotated_and_the_result_is_json(agent_with: MakeAgent) -> None:
    result = await answers(agent_with, [weather], Call("weather", {"city": "Basel", "days": 2}))
    (call,) = result.calls
    assert (call.state, call.result.content) == (
        "completed",
        '{"city":"Basel","days":2,"unit":"C","is_main":false}',
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "city: Field required"),
        ({"city": "Basel", "days": 9}, "days: Input should be less than or equal to 7"),
        ({"city": "Basel", "unit": "K"}, "unit: Input should be 'C' or 'F'"),
        ({"city": "Basel", "town": "x"}, "town: Extra inputs are not permitted"),
        ({"city": ["Basel"]}, "city: Input should be a valid string"),
    ],
)
async def test_bad_arguments_are_answered_with_what_is_wrong_and_what_is_known(
    agent_with: MakeAgent, arguments: dict[str, object], problem: str
) -> None:
    (call,) = (await answers(agent_with, [weather], Call("weather", arguments))).calls
    assert (call.state, call.result.error_type) == ("failed", "validation")
    assert problem in call.result.content
    assert "Its arguments are: city, days, unit." in call.result.content


@pytest.mark.parametrize(
    ("city", "words"), [("Atlantis", "Atlantis is under water."), ("", "weather failed: ZeroDivisionError: no city")]
)
async def test_a_tool_that_fails_is_read_by_the_model_and_the_turn_goes_on(
    agent_with: MakeAgent, city: str, words: str
) -> None:
    result = await answers(agent_with, [weather], Call("weather", {"city": city}))
    assert result.is_completed
    assert words in result.calls[0].result.content


async def test_a_function_that_is_not_declared_to_only_read_is_asked_about(agent_with: MakeAgent) -> None:
    posted: list[str] = []

    async def post(text: str) -> None:
        """Post a text."""
        posted.append(text)

    call = Call("post", {"text": "hello"})
    denied = await answers(agent_with, [post], call)
    assert (denied.calls[0].state, posted) == ("failed", [])

    asked: list[str] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request.tool)
        return True

    allowed = await answers(agent_with, [post], call, approve=approve)
    assert (allowed.calls[0].result.content, posted, asked) == ("Done.", ["hello"], ["post"])


def test_the_model_is_told_the_annotations() -> None:
    definition = weather.definition()
    assert definition.description == "Tell the weather of a city."
    assert definition.input_schema["properties"] == {
        "city": {"type": "string"},
        "days": {"default": 1, "description": "How many.", "maximum": 7, "minimum": 1, "type": "integer"},
        "unit": {"default": "C", "enum": ["C", "F"], "type": "string"},
    }
    assert definition.input_schema["required"] == ["city"]


def bare(text: str) -> None:
    """Do it."""


del bare.__annotations__["text"]


def many(*texts: str) -> None:
    """Do it."""


def hidden(model_dump: str) -> None:
    """Do it."""


def silent(text: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (bare, "argument 'text' of the tool 'do' needs an annotation"),
        (many, r"cannot take \*texts"),
        (hidden, "'model_dump' of the tool 'do' needs another name"),
        (silent, "needs a docstring"),
    ],
)
def test_a_function_that_a_model_cannot_call_is_refused_at_once(function: Callable[..., object], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        FunctionTool(function, name="do", description=function.__doc__ or "")


async def test_two_tools_of_one_name_are_refused_before_anything_is_opened(agent_with: MakeAgent) -> None:
    with pytest.raises(UsageError, match="two tools named 'grep'"):
        agent_with(tools=[FunctionTool(weather.function, name="grep")])


def test_a_tool_is_still_the_function_that_it_was() -> None:
    assert weather(city="Basel", days=3) == {"city": "Basel", "days": 3, "unit": "C", "is_main": True}
