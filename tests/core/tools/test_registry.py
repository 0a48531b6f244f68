import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.tools.access import ToolRegistry
from desktop_agent.core.tools.builtin import AnyTool, builtin_tools
from desktop_agent.core.tools.builtin.grep import Grep
from desktop_agent.core.tools.builtin.read_file import ReadFile
from desktop_agent.core.tools.builtin.run_terminal_cmd import RunTerminalCmd
from tests.harness import BUILTIN_TOOLS
from tool_schemas import FILE, tool_schemas

NAMES = [
    "read_file", "list_files", "grep", "glob_file_search", "codebase_search", "view_image", "edit_file", "apply_patch",
    "line_edit", "template_block", "create_file", "delete_file", "rename_file", "run_terminal_cmd", "job_control",
    "todo_write", "request_approval", "web_search", "web_fetch",
]  # fmt: skip


def command_tool(longest_command_s: Callable[[], float | None] = lambda: None) -> AnyTool:
    tools = builtin_tools(Path("cache"), longest_command_s=longest_command_s)
    return ToolRegistry(tools).require("run_terminal_cmd")


def test_the_written_schemas_are_current() -> None:
    assert FILE.read_text(encoding="utf-8") == tool_schemas(), "run `python packaging/tools/tool_schemas.py`"


def test_order_is_kept_and_tools_are_found_by_name() -> None:
    """R-06, Z-07: exactly these names, in this order."""
    registry = ToolRegistry(BUILTIN_TOOLS)
    assert [tool.name for tool in registry] == NAMES
    assert [tool.definition().name for tool in registry] == NAMES
    assert registry.require("grep").name == "grep"
    with pytest.raises(ToolError):
        registry.require("destroy_all_data")


def test_two_tools_of_one_name_are_refused() -> None:  # Z-67
    with pytest.raises(ValueError, match="two tools named 'grep'"):
        ToolRegistry([Grep(), ReadFile(), Grep()])


def test_a_name_that_no_provider_takes_is_refused() -> None:  # Z-58
    grep = Grep()
    grep.name = "server/grep"
    with pytest.raises(ValueError, match="not a tool name"):
        ToolRegistry([grep])


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("readfile", "read_file"),
        ("read_fil", "read_file"),
        ("list_file", "list_files"),
        ("run_terminal", "run_terminal_cmd"),
        ("read", "read_file"),
        ("list", "list_files"),
        ("terminal_cmd", "run_terminal_cmd"),
    ],
)
def test_a_wrong_name_has_a_suggestion(name: str, best: str) -> None:
    with pytest.raises(ToolError, match=f"Did you mean '{best}'"):
        ToolRegistry(BUILTIN_TOOLS).require(name)


@pytest.mark.parametrize("name", ["qqqq", "bogus", "nope", "a", "serve", "x_y"])
def test_a_name_like_no_other_is_answered_with_all_names(name: str) -> None:
    with pytest.raises(ToolError) as unknown:
        ToolRegistry(BUILTIN_TOOLS).require(name)
    assert unknown.value.error_type == "not_found"
    assert "Did you mean" not in str(unknown.value)
    assert ", ".join(NAMES) in str(unknown.value)


TITLES: list[tuple[str, JsonObject, str]] = [
    ("read_file", {"path": "src/a.txt"}, "src/a.txt"),
    ("list_files", {}, "."),
    ("list_files", {"path": "src", "glob": "*.py"}, "*.py in src"),
    ("grep", {"pattern": "x+"}, "x+"),
    ("grep", {"pattern": "x+", "path": "src"}, "x+ in src"),
    ("glob_file_search", {"glob_pattern": "*.py"}, "*.py"),
    ("glob_file_search", {"glob_pattern": "*.py", "target_directory": "src"}, "*.py in src"),
    ("codebase_search", {"query": "AgentRunner"}, "AgentRunner"),
    ("codebase_search", {"query": "AgentRunner", "target_directory": "src"}, "AgentRunner in src"),
    ("apply_patch", {"patch": "*** Add File: a\n*** Delete File: b\n"}, "a, b"),
    ("apply_patch", {"patch": "".join(f"*** Delete File: {name}\n" for name in "abcde")}, "a, b, c and 2 more"),
    ("apply_patch", {"patch": "-a\n+b", "file_path": "x"}, "x"),
    ("apply_patch", {"patch": "nonsense", "file_path": "x"}, "x"),
    ("apply_patch", {"patch": "nonsense"}, "apply_patch"),
    ("job_control", {"action": "list"}, "list jobs"),
    ("job_control", {"action": "stop", "job_id": "job-1"}, "stop job-1"),
    ("todo_write", {"todos": [{"id": "a", "content": "x"}]}, "1 item"),
    ("todo_write", {"todos": [{"id": "a"}, {"id": "b"}], "merge": True}, "update 2 items"),
]


@pytest.mark.parametrize(("name", "arguments", "title"), TITLES)
def test_a_call_is_named_by_what_it_is_about(name: str, arguments: JsonObject, title: str) -> None:
    tool: Any = next(tool for tool in BUILTIN_TOOLS if tool.name == name)
    assert tool.title(tool.parse(arguments)) == title


@pytest.mark.parametrize("tool", BUILTIN_TOOLS, ids=lambda tool: tool.name)
def test_schemas_are_plain_and_closed(tool: ReadFile) -> None:
    definition = tool.definition()
    text = json.dumps(definition.input_schema)
    assert definition.input_schema["type"] == "object"
    assert definition.input_schema["additionalProperties"] is False
    assert '"title"' not in text
    assert '"null"' not in text
    assert "anyOf" not in text
    assert definition.description
    properties = cast("dict[str, dict[str, object]]", definition.input_schema["properties"])
    assert all("description" in schema for schema in properties.values())


def test_the_command_time_limit_is_in_the_description() -> None:
    """Z-16: two minutes unless the settings or the call say otherwise."""
    command = command_tool()
    assert "120 s" in command.description
    assert "30 s" in RunTerminalCmd(30).description
    limited = command_tool(longest_command_s=lambda: 60)
    assert limited.description == command.description, "what is cached behind it stays valid when the limit changes"


def test_only_tools_that_change_nothing_and_do_not_build_on_each_other_run_side_by_side() -> None:
    """C-02, R-10, Z-14: each tool declares it; capabilities do not decide."""
    parallel = {tool.name for tool in BUILTIN_TOOLS if tool.is_parallel}
    assert parallel == {*NAMES[:6], "request_approval"}


def test_capabilities_are_those_that_the_policy_asks_about() -> None:  # T-02
    capabilities = {tool.name: tool.capabilities for tool in BUILTIN_TOOLS}
    assert set(map(capabilities.get, NAMES[:6])) == {("read_fs",)}
    assert all(tool.is_read_only for tool in BUILTIN_TOOLS[:6])
    assert set(map(capabilities.get, NAMES[6:13])) == {("write_fs",)}
    assert capabilities["run_terminal_cmd"] == ("exec_shell",)
    assert set(map(capabilities.get, NAMES[14:17])) == {()}
    assert set(map(capabilities.get, NAMES[17:])) == {("network",)}
