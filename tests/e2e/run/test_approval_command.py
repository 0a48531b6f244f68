"""`run --approval-command`: a program of the user's answers approval requests."""

import json
import sys
from pathlib import Path

import pytest

from tests.command_line import Ran
from tests.e2e.run.agent import AFTER, BEFORE, Agent, script
from tests.servers.script import reply, text, tool_use
from tests.servers.threaded import serve


def answering(folder: Path, body: str) -> str:
    """Return the command of a program that runs `body` with the request as `asked`."""
    program = folder / "answer.py"
    program.write_text(f"import json, os, sys\nasked = json.load(sys.stdin)\n{body}\n", encoding="utf-8")
    return f"'{sys.executable}' '{program}'"


def run(agent: Agent, workspace: Path, url: str, body: str, *more: str) -> Ran:
    return agent.run(workspace, url, "--approval-command", answering(workspace.parent, body), *more)


def test_it_is_asked_with_the_request_and_allows(agent: Agent, workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "asked.json"
    body = f"open({str(log)!r}, 'w').write(json.dumps(asked)); print(json.dumps({{'decision': 'allow'}}))"
    with serve(*script()) as server:
        ran = run(agent, workspace, server.url, body)
    asked = json.loads(log.read_text(encoding="utf-8"))
    assert ran.code == 0
    assert (asked["tool"], [change["path"] for change in asked["changes"]]) == ("edit_file", ["a.py"])
    assert (workspace / "a.py").read_bytes() == AFTER


def test_it_reads_what_the_model_says_a_command_is_for(agent: Agent, workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "asked.json"
    wanted = tool_use("run_terminal_cmd", command="touch made", stdin="x" * 5_000, explanation="Make a file")
    body = f"open({str(log)!r}, 'w').write(json.dumps(asked)); print(json.dumps({{'decision': 'deny'}}))"
    with serve(reply(wanted), reply(text("Done."))) as server:
        run(agent, workspace, server.url, body, "--approval", "always")
    asked = json.loads(log.read_text(encoding="utf-8"))
    assert (asked["explanation"], asked["arguments"]) == ("Make a file", {"stdin": "x" * 5_000})


def test_it_reads_all_that_an_edit_would_change(agent: Agent, workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "asked.json"
    (workspace / "latin.txt").write_bytes(b"caf\xe9\n")
    wanted = tool_use("edit_file", path="latin.txt", old_str="caf", new_str="rm -r caf")
    body = f"open({str(log)!r}, 'w').write(json.dumps(asked)); print(json.dumps({{'decision': 'deny'}}))"
    with serve(reply(wanted), reply(text("Done."))) as server:
        run(agent, workspace, server.url, body)
    diff = json.loads(log.read_text(encoding="utf-8"))["diff"].encode("utf-8", "surrogateescape")
    assert b"--- a/latin.txt" in diff
    assert b"\n-caf\xe9\n+rm -r caf\xe9\n" in diff


def test_its_denial_reaches_the_model_in_its_words(agent: Agent, workspace: Path) -> None:
    with serve(*script()) as server:
        ran = run(agent, workspace, server.url, 'print(\'{"decision": "deny", "message": "Not on a Friday."}\')')
        assert "Not on a Friday." in str(server.messages[-1])
    assert ran.code == 0
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_it_may_edit_a_command(agent: Agent, workspace: Path) -> None:
    wanted = tool_use("run_terminal_cmd", command="touch theirs", explanation="Make a file")
    body = "print(json.dumps({'decision': 'edit', 'command': asked['command'].replace('theirs', 'ours')}))"
    with serve(reply(wanted), reply(text("Done."))) as server:
        ran = run(agent, workspace, server.url, body)
    assert ran.code == 0
    assert sorted(path.name for path in workspace.iterdir()) == ["a.py", "ours"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("", "is not as documented"),
        ("print('yes')", "is not as documented"),
        ('print(\'{"decision": "allow", "scope": "forever"}\')', "is not as documented"),
        ('print(\'{"decision": "allow", "sure": true}\')', "is not as documented"),
        ('print(\'{"decision": "edit", "command": "true"}\')', "where there is none"),
        ("print('[' * 50_000)", "is not as documented"),
        ('print(\'{"decision": "deny", "decision": "allow"}\')', "is not as documented"),
        ("while True: print('x' * 1000)", "wrote more than 64 KiB"),
        ("while True: print('x' * 1000, file=sys.stderr)", "wrote more than 64 KiB"),
        (
            "print('{\"decision\": \"allow\"}'); sys.exit('the approver is down')",
            "ended with code 1: the approver is down",
        ),
        ('print(\'{"decision": "allow"}\'); sys.stdout.flush(); os.kill(os.getpid(), 9)', "ended with code 137"),
    ],
)
def test_what_is_not_a_clear_yes_ends_the_run_unapproved(agent: Agent, workspace: Path, body: str, why: str) -> None:
    with serve(*script()) as server:
        ran = run(agent, workspace, server.url, body)
    assert (ran.code, ran.json["stopped_reason"]) == (3, "approval_required")
    assert why in ran.err
    assert (workspace / "a.py").read_bytes() == BEFORE


def test_a_program_that_cannot_be_started_is_no_yes(agent: Agent, workspace: Path) -> None:
    ran = agent.answered(workspace, script(), "--approval-command", "no-such-program --at-all")
    assert ran.code == 3
    assert "the approval command could not be started" in ran.err.lower()


def test_one_that_never_answers_ends_with_the_time_of_the_run(agent: Agent, workspace: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    body = f"open({str(pid)!r}, 'w').write(str(os.getpid())); import time; time.sleep(600)"
    with serve(*script()) as server:
        ran = run(agent, workspace, server.url, body, "--max-time", "3")
    assert (ran.code, ran.json["limit"]) == (4, "max_time")
    assert not Path(f"/proc/{pid.read_text(encoding='utf-8')}").exists()


def test_it_gets_no_credentials(agent: Agent, workspace: Path, tmp_path: Path) -> None:
    log = tmp_path / "environ"
    body = f"open({str(log)!r}, 'w').write(repr(dict(os.environ))); print('{{\"decision\": \"allow\"}}')"
    with serve(*script()) as server:
        assert run(agent, workspace, server.url, body).code == 0
    assert "sk-ant-test" not in log.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["", "  ", "'open"])
def test_a_command_that_is_none_is_bad_usage(agent: Agent, workspace: Path, command: str) -> None:
    with serve(*script()) as server:
        ran = agent.run(workspace, server.url, "--approval-command", command)
        assert server.messages == []
    assert ran.code == 2
