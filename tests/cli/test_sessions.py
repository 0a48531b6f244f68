from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from desktop_agent.cli.parser import HIT_KINDS
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import HitKind, ToolCall
from tests.cli.conftest import RecordedSession, write_session
from tests.command_line import CommandLine

NOW = datetime.now(UTC)


def write(number: int, workspace: str, *events: ev.KnownEvent, days_ago: int = 0) -> str:
    return write_session(number, workspace, *events, at=NOW - timedelta(days=days_ago, minutes=89))


def prompt(text: str) -> ev.PromptSubmitted:
    return ev.PromptSubmitted(turn=1, prompt_id="p", text=text)


@pytest.fixture
def sessions(isolated_home: object) -> Sequence[str]:
    return (
        write(1, "/home/ann/a", prompt("An apple")),
        write(2, "/home/ann/b", prompt("Another apple"), ev.SessionPinned(is_pinned=True), days_ago=30),
        write(3, "/home/ann/b", prompt("A third apple"), ev.SessionArchived(is_archived=True), days_ago=3),
    )


def listed(run: CommandLine, *arguments: str) -> list[dict[str, Any]]:
    document = run.done("sessions", *arguments, "--json").json
    return document["hits" if arguments[0] == "search" else "sessions"]


def test_pinned_sessions_come_first_and_archived_ones_when_asked_for(run: CommandLine, sessions: Sequence[str]) -> None:
    plain, pinned, archived = sessions
    assert [item["id"] for item in listed(run, "list")] == [pinned, plain]
    assert [item["id"] for item in listed(run, "list", "--archived")] == [archived]
    assert [item["id"] for item in listed(run, "list", "--all")] == [pinned, plain, archived]
    assert [item["id"] for item in listed(run, "list", "--workspace", "/home/ann/b")] == [pinned]


def test_the_list_says_how_a_session_is_filed_and_how_big_it_is(run: CommandLine, sessions: Sequence[str]) -> None:
    first, _, third = run.done("sessions", "list", "--all").out.splitlines()
    assert "pinned" in first
    assert "bytes" in first
    assert "archived" in third


def test_a_search_finds_places_in_all_sessions_the_newest_first(run: CommandLine, sessions: Sequence[str]) -> None:
    plain, pinned, archived = sessions
    hits = listed(run, "search", "apple")
    assert [hit["session_id"] for hit in hits] == [plain, archived, pinned]
    assert (hits[0]["kind"], hits[0]["snippet"], hits[0]["marks"]) == ("prompt", "An apple", [[3, 8]])
    assert hits[0]["title"] == "An apple"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--workspace", "/home/ann/b"], [2, 1]),
        (["--since", "7d"], [0, 2]),
        (["--until", "7d"], [1]),
        (["--since", f"{NOW - timedelta(days=4):%Y-%m-%d}", "--until", f"{NOW - timedelta(days=2):%Y-%m-%d}"], [2]),
        (["--kind", "reply"], []),
        (["--limit", "1"], [0]),
    ],
)
def test_options_narrow_the_search(
    run: CommandLine, sessions: Sequence[str], options: list[str], found: list[int]
) -> None:
    hits = listed(run, "search", "apple", *options)
    assert [hit["session_id"] for hit in hits] == [sessions[number] for number in found]


def test_people_read_the_title_and_the_place(run: CommandLine, sessions: Sequence[str]) -> None:
    found = run.done("sessions", "search", "third")
    heading, place, words = found.out.splitlines()
    assert (heading, words) == (f"{sessions[2]}  A third apple", "    A third apple")
    assert place.endswith("turn 1  prompt")
    assert found.err == "Reading what is new…\n"
    nothing = run.done("sessions", "search", '"nothing like it')
    assert (nothing.out, nothing.err) == ("Nothing was found.\n", "")


@pytest.mark.parametrize("moment", ["yesterday", "9999999d", "2026-13-01"])
def test_what_is_no_date_is_said(run: CommandLine, moment: str) -> None:
    ran = run("sessions", "search", "x", "--since", moment)
    assert (ran.code, "is no date such as" in ran.err) == (2, True)


def test_all_kinds_can_be_asked_for() -> None:
    assert get_args(HitKind) == HIT_KINDS


def test_what_the_model_said_a_command_is_for_is_shown_with_it(run: CommandLine) -> None:
    call = ToolCall(id="c1", name="run_terminal_cmd", arguments={"command": "touch a", "explanation": " Make a file. "})
    started = ev.ToolCallStarted(
        turn=1, call=call, title="touch a", source="workspace", capabilities=("exec_shell",), is_read_only=False
    )
    session = write(1, "/home/ann/a", prompt("Make it"), started)
    lines = run.done("sessions", "show", session).out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith("run_terminal_cmd touch a"))
    assert lines[at + 1] == "  Make a file."


def test_a_fork_is_named_and_can_be_shown(run: CommandLine, session: RecordedSession) -> None:
    session.write("a.py", b"x = 1")
    told = run.done("sessions", "fork", session.id, "--json").json
    assert (told["source"], told["before_turn"]) == (session.id, None)
    assert run.done("sessions", "show", told["id"], "--json").json["events"][-1]["type"] == "session_forked"
    assert f"a copy of {session.id}" in run.done("sessions", "show", told["id"]).out
    assert run.done("sessions", "fork", session.id[-6:]).out.strip() != told["id"]
    ran = run("sessions", "fork", session.id, "--before-turn", "99")
    assert (ran.code, "no turn 99" in ran.err) == (2, True)
