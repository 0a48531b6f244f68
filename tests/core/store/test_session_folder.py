"""One writer per session, and a new session that appears as a whole."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import SessionBusyError
from desktop_agent.core.store.session_folder import LOCK_NAME, SessionLock, is_locked, new_session_folder
from desktop_agent.core.system.staged_file import TEMPORARY_MARK

_HOLD = """
import sys
from pathlib import Path
from desktop_agent.core.store.session_folder import SessionLock
lock = SessionLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""

_ASK = """
import sys
from pathlib import Path
from desktop_agent.core.store.session_folder import is_locked
print(is_locked(Path(sys.argv[1])), "filelock" in sys.modules)
"""


@contextmanager
def held_elsewhere(folder: Path) -> Generator[subprocess.Popen[bytes]]:
    """Let another process hold the lock of a session."""
    command = [sys.executable, "-c", _HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        try:
            yield holder
        finally:
            holder.kill()


def test_a_session_is_locked_while_a_process_writes_it_and_free_when_that_was_killed(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with held_elsewhere(tmp_path) as holder:
        assert is_locked(tmp_path)
        with pytest.raises(SessionBusyError):
            SessionLock(tmp_path)
        holder.kill()
        holder.wait()
        assert not is_locked(tmp_path)
        SessionLock(tmp_path).release()


def test_a_session_is_locked_while_this_process_writes_it(tmp_path: Path) -> None:
    lock = SessionLock(tmp_path)
    assert is_locked(tmp_path)
    lock.release()
    assert not is_locked(tmp_path)


def test_asking_leaves_the_lock_as_it_is(tmp_path: Path) -> None:
    SessionLock(tmp_path).release()
    before = (tmp_path / LOCK_NAME).stat()
    assert not is_locked(tmp_path)
    after = (tmp_path / LOCK_NAME).stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)


@pytest.mark.skipif(sys.platform == "win32", reason="there, only the library can say it")
def test_who_asks_while_another_asks_is_told_that_it_is_free(tmp_path: Path) -> None:
    import fcntl

    SessionLock(tmp_path).release()
    other = os.open(tmp_path / LOCK_NAME, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_SH)
    assert not is_locked(tmp_path)
    os.close(other)


@pytest.mark.skipif(sys.platform == "win32", reason="there, only the library can say it")
def test_the_start_of_the_window_does_not_import_the_library_to_ask(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path):
        told = subprocess.check_output([sys.executable, "-c", _ASK, str(tmp_path)], text=True)
    assert told.split() == ["True", "False"]


NOW = datetime.now(UTC)
ID = "20260101-000000-aaaaaa"


def names(sessions: Path) -> list[str]:
    return [path.name for path in sessions.iterdir()]


def test_a_session_has_no_name_before_it_is_complete(tmp_path: Path) -> None:
    with new_session_folder(tmp_path / "sessions", ID, NOW) as folder:
        (folder / "journal.jsonl").write_bytes(b"{}\n")
        assert ID not in names(tmp_path / "sessions")
    assert names(tmp_path / "sessions") == [ID]
    assert (tmp_path / "sessions" / ID / "journal.jsonl").read_bytes() == b"{}\n"


def test_nothing_is_left_of_a_session_that_could_not_be_written(tmp_path: Path) -> None:
    def fail() -> None:
        with new_session_folder(tmp_path, ID, NOW) as folder:
            (folder / "journal.jsonl").write_bytes(b"{}\n")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        fail()
    assert names(tmp_path) == []


def test_what_a_killed_process_left_goes_after_a_day(tmp_path: Path) -> None:
    old, young = tmp_path / f"{TEMPORARY_MARK}old.tmp", tmp_path / f"{TEMPORARY_MARK}young.tmp"
    for folder, age in ((old, timedelta(days=2)), (young, timedelta(hours=2))):
        folder.mkdir()
        moment = (NOW - age).timestamp()
        os.utime(folder, (moment, moment))
    with new_session_folder(tmp_path, ID, NOW):
        pass
    assert sorted(names(tmp_path)) == [young.name, ID]
