"""`desktop-agent run` against a real model server on loopback: from the prompt to undo and resume."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.store.session_folder import SessionLock
from tests.command_line import Ran
from tests.core.mcp.conftest import PROGRAM
from tests.e2e.run.agent import AFTER, BEFORE, Agent, script
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve


@pytest.fixture
def session(agent: Agent, workspace: Path) -> str:
    return agent.answered(workspace, script(), "--approval", "never").json["session_id"]


def test_a_prompt_edits_a_file_and_tells_what_it_did(agent: Agent, workspace: Path) -> None:
    """S-12: without a user, the command line sets the limits. Z-59: the file that was only read is unchanged."""
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


def test_undo_and_redo_restore_the_bytes(agent: Agent, workspace: Path, session: str) -> None:
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
    """Leave the session as if the process had ended between the undo's intent and its write."""
    agent("changes", "undo", session)
    (journal,) = home.rglob("journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in lines if b'"changes_undone"' not in line))
    (workspace / "a.py").write_bytes(AFTER)


def test_an_undo_after_one_that_was_cut_off_tells_its_own_outcome(
    agent: Agent, workspace: Path, isolated_home: Path, session: str
) -> None:
    cut_an_undo_off(agent, session, workspace, isolated_home)
    ran = agent("changes", "undo", session, "--json")
    assert (ran.code, [outcome["state"] for outcome in ran.json["outcomes"]]) == (0, ["restored"])
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_a_run_after_an_undo_that_was_cut_off_takes_its_own_changes_back(
    agent: Agent, workspace: Path, isolated_home: Path, session: str
) -> None:
    cut_an_undo_off(agent, session, workspace, isolated_home)
    edit_again = reply(
        tool_use("read_file", path="a.py"),
        tool_use("edit_file", path="a.py", old_str="    return 2\n", new_str="    return 3\n"),
    )
    ran = agent.answered(
        workspace, [edit_again, reply(text("Three."))], "--resume", session, "--approval", "never", "--undo-last-turn"
    )
    assert ran.json["undo_operations"] == ["restored a.py"]
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
    # Earlier messages are sent again byte for byte, except for cache marks, followed by the answer and the prompt.
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


def test_a_session_can_be_listed_and_shown(agent: Agent, workspace: Path, session: str) -> None:
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
    assert "With the approval policy on_request" in problem
    assert problem in ran.err
    assert (workspace / "a.py").read_bytes() == BEFORE


@pytest.mark.parametrize("policy", ["always", "on_write", "on_request"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_file", {"path": "b.py", "content": "x = 1\n"}),
        ("create_file", {"path": ".env", "content": "KEY=1\n"}),
        ("create_file", {"path": "AGENTS.md", "content": "Be short.\n"}),
        ("read_file", {"path": "id_rsa"}),
        ("run_terminal_cmd", {"command": "touch made", "explanation": "Make a file"}),
        ("mine__echo", {"text": "hello"}),
    ],
)
@pytest.mark.sampled(2, "policy", "arguments")
def test_what_a_problem_advises_makes_the_call_possible(
    agent: Agent, workspace: Path, tmp_path: Path, tool: str, arguments: dict[str, str], policy: str
) -> None:
    (workspace / "id_rsa").write_text("none\n")
    agent.done("mcp", "add", "mine", "--", sys.executable, "-S", PROGRAM)

    def run(*more: str) -> Ran:
        calls = reply(tool_use(tool, **arguments)), reply(text("Done."))
        return agent.answered(workspace, calls, "--sandbox", "none", *more)

    first = run("--approval", policy)
    needs_nobody = policy == "on_request" and arguments.get("path") in ("b.py", "AGENTS.md")
    assert (first.code == 0) == needs_nobody
    if needs_nobody:
        return
    (problem,) = first.json["problems"]
    if "policy on_request" in problem:
        assert policy != "on_request"
        second = run("--approval", "on_request")
    else:
        assert "--approval-command" in problem
        program = tmp_path / "allow.py"
        program.write_text('print(\'{"decision": "allow"}\')')
        command = f"'{sys.executable}' '{program}'"
        second = run("--approval", policy, "--approval-command", command)
    assert (second.code, [call["is_error"] for call in second.json["tools"]]) == (0, [False])


@pytest.mark.parametrize(("command", "code"), [("/status", 0), ("/statsu", 2), ("/diff", 0)])
def test_a_slash_command_alone_leaves_no_session(
    agent: Agent, workspace: Path, isolated_home: Path, command: str, code: int
) -> None:
    (workspace / "AGENTS.md").write_text("Be short.")
    ran = agent("run", "--prompt", command, "--workspace", workspace, "--json")
    assert ran.code == code
    assert ran.json.get("session_id") is None
    assert list((isolated_home / "desktop-agent" / "data" / "sessions").iterdir()) == []


def test_a_slash_command_in_a_session_leaves_it_there(agent: Agent, workspace: Path, session: str) -> None:
    ran = agent("run", "--prompt", "/status", "--continue", "--workspace", workspace, "--json")
    assert (ran.code, ran.json["session_id"]) == (0, session)
    [listed] = agent("sessions", "list", "--json").json["sessions"]
    assert listed["id"] == session


def test_the_calls_of_a_dry_run_are_skipped(agent: Agent, workspace: Path) -> None:  # H-07
    with serve(*script(), *script()) as server:
        ran = agent.run(workspace, server.url, "--dry-run")
        assert [(tool["skipped"], tool["result"]) for tool in ran.json["tools"]] == [
            (True, "dry-run: execution skipped")
        ] * 2
        options = ("--workspace", workspace, "--base-url", server.url, "--dry-run")
        told = agent("run", "--prompt", "make it two", *options)
    assert "- turn 1: edit_file [skipped]\n" in told.out
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_a_run_can_take_its_changes_back(agent: Agent, workspace: Path) -> None:  # Z-65
    ran = agent.answered(workspace, script(), "--approval", "never", "--undo-last-turn")
    assert ran.json["undo_operations"] == ["restored a.py"]
    assert ran.json["edited_files"] == []
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_the_number_of_requests_is_limited(agent: Agent, workspace: Path) -> None:
    look = reply(tool_use("list_files", path="."))
    ran = agent.answered(workspace, [look, look, look], "--max-turns", "2")
    assert (ran.code, ran.json["stopped_reason"], ran.json["turns_used"]) == (4, "max_turns", 2)
    [problem] = ran.json["problems"]
    assert problem.startswith("The run is not done: it has made 2 requests to the model, as many as it may.")
    assert f"--resume {ran.json['session_id']}" in problem
    assert problem in ran.err


def test_a_failed_call_can_end_the_run(agent: Agent, workspace: Path) -> None:
    missing = reply(tool_use("read_file", path="nowhere"))
    ran = agent.answered(workspace, [missing, reply(text("never"))], "--exit-on-tool-error")
    assert (ran.code, ran.json["stopped_reason"]) == (1, "tool_error")
    [problem] = ran.json["problems"]
    assert problem.startswith("read_file nowhere failed, which ends the run: nowhere does not exist.")
    assert problem in ran.err
