"""`run --output-schema`: the final answer fits the schema, or the run fails."""

import json
from pathlib import Path

import pytest

from tests.e2e.run.agent import Agent, prompts_in
from tests.servers.script import reply, text
from tests.servers.threaded import serve

SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA), encoding="utf-8")
    return path


@pytest.mark.parametrize("answer", ['{"count": 3}', '```json\n{"count": 3}\n```'])
def test_a_valid_answer_is_in_the_result(agent: Agent, workspace: Path, schema: Path, answer: str) -> None:
    with serve(reply(text(answer))) as server:
        ran = agent.run(workspace, server.url, "--output-schema", str(schema))
        assert json.dumps(SCHEMA) in str(server.messages[0].fields["system"])
    assert (ran.code, ran.json["output"]) == (0, {"count": 3})


def test_the_model_is_asked_again_for_what_is_wrong(agent: Agent, workspace: Path, schema: Path) -> None:
    with serve(reply(text("There are 3.")), reply(text('{"count": "3"}')), reply(text('{"count": 3}'))) as server:
        ran = agent.run(workspace, server.url, "--output-schema", str(schema))
        corrections = prompts_in(server.messages[-1])[1:]
    assert (ran.code, ran.json["output"]) == (0, {"count": 3})
    assert corrections[0].startswith("Your last message is not valid: it is no JSON value")
    assert corrections[1].startswith("Your last message is not valid: count: '3' is not of type 'integer'")


def test_an_answer_that_stays_invalid_ends_with_one(agent: Agent, workspace: Path, schema: Path) -> None:
    with serve(*[reply(text('{"count": NaN}'))] * 4) as server:
        ran = agent.run(workspace, server.url, "--output-schema", str(schema))
        assert len(server.messages) == 3
    assert (ran.code, ran.json["stopped_reason"]) == (1, "invalid_output")
    assert "output" not in ran.json
    assert "The final answer is not what --output-schema asks for: it is no JSON value" in ran.err


def test_a_run_that_fails_otherwise_says_that(agent: Agent, workspace: Path, schema: Path) -> None:
    ran = agent.answered(workspace, [], "--output-schema", str(schema), "--max-time", "0.2")
    assert ran.json["stopped_reason"] in ("provider_error", "limit")


@pytest.mark.parametrize("content", ["", "[]", '{"type": 3}', '{"type": "obj'])
def test_a_schema_that_is_none_is_refused_before_anything_runs(
    agent: Agent, workspace: Path, schema: Path, content: str
) -> None:
    schema.write_text(content, encoding="utf-8")
    with serve(reply(text("{}"))) as server:
        ran = agent.run(workspace, server.url, "--output-schema", str(schema))
        assert server.messages == []
    assert ran.code == 2
    assert "schema" in ran.json["error"]["title"]
