"""With any damage of the cache file, a command's changes are found, and the user is told once."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import Snapshot, StatCapture
from desktop_agent.core.capture.transitions import Entry, Touched, with_renames
from desktop_agent.core.store.cache_file import CacheFile
from desktop_agent.core.system.files import FileTransition, read_state


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    for number in range(20):
        (root / f"{number}.txt").write_text(f"first {number}\n")
    return root


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "baselines" / "b.sqlite3"


@pytest.fixture
def capture(root: Path, database: Path) -> Iterator[StatCapture]:
    capture = StatCapture(root, Baseline(database))
    yield capture
    capture.close()


def collect(capture: StatCapture, snapshot: Snapshot) -> dict[str, tuple[bytes | None, bytes | None]]:
    found: dict[str, tuple[bytes | None, bytes | None]] = {}

    def add(change: FileTransition) -> None:
        assert change.path not in found
        before, after = change.before, change.after
        found[change.path] = (before.content if before else None, after.content if after else None)

    report = capture.collect(snapshot, add)
    assert report.lost == ()
    capture.release(snapshot)
    return found


def command(root: Path) -> dict[str, tuple[bytes | None, bytes | None]]:
    (root / "1.txt").write_text("second\n")
    (root / "2.txt").unlink()
    (root / "new.txt").write_text("made\n")
    return {"1.txt": (b"first 1\n", b"second\n"), "2.txt": (b"first 2\n", None), "new.txt": (None, b"made\n")}


def take_back(root: Path) -> None:
    for number in range(20):
        (root / f"{number}.txt").write_text(f"first {number}\n")
    (root / "new.txt").unlink()


def file_for_a_folder(database: Path) -> None:
    database.parent.parent.mkdir(parents=True)
    database.parent.write_text("a file")


def folder_for_a_file(database: Path) -> None:
    database.mkdir(parents=True)


def link_to_nowhere(database: Path) -> None:
    database.parent.parent.mkdir(parents=True)
    database.parent.symlink_to("/proc/nowhere")


@pytest.mark.parametrize("spoil", [file_for_a_folder, folder_for_a_file, link_to_nowhere])
def test_a_cache_that_never_works_is_told_once_and_done_without(
    root: Path, database: Path, capture: StatCapture, spoil: Callable[[Path], None]
) -> None:
    spoil(database)
    for _ in range(2):
        snapshot = capture.begin()
        expected = command(root)
        assert collect(capture, snapshot) == expected
        capture.note_written({"1.txt": None})
        take_back(root)
    assert str(database) in capture.take_failure()
    assert capture.take_failure() == ""


def grow_no_more(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = CacheFile.connect

    def small(self: CacheFile, *args: object, **options: object) -> sqlite3.Connection:
        connection = connect(self, *args, **options)  # pyright: ignore[reportArgumentType]
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(CacheFile, "connect", small)


def test_a_cache_that_becomes_full_while_a_command_runs_loses_nothing_of_it(
    root: Path, database: Path, capture: StatCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture.begin()
    capture.close()
    grow_no_more(database, monkeypatch)
    capture = StatCapture(root, Baseline(database))
    snapshot = capture.begin()
    expected = command(root)
    for number in range(400):
        expected[f"{number}.new"] = (None, os.urandom(200))
        (root / f"{number}.new").write_bytes(expected[f"{number}.new"][1] or b"")
    assert collect(capture, snapshot) == expected
    assert "full" in capture.take_failure()
    capture.close()


def test_a_cache_that_is_deleted_while_a_command_runs_loses_nothing_of_it(
    root: Path, database: Path, capture: StatCapture
) -> None:
    snapshot = capture.begin()
    expected = command(root)
    for path in database.parent.iterdir():
        path.unlink()
    database.parent.rmdir()
    database.parent.write_text("nothing can be made here")
    assert collect(capture, snapshot) == expected
    assert capture.take_failure() != ""


def with_garbage(database: Path) -> None:
    with database.open("r+b") as file:
        file.write(os.urandom(database.stat().st_size))


def with_nothing(database: Path) -> None:
    os.truncate(database, 0)


@pytest.mark.parametrize("spoil", [with_garbage, with_nothing])
def test_a_cache_of_which_nothing_can_be_read_while_a_command_runs_loses_nothing_of_it(
    root: Path, database: Path, capture: StatCapture, spoil: Callable[[Path], None]
) -> None:
    for _ in range(2):
        snapshot = capture.begin()
        expected = command(root)
        spoil(database)
        assert collect(capture, snapshot) == expected
        take_back(root)
        capture.close()
        capture = StatCapture(root, Baseline(database))


def test_what_is_announced_after_a_command_began_counts_as_no_commands_also_when_nothing_can_be_read(
    root: Path, database: Path, capture: StatCapture
) -> None:
    """Without a copy of the announced file, the report says nothing instead of blaming the command."""
    snapshot = capture.begin()
    image = read_state(root / "3.txt")
    assert image is not None
    capture.note_written({"3.txt": replace(image, content=b"mine\n").image()})
    (root / "3.txt").write_bytes(b"mine\n")
    with_garbage(database)
    found: list[FileTransition] = []
    report = capture.collect(snapshot, found.append)
    assert found == []
    assert "no longer known" in report.lost[0].reason


def test_a_cache_that_somebody_keeps_locked_is_done_without(
    root: Path, database: Path, capture: StatCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop_agent.core.capture.baseline._BUSY_S", 0.05)
    monkeypatch.setattr("desktop_agent.core.capture.baseline._MOST_BUSY", 1)
    StatCapture(root, Baseline(database)).close()
    Baseline(database).run(lambda session: session.generation)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        snapshot = capture.begin()
        expected = command(root)
        assert collect(capture, snapshot) == expected
        assert "locked" in capture.take_failure()


@pytest.mark.parametrize("offset", [0, 100, 4096, 5000, 9000])
def test_a_damaged_cache_is_made_anew(root: Path, database: Path, capture: StatCapture, offset: int) -> None:
    first = StatCapture(root, Baseline(database))
    first.release(first.begin())
    first.close()
    with database.open("r+b") as file:
        file.seek(offset)
        file.write(bytes(range(256)) * 16)
    for _ in range(2):
        snapshot = capture.begin()
        expected = command(root)
        assert collect(capture, snapshot) == expected
        take_back(root)
    assert capture.take_failure() == ""


def test_a_cache_that_works_again_is_used_again(
    root: Path, database: Path, capture: StatCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_for_a_folder(database)
    monkeypatch.setattr("desktop_agent.core.capture.baseline._FIRST_PAUSE_S", 0.0)
    assert collect(capture, capture.begin()) == {}
    database.parent.unlink()
    assert collect(capture, capture.begin()) == {}
    assert not database.exists()
    monkeypatch.setattr("time.monotonic", lambda: 10.0**12)
    snapshot = capture.begin()
    assert database.exists()
    expected = command(root)
    assert collect(capture, snapshot) == expected


KILLED = """
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.executescript("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF; PRAGMA cache_size = 2; BEGIN;")
database.execute("UPDATE entry SET digest = x'00', links = 77")
database.executemany("INSERT INTO written VALUES (?, '', 0, 0)", ((str(n) * 50,) for n in range(5000)))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_cache_whose_disk_fails_in_a_transaction_is_read_as_it_was_before(
    root: Path, database: Path, capture: StatCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = capture.begin()
    capture.close()
    assert subprocess.call([sys.executable, "-c", KILLED, database]) == -9
    assert Path(f"{database}-journal").stat().st_size > 0

    def refuse(*_args: object, **_options: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(CacheFile, "connect", refuse)
        expected = command(root)
        assert collect(capture, snapshot) == expected
    assert "disk I/O error" in capture.take_failure()


def test_the_wait_for_a_cache_that_somebody_keeps_locked_can_be_stopped(database: Path) -> None:
    file = CacheFile(database, 1, ("CREATE TABLE one (a)",), ("one",))
    file.connect().close()
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            file.connect(lambda: True, busy_s=3600)


PATHS = st.sets(st.sampled_from([f"{folder}/{name}" for folder in "abcd" for name in "xyz"]))


class NothingElse:
    def contents(self, sizes: Collection[int]) -> Mapping[str, Collection[str]]:
        del sizes
        return {}

    def neighbours(self, folder: str, sizes: range) -> Sequence[Entry]:
        del folder, sizes
        return ()


def entry(path: str, inode: int, digest: str = "same") -> Entry:
    return Entry(path=path, signature=(1, inode, 5, inode, 0o100644), digest=digest)


def moves(gone: list[str], came: list[str]) -> dict[str, str]:
    """The detected renames when files of one content go and come with new inodes."""
    touched = [Touched(path, entry(path, number), None) for number, path in enumerate(gone, 1)]
    touched += [Touched(path, None, entry(path, 10**6 + number)) for number, path in enumerate(came)]
    found = with_renames(touched, lambda _: b"equal", NothingElse())
    pairs = {item.path: item.moved_to for item in found if item.moved_to}
    assert {item.moved_from: item.path for item in found if item.moved_from} == pairs
    return pairs


def test_of_files_with_one_content_those_of_a_name_are_paired() -> None:
    assert moves(["a/x", "a/y"], ["b/y", "b/x"]) == {"a/x": "b/x", "a/y": "b/y"}


def test_the_last_two_are_paired_whatever_they_are_called() -> None:
    assert moves(["a/x", "a/y"], ["b/x", "b/z"]) == {"a/x": "b/x", "a/y": "b/z"}


def test_which_of_two_with_one_name_went_where_is_not_guessed() -> None:
    assert moves(["a/x", "b/x"], ["c/x", "d/x"]) == {}
    assert moves(["a/x", "b/x"], ["c/x"]) == {}


@given(PATHS, PATHS)
def test_no_file_goes_to_two_places_and_none_is_the_end_of_two(gone: set[str], came: set[str]) -> None:
    pairs = moves(sorted(gone), sorted(came - gone))
    assert pairs.keys() <= gone
    assert len(set(pairs.values())) == len(pairs)


def test_thousands_of_files_with_one_content_are_told_apart_by_name() -> None:
    gone, came = [f"a/{number}" for number in range(20_000)], [f"b/{number}" for number in range(20_000)]
    assert len(moves(gone, came)) == 20_000
