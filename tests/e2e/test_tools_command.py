import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.base.paths import AppPaths
from tests.command_line import main
from tests.core.mcp.conftest import PROGRAM
from tests.full_disk import FullDisk
from tests.harness import BUILTIN_TOOLS


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    return folder


class Agent:
    def __init__(self, capsys: pytest.CaptureFixture[str], workspace: Path) -> None:
        self._capsys = capsys
        self._workspace = str(workspace)

    def call(self, name: str, arguments: object, *more: str) -> tuple[int, dict[str, Any]]:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        code = main(["tools", "call", name, text, "--workspace", self._workspace, "--json", *more])
        return code, json.loads(self._capsys.readouterr().out)

    def command(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        code = main([*arguments, "--json"])
        return code, json.loads(self._capsys.readouterr().out)


@pytest.fixture
def agent(capsys: pytest.CaptureFixture[str], workspace: Path) -> Agent:
    return Agent(capsys, workspace)


def test_a_command_loads_the_libraries_that_it_would_load_without_us(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/mine")
    code, document = agent.call("run_terminal_cmd", {"command": "env"}, "--approval", "never")
    output = json.loads(document["content"])["output"]
    told = [line for line in output.splitlines() if line.startswith(("LD_", "_PYI_"))]
    assert (code, told) == (0, ["LD_LIBRARY_PATH=/mine"])


@pytest.mark.parametrize(
    ("name", "arguments", "rule"),
    [
        ("create_file", {"path": "new.txt", "content": "x\n"}, ""),
        ("create_file", {"path": ".env", "content": "x\n"}, "kind = 'edit'\npattern = '.env'"),
        ("read_file", {"path": "id_rsa"}, "kind = 'edit'\npattern = 'id_rsa'"),
        ("run_terminal_cmd", {"command": "touch made", "explanation": "Make a file"}, ""),
    ],
)
def test_what_a_refused_call_is_advised_makes_it_possible(
    agent: Agent, workspace: Path, name: str, arguments: dict[str, str], rule: str
) -> None:
    (workspace / "id_rsa").write_text("none\n")
    code, document = agent.call(name, arguments, "--approval", "on_write", "--sandbox", "none")
    assert code == 3
    assert "--approval-command" not in document["content"]
    if rule:
        assert (
            f"A rule in rules.toml can allow it: {rule.replace(' = ', ' ').replace(chr(10), ', ')}."
            in document["content"]
        )
        text = f"[[rule]]\nid = 'mine'\neffect = 'allow'\nscope = 'always'\n{rule}\n"
        config = AppPaths.from_environment().config
        config.mkdir(parents=True, exist_ok=True)
        (config / "rules.toml").write_text(text)
        assert agent.call(name, arguments, "--approval", "on_write")[0] == 0
    elif name == "create_file":
        assert "With the approval policy on_request" in document["content"]
        assert agent.call(name, arguments, "--approval", "on_request")[0] == 0
    else:
        assert "ask for it in a conversation" in document["content"]


def test_the_list_names_every_tool_once_in_the_order_of_the_registry(agent: Agent) -> None:  # SC-00a, SC-10, R-12
    _, document = agent.command("tools", "list")
    tools = document["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in BUILTIN_TOOLS]
    keys = {"name", "description", "input_schema", "capabilities", "read_only", "source", "available"}
    assert all(set(tool) == keys and tool["available"] for tool in tools)


def test_a_change_is_made_on_record_and_can_be_undone(agent: Agent, workspace: Path) -> None:
    edit = {"path": "a.txt", "old_str": "two", "new_str": "2"}
    code, document = agent.call("edit_file", edit, "--approval", "on_request")
    assert (code, document["status"]) == (0, "completed")
    assert (workspace / "a.txt").read_bytes() == b"one\r\n2\r\n"
    [change] = document["changes"]
    assert (change["path"], change["kind"], change["added"], change["removed"]) == ("a.txt", "modified", 1, 1)
    code, _ = agent.command("changes", "undo", str(document["session_id"]))
    assert (code, (workspace / "a.txt").read_bytes()) == (0, b"one\r\ntwo\r\n")


def test_a_call_that_would_have_to_ask_is_not_run(agent: Agent, workspace: Path) -> None:
    edit = {"path": "a.txt", "old_str": "two", "new_str": "2"}
    code, document = agent.call("edit_file", edit, "--approval", "on_write")
    assert (code, document["status"], document["error_type"]) == (3, "failed", "permission")
    assert (workspace / "a.txt").read_bytes() == b"one\r\ntwo\r\n"


@pytest.mark.parametrize("depth", [3_000, 300_000])
def test_arguments_that_are_nested_too_deeply_are_bad_usage(
    agent: Agent, capsys: pytest.CaptureFixture[str], depth: int
) -> None:
    code, document = agent.call("read_file", '{"path": ' + "[" * depth + "]" * depth + "}")
    assert (code, "nested" in document["error"]["title"] or "JSON" in document["error"]["title"]) == (2, True)
    assert capsys.readouterr().err.count("error: ") <= 1


@pytest.mark.parametrize("text", ['{"path": NaN}', '{"path": "\\ud800"}', "[1]", "{", ""])
def test_arguments_that_a_model_could_not_give_are_bad_usage(agent: Agent, text: str) -> None:
    code, document = agent.call("read_file", text)
    assert (code, document["error"]["title"].startswith("The arguments")) == (2, True)


def test_a_call_by_hand_is_no_conversation_to_go_on_with(agent: Agent, workspace: Path, tmp_path: Path) -> None:
    """The call keeps its record for showing and undoing; `sessions list --all` lists it."""
    edit = {"path": "a.txt", "old_str": "two", "new_str": "2"}
    _, document = agent.call("edit_file", edit, "--approval", "on_request")
    assert agent.command("sessions", "list")[1] == {"sessions": []}
    [listed] = agent.command("sessions", "list", "--all")[1]["sessions"]
    assert (listed["id"], listed["purpose"]) == (document["session_id"], "call")
    prompt = ("run", "--prompt", "go on", "--provider", "demo", "--workspace", str(workspace))
    code, refused = agent.command(*prompt, "--continue")
    assert (code, refused["error"]["title"]) == (2, f"There is no session to continue in {workspace}.")
    code, resumed = agent.command(*prompt, "--resume", str(document["session_id"]))
    assert code == 0
    [listed] = agent.command("sessions", "list")[1]["sessions"]
    assert listed["id"] == resumed["session_id"] == document["session_id"]


def test_a_failure_is_told_with_its_kind(agent: Agent) -> None:  # SC-04
    code, document = agent.call("read_file", {"path": "missing.txt"})
    assert (code, document["status"], document["error_type"]) == (1, "failed", "not_found")


@pytest.mark.parametrize(
    ("name", "arguments", "error_type", "says"),
    [
        ("grep", {}, "validation", "pattern"),  # SC-02
        ("read_file", {"path": "a.txt", "colour": 1}, "validation", "colour"),
        ("destroy_all_data", {}, "not_found", "destroy_all_data"),  # SC-11
        ("read_fil", {}, "not_found", "Did you mean 'read_file'"),
    ],
)
def test_what_cannot_be_called_says_what_would_be_right(
    agent: Agent, name: str, arguments: dict[str, object], error_type: str, says: str
) -> None:
    code, document = agent.call(name, arguments)
    assert (code, document["status"], document["error_type"]) == (2, "failed", error_type)
    assert says in str(document["content"])
    assert document["session_id"] is None


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "\x00"])
def test_arguments_that_are_no_object_are_refused(agent: Agent, text: str) -> None:
    code, document = agent.call("read_file", text)
    assert code == 2
    assert "arguments" in json.dumps(document["error"])


def test_in_the_strict_sandbox_what_writes_is_not_available(agent: Agent, workspace: Path) -> None:
    code, document = agent.call("create_file", {"path": "new.txt"}, "--sandbox", "strict", "--approval", "on_request")
    assert (code, document["error_type"]) == (1, "permission")
    assert not (workspace / "new.txt").exists()


def test_a_full_disk_is_named_and_leaves_no_session(
    capsys: pytest.CaptureFixture[str], workspace: Path, isolated_home: Path, full_disk: FullDisk
) -> None:
    full_disk.fill()
    for name, arguments in (("create_file", '{"path": "b.txt", "content": "b"}'), ("read_file", '{"path": "a.txt"}')):
        code = main(["tools", "call", name, arguments, "--workspace", str(workspace), "--approval", "on_request"])
        assert code == 1
        assert "The disk is full" in capsys.readouterr().err
    assert not list((isolated_home / "desktop-agent" / "data" / "sessions").iterdir())
    assert not (workspace / "b.txt").exists()
    full_disk.make_room()
    assert main(["sessions", "verify"]) == 0
    assert main(["tools", "call", "read_file", '{"path": "a.txt"}', "--workspace", str(workspace)]) == 0


def test_a_call_is_no_paid_request_of_a_vendor(agent: Agent) -> None:
    agent.call("read_file", {"path": "a.txt"})

    _, document = agent.command("costs")

    assert [(one["provider"], one["usage"]["cost_usd"]) for one in document["costs"]] == [("demo", 0)]


def test_a_tool_of_a_server_is_named_called_and_asked_about_like_in_a_conversation(
    agent: Agent, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, words in (("mine", [sys.executable, "-S", str(PROGRAM)]), ("off", ["nothing"])):
        assert main(["mcp", "add", name, "--", *words]) == 0
    capsys.readouterr()
    agent.command("mcp", "disable", "off")
    assert agent.command("tools", "list")[1]["servers"] == ["mine"]
    code, document = agent.call("mine__echo", {"text": "hello"})
    assert (code, document["error_type"]) == (3, "permission")
    advice = document["content"]
    assert "kind 'tool', pattern 'mine__echo'" in advice
    config = AppPaths.from_environment().config
    rule = "[[rule]]\nid = 'mine'\neffect = 'allow'\nscope = 'always'\nkind = 'tool'\npattern = 'mine__echo'\n"
    (config / "rules.toml").write_text(rule)
    (accept,) = re.findall("`desktop-agent (.*?)`", advice)
    assert agent.command(*accept.split(), "--workspace", str(workspace))[0] in (0, None)
    code, document = agent.call("mine__echo", {"text": "hello"})
    assert (code, document["status"], "hello" in document["content"]) == (0, "completed", True)
    code, document = agent.call("mine__nothing", {})
    assert (code, document["error_type"]) == (2, "not_found")
    assert "`desktop-agent mcp test mine`" in document["content"]
    assert agent.call("other__echo", {})[0] == 2
