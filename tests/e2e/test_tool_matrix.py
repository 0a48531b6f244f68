"""Every tool by every parameter and every documented error: what it answers, and what it does to files.

The rows are in `matrix/`. Each is run the way of every call: alone as by `tools call`, or in a session whose person
says yes, where that is what it takes. A call that fails leaves every file as it was, to the inode.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from desktop_agent.cli import main
from desktop_agent.core import events as ev
from desktop_agent.core import ops
from desktop_agent.core.errors import ToolError
from desktop_agent.core.model import Allowed, JsonObject, ModelRequest, Rule, RuleKind, ToolResult
from desktop_agent.core.paths import AppPaths
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.sandbox.find import SandboxSearch
from desktop_agent.core.store.rules_file import RULES_NAME, RulesFile
from desktop_agent.core.tools.confiner import SandboxProbe
from desktop_agent.core.tools.spec import AnyTool
from desktop_agent.headless.single_call import CallOptions, SingleCall
from tests.barrier import BrokenTool
from tests.e2e.matrix import editing, patching, reading, running
from tests.e2e.matrix.row import Row, build, files, tree
from tests.e2e.matrix.web import PAGES, web_tools
from tests.harness import BUILTIN_TOOLS, Ground
from tests.servers.web_server import WebServer

ROWS = (*reading.ROWS, *editing.ROWS, *patching.ROWS, *running.ROWS)

DOCUMENTED: Mapping[str, tuple[str, ...]] = {
    "read_file": ("T-14 missing file", "T-14 directory", "T-15 missing path", "Z-90 outside"),
    "list_files": ("Z-90 outside",),
    "grep": ("T-30 missing pattern", "a pattern that is none", "Z-90 outside"),
    "glob_file_search": ("Z-90 outside",),
    "codebase_search": ("Z-90 outside",),
    "view_image": ("Z-90 outside",),
    "edit_file": (
        "T-38 identical", "T-40 absent", "T-40 missing file", "Z-86 ambiguous", "Z-86 whole file", "Z-90 outside",
    ),
    "apply_patch": (
        "T-74 empty", "T-77 other path", "T-77 rename", "T-78 binary", "T-79 missing file", "T-81 mismatch",
        "Z-77 add over a file", "Z-87 same name", "Z-90 outside",
    ),
    "line_edit": (
        "T-63 neither", "T-63 both", "T-63 no text", "T-63 empty text", "T-63 text to delete", "T-63 mode",
        "T-64 missing file", "T-64 no regular file", "Z-90 outside",
    ),
    "template_block": ("T-69 expected_block", "T-70 anchor", "T-70 expected_block", "Z-90 outside"),
    "create_file": ("T-46 if_exists", "T-48 parent", "T-49 exists", "Z-90 outside"),
    "delete_file": ("T-53 directory", "Z-90 outside"),
    "rename_file": ("T-57 identical", "T-58 missing source", "T-58 directory", "Z-90 outside"),
    "run_terminal_cmd": (
        "T-85 dangerous", "T-86 blank", "T-86 stdin in the background", "T-88 interactive", "T-90 exit code",
        "T-91 timeout", "Z-47 timeout 0", "Z-90 outside",
    ),
    "job_control": ("Z-47 job",),
    "todo_write": ("T-97 status",),
    "request_approval": ("T-109 nobody to ask",),
    "web_search": ("nobody to ask",),
    "web_fetch": ("nobody to ask",),
}  # fmt: skip
"""The errors that each tool must show, by the requirement or the trap that names them."""


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
    """Return `arguments` with their placeholders replaced."""
    text = json.dumps(arguments)
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    return cast("JsonObject", json.loads(text))


async def by_itself(row: Row, ground: Ground, web: WebServer) -> tuple[ToolResult, int]:
    """Run the row as `tools call` does; return its result and exit code."""
    options = CallOptions(
        tool=row.tool,
        arguments=filled(row.arguments, web=web.url),
        workspace=ground.workspace,
        approval="on_request",
    )
    report = await SingleCall(ground.paths, ground.settings, options, tools=ground.tools()).run()
    return report.result, report.exit_code


async def with_person(row: Row, ground: Ground, web: WebServer) -> ToolResult:
    """Run the row, after the calls that come before it, in a session whose person says yes to everything."""
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
        return session.rx.all(ev.ToolCallFinished)[-1].result


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.label)
async def test_a_call_answers_and_changes_what_its_row_says(row: Row, ground: Ground, web: WebServer) -> None:
    await check(row, ground, web)


@pytest.mark.parametrize("row", [row for row in running.COMMANDS if row.is_asked], ids=lambda row: row.label)
async def test_a_command_does_the_same_where_nothing_can_confine_it(row: Row, ground: Ground, web: WebServer) -> None:
    ground.probe = SandboxProbe({}, lambda _: SandboxSearch(sandbox=None, reports=()))
    await check(row, ground, web)


async def check(row: Row, ground: Ground, web: WebServer) -> None:
    """Run the row, and compare the answer and every file with what it says."""
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
    """V-01, V-02, V-06, T-08: every parameter out of its bounds, of another type, missing or unknown, of every tool."""
    before = tree(ground.workspace)
    wrong = [(tool.name, name, arguments) for tool in ground.tools() for name, arguments in misused(tool)]
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


def parameters(tool: AnyTool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every parameter of a tool, with its part of the schema; those of items as `todos[].id`."""
    schema = tool.definition().input_schema
    yield from _members("", schema, cast("Mapping[str, Any]", schema.get("$defs", {})))


