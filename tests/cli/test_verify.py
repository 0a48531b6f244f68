"""`sessions verify` names damage, repairs it on request, and returns exit codes for scripts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.cli.console import Console
from desktop_agent.cli.sessions import verify_sessions
from desktop_agent.core.base.errors import SessionNotFoundError
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.store.session_folder import SessionLock
from tests.command_line import CommandLine
from tests.core.samples import SAMPLE_EVENTS
from tests.core.store.journals import write

ID = "20261121-213700-k3f9qx"
OTHER = "20261121-213800-k3f9qy"

Make = Callable[[SessionId], Path]


@pytest.fixture
def make(isolated_home: Path) -> Make:
    def made(session_id: SessionId) -> Path:
        data = isolated_home / "desktop-agent" / "data"
        path = data / "sessions" / session_id / "journal.jsonl"
        write(path, Blobs(data / "blobs"), SAMPLE_EVENTS[:3])
        path.write_bytes(path.read_bytes().replace(ID.encode(), session_id.encode()))
        with path.open("ab") as file:
            for seq, kind in ((4, '"turn_ended","turn":1,"reason":"completed","requests":1,"duration_s":1'),):
                file.write(b'{"v":1,"seq":%d,"at":"2026-11-21T21:37:00Z","type":%s}\n' % (seq, kind.encode()))
        return path

    return made


def test_what_is_fine_is_said_in_one_line_each(run: CommandLine, make: Make) -> None:
    make(ID)
    make(OTHER)
    assert sorted(run.done("sessions", "verify").out.splitlines()) == [
        f"{ID}  fine, 4 records",
        f"{OTHER}  fine, 4 records",
    ]


def test_a_session_that_is_deleted_meanwhile_costs_no_other_its_report(
    make: Make, isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(ID)
    sessions = path.parent.parent
    catalog = SessionCatalog(sessions, Blobs(sessions.parent / "blobs"), isolated_home / "cache")
    assert verify_sessions(catalog, [OTHER, ID], Console(), is_repairing=False) == 0
    assert capsys.readouterr().out.splitlines() == [f"{ID}  fine, 4 records"]
    assert verify_sessions(catalog, [OTHER, ID], Console(), is_repairing=True) == 0
    with pytest.raises(SessionNotFoundError):
        verify_sessions(catalog, [OTHER], Console(), is_repairing=False)


def test_a_problem_is_explained_with_its_repair_and_fails_the_command(run: CommandLine, make: Make) -> None:
    path = make(ID)
    make(OTHER)
    path.write_bytes(path.read_bytes() + b'{"v":1,"se')
    ran = run("sessions", "verify")
    assert ran.code == 1
    assert f"{ID}  1 problem, 4 records\n  line 5: The last record was cut off" in ran.out
    assert "--repair: It is taken out of the journal." in ran.out
    run.done("sessions", "verify", OTHER)


def test_a_repair_says_what_it_did_and_where_the_old_journal_is(run: CommandLine, make: Make) -> None:
    path = make(ID)
    damaged = path.read_bytes() + b"{broken\n"
    path.write_bytes(damaged)
    [session] = run.done("sessions", "verify", "k3f9qx", "--repair", "--json").json["sessions"]
    assert (session["id"], session["is_fine"], session["records"], session["findings"]) == (ID, True, 4, [])
    assert [(finding["code"], finding["line"]) for finding in session["repaired"]] == [("unreadable_line", 5)]
    assert Path(session["kept"]).read_bytes() == damaged
    run.done("sessions", "verify", ID)


def test_a_session_that_is_open_elsewhere_is_only_looked_at(run: CommandLine, make: Make) -> None:
    path = make(ID)
    path.write_bytes(path.read_bytes() + b"{broken\n")
    damaged = path.read_bytes()
    lock = SessionLock(path.parent)
    try:
        ran = run("sessions", "verify", ID, "--repair")
    finally:
        lock.release()
    assert (ran.code, "open in another window or process, so nothing was changed" in ran.out) == (1, True)
    assert path.read_bytes() == damaged


def test_a_session_that_is_not_there_is_bad_usage(run: CommandLine, make: Make) -> None:
    make(ID)
    assert run("sessions", "verify", "nobody").code == 2
