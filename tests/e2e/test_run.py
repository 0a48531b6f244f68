"""`desktop-agent run` against a real model server on loopback: the whole way from the prompt to undo and resume."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.cli import main
from desktop_agent.core.providers.retry import RetryPolicy
from desktop_agent.core.store.lock import SessionLock
from tests.full_disk import FullDisk
from tests.servers import fault
from tests.servers.script import reply, text, thinking, tool_use
from tests.servers.threaded import serve

MAY_READ_ALL = hasattr(os, "geteuid") and os.geteuid() == 0
BEFORE = b"def f():\r\n    return 1\r\n"
AFTER = b"def f():\r\n    return 2\r\n"


@dataclass
class Ran:
    """What a command printed and returned."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "a.py").write_bytes(BEFORE)
    return folder


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")


@pytest.fixture
def agent(capsys: pytest.CaptureFixture[str]) -> "Agent":
    return Agent(capsys)


class Agent:
    """Runs commands in this process: the entry point, the parser and the exit code are the real ones."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Ran:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def run(self, workspace: Path, url: str, *more: str, prompt: str = "make it two") -> Ran:
        return self("run", "--prompt", prompt, "--workspace", workspace, "--base-url", url, "--json", *more)


def edit() -> object:
    return reply(
        thinking("An edit will do.", signature="sig"),
        text("I'll change it."),
        tool_use("read_file", path="a.py"),
        tool_use("edit_file", path="a.py", old_str="    return 1\n", new_str="    return 2\n"),
    )


def script() -> Sequence[Any]:
    return (edit(), reply(text("Done: it returns **2**.")))


def test_a_prompt_edits_a_file_and_tells_what_it_did(agent: Agent, workspace: Path) -> None:
    """S-12: no user is there to ask, and the command line says how far it may go. Z-59: what was read is not edited."""
    with serve(*script()) as server:
        ran = agent.run(workspace, server.url, "--approval", "never")
        assert server.violations == []
        assert [exchange.path for exchange in server.messages] == ["/v1/messages"] * 2
    assert ran.code == 0
    assert (workspace / "a.py").read_bytes() == AFTER
    result = ran.json
    assert result["stopped_reason"] == "completed"
    assert result["turns_used"] == 2
    assert result["edited_files"] == ["a.py"]
    assert result["final_response"] == "I'll change it.\nDone: it returns **2**."
    assert [(tool["tool"], tool["is_error"], tool["paths"]) for tool in result["tools"]] == [
        ("read_file", False, []),
        ("edit_file", False, ["a.py"]),
    ]
    assert "a.py: modified (via edit_file)" in result["turn_summaries"][0]["summary"]


def test_undo_and_redo_restore_the_bytes(agent: Agent, workspace: Path) -> None:
    with serve(*script()) as server:
        session = agent.run(workspace, server.url, "--approval", "never").json["session_id"]
    listed = agent("changes", "list", session, "--json").json["changes"]
    assert [(c["path"], c["kind"], c["author"], c["turn"], c["state"]) for c in listed] == [
        ("a.py", "modified", "agent", 1, "standing")
    ]
    dry = agent("changes", "undo", session, "--dry-run", "--json")
    assert (dry.code, dry.json["outcomes"][0]["state"]) == (0, "restored")
    assert (workspace / "a.py").read_bytes() == AFTER
    assert agent("changes", "undo", session).code == 0
    assert (workspace / "a.py").read_bytes() == BEFORE
    assert agent("changes", "redo", session, "--turn", "1").code == 0
    assert (workspace / "a.py").read_bytes() == AFTER


def cut_an_undo_off(agent: Agent, session: str, workspace: Path, home: Path) -> None:
    """Leave the session as if the process had ended between the intention to undo and the file."""
    agent("changes", "undo", session)
    (journal,) = home.rglob("journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in lines if b'"changes_undone"' not in line))
    (workspace / "a.py").write_bytes(AFTER)


def test_an_undo_after_one_that_was_cut_off_tells_its_own_outcome(
    agent: Agent, workspace: Path, isolated_home: Path
) -> None:
    with serve(*script()) as server:
        session = agent.run(workspace, server.url, "--approval", "never").json["session_id"]
    cut_an_undo_off(agent, session, workspace, isolated_home)
    ran = agent("changes", "undo", session, "--json")
    assert (ran.code, [outcome["state"] for outcome in ran.json["outcomes"]]) == (0, ["restored"])
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_a_run_after_an_undo_that_was_cut_off_takes_its_own_changes_back(
    agent: Agent, workspace: Path, isolated_home: Path
) -> None:
    with serve(*script()) as server:
        session = agent.run(workspace, server.url, "--approval", "never").json["session_id"]
    cut_an_undo_off(agent, session, workspace, isolated_home)
    edit_again = reply(
        tool_use("read_file", path="a.py"),
        tool_use("edit_file", path="a.py", old_str="    return 2\n", new_str="    return 3\n"),
    )
    with serve(edit_again, reply(text("Three."))) as server:
        ran = agent.run(workspace, server.url, "--resume", session, "--approval", "never", "--undo-last-turn")
    assert ran.json["undo_operations"] == ["restored a.py"]
    assert (workspace / "a.py").read_bytes() == AFTER


def test_an_undo_that_meets_an_edit_of_the_person_leaves_it_and_says_so(agent: Agent, workspace: Path) -> None:
    with serve(*script()) as server:
        session = agent.run(workspace, server.url, "--approval", "never").json["session_id"]
    (workspace / "a.py").write_bytes(b"mine\n")
    ran = agent("changes", "undo", session, "--json")
    assert ran.code == 1
    assert ran.json["outcomes"][0]["state"] == "conflict"
    assert (workspace / "a.py").read_bytes() == b"mine\n"


def test_the_patch_of_a_session_applies_with_git(agent: Agent, workspace: Path) -> None:
    with serve(*script()) as server:
        session = agent.run(workspace, server.url, "--approval", "never").json["session_id"]
    diff = [sys.executable, "-m", "desktop_agent", "changes", "diff", session]
    patch = subprocess.run(diff, capture_output=True, check=True).stdout  # noqa: TID251 - bytes, as a shell gets them
    (workspace / "a.py").write_bytes(BEFORE)
    subprocess.run(["git", "apply", "-"], input=patch, cwd=workspace, check=True)  # noqa: TID251 - a real git
    assert (workspace / "a.py").read_bytes() == AFTER


def test_resuming_sends_the_whole_history(agent: Agent, workspace: Path) -> None:
    with serve(*script(), reply(text("Because two is more."))) as server:
        session = agent.run(workspace, server.url, "--approval", "never").json["session_id"]
        ran = agent.run(workspace, server.url, "--resume", session, prompt="Why?")
        assert server.violations == []
        first: Any = server.messages[1].fields
        second: Any = server.messages[2].fields
    assert ran.json["session_id"] == session
    assert ran.json["final_response"] == "Because two is more."
    # What was sent before is sent again, byte for byte but for the cache marks, with the answer and the prompt behind.
    assert _unmarked(second["messages"])[:3] == _unmarked(first["messages"])
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    assert second["messages"][4]["content"][-1]["text"] == "Why?"
    assert second["messages"][1]["content"][0] == {
        "type": "thinking", "thinking": "An edit will do.", "signature": "sig"
    }  # fmt: skip


def test_a_session_that_is_open_elsewhere_is_not_run(agent: Agent, workspace: Path, isolated_home: Path) -> None:
    with serve(*script()) as server:
        session = agent.run(workspace, server.url, "--approval", "never").json["session_id"]
        folder = isolated_home / "desktop-agent" / "data" / "sessions" / session
        before = (folder / "journal.jsonl").read_bytes()
        lock = SessionLock(folder)
        ran = agent.run(workspace, server.url, "--resume", session, prompt="Why?")
        lock.release()
    assert ran.code == 2
    assert "open in another window or process" in ran.err
    assert (folder / "journal.jsonl").read_bytes() == before


def _unmarked(messages: Any) -> Any:
    return json.loads(json.dumps(messages), object_hook=lambda o: {k: v for k, v in o.items() if k != "cache_control"})


def test_continue_goes_on_with_the_last_session_of_the_folder(agent: Agent, workspace: Path) -> None:
    with serve(reply(text("one")), reply(text("two"))) as server:
        first = agent.run(workspace, server.url).json
        second = agent.run(workspace, server.url, "--continue").json
    assert second["session_id"] == first["session_id"]


def test_a_session_can_be_listed_and_shown(agent: Agent, workspace: Path) -> None:
    with serve(*script()) as server:
        session = agent.run(workspace, server.url, "--approval", "never").json["session_id"]
    [listed] = agent("sessions", "list", "--json").json["sessions"]
    assert (listed["id"], listed["title"], listed["turns"]) == (session, "make it two", 1)
    shown = agent("sessions", "show", session[-6:], "--json").json
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant", "user", "assistant"]
    assert shown["events"][0]["type"] == "session_opened"
    human = agent("sessions", "show", session).out
    assert "> make it two" in human
    assert "✓ edit_file a.py" in human


def test_what_needs_an_approval_ends_the_run_with_code_3_and_changes_nothing(agent: Agent, workspace: Path) -> None:
    """S-07, S-08, S-09, S-11, Z-04."""
    with serve(*script()) as server:
        ran = agent.run(workspace, server.url)
        assert len(server.messages) == 1
    assert ran.code == 3
    assert ran.json["stopped_reason"] == "approval_required"
    assert [tool["skipped"] for tool in ran.json["tools"]] == [False, True]
    metadata = ran.json["tools"][1]["metadata"]
    assert (metadata["approval_required"], metadata["approval_granted"]) == (True, False)
    assert (metadata["approval_policy"], metadata["approval_paths"]) == ("on_write", ["a.py"])
    assert "approval policy asks before writing" in metadata["approval_reason"]
    assert metadata["approval_error"].startswith("no user can answer")
    [problem] = ran.json["problems"]
    assert problem.startswith("edit_file a.py needs an approval. This changes files, and your approval policy")
    assert "--approval on_request" in problem
    assert problem in ran.err
    assert (workspace / "a.py").read_bytes() == BEFORE


@pytest.mark.parametrize(("command", "code"), [("/status", 0), ("/statsu", 2), ("/diff", 0)])
def test_a_slash_command_alone_leaves_no_session(
    agent: Agent, workspace: Path, isolated_home: Path, command: str, code: int
) -> None:
    (workspace / "AGENTS.md").write_text("Be short.")
    ran = agent("run", "--prompt", command, "--workspace", workspace, "--json")
    assert ran.code == code
    assert ran.json.get("session_id") is None
    assert list((isolated_home / "desktop-agent" / "data" / "sessions").iterdir()) == []


def test_a_slash_command_in_a_session_leaves_it_there(agent: Agent, workspace: Path) -> None:
    with serve(*script()) as server:
        session = agent.run(workspace, server.url, "--approval", "never").json["session_id"]
    ran = agent("run", "--prompt", "/status", "--continue", "--workspace", workspace, "--json")
    assert (ran.code, ran.json["session_id"]) == (0, session)
    [listed] = agent("sessions", "list", "--json").json["sessions"]
    assert listed["id"] == session


def test_the_calls_of_a_dry_run_are_skipped(agent: Agent, workspace: Path) -> None:
    """H-07."""
    with serve(*script(), *script()) as server:
        ran = agent.run(workspace, server.url, "--dry-run")
        assert [(tool["skipped"], tool["result"]) for tool in ran.json["tools"]] == [
            (True, "dry-run: execution skipped")
        ] * 2
        options = ("--workspace", workspace, "--base-url", server.url, "--dry-run")
        told = agent("run", "--prompt", "make it two", *options)
    assert "- turn 1: edit_file [skipped]\n" in told.out
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_a_run_can_take_its_changes_back(agent: Agent, workspace: Path) -> None:
    """Z-65."""
    with serve(*script()) as server:
        ran = agent.run(workspace, server.url, "--approval", "never", "--undo-last-turn")
    assert ran.json["undo_operations"] == ["restored a.py"]
    assert ran.json["edited_files"] == []
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_the_number_of_requests_is_limited(agent: Agent, workspace: Path) -> None:
    look = reply(tool_use("list_files", path="."))
    with serve(look, look, look) as server:
        ran = agent.run(workspace, server.url, "--max-turns", "2")
    assert (ran.code, ran.json["stopped_reason"], ran.json["turns_used"]) == (4, "max_turns", 2)
    [problem] = ran.json["problems"]
    assert problem.startswith("The run is not done: it has made 2 requests to the model, as many as it may.")
    assert f"--resume {ran.json['session_id']}" in problem
    assert problem in ran.err


def test_a_failed_call_can_end_the_run(agent: Agent, workspace: Path) -> None:
    missing = reply(tool_use("read_file", path="nowhere"))
    with serve(missing, reply(text("never"))) as server:
        ran = agent.run(workspace, server.url, "--exit-on-tool-error")
    assert (ran.code, ran.json["stopped_reason"]) == (1, "tool_error")
    [problem] = ran.json["problems"]
    assert problem.startswith("read_file nowhere failed, which ends the run: nowhere does not exist.")
    assert problem in ran.err


def test_the_logs_get_one_json_line_for_each_call_and_change(agent: Agent, workspace: Path, tmp_path: Path) -> None:
    audit, changes, debug = (tmp_path / "logs" / name for name in ("audit", "changes", "debug"))
    with serve(*script()) as server:
        agent.run(
            workspace, server.url, "--approval", "never", "--audit-log", str(audit), "--changes-log", str(changes),
            "--debug-tool-use", "--tool-debug-log", str(debug),
        )  # fmt: skip
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [line["tool"] for line in lines] == ["read_file", "edit_file"]
    assert [json.loads(line)["path"] for line in changes.read_text().splitlines()] == ["a.py"]
    assert debug.read_text() == audit.read_text()


def test_the_stream_is_one_event_a_line_and_ends_with_the_turn(agent: Agent, workspace: Path) -> None:
    with serve(reply(text("Hello there."))) as server:
        ran = agent("run", "--prompt", "x", "--workspace", workspace, "--base-url", server.url, "--stream")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert events[0]["type"] == "session_opened"
    assert events[-1]["type"] == "turn_ended"
    assert "".join(event["text"] for event in events if event["type"] == "text_delta") == "Hello there."


@pytest.mark.parametrize(
    ("answer", "says", "do"),
    [
        (fault.unauthorized(), "key", "Settings"),
        (fault.not_found("claude-nope"), "model", ""),
    ],
)
def test_what_the_provider_refuses_is_said_in_words_with_the_way_out(
    agent: Agent, workspace: Path, answer: Any, says: str, do: str
) -> None:
    with serve(answer) as server:
        ran = agent.run(workspace, server.url)
        assert len(server.messages) == 1, "it is not tried again"
    assert (ran.code, ran.json["stopped_reason"]) == (1, "provider_error")
    assert says in ran.err
    assert do in ran.err
    assert "sk-ant-test" not in ran.out + ran.err


def test_nobody_listening_is_said_in_words(agent: Agent, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "desktop_agent.composition.foundation.RetryPolicy", lambda: RetryPolicy(max_tries=2, base_s=0.001)
    )
    ran = agent.run(workspace, "http://127.0.0.1:9")
    assert (ran.code, ran.json["stopped_reason"]) == (1, "provider_error")
    assert "could not be reached" in ran.err


def test_a_missing_key_says_where_to_put_one(agent: Agent, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    ran = agent.run(workspace, "http://127.0.0.1:9")
    assert ran.code == 1
    assert "no API key" in ran.err
    assert "auth set anthropic" in ran.err


def test_a_full_disk_is_said_once_and_nothing_is_touched(agent: Agent, workspace: Path, full_disk: FullDisk) -> None:
    full_disk.fill()
    with serve(*script()) as server:
        ran = agent.run(workspace, server.url)
        assert len(server.messages) == 0
    assert (ran.code, ran.json["stopped_reason"]) == (1, "storage_error")
    assert ran.err.count("could not be written") == 1
    assert "Free some disk space" in ran.err
    assert (workspace / "a.py").read_bytes() == BEFORE
    full_disk.make_room()
    with serve(*script()) as server:
        assert agent.run(workspace, server.url, "--approval", "on_request").code == 0


@pytest.mark.parametrize(
    "make",
    [
        "missing",
        "file",
        pytest.param(
            "unreadable", marks=pytest.mark.skipif(MAY_READ_ALL, reason="the administrator may read everything")
        ),
    ],
)
def test_a_workspace_that_cannot_be_used_is_named_and_nothing_is_created(
    agent: Agent, tmp_path: Path, make: str, isolated_home: Path
) -> None:
    folder = tmp_path / "there"
    if make == "file":
        folder.write_text("x")
    elif make == "unreadable":
        folder.mkdir(mode=0)
    ran = agent("run", "--prompt", "x", "--workspace", folder, "--json")
    assert ran.code == 2
    assert str(folder) in ran.err
    assert not (isolated_home / "desktop-agent" / "data" / "sessions").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "no prompt"),
        (["run", "--prompt", "   "], "empty"),
        (["run", "--prompt-file", "/nowhere/prompt"], "cannot be read"),
        (["run", "--prompt", "x", "--resume", "nope"], "no session"),
        (["run", "--prompt", "x", "--max-turns", "0"], "1 or more"),
        (["run", "--prompt", "x", "--max-turns", "x"], "1 or more"),
        (["run", "--prompt", "x", "--config", "/nowhere/config.toml"], "does not exist"),
        (["run", "--prompt", "x", "--audit-log", "/proc/nope/log"], "cannot be written"),
        (["run", "--prompt", "x", "--provider", "nope"], "no provider"),
        (["run", "--prompt", "x", "--provider", "demo", "--model", "nope"], "no model 'nope'"),
        (["run", "--prompt", "x", "--allowed-tools", "read_fil"], "Did you mean read_file?"),
        (["run", "--prompt", "x", "--blocked-tools", "read_file,zzz"], "names no tool: 'zzz'"),
        (["sessions", "list", "--workspace", "/nope"], "no folder /nope"),
        (["run", "--prompt", "x", "--config", "BAD"], "The setting runner.blocked_tools names no tool: 'bogus'"),
        (["frobnicate"], "neither a command nor a folder"),
        (["sesions", "list"], "Did you mean `sessions`?"),
        (["a.py"], "is a file, not a folder"),
        (["--demo", "frobnicate"], "neither a command nor a folder"),
        (["--continue", "sesions"], "Did you mean `sessions`?"),
        (["--resume", "x", "--provider=demo", "--model", "m", "frobnicate"], "neither a command nor a folder"),
        ([".", "--provider", "nope"], "no provider 'nope'"),
        (["sessions", "show", "../../etc"], "no session"),
        (["changes", "undo", "nope"], "no session"),
        (["tools", "describe", "nope"], "no tool"),
        (["auth", "set", "nope"], "no provider"),
        (["config", "get", "nope"], "no setting"),
        (["config", "set", "nope", "1"], "no setting"),
        (["config", "set", "ui.theme", "pink"], "system, light, dark"),
        (["nope-command", "--json"], ""),
    ],
)
def test_bad_usage_gets_a_clear_word_and_code_2(
    agent: Agent, workspace: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.delenv("DISPLAY", raising=False)
    (workspace / "BAD").write_text('[runner]\nblocked_tools = ["bogus"]\n')
    ran = agent(*arguments)
    assert ran.code == 2
    assert says in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("ui.theme", "dark", "dark"),
        ("execution.timeout_seconds", "90", 90.0),
        ("model.name", "claude-2 # not a comment", "claude-2 # not a comment"),
        ("ui.colour_blind_safe_diff", "true", True),
    ],
)
def test_a_setting_that_is_set_is_read_back(
    agent: Agent, isolated_home: Path, key: str, text: str, value: object
) -> None:
    """Z-96: a text becomes the type of its setting."""
    file = isolated_home / "desktop-agent" / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n")
    assert agent("config", "set", key, text).code == 0
    assert json.loads(agent("config", "get", key, "--json").out)["value"] == value
    assert file.read_text().startswith("# mine\n")


def test_a_bad_setting_that_safety_does_not_need_is_named_and_the_rest_of_the_file_holds(
    agent: Agent, workspace: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[model]\nname = "claude-test"\n[ui]\ntheme = "pink"\n')
    with serve(reply(text("ok"))) as server:
        ran = agent.run(workspace, server.url, "--config", str(config))
        assert server.messages[0].fields["model"] == "claude-test"
    assert ran.code == 0
    assert f"{config}:4: ui.theme: 'pink' is not one of system, light, dark" in ran.err


def test_what_the_command_line_leaves_open_is_as_the_settings_say(
    agent: Agent, workspace: Path, tmp_path: Path
) -> None:
    """G-13: paths are relative to the settings file, and the command line goes before it."""
    config = tmp_path / "ci" / "agent.toml"
    config.parent.mkdir()
    config.write_text(
        '[runner]\ndry_run = true\nblocked_tools = "grep, web_search"\naudit_log = "audit.jsonl"\nmax_turns = 1\n'
    )
    call = tool_use("edit_file", path="notes.txt", old_str="a", new_str="b")
    with serve(reply(call), reply(text("ok"))) as server:
        first = agent.run(workspace, server.url, "--config", str(config))
        tools = json.dumps(server.messages[0].fields["tools"])
    with serve(reply(call), reply(text("ok"))) as server:
        second = agent.run(
            workspace, server.url, "--config", str(config), "--max-turns", "5", "--blocked-tools", "web_fetch"
        )
        assert '"name": "grep"' in json.dumps(server.messages[0].fields["tools"])
    assert first.code == 4, "one request was all it may send"
    assert second.code == 0
    assert '"name": "grep"' not in tools
    audit = [json.loads(line) for line in (config.parent / "audit.jsonl").read_text().splitlines()]
    assert [record["tool"] for record in audit] == ["edit_file", "edit_file"]
    assert "dry-run" in json.dumps(audit)


def test_a_projects_settings_that_nobody_trusted_are_named_and_do_not_hold(agent: Agent, workspace: Path) -> None:
    (workspace / ".desktop-agent").mkdir()
    (workspace / ".desktop-agent" / "config.toml").write_text('[execution]\nsandbox = "strict"\n')
    with serve(reply(text("ok"))) as server:
        ran = agent.run(workspace, server.url)
    assert ran.code == 0
    assert "the project's settings are not trusted" in ran.err


def test_no_key_is_in_any_file_the_application_writes(agent: Agent, workspace: Path, isolated_home: Path) -> None:
    with serve(reply(tool_use("run_terminal_cmd", command="env")), reply(text("ok"))) as server:
        agent.run(workspace, server.url)
    with serve(fault.unauthorized("key sk-ant-test-000000000000 is bad")) as server:
        agent.run(workspace, server.url)
    written = [path for path in isolated_home.rglob("*") if path.is_file()]
    assert written
    assert [path for path in written if b"sk-ant-test" in path.read_bytes()] == []


def test_headless_commands_never_import_qt(workspace: Path) -> None:
    program = (
        "import sys; from desktop_agent.cli import main; "
        f"main(['run', '--provider', 'demo', '--prompt', 'x', '--workspace', {str(workspace)!r}]); "
        "sys.exit(any(name.startswith(('PySide6', 'qasync')) for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)  # noqa: TID251 - own process
    assert done.returncode == 0, done.stderr.decode()


def test_a_folder_and_a_prompt_that_are_not_utf8_work_like_any_other(workspace: Path, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    workspace.rename(os.fsdecode(folder))

    def desktop_agent(*arguments: str | bytes) -> bytes:
        command = [sys.executable, "-m", "desktop_agent", *arguments]
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: TID251 - bytes, as a shell gives them
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr.decode()
        return done.stdout

    ran = desktop_agent(
        "run", "--provider", "demo", "--workspace", folder, "--prompt", b"caf\xe9", "--json", "--blocked-tools",
        "run_terminal_cmd",
    )  # fmt: skip
    session = json.loads(ran)["session_id"]
    [listed] = json.loads(desktop_agent("sessions", "list", "--json"))["sessions"]
    assert (listed["workspace"], listed["title"]) == (os.fsdecode(folder), "caf\udce9")
    for arguments in (("list",), ("show", session), ("show", session, "--json")):
        assert b"\\udce9" in desktop_agent("sessions", *arguments)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_run_and_the_end_of_the_turn_is_on_record(workspace: Path, number: signal.Signals) -> None:
    with serve(reply(text("Half of"), fault.stall_after(events=3))) as server:
        command = [sys.executable, "-m", "desktop_agent", "run", "--prompt", "x", "--base-url", server.url, "--stream"]
        with subprocess.Popen([*command, "--workspace", str(workspace)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            while "text_delta" not in process.stdout.readline():
                assert process.poll() is None
            process.send_signal(number)
            rest = process.stdout.read()
        server.release()
    assert process.returncode == 130
    assert json.loads(rest.splitlines()[-1])["reason"] == "interrupted"


def test_what_a_model_says_never_steers_the_terminal(agent: Agent, workspace: Path) -> None:
    clear = "\x1b[2J\x1b]0;title\x07"
    with serve(reply(text(f"Hi {clear}there\tyou.\n"))) as server:
        ran = agent("run", "--prompt", f"x{clear}", "--workspace", workspace, "--base-url", server.url)
    [session] = agent("sessions", "list", "--json").json["sessions"]
    for shown in (ran.out, agent("sessions", "list").out, agent("sessions", "show", session["id"]).out):
        assert "x\\x1b[2J" in shown or shown == ran.out
        assert "\x1b" not in shown + ran.err
        assert "\x07" not in shown
    assert "Hi \\x1b[2J\\x1b]0;title\\x07there\tyou.\n" in ran.out


@pytest.mark.parametrize("shown", ["--stream", "--verbose"])
def test_a_run_whose_reader_has_gone_stops_quietly(workspace: Path, tmp_path: Path, shown: str) -> None:
    looks = (reply(tool_use("read_file", path="a.py")) for _ in range(3))
    with serve(*looks, reply(text("Done."))) as server:
        command = [sys.executable, "-m", "desktop_agent", "run", "--prompt", "x", "--base-url", server.url, shown]
        reading, writing = os.pipe()
        words = tmp_path / "words"
        with words.open("wb") as errors:
            out, err = (writing, errors) if shown == "--stream" else (errors, writing)
            process = subprocess.Popen([*command, "--workspace", str(workspace)], stdout=out, stderr=err)
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        assert process.wait(timeout=60) == 1
    assert words.read_bytes() == b""


def test_a_run_without_standard_error_gives_its_result(workspace: Path) -> None:
    with serve(reply(text("Hello."))) as server:
        shell = f'exec "{sys.executable}" -m desktop_agent run --prompt x --base-url {server.url} --verbose 2>&-'
        said = subprocess.check_output(shell, shell=True, cwd=workspace, timeout=60)
    assert said.startswith(b"Hello.")
