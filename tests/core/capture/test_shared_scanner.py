"""A walk shared with a process finds the same as one alone, whatever happens to the process."""

import errno
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Event, Timer
from typing import cast

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from desktop_agent.core.capture import scan_process
from desktop_agent.core.capture.scan import (
    CaptureStoppedError,
    Known,
    KnownFolder,
    Scan,
    below,
    half_of,
    learn,
    scan_folder,
)
from desktop_agent.core.capture.scan_process import Done, ScanProcess, SharedScanner
from desktop_agent.core.settings.sections import CaptureSettings
from desktop_agent.core.system.processes import worker_process

LIMITS = CaptureSettings()


class Walks:
    """Walks one folder in both ways, each with its own table."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shared = SharedScanner(root, big_files=1, start_s=0)
        self.together = Known()
        self.alone = Known()

    def look(self, limits: CaptureSettings = LIMITS) -> tuple[Scan, Scan]:
        scan, expected = self.shared.scan(self.together, limits), scan_folder(self.root, self.alone, limits)
        self.shared.learn(self.together, scan)
        learn(self.alone, expected)
        return scan, expected

    def forget(self) -> None:
        """Walk and update, then restore the old table, as after a failed transaction."""
        before = {path: structs.replace(folder, files=dict(folder.files)) for path, folder in self.together.items()}
        self.shared.learn(self.together, self.shared.scan(self.together, LIMITS))
        self.together = before

    @property
    def process(self) -> psutil.Process:
        assert self.shared.pid is not None
        return psutil.Process(self.shared.pid)


def grow(root: Path) -> None:
    for folder in ("a", "a/deep", "a/deep/er", "b", "b/other", "c"):
        (root / folder).mkdir(parents=True)
        for number in range(4):
            (root / folder / f"{number}.txt").write_bytes(b"text\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    grow(root)
    return root


@pytest.fixture
def walks(root: Path) -> Iterator[Walks]:
    walks = Walks(root)
    walks.look()
    yield walks
    walks.shared.close()


def paths(known: Known) -> set[str]:
    return {path for folder in known for path in (folder, *(f"{folder}/{name}" for name in known[folder].files))}


def states(root: Path) -> dict[str, tuple[int, int]]:
    found = (path for path in sorted(root.rglob("*")))
    return {str(path.relative_to(root)): (path.lstat().st_ctime_ns, path.lstat().st_ino) for path in found}


FILES = st.sampled_from(["a/0.txt", "a/deep/1.txt", "a/deep/er/2.txt", "b/3.txt", "b/other/0.txt", "c/new", "new"])
FOLDERS = st.sampled_from(["a", "a/deep", "a/deep/er", "b", "b/other", "c", "fresh/folder"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), FILES, st.binary(max_size=9)),
        st.tuples(st.just("remove"), st.one_of(FILES, FOLDERS), st.just(b"")),
        st.tuples(st.just("folder"), FOLDERS, st.just(b"")),
        st.tuples(st.just("file instead"), FOLDERS, st.just(b"x")),
        st.tuples(st.just("link instead"), FOLDERS, st.just(b"")),
        st.tuples(st.just("move"), FOLDERS, st.just(b"")),
        st.tuples(st.just("kill"), FOLDERS, st.just(b"")),
        st.tuples(st.just("forget"), FOLDERS, st.just(b"")),
    ),
    max_size=4,
)


def remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def do(walks: Walks, kind: str, name: str, content: bytes) -> None:
    path = walks.root / name
    if any(parent.is_symlink() or parent.is_file() for parent in path.parents if parent != walks.root):
        return
    match kind:
        case "write" if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        case "remove":
            remove(path)
        case "folder" if not os.path.lexists(path):
            path.mkdir(parents=True)
        case "file instead" | "link instead":
            remove(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content) if kind == "file instead" else path.symlink_to("nowhere")
        case "move" if path.is_dir():
            remove(walks.root / "moved")
            path.rename(walks.root / "moved")
        case "kill" if walks.shared.pid is not None:
            walks.process.kill()
        case "forget":
            walks.forget()
        case _:
            pass


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(rounds=st.lists(STEPS, min_size=1, max_size=4))
def test_whatever_happens_to_the_folder_both_ways_see_it(
    tmp_path_factory: pytest.TempPathFactory, expected_logs: list[str], rounds: list[list[tuple[str, str, bytes]]]
) -> None:
    expected_logs.append("died")
    root = tmp_path_factory.mktemp("ws")
    grow(root)
    walks = Walks(root)
    walks.look()
    try:
        for steps in rounds:
            before = states(root)
            for step in steps:
                do(walks, *step)
            after = states(root)
            files = {path for path in after if not (root / path).is_dir() or (root / path).is_symlink()}
            for scan in walks.look():
                assert {path for path in files if after[path] != before.get(path)} <= scan.changed.keys()
                assert {path for path in before if path not in after} <= set(scan.gone)
                assert set(scan.gone) <= before.keys()
                assert not set(scan.changed) - after.keys()
                assert scan.out_of_reach == []
            assert paths(walks.together) == paths(walks.alone)
    finally:
        walks.shared.close()


def test_a_small_folder_has_no_process(root: Path) -> None:
    shared = SharedScanner(root, big_files=1000)
    known = Known()
    for _ in range(2):
        shared.learn(known, shared.scan(known, LIMITS))
    assert shared.pid is None


def test_the_process_walks_about_half_and_finds_what_changed_there(walks: Walks) -> None:
    (walks.root / "a" / "0.txt").write_bytes(b"other\n")
    (walks.root / "b" / "0.txt").write_bytes(b"other\n")
    walks.look()
    half = half_of(walks.together)
    assert 0.3 < sum(len(folder.files) for _, folder in below(walks.together, half)) / 24 < 0.7
    assert ("a" in half) != ("b" in half)
    for name in "ab":
        (walks.root / name / "1.txt").write_bytes(b"another\n")
    scan, _ = walks.look()
    assert {"a/1.txt", "b/1.txt"} <= scan.changed.keys()
    assert scan.file_count == 24
    assert walks.shared.was_shared


def test_without_folders_there_is_no_half(tmp_path: Path) -> None:
    (tmp_path / "one.txt").touch()
    walks = Walks(tmp_path)
    for _ in range(3):
        scan, _ = walks.look()
        assert scan.file_count == 1
        assert walks.shared.pid is None


def test_a_process_that_dies_every_time_is_not_started_for_ever(walks: Walks, expected_logs: list[str]) -> None:
    expected_logs.append("died")
    pids: set[int] = set()
    for _ in range(6):
        if walks.shared.pid is not None:
            pids.add(walks.shared.pid)
            walks.process.kill()
        walks.look()
    assert len(pids) == 3
    assert walks.shared.pid is None


def test_where_no_process_can_be_started_one_walk_does_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(scan_process, "ScanProcess", refuse)
    walks = Walks(root)
    for _ in range(3):
        scan, _ = walks.look()
        assert scan.file_count == 24


def test_a_walk_that_is_stopped_leaves_no_process_behind(walks: Walks) -> None:
    process = walks.process
    stop = Event()
    stop.set()
    with pytest.raises(CaptureStoppedError):
        walks.shared.scan(walks.together, LIMITS, stop)
    assert not process.is_running()
    scan, _ = walks.look()
    assert scan.file_count == 24


@pytest.mark.parametrize("most", [26, 27, 30, 43, 44, 45, 100])
def test_the_most_files_that_are_watched_are_counted_over_both_halves(walks: Walks, most: int) -> None:
    limits = replace(LIMITS, max_files=most)
    more = [walks.root / folder / f"more{number}" for folder in ("a/deep/er", "b") for number in range(10)]
    for path in more:
        path.touch()
    scan, expected = walks.look(limits)
    assert (scan.file_count, scan.out_of_reach) == (expected.file_count, expected.out_of_reach)
    assert paths(walks.together) == paths(walks.alone)
    for path in more:
        path.unlink()
    scan, expected = walks.look()
    assert sorted(scan.gone) == sorted(expected.gone)


def test_what_was_found_and_could_not_be_written_down_is_found_again(walks: Walks, settle: Callable[[], None]) -> None:
    walks.look()
    for name in "ab":
        (walks.root / name / "0.txt").write_bytes(b"other\n")
    settle()
    walks.forget()
    scan, _ = walks.look()
    assert {"a/0.txt", "b/0.txt"} <= scan.changed.keys()
    assert walks.shared.was_shared


def test_what_goes_between_the_two_walks_is_gone(walks: Walks, monkeypatch: pytest.MonkeyPatch) -> None:
    walks.look()
    begin, result = ScanProcess.begin, ScanProcess.result
    found: list[Scan] = []

    def begin_and_lose_a_folder(process: ScanProcess, limits: CaptureSettings) -> None:
        begin(process, limits)
        found.append(result(process))
        for path in half_of(walks.together):
            shutil.rmtree(walks.root / path)

    def found_early(_: ScanProcess) -> Scan:
        return found.pop()

    for path in half_of(walks.together):
        (walks.root / path / "new").touch()
    monkeypatch.setattr(ScanProcess, "begin", begin_and_lose_a_folder)
    monkeypatch.setattr(ScanProcess, "result", found_early)
    walks.shared.learn(walks.together, walks.shared.scan(walks.together, LIMITS))
    monkeypatch.undo()
    _, expected = walks.look()
    assert paths(walks.together) == paths(walks.alone)
    assert "a" in expected.gone or "b" in expected.gone


def test_what_was_not_read_in_time_is_found_again_at_the_next_look(walks: Walks, settle: Callable[[], None]) -> None:
    names = {"a/0.txt", "b/0.txt"}
    for name in names:
        (walks.root / name).write_bytes(b"other\n")
    settle()
    scan = walks.shared.scan(walks.together, LIMITS)
    scan.unread |= names
    walks.shared.learn(walks.together, scan)
    for expected in (names, set[str]()):
        scan, _ = walks.look()
        assert scan.changed.keys() == expected
        assert walks.shared.was_shared


def test_after_close_the_process_is_gone_and_walks_are_done_alone(walks: Walks) -> None:
    process = walks.process
    walks.shared.close()
    assert not process.is_running()
    for _ in range(2):
        scan, _ = walks.look()
        assert scan.file_count == 24
    assert walks.shared.pid is None


def test_the_process_is_not_asked_before_it_has_had_time_to_start(root: Path) -> None:
    times = [0.0]
    shared = SharedScanner(root, big_files=1, start_s=0.5, clock=lambda: times[-1])
    known = Known()
    shared.learn(known, shared.scan(known, LIMITS))
    assert shared.pid is not None
    for now, is_asked in ((0.4, False), (0.6, True)):
        times.append(now)
        shared.learn(known, shared.scan(known, LIMITS))
        assert shared.was_shared is is_asked
    shared.close()


def test_near_the_most_files_that_are_watched_one_walk_counts_them_all(walks: Walks) -> None:
    walks.look(replace(LIMITS, max_files=26))
    assert not walks.shared.was_shared
    walks.look(replace(LIMITS, max_files=27))
    assert walks.shared.was_shared


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")
def test_a_process_that_stands_still_is_waited_for_as_long_as_a_walk_may_take(
    walks: Walks, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]
) -> None:
    expected_logs.append("died")
    monkeypatch.setattr(scan_process, "_SLACK_S", 0.1)
    process = walks.process
    process.suspend()
    scan = walks.shared.scan(walks.together, replace(LIMITS, max_seconds=0.1))
    assert scan.folders_left > 0, "nothing is left of the time"
    assert not process.is_running()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")
def test_whoever_waits_for_a_process_that_stands_still_can_stop_the_walk(walks: Walks) -> None:
    process = walks.process
    process.suspend()
    stop = Event()
    timer = Timer(0.2, stop.set)  # when our own half has long been walked
    timer.start()
    with pytest.raises(CaptureStoppedError):
        walks.shared.scan(walks.together, LIMITS, stop)
    timer.join()
    assert not process.is_running()


def test_what_goes_wrong_in_the_process_is_logged_and_one_walk_does_it_all(
    walks: Walks, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    def spoilt(known: Known, starts: Iterable[str]) -> Iterator[tuple[str, KnownFolder]]:
        return (
            (path, structs.replace(folder, folders=cast("tuple[str, ...]", 7))) for path, folder in below(known, starts)
        )

    expected_logs.append("died")
    monkeypatch.setattr(scan_process, "below", spoilt)
    scan, _ = walks.look()
    assert scan.file_count == 24
    assert "TypeError: 'int' object is not iterable" in caplog.text


def test_what_is_printed_while_python_starts_is_not_taken_for_an_answer(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('activating environment')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path / "site"), os.environ.get("PYTHONPATH", ""))))
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    walks = Walks(root)
    for _ in range(2):
        walks.look()
    assert walks.shared.was_shared
    walks.shared.close()


@pytest.mark.parametrize("answer", [EOFError(), MemoryError(), pickle.UnpicklingError(), Done(), "something else"])
def test_an_answer_that_is_none_counts_as_a_death(
    walks: Walks, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str], answer: object
) -> None:
    def read(_: object) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    expected_logs.append("died")
    monkeypatch.setattr(worker_process, "read_message", read)
    process = walks.process
    scan = walks.shared.scan(walks.together, LIMITS)
    assert (scan.file_count, walks.shared.was_shared) == (24, False)
    assert not process.is_running()


def test_when_our_half_ends_before_its_time_theirs_is_not_believed(walks: Walks, tmp_path: Path) -> None:
    """The other half may have walked behind a link out of the workspace; only our half checks that."""
    walks.look()
    start = half_of(walks.together)[0]
    outside = tmp_path / "outside"
    (walks.root / start).rename(outside)
    (walks.root / start).symlink_to(outside)
    (outside / "secret").touch()
    scan = walks.shared.scan(walks.together, replace(LIMITS, max_seconds=-1.0))
    assert (scan.changed, scan.gone) == ({}, [])
    assert scan.folders_left > 1


def test_a_folder_is_halved_anew_when_it_has_grown_much(walks: Walks, monkeypatch: pytest.MonkeyPatch) -> None:
    halves: list[tuple[str, ...]] = []
    teach = ScanProcess.teach

    def teach_and_tell(
        process: ScanProcess, root: Path, starts: tuple[str, ...], folders: Iterable[tuple[str, KnownFolder]]
    ) -> None:
        halves.append(starts)
        teach(process, root, starts, folders)

    monkeypatch.setattr(ScanProcess, "teach", teach_and_tell)
    for number in range(12):
        (walks.root / "c" / f"more{number}").touch()
        walks.look()
    assert 1 < len(halves) < 5


def test_folders_that_neither_walk_came_to_in_time_are_counted_together(walks: Walks) -> None:
    walks.look()  # the process has started when it has answered
    hurried = replace(LIMITS, max_seconds=-1.0)
    scan = walks.shared.scan(walks.together, hurried)
    assert walks.shared.was_shared
    assert scan.folders_left >= 2
    [note] = scan.not_watched(hurried)
    assert f"{scan.folders_left} folders" in note.reason


def test_the_process_ends_when_whoever_asks_is_gone() -> None:
    command = [sys.executable, "-P", "-m", "desktop_agent.core.capture.scan_process"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=60) == 0
