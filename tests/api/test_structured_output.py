"""Answers as values of a type or a JSON Schema, with another request when they do not fit."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import Struct
from pydantic import BaseModel, Field

from desktop_agent import (
    Agent,
    Call,
    InvalidOutputError,
    RunFailedError,
    Say,
    ScriptedProvider,
    StructuredResult,
    TurnLimits,
    UsageError,
    in_order,
)
from tests.api.conftest import EDIT, MakeAgent


class Finding(Struct, frozen=True):
    file: str
    severity: Literal["low", "high"] = "low"


@dataclasses.dataclass(frozen=True)
class Count:
    lines: int


class Report(BaseModel):
    lines: int = Field(ge=0)


SCHEMA = {"type": "object", "properties": {"lines": {"type": "integer"}}, "required": ["lines"]}


@pytest.mark.parametrize(
    ("wanted", "answer", "value"),
    [
        (Finding, '{"file": "poem.txt", "severity": "high"}', Finding("poem.txt", "high")),
        (list[Finding], '```json\n[{"file": "a"}]\n```', [Finding("a")]),
        (Count, '{"lines": 12}', Count(12)),
        (Report, '{"lines": 12}', Report(lines=12)),
        (int, "12", 12),
        (SCHEMA, '{"lines": 12, "more": null}', {"lines": 12, "more": None}),
    ],
    ids=["a struct", "a list of structs", "a dataclass", "a model", "a number", "a schema"],
)
async def test_the_answer_is_a_value_of_what_was_asked_for(
    agent_with: MakeAgent, wanted: Any, answer: str, value: object
) -> None:
    async with agent_with([Say(answer)]) as agent:
        result = await agent.run("Look at it.", output=wanted)
    assert (result.output, result.text, result.turn) == (value, answer, 1)


async def test_a_wrong_answer_is_asked_for_again_and_all_of_it_is_in_the_result(poem: Path, tmp_path: Path) -> None:
    replies: list[list[Say | Call]] = [[EDIT], [Say("Twelve lines.")], [Say('{"lines": -1}')], [Say('{"lines": 12}')]]
    provider = ScriptedProvider(in_order(replies))
    async with Agent(poem.parent, provider=provider, approval="on_request", home=tmp_path / "home") as agent:
        result: StructuredResult[Report] = await agent.run("Count.", output=Report)
    assert (result.output, result.text, result.turn, result.requests) == (Report(lines=12), '{"lines": 12}', 3, 4)
    assert (result.edited_files, len(result.calls)) == (("poem.txt",), 1)
    assert result.usage.input_tokens > 0
    assert '"minimum": 0' in str(provider.requests[0])


async def test_an_answer_that_stays_wrong_is_an_error_that_says_what_is_wrong(agent_with: MakeAgent) -> None:
    wrong = [Say('{"file": 3}')]
    async with agent_with(wrong, wrong, wrong, [Say("Still here.")]) as agent:
        with pytest.raises(
            InvalidOutputError, match=r"not what was asked for: file: 3 is not of type 'string'\. Ask"
        ) as e:
            await agent.run("Look.", output=Finding)
        assert isinstance(e.value, RunFailedError)
        assert (e.value.result.turn, e.value.result.text) == (3, '{"file": 3}')
        assert (await agent.run("Are you there?")).text == "Still here."


async def test_a_turn_that_does_not_come_to_its_end_has_no_value(agent_with: MakeAgent) -> None:
    look = [Call("list_files", {})]
    async with agent_with(look, look, limits=TurnLimits(max_requests=1)) as agent:
        with pytest.raises(InvalidOutputError, match="the turn ended with max_turns"):
            await agent.run("Look.", output=int)


@pytest.mark.parametrize(("wanted", "error"), [(Agent, TypeError), ({"type": 3}, UsageError)])
async def test_what_cannot_be_asked_for_is_an_error_before_anything_is_sent(
    agent_with: MakeAgent, wanted: Any, error: type[Exception]
) -> None:
    async with agent_with([Say("1")]) as agent:
        with pytest.raises(error):
            await agent.run("Look.", output=wanted)
        assert agent.transcript.turn == 0
