"""`desktop-agent sessions fork`, as a user or a script uses it."""

import json
from pathlib import Path

from tests.cli.conftest import RecordedSession
from tests.command_line import CommandLine


def journal(home: Path, session_id: str) -> list[dict[str, object]]:
    path = home / "data" / "sessions" / session_id / "journal.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_fork_is_named_and_can_be_shown(run: CommandLine, session: RecordedSession, isolated_home: Path) -> None:
    session.write("a.py", b"x = 1")
    told = run.done("sessions", "fork", session.id, "--json").json
    assert (told["source"], told["before_turn"]) == (session.id, None)
    assert journal(isolated_home / "desktop-agent", told["id"])[-1]["type"] == "session_forked"
    assert f"a copy of {session.id}" in run.done("sessions", "show", told["id"]).out
    assert run.done("sessions", "fork", session.id[-6:]).out.strip() != told["id"]


def test_a_turn_that_is_not_there_is_said(run: CommandLine, session: RecordedSession) -> None:
    session.write("a.py", b"x = 1")
    ran = run("sessions", "fork", session.id, "--before-turn", "99")
    assert (ran.code, "no turn 99" in ran.err) == (2, True)
