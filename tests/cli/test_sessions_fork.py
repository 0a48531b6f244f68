"""`desktop-agent sessions fork`, as a user or a script uses it."""

import json
from pathlib import Path

import pytest

from desktop_agent import cli
from tests.cli.conftest import RecordedSession


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["sessions", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def journal(home: Path, session_id: str) -> list[dict[str, object]]:
    path = home / "data" / "sessions" / session_id / "journal.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_fork_is_named_and_can_be_shown(
    session: RecordedSession, capsys: pytest.CaptureFixture[str], isolated_home: Path
) -> None:
    session.write("a.py", b"x = 1")
    code, output, _ = run(capsys, "fork", session.id, "--json")
    assert code == 0
    told = json.loads(output)
    assert (told["source"], told["before_turn"]) == (session.id, None)
    assert journal(isolated_home / "desktop-agent", told["id"])[-1]["type"] == "session_forked"
    code, output, _ = run(capsys, "show", told["id"])
    assert code == 0
    assert f"a copy of {session.id}" in output
    code, output, _ = run(capsys, "fork", session.id[-6:])
    assert (code, output.strip() != told["id"]) == (0, True)


def test_a_turn_that_is_not_there_is_said(session: RecordedSession, capsys: pytest.CaptureFixture[str]) -> None:
    session.write("a.py", b"x = 1")
    code, _, errors = run(capsys, "fork", session.id, "--before-turn", "99")
    assert code == 2
    assert "no turn 99" in errors
