"""Every tool with every parameter and every documented error: its answer, and the changed files.

The rows are in `matrix/`. Each runs alone as by `tools call`, or in a session whose user allows it. A failing call
leaves every file unchanged, to the inode.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from desktop_agent.cli import main
from desktop_agent.core.approvals import RULES_NAME, RulesFile
from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Allowed,
    ChangeSelection,
    JsonObject,
    ModelRequest,
    Rule,
    RuleKind,
    ToolResult,
)
from desktop_agent.core.providers.scripted import Call, Reply, Say, ScriptedProvider, in_order
from desktop_agent.core.sandbox.find import SandboxSearch
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.tools.builtin import AnyTool
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from desktop_agent.headless.runner import HeadlessRun, RunOptions
from desktop_agent.headless.single_call import CallOptions, SingleCall
from tests.barrier import BrokenTool
from tests.e2e.matrix import editing, patching, reading, running
from tests.e2e.matrix.documented import DOCUMENTED, PARAMETERS
from tests.e2e.matrix.row import Row, build, files, tree
from tests.e2e.matrix.schema import misused, parameters, values
from tests.e2e.matrix.web import PAGES, web_tools
from tests.harness import BUILTIN_TOOLS, Ground, Open
from tests.servers.web_server import WebServer

ROWS = (*reading.ROWS, *editing.ROWS, *patching.ROWS, *running.ROWS)

# --- running rows -------------------------------------------------------------------------------------------------


@pytest.fixture
async def web() -> AsyncGenerator[WebServer]:
    async with WebServer(PAGES) as server:
        yield server


@pytest.fixture
def ground(tmp_path: Path, web: WebServer) -> Ground:
    ground = Ground(tmp_path / "ground")
    build(ground.workspace)
    ground.extra_tools = tuple(web_tools(web))
    return ground


def filled(arguments: JsonObject, **known: str) -> JsonObject:
    text = json.dumps(arguments)
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    return cast("JsonObject", json.loads(text))


def usual(tool: AnyTool) -> JsonObject:
    return next(row.arguments for row in ROWS if row.tool == tool.name and row.error is None)


async def by_itself(row: Row, ground: Ground, web: WebServer) -> tuple[ToolResult, int]:
    options = CallOptions(
        tool=row.tool,
        arguments=filled(row.arguments, web=web.url),
        workspace=ground.workspace,
        approval="on_request",
    )
    live = LiveSettings(ground.settings)
    report = await SingleCall(ground.paths, live, options, os.environ, ground.tools()).run()
    return report.result, report.exit_code


async def with_person(row: Row, ground: Ground, web: WebServer) -> ToolResult:
    async with played(row, ground, web) as session:
        return session.rx.all(ev.ToolCallFinished)[-1].result


@asynccontextmanager
async def played(row: Row, ground: Ground, web: WebServer) -> AsyncGenerator[Open]:
    calls = iter([*row.before, (row.tool, row.arguments)])

    def script(_request: ModelRequest) -> Reply:
        if (call := next(calls, None)) is None:
            return [Say("Done.")]
        jobs = [str(event.result.metadata.get("job_id", "")) for event in session.rx.all(ev.ToolCallFinished)]
        return [Call(call[0], filled(call[1], web=web.url, job_id=next(filter(None, jobs), "")))]

    async with ground.session(script, approval="on_request") as session:
        session.submit(ops.SubmitPrompt(text="go"))
        while isinstance(event := await session.rx.expect((ev.ApprovalRequested, ev.TurnEnded)), ev.ApprovalRequested):
            session.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Allowed()))
        yield session


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.label)
async def test_a_call_answers_and_changes_what_its_row_says(row: Row, ground: Ground, web: WebServer) -> None:
    await check(row, ground, web)


@pytest.mark.parametrize("row", [row for row in running.COMMANDS if row.is_asked], ids=lambda row: row.label)
async def test_a_command_does_the_same_where_nothing_can_confine_it(row: Row, ground: Ground, web: WebServer) -> None:
    ground.probe = SandboxProbe({}, lambda _: SandboxSearch(sandbox=None, reports=()))
    await check(row, ground, web)


@pytest.mark.parametrize("row", [row for row in ROWS if row.changes], ids=lambda row: row.label)
async def test_what_a_call_changed_is_on_record_and_can_be_taken_back(row: Row, ground: Ground, web: WebServer) -> None:
    before = tree(ground.workspace)
    async with played(row, ground, web) as session:
        recorded = [change.path for event in session.rx.all(ev.ChangesRecorded) for change in event.changes]
        assert sorted(recorded) == sorted(row.changes)
        undone = await session.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=1)), ev.ChangesUndone)
        assert {outcome.state for outcome in undone.outcomes} == {"restored"}
    after = tree(ground.workspace)
    assert {path: (entry[0], entry[3]) for path, entry in after.items()} == {
        path: (entry[0], entry[3]) for path, entry in before.items()
    }


async def check(row: Row, ground: Ground, web: WebServer) -> None:
    before = tree(ground.workspace)
    if row.is_asked:
        result = await with_person(row, ground, web)
    else:
        result, exit_code = await by_itself(row, ground, web)
        assert exit_code == (row.status if row.error else 0), result.content
    after = tree(ground.workspace)

    assert (result.is_error, result.error_type) == (row.error is not None, row.error), result.content
    assert [piece for piece in row.says if piece not in result.content] == [], result.content
    if isinstance(row.exact, str):
        assert result.content == row.exact
    elif row.exact is not None:
        assert json.loads(result.content) == row.exact
    if row.has:
        answer = json.loads(result.content)
        assert {name: answer.get(name) for name in row.has} == dict(row.has)

    if row.error is not None:
        assert after == before
        return
    expected = {**files(before), **row.changes}
    assert files(after) == {path: content for path, content in expected.items() if content is not None}
    kept = [path for path in files(after) if path in before]
    assert [path for path in kept if after[path][0] != before[path][0]] == [], "modes are kept"
    assert [path for path in kept if path not in row.changes and after[path] != before[path]] == []


async def test_what_a_schema_does_not_allow_is_refused_by_name(ground: Ground) -> None:
    """V-01, V-02, V-06, T-08: each parameter of each tool out of bounds, mistyped, missing or unknown."""
    before = tree(ground.workspace)
    wrong = [(tool.name, name, arguments) for tool in ground.tools() for name, arguments in misused(tool, usual(tool))]
    calls = [Call(tool, arguments) for tool, _, arguments in wrong]
    async with ground.session([calls, [Say("I see.")]]) as session:
        await session.prompt()
        results = [event.result for event in session.rx.all(ev.ToolCallFinished)]
    assert len(results) == len(wrong)
    for (tool, name, arguments), result in zip(wrong, results, strict=True):
        assert (result.is_error, result.error_type) == (True, "validation"), (tool, arguments, result.content)
        assert name in result.content, (tool, arguments, result.content)
        assert f"Invalid arguments for {tool}" in result.content
    assert tree(ground.workspace) == before


# --- what the rows cover ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", BUILTIN_TOOLS, ids=lambda tool: tool.name)
def test_every_parameter_and_every_choice_is_used_by_a_call_that_succeeds(tool: AnyTool) -> None:
    used = [row.arguments for row in ROWS if row.tool == tool.name and row.error is None]
    for path, member in parameters(tool):
        given = [value for arguments in used for value in values(arguments, path)]
        assert [value for value in given if value != member.get("default", ...)], f"{path} is never other than usual"
        assert [choice for choice in member.get("enum", ()) if choice not in given] == [], path


@pytest.mark.parametrize("tool", BUILTIN_TOOLS, ids=lambda tool: tool.name)
def test_every_documented_error_is_shown_by_a_call_that_fails(tool: AnyTool) -> None:
    shown = {row.case for row in ROWS if row.tool == tool.name and row.error is not None}
    assert [case for case in DOCUMENTED[tool.name] if case not in shown] == []


def test_bounds_choices_and_defaults_are_those_that_are_documented() -> None:
    """The schema decides what is refused; this compares the schema with the requirements."""
    schemas = {tool.name: dict(parameters(tool)) for tool in BUILTIN_TOOLS}
    found = {
        tool: {path: {key: schemas[tool][path].get(key) for key in says} for path, says in told.items()}
        for tool, told in PARAMETERS.items()
    }
    assert found == PARAMETERS


# --- the command --------------------------------------------------------------------------------------------------

AT_THE_CONSOLE: Mapping[str, tuple[int, str]] = {
    "request_approval": (3, "did not get one"),
    "web_search": (1, "not every engine answered"),
    "web_fetch": (1, "not on the public internet"),
}
"""Calls that need a user or the internet: their exit codes and messages."""


@pytest.mark.parametrize("tool", BUILTIN_TOOLS, ids=lambda tool: tool.name)
def test_the_command_calls_every_tool(
    tool: AnyTool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # T-01, T-109, T-110
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # no server listens there: the engines cannot be reached
    rules = RulesFile(AppPaths.from_environment().config / RULES_NAME)
    rules.add(allowing("tool", "web_*"), allowing("command", "echo", is_unconfined=True))
    build(tmp_path)
    row = next(row for row in ROWS if row.tool == tool.name and row.error is None and not row.before)
    arguments = json.dumps(filled(row.arguments, web="http://127.0.0.1:9"))
    where = ("--workspace", str(tmp_path), "--approval", "on_request", "--json")
    code = main(["tools", "call", tool.name, arguments, *where])
    document = json.loads(capsys.readouterr().out)
    expected, says = AT_THE_CONSOLE.get(tool.name, (0, ""))
    assert (code, document["status"]) == (expected, "failed" if expected else "completed"), document
    assert says in document["content"]


async def test_a_run_that_ends_fatally_does_not_look_like_success(ground: Ground) -> None:  # Z-28
    ground.extra_tools = (BrokenTool(ToolError("The world is on fire.", error_type="fatal")),)
    bench = ground.bench(ScriptedProvider(in_order([[Call("broken", {"name": "x"})]])))
    result = await HeadlessRun(bench, RunOptions(prompts=("go",), workspace=ground.workspace)).run()
    assert (result.stopped_reason, result.exit_code) == ("fatal_tool_error", 1)


@pytest.mark.parametrize("name", ["destroy_all_data", "read_fil"])
async def test_an_unknown_tool_has_one_answer_wherever_it_is_called(
    name: str, ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:  # Z-06
    async with ground.session([[Call(name, {})], [Say("I see.")]]) as session:
        await session.prompt()
        [told] = session.results()
    assert await asyncio.to_thread(main, ["tools", "call", name, "{}", "--json"]) == 2
    alone = told.content.replace(", task.", ".")  # a sub-agent works for a session
    assert json.loads(capsys.readouterr().out)["content"] == alone


def allowing(kind: RuleKind, pattern: str, *, is_unconfined: bool = False) -> Rule:
    now = datetime(2026, 11, 22, tzinfo=UTC)
    return Rule(
        id=f"r-{kind}", effect="allow", kind=kind, pattern=pattern, scope="always", created_at=now,
        is_unconfined=is_unconfined,
    )  # fmt: skip
