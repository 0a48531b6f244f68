"""One writer per session, and a new session that appears as a whole."""

import errno
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import SessionBusyError, StorageError
from desktop_agent.core.store.drafts import Drafts, SavedDraft, folder_draft, session_draft
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


KEY = session_draft("20261121-213700-k3f9qx")


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    unsent = SavedDraft("line\n\ud800 \U0001f600", {3: "another third", 12: ""}, commit="a: do b\n")
    Drafts(tmp_path / "drafts").save(KEY, unsent)
    assert Drafts(tmp_path / "drafts").load(KEY) == unsent
    assert (tmp_path / "drafts" / f"{KEY}.json").stat().st_mode & 0o777 == 0o600


def test_what_was_sent_and_never_taken_comes_back_before_what_was_written_since(tmp_path: Path) -> None:
    Drafts(tmp_path).save(KEY, SavedDraft("third", {2: "edited"}, sent=("first", "second")))
    assert Drafts(tmp_path).load(KEY) == SavedDraft("first\n\nsecond\n\nthird", {2: "edited"})
    Drafts(tmp_path).save(KEY, SavedDraft(sent=("only",)))
    assert Drafts(tmp_path).load(KEY) == SavedDraft("only")


def test_each_conversation_has_its_own(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    keys = [
        KEY,
        session_draft("20261121-213700-aaaaaa"),
        folder_draft(tmp_path / "a/../b"),
        folder_draft(tmp_path / "ü"),
    ]
    for number, key in enumerate(keys):
        drafts.save(key, SavedDraft(str(number)))
    assert [drafts.load(key).text for key in keys] == ["0", "1", "2", "3"]
    assert all("/" not in key for key in keys)


def test_what_was_sent_leaves_nothing_behind(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path)
    drafts.save(KEY, SavedDraft("text"))
    for _ in range(2):
        drafts.save(KEY, SavedDraft())
        assert list(tmp_path.iterdir()) == []
    assert drafts.load(KEY) == SavedDraft()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"text": 3, "edits": []}',
        b'{"edits": {"x": "y", "2": 5}}',
        b'{"sent": 3}',
        b'{"sent": [3]}',
        b'{"commit": ["a: do b"]}',
    ],
)
def test_a_damaged_file_counts_as_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"{KEY}.json").write_bytes(content)
    assert Drafts(tmp_path).load(KEY) == SavedDraft()


def test_a_number_of_a_turn_that_is_none_counts_as_nothing(tmp_path: Path) -> None:
    (tmp_path / f"{KEY}.json").write_text('{"text": "kept", "edits": {"' + "9" * 5000 + '": "x", "-1": "y"}}')
    assert Drafts(tmp_path).load(KEY) == SavedDraft("kept")


def test_a_long_log_that_was_pasted_comes_back(tmp_path: Path) -> None:
    drafts, pasted = Drafts(tmp_path), SavedDraft("\u65e5\u672c\u8a9e\n" * 500_000)
    drafts.save(KEY, pasted)
    assert drafts.load(KEY) == pasted


def test_a_disk_that_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("desktop_agent.core.store.drafts.write_private", full)
    with pytest.raises(StorageError, match="could not be saved"):
        Drafts(tmp_path).save(KEY, SavedDraft("text"))


FOLDER = folder_draft(Path("/work"))


def test_two_windows_that_show_one_conversation_keep_a_draft_each(tmp_path: Path) -> None:
    first, second = Drafts(tmp_path), Drafts(tmp_path)
    ours, theirs = first.claim(FOLDER), second.claim(FOLDER)
    first.save(ours, SavedDraft("typed here"))
    second.save(theirs, SavedDraft("typed there"))
    assert first.claim(FOLDER) == ours, "a window keeps its own"
    assert (first.load(ours).text, second.load(theirs).text) == ("typed here", "typed there")


def test_what_closed_windows_left_is_in_the_next_one(tmp_path: Path) -> None:
    first, second = Drafts(tmp_path), Drafts(tmp_path)
    first.save(first.claim(FOLDER), SavedDraft("typed here"))
    second.save(second.claim(FOLDER), SavedDraft("typed there"))
    first.release()
    second.release()
    third = Drafts(tmp_path)
    assert third.load(third.claim(FOLDER)) == SavedDraft("typed here\n\ntyped there")
    third.save(FOLDER, SavedDraft("sent"))
    third.release()
    assert Drafts(tmp_path).load(third.claim(FOLDER)) == SavedDraft("sent"), "nothing comes twice"


def test_the_draft_of_a_killed_window_is_free(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; "
        "from desktop_agent.core.store.drafts import Drafts, SavedDraft; "
        "drafts = Drafts(Path(sys.argv[1])); drafts.save(drafts.claim(sys.argv[2]), SavedDraft('mine')); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.check_call([sys.executable, "-c", script, str(tmp_path), FOLDER])
    drafts = Drafts(tmp_path)
    assert drafts.load(drafts.claim(FOLDER)) == SavedDraft("mine")
