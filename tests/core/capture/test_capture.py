"""All changes of a command are found in any folder, for the right session."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import CaptureReport, Snapshot, StatCapture
from desktop_agent.core.capture.scan import CaptureStoppedError
from desktop_agent.core.system.file_writes import write_state
from desktop_agent.core.system.files import FileState, FileTransition
from tests.core.capture.folders import Run, collect, commit, renames, rows, shell, take_back, tree

# -- what commands do ----------------------------------------------------------------------------------------------


COMMANDS = {
    "nothing": "true",
    "edit in place": "sed -i s/a/A/ src/a.py",
    "edit over": "echo more >> src/a.py",
    "rename": "mv src/a.py src/c.py",
    "rename over an existing file": "mv src/a.py src/b.py",
    "rename a folder": "mv src lib",
    "swap": "mv src/a.py t; mv src/b.py src/a.py; mv t src/b.py",
    "delete": "rm data.bin",
    "delete a folder": "rm -r src",
    "delete everything": "rm -r src data.bin",
    "make folders": "mkdir -p x/y/z",
    "make folders with a file": "mkdir -p x/y; echo 1 > x/y/f",
    "remove a folder": "rm src/*; rmdir src",
    "mode of a file": "chmod 755 src/a.py",
    "mode of a folder": "chmod 750 src",
    "link": "ln -s src/a.py link",
    "link over a file": "ln -sf data.bin src/a.py",
    "link to a folder for a folder": "rm -r src; ln -s /tmp src",
    "file for a folder": "rm -r src; echo x > src",
    "folder for a file": "rm data.bin; mkdir data.bin; echo x > data.bin/in",
    "empty file": ": > src/empty",
    "copy": "cp -r src copy",
}


@pytest.mark.parametrize("place", ["plain folder", "git repository"])
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.sampled(2, "capture", "name", "place")
def test_what_a_command_did_can_be_taken_back_exactly(root: Path, run: Run, name: str, place: str) -> None:
    if place == "git repository":
        commit(root)
    before = tree(root)
    found = run(COMMANDS[name])
    after = tree(root)
    assert found.report == CaptureReport((), ())
    assert set(found.paths) == {path for path in before | after if before.get(path) != after.get(path)}
    take_back(root, found.items)
    assert tree(root) == before
    for item in found.items:
        write_state(root / item.path, item.after)
    assert tree(root) == after


@pytest.mark.parametrize("command", ["git checkout -- .", "git reset --hard", "git stash -u", "git clean -fdx"])
def test_what_git_throws_away_is_kept(root: Path, run: Run, command: str) -> None:
    commit(root)
    (root / "src" / "a.py").write_bytes(b"mine\n")
    (root / "data.bin").unlink()
    (root / "new").write_bytes(b"untracked")
    before = tree(root)
    found = run(f"git -c user.name=T -c user.email=t@example.org {command.removeprefix('git ')}")
    assert found.report.lost == ()
    assert tree(root) != before
    take_back(root, found.items)
    assert tree(root) == before


def test_a_change_that_keeps_size_and_modification_time_is_found(run: Run, root: Path) -> None:
    path = root / "src" / "a.py"
    status = path.stat()

    def command() -> None:
        path.write_bytes(b"z\n")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert run(command).content("src/a.py") == (b"a\n", b"z\n")


def test_changes_in_quick_succession_are_all_found(run: Run, root: Path) -> None:
    for text in (b"1", b"2", b"3", b"4"):
        found = run(lambda text=text: (root / "src" / "a.py").write_bytes(text))
        assert found.content("src/a.py")[1] == text


def test_a_file_that_was_only_touched_or_written_anew_is_not_a_change(run: Run) -> None:
    assert run("touch src/a.py; cp src/b.py t; mv t src/b.py").items == []


def test_created_folders_come_before_what_is_in_them_and_deleted_ones_after(run: Run) -> None:
    found = run("mkdir -p x/y; echo 1 > x/y/f; rm -r src")
    assert found.paths == ["x", "x/y", "src/a.py", "src/b.py", "x/y/f", "src"]


# -- several at once -----------------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.integers(0, 1), st.booleans(), st.integers(0, 3)), max_size=24))
def test_each_of_two_sessions_sees_all_that_changed_since_its_own_snapshot(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, bool, int]]
) -> None:
    folder = tmp_path_factory.mktemp("two")
    root = folder / "ws"
    root.mkdir()
    captures = [StatCapture(root, Baseline(folder / "b.sqlite3")) for _ in range(2)]
    begun: list[tuple[Snapshot, dict[str, FileState]] | None] = [None, None]
    for number, (who, is_look, name) in enumerate(steps):
        path = root / f"f{name}"
        if not is_look:
            path.unlink() if path.exists() and number % 3 == 0 else path.write_bytes(b"%d" % number)
        elif (one := begun[who]) is None:
            begun[who] = captures[who].begin(), tree(root)
        else:
            snapshot, before = one
            after = tree(root)
            found = collect(captures[who], snapshot)
            captures[who].release(snapshot)
            begun[who] = None
            changed = {path for path in before | after if before.get(path) != after.get(path)}
            assert {item.path: (item.before, item.after) for item in found.items} == {
                path: (before.get(path), after.get(path)) for path in changed
            }


def test_changes_in_the_overlap_of_two_commands_are_marked_as_shared(root: Path, database: Path) -> None:
    one, two = StatCapture(root, Baseline(database)), StatCapture(root, Baseline(database))
    first = one.begin()
    second = two.begin()
    shell(root, "echo 1 > both; rm data.bin")
    found = collect(one, first)
    assert {item.path: item.is_shared for item in found.items} == {"both": True, "data.bin": True}
    assert all(item.is_shared for item in collect(two, second).items)


def test_commands_one_after_the_other_share_nothing(root: Path, database: Path) -> None:
    one, two = StatCapture(root, Baseline(database)), StatCapture(root, Baseline(database))
    for capture in (one, two, one):
        snapshot = capture.begin()
        shell(root, "date +%N > now; rm -f data.bin")
        assert not any(item.is_shared for item in collect(capture, snapshot).items)
        capture.release(snapshot)


def test_what_was_written_on_record_elsewhere_is_not_the_commands(root: Path, database: Path) -> None:
    one, two = StatCapture(root, Baseline(database)), StatCapture(root, Baseline(database))
    snapshot = one.begin()
    for path, state in (("edited", FileState(content=b"mine")), ("data.bin", None)):
        two.note_written({path: state.image() if state else None})
        write_state(root / path, state)
    shell(root, "echo 1 > commands")
    assert collect(one, snapshot).paths == ["commands"]


def test_a_command_that_writes_on_top_of_an_edit_is_reported_as_shared(root: Path, database: Path) -> None:
    capture = StatCapture(root, Baseline(database))
    snapshot = capture.begin()
    state = FileState(content=b"edit\n")
    capture.note_written({"src/a.py": state.image()})
    write_state(root / "src" / "a.py", state)
    shell(root, "echo more >> src/a.py")
    found = collect(capture, snapshot)
    assert found.content("src/a.py") == (b"a\n", b"edit\nmore\n")
    assert found["src/a.py"].is_shared


# -- durability ----------------------------------------------------------------------------------------------------

CHILD = """
import os, signal, sys
from pathlib import Path
from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import StatCapture
root, database = map(Path, sys.argv[1:])
print(StatCapture(root, Baseline(database)).begin().number, flush=True)
(root / "src" / "a.py").write_text("by the command")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_kill_the_snapshot_still_tells_what_the_command_did(root: Path, database: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as killed:
        subprocess.check_output([sys.executable, "-c", CHILD, str(root), str(database)])
    assert killed.value.returncode == -signal.SIGKILL
    capture = StatCapture(root, Baseline(database))
    other = capture.begin()  # another session's, meanwhile
    capture.release(other)
    found = collect(capture, Snapshot(int(killed.value.output)))
    assert found.content("src/a.py") == (b"a\n", b"by the command")


def test_until_it_is_released_a_snapshot_reports_the_same_again(root: Path, capture: StatCapture) -> None:
    """A report that did not reach the journal (a crash, a full disk) can be repeated."""
    snapshot = capture.begin()
    (root / "src" / "a.py").write_bytes(b"changed")

    def refuse(_transition: FileTransition) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        capture.collect(snapshot, refuse)
    (root / "src" / "a.py").write_bytes(b"changed again, but after the command")
    reports = [collect(capture, snapshot), collect(capture, snapshot)]
    assert reports[0].content("src/a.py") == (b"a\n", b"changed")
    assert reports[0] == reports[1]


def test_a_snapshot_may_be_let_go_of_with_the_look_that_finds_nothing(
    root: Path, capture: StatCapture, database: Path
) -> None:
    def released(snapshot: Snapshot) -> bool:
        return capture.collect(snapshot, list[FileTransition]().append, may_release=True).is_released

    still, changed = capture.begin(), capture.begin()
    assert released(still)
    (root / "src" / "a.py").write_bytes(b"changed")
    assert not released(changed)
    assert rows(database, "SELECT number FROM snapshot WHERE is_released = 0") == [(changed.number,)]
    assert collect(capture, changed).content("src/a.py") == (b"a\n", b"changed")


def test_a_snapshot_that_nobody_knows_is_said_to_be_lost(capture: StatCapture) -> None:
    found = collect(capture, Snapshot(77))
    assert found.items == []
    assert "no longer known" in found.report.lost[0].reason


def test_a_snapshot_is_not_taken_for_one_of_another_baseline(root: Path, database: Path, tmp_path: Path) -> None:
    """A killed process leaves a snapshot in the journal; then the cache is removed and rebuilt."""
    gone = StatCapture(root, Baseline(database)).begin()
    capture = StatCapture(root, Baseline(tmp_path / "anew.sqlite3"))
    others = capture.begin()
    (root / "src" / "a.py").unlink()
    found = collect(capture, gone)
    assert found.items == []
    assert "no longer known" in found.report.lost[0].reason
    assert collect(capture, others).paths == ["src/a.py"]


def test_a_baseline_of_another_format_is_made_anew(root: Path, database: Path) -> None:
    database.parent.mkdir()
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE entry (old TEXT)")
    connection.close()
    capture = StatCapture(root, Baseline(database))
    snapshot = capture.begin()
    (root / "src" / "a.py").unlink()
    assert collect(capture, snapshot).paths == ["src/a.py"]


def test_a_look_can_be_stopped_and_leaves_no_trace(root: Path, capture: StatCapture) -> None:
    stop = Event()
    stop.set()
    with pytest.raises(CaptureStoppedError):
        capture.begin(stop)
    snapshot = capture.begin()
    (root / "src" / "a.py").unlink()
    assert collect(capture, snapshot).paths == ["src/a.py"]


# -- anything ------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "f", "f/a"])
OPERATIONS = st.one_of(
    st.tuples(st.just("write"), NAMES, st.binary(max_size=4)),
    st.tuples(st.just("append"), NAMES, st.binary(min_size=1, max_size=4)),
    st.tuples(st.just("mkdir"), NAMES),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("move"), NAMES, NAMES),
    st.tuples(st.just("link"), NAMES, NAMES),
    st.tuples(st.just("chmod"), NAMES, st.sampled_from([0o644, 0o600, 0o755, 0o700])),
)