def _members(
    prefix: str, schema: Mapping[str, Any], named: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, member in schema.get("properties", {}).items():
        yield prefix + name, member
        items = member.get("items", {})
        yield from _members(f"{prefix}{name}[].", named.get(items.get("$ref", "").rpartition("/")[2], items), named)


def values(arguments: Mapping[str, Any], path: str) -> list[Any]:
    """Return the values that `arguments` have at `path`."""
    name, _, rest = path.partition("[].")
    if name not in arguments:
        return []
    return [value for item in arguments[name] for value in values(item, rest)] if rest else [arguments[name]]


def misused(tool: AnyTool) -> Iterator[tuple[str, JsonObject]]:
    """Yield arguments that each break one rule of the tool's schema, with the parameter that is wrong."""
    good = next(row.arguments for row in ROWS if row.tool == tool.name and not row.error)
    schema = cast("Mapping[str, Any]", tool.definition().input_schema)
    yield "colour", {**good, "colour": "red"}
    for name in schema.get("required", ()):
        yield name, {key: value for key, value in good.items() if key != name}
    for name, member in schema["properties"].items():
        for value in _not_allowed(member):
            yield name, {**good, name: value}


def _not_allowed(member: Mapping[str, Any]) -> Iterator[object]:
    yield {"string": 5, "array": "x", "object": "x"}.get(member["type"], "many")
    if "minimum" in member:
        yield member["minimum"] - 1
    if "exclusiveMinimum" in member:
        yield member["exclusiveMinimum"]
    if "maximum" in member:
        yield member["maximum"] + 1
    if "minLength" in member:
        yield ""
    if "maxLength" in member:
        yield "x" * (member["maxLength"] + 1)
    if "enum" in member:
        yield "something else"


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


# --- the command --------------------------------------------------------------------------------------------------

AT_THE_CONSOLE: Mapping[str, tuple[int, str]] = {
    "request_approval": (3, "did not get one"),
    "web_search": (1, "not every engine answered"),
    "web_fetch": (1, "not on the public internet"),
}
"""Calls that cannot succeed without a person or without the internet: their exit codes, and what they say."""


@pytest.mark.parametrize("tool", BUILTIN_TOOLS, ids=lambda tool: tool.name)
def test_the_command_calls_every_tool(
    tool: AnyTool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-01, T-109, T-110"""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # nobody listens there: the engines cannot be reached
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


async def test_a_call_that_ends_fatally_does_not_look_like_success(ground: Ground) -> None:
    """Z-28"""
    broken = BrokenTool(ToolError("The world is on fire.", error_type="fatal"))
    options = CallOptions(tool=broken.name, arguments={"name": "x"}, workspace=ground.workspace)
    report = await SingleCall(ground.paths, ground.settings, options, tools=(broken,)).run()
    assert (report.exit_code, report.as_json()["status"]) == (1, "failed")


@pytest.mark.parametrize("name", ["destroy_all_data", "read_fil"])
async def test_an_unknown_tool_has_one_answer_wherever_it_is_called(
    name: str, ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    """Z-06"""
    async with ground.session([[Call(name, {})], [Say("I see.")]]) as session:
        await session.prompt()
        [told] = session.results()
    assert await asyncio.to_thread(main, ["tools", "call", name, "{}", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["content"] == told.content


def allowing(kind: RuleKind, pattern: str, *, is_unconfined: bool = False) -> Rule:
    """Return a rule of the person that lets such calls run."""
    now = datetime(2026, 11, 22, tzinfo=UTC)
    return Rule(
        id=f"r-{kind}", effect="allow", kind=kind, pattern=pattern, scope="always", created_at=now,
        is_unconfined=is_unconfined,
    )  # fmt: skip
