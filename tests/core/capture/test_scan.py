"""A walk finds what happened to the folder since the last one, up to its limits."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from msgspec.structs import replace

from desktop_agent.core.capture.scan import CaptureStoppedError, Known, Scan, learn, scan_folder
from desktop_agent.core.settings.sections import CaptureSettings

LIMITS = CaptureSettings()


class Walks:
    """Walks one folder again and again, with what the walks before have found."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.known = Known()

    def look(self, limits: CaptureSettings = LIMITS) -> Scan:
        scan = scan_folder(self.root, self.known, limits)
        learn(self.known, scan)
        return scan

    def forget(self) -> None:
        """Walk and learn, and go back to the table of before: so it is after a transaction that failed at its end."""
        before = {path: structs.replace(folder, files=dict(folder.files)) for path, folder in self.known.items()}
        self.look()
        self.known = before


def grow(root: Path) -> None:
    for folder in ("a", "a/deep", "a/deep/er", "b", "b/other", "c"):
        (root / folder).mkdir(parents=True)
        for number in range(4):
            (root / folder / f"{number}.txt").write_bytes(b"text\n")


@pytest.fixture
def walks(tmp_path: Path) -> Walks:
    root = tmp_path / "ws"
    grow(root)
    walks = Walks(root)
    walks.look()
    return walks


def paths(known: Known) -> set[str]:
    """Everything a table names, but for the folder itself."""
    return {path for folder in known for path in (folder, *(f"{folder}/{name}" for name in known[folder].files))}


def states(root: Path) -> dict[str, tuple[int, int]]:
    """What is in the folder, with what changes whenever something is changed."""
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
        case "forget":
            walks.forget()
        case _:
            pass


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(rounds=st.lists(STEPS, min_size=1, max_size=4))
def test_whatever_happens_to_the_folder_is_seen(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[tuple[str, str, bytes]]]
) -> None:
    root = tmp_path_factory.mktemp("ws")
    grow(root)
    walks = Walks(root)
    walks.look()
    for steps in rounds:
        before = states(root)
        for step in steps:
            do(walks, *step)
        after = states(root)
        files = {path for path in after if not (root / path).is_dir() or (root / path).is_symlink()}
        scan = walks.look()
        assert {path for path in files if after[path] != before.get(path)} <= scan.changed.keys()
        assert {path for path in before if path not in after} <= set(scan.gone)
        assert set(scan.gone) <= before.keys()
        assert not set(scan.changed) - after.keys()
        assert scan.out_of_reach == []
        afresh = Walks(root)
        afresh.look()
        assert paths(walks.known) == paths(afresh.known)


@pytest.mark.parametrize("most", [26, 27, 30, 43, 44, 45, 100])
def test_files_beyond_the_most_that_are_watched_are_left_out_and_what_was_watched_goes(walks: Walks, most: int) -> None:
    more = [walks.root / folder / f"more{number}" for folder in ("a/deep/er", "b") for number in range(10)]
    for path in more:
        path.touch()
    scan = walks.look(replace(LIMITS, max_files=most))
    watched = {path for path in scan.changed if "more" in path}
    assert len(watched) == 20 if most >= 44 else len(watched) < most
    assert len(watched) == 20 or f"more than {most} files" in scan.out_of_reach[0].reason
    for path in more:
        path.unlink()
    assert set(walks.look().gone) == watched


def test_what_was_found_and_could_not_be_written_down_is_found_again(walks: Walks, settle: Callable[[], None]) -> None:
    for name in "ab":
        (walks.root / name / "0.txt").write_bytes(b"other\n")
    settle()
    walks.forget()
    assert {"a/0.txt", "b/0.txt"} <= walks.look().changed.keys()


def test_what_was_not_read_in_time_is_found_again_at_the_next_look(walks: Walks, settle: Callable[[], None]) -> None:
    names = {"a/0.txt", "b/0.txt"}
    for name in names:
        (walks.root / name).write_bytes(b"other\n")
    settle()
    scan = scan_folder(walks.root, walks.known, LIMITS)
    scan.unread |= names
    learn(walks.known, scan)
    for expected in (names, set[str]()):
        assert walks.look().changed.keys() == expected


def test_folders_that_the_walk_came_to_too_late_are_counted_and_stay_as_they_were(walks: Walks) -> None:
    known = paths(walks.known)
    scan = walks.look(replace(LIMITS, max_seconds=0.0))
    assert scan.folders_left > 0
    [note] = scan.not_watched(LIMITS)
    assert f"{scan.folders_left} folders" in note.reason
    assert (scan.gone, paths(walks.known)) == ([], known)


def test_a_walk_can_be_stopped(walks: Walks) -> None:
    stop = Event()
    stop.set()
    with pytest.raises(CaptureStoppedError):
        scan_folder(walks.root, walks.known, LIMITS, stop)