def operate(root: Path, operation: tuple[object, ...]) -> None:
    match operation:
        case ("write", str(name), bytes(content)):
            (root / name).write_bytes(content)
        case ("append", str(name), bytes(content)):
            with (root / name).open("ab") as file:
                file.write(content)
        case ("mkdir", str(name)):
            (root / name).mkdir(parents=True)
        case ("remove", str(name)):
            path = root / name
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        case ("move", str(name), str(target)):
            (root / name).rename(root / target)
        case ("link", str(name), str(target)):
            (root / name).symlink_to(target)
        case ("chmod", str(name), int(mode)):
            (root / name).chmod(mode)
        case _:
            raise AssertionError(operation)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.lists(OPERATIONS, max_size=12), second=st.lists(OPERATIONS, max_size=12), is_repository=st.booleans())
def test_whatever_a_command_does_can_be_taken_back_and_done_again(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[object, ...]],
    second: list[tuple[object, ...]],
    *,
    is_repository: bool,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    root = folder / "ws"
    root.mkdir()

    def do(operations: list[tuple[object, ...]]) -> None:
        for operation in operations:
            try:
                operate(root, operation)
            except OSError:
                continue

    do(first)
    if is_repository:
        commit(root)
    capture = StatCapture(root, Baseline(folder / "cache" / "b.sqlite3"))
    before = tree(root)
    snapshot = capture.begin()
    do(second)
    found = collect(capture, snapshot)
    after = tree(root)
    assert found.report.lost == ()
    renames(found)
    take_back(root, found.items)
    assert tree(root) == before
    for item in found.items:
        write_state(root / item.path, item.after)
    assert tree(root) == after
