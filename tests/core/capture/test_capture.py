"""All changes of a command are found in any folder, for the right session."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import CaptureReport, Snapshot, StatCapture
from desktop_agent.core.capture.git_objects import unchanged_objects
from desktop_agent.core.capture.scan import CaptureStoppedError
from desktop_agent.core.capture.scan_process import SharedScanner
from desktop_agent.core.changes.patch import blob_id
from desktop_agent.core.settings.sections import CaptureSettings
from desktop_agent.core.system.file_writes import write_state
from desktop_agent.core.system.files import FileState, FileTransition, read_state

GIT_ENVIRON = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
LIMITS = CaptureSettings(max_file_bytes=1000, max_total_bytes=10_000)


def shell(root: Path, command: str) -> None:
    subprocess.check_output(["sh", "-ec", command], cwd=root, env=GIT_ENVIRON, stderr=subprocess.STDOUT)


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.check_output(["git", *identity, *arguments], cwd=root, env=GIT_ENVIRON, stderr=subprocess.STDOUT)


def commit(root: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all", "--allow-empty")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_bytes(b"a\n")
    (root / "src" / "b.py").write_bytes(b"b\r\n")
    (root / "data.bin").write_bytes(bytes(range(256)))
    return root


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "baseline.sqlite3"


@dataclass
class Found:
    items: list[FileTransition]
    report: CaptureReport

    @property
    def paths(self) -> list[str]:
        return [item.path for item in self.items]

    def __getitem__(self, path: str) -> FileTransition:
        [item] = [item for item in self.items if item.path == path]
        return item

    def content(self, path: str) -> tuple[bytes | None, bytes | None]:
        item = self[path]
        return item.before.content if item.before else None, item.after.content if item.after else None


def collect(capture: StatCapture, snapshot: Snapshot) -> Found:
    items: list[FileTransition] = []
    return Found(items, capture.collect(snapshot, items.append))


Run = Callable[[str | Callable[[], object]], Found]


@pytest.fixture(params=[10_000, 1], ids=["one walk", "two walks"])
def capture(root: Path, database: Path, request: pytest.FixtureRequest) -> Iterator[StatCapture]:
    scanner = SharedScanner(root, big_files=request.param, start_s=0)
    capture = StatCapture(root, Baseline(database), lambda: LIMITS, make_scanner=lambda _: scanner)
    yield capture
    capture.close()


@pytest.fixture
def run(root: Path, capture: StatCapture) -> Run:
    def run(command: str | Callable[[], object]) -> Found:
        snapshot = capture.begin()
        if isinstance(command, str):
            shell(root, command)
        else:
            command()
        found = collect(capture, snapshot)
        capture.release(snapshot)
        return found

    return run


def tree(root: Path) -> dict[str, FileState]:
    found: dict[str, FileState] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        state = None if name.split("/")[0] == ".git" else read_state(path, with_special=True)
        if state is not None:
            found[name] = state
    return found


def take_back(root: Path, items: list[FileTransition]) -> None:
    for item in reversed(items):
        write_state(root / item.path, item.before)


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


# -- renames -------------------------------------------------------------------------------------------------------


def renames(found: Found) -> set[tuple[str, str]]:
    pairs = {(item.moved_from, item.path) for item in found.items if item.moved_from}
    assert pairs == {(item.path, item.moved_to) for item in found.items if item.moved_to}
    return pairs


def test_a_file_renamed_and_then_edited_is_a_pair(run: Run, root: Path) -> None:
    (root / "long").write_text("".join(f"line {number}\n" for number in range(20)))
    assert renames(run("mv long longer; echo more >> longer")) == {("long", "longer")}


def test_a_new_file_that_was_given_the_inode_of_a_deleted_one_is_no_rename(run: Run, root: Path) -> None:
    (root / "old").write_text("".join(f"old {number}\n" for number in range(20)))
    assert renames(run("rm old; seq 20 > new")) == set()


def test_a_file_copied_and_then_deleted_is_a_pair_too(run: Run) -> None:
    assert renames(run("cp data.bin src/other.bin; rm data.bin")) == {("data.bin", "src/other.bin")}


def test_every_file_of_a_renamed_folder_is_a_pair_also_among_files_of_one_content(run: Run, root: Path) -> None:
    for name in ("one", "two"):
        (root / "src" / name).write_text("same")
    found = run("cp -r src lib; rm -r src")
    assert renames(found) == {(f"src/{name}", f"lib/{name}") for name in ("a.py", "b.py", "one", "two")}


FIVE = ("f1", "f2", "f3", "f4", "f5")


@pytest.fixture(params=["identical", "alike", "short and alike"])
def five(root: Path, request: pytest.FixtureRequest) -> Path:
    count = 3 if request.param == "short and alike" else 30
    for name in FIVE:
        own = "" if request.param == "identical" else f"own line of {name}\n"
        (root / name).write_text("".join(f"{number} is a line\n" for number in range(count)) + own)
    return root


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/^1/A/ f?; rm f3",
        "rm f3; sed -i s/^1/A/ f?",
        "sed -i s/^1/A/ f?; rm f2 f3 f5",
        "for f in f?; do sort -r $f > t; mv t $f; done; rm f4",
        "for f in f?; do cp $f $f.bak; rm $f; cp $f.bak $f; rm $f.bak; done; rm f1; echo x >> f2",
        "rm f3; cp f4 f6; echo mine >> f6",
        "rm f3; cp f4 f6",
        "sed -i s/^1/A/ f1 f2; rm f3; cp f4 f6; sed -i s/^1/A/ f6",
        "cp f3 t; cat f4 > f3; cat t > f4; rm t",
        "mv f3 t; mv f4 f3; mv t f4",
        "mv f4 f5; mv f3 f4; mv f2 f3; mv f1 f2; echo new > f1",
        "mv data.bin t; mv f2 data.bin; mv f1 f2; mv t f1",
        "mv f1 f6; sed -i s/^1/A/ f6; echo other > f1; rm f2",
        "mv f1 f1~; cp f1~ f1; echo more >> f1",
        "rm f1 f2; cat f3 f4 > f6; cat f4 f3 > f7",
    ],
)
@pytest.mark.sampled(2, "five", "capture", "command")
def test_files_that_are_alike_are_not_taken_for_one_another(five: Path, run: Run, command: str) -> None:
    del five
    assert renames(run(command)) == set()


@pytest.mark.parametrize(
    ("command", "pairs"),
    [
        ("mv f3 g3", {("f3", "g3")}),
        ("sed -i s/^1/A/ f?; mv f3 g3", {("f3", "g3")}),
        ("mv f3 g3; sed -i s/^1/A/ f? g3", {("f3", "g3")}),
        ("sed -i s/^1/A/ f1 f2 f4 f5; mv f3 g3", {("f3", "g3")}),
        ("mv f2 g2; mv f4 g4; rm f5", {("f2", "g2"), ("f4", "g4")}),
        ("mkdir d; mv f1 f2 d", {("f1", "d/f1"), ("f2", "d/f2")}),
        ("mkdir d; mv f1 f2 d; sed -i s/^1/A/ d/*", {("f1", "d/f1"), ("f2", "d/f2")}),
        ("mv f1 F1", {("f1", "F1")}),
        ("mv f3 data.bin", {("f3", "data.bin")}),
        ("mv f3 data.bin; sed -i s/^1/A/ data.bin f?", {("f3", "data.bin")}),
        ("mv f2 data.bin; mv f1 g1", {("f2", "data.bin"), ("f1", "g1")}),
        ("cp -p f1 t; mv t g1; rm f1; echo x > f2", {("f1", "g1")}),
    ],
)
@pytest.mark.sampled(2, "five", "capture", "command")
def test_a_file_that_was_renamed_is_told_from_those_like_it(
    five: Path, run: Run, command: str, pairs: set[tuple[str, str]]
) -> None:
    del five
    assert renames(run(command)) == pairs


def test_an_empty_file_was_renamed_only_if_it_is_the_same_file(run: Run, root: Path) -> None:
    for name in ("one", "two", "three"):
        (root / name).touch()
    assert renames(run("rm one; touch four")) == set()
    assert renames(run("mv two five; rm three; touch six")) == {("two", "five")}


def test_a_command_that_renames_a_big_folder_of_files_that_are_alike_is_understood(run: Run, root: Path) -> None:
    (root / "many").mkdir()
    for number in range(150):
        (root / "many" / f"{number}.txt").write_text("a\nb\nc\n" + f"{number}\n")
    found = run("mv many more; sed -i s/b/B/ more/1*.txt")
    assert len(renames(found)) == 150
    assert all(target == source.replace("many", "more") for source, target in renames(found))


KINDS_OF_FILE = st.sampled_from(["same", "alike", "empty", "other"])
STEPS = st.one_of(
    st.tuples(st.just("move"), st.integers(0, 5), st.integers(0, 9)),
    st.tuples(st.just("copy"), st.integers(0, 5), st.integers(0, 9)),
    st.tuples(st.just("remove"), st.integers(0, 5), st.just(0)),
    st.tuples(st.just("write"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("append"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("swap"), st.integers(0, 5), st.integers(0, 5)),
    st.tuples(st.just("edit all"), st.just(0), st.just(0)),
    st.tuples(st.just("save by rename"), st.integers(0, 5), st.just(0)),
)


class Lineage:
    def __init__(self, root: Path, kinds: list[str]) -> None:
        self.root = root
        self.origins: dict[str, frozenset[str]] = {}
        self.first: dict[str, bytes] = {}
        self._count = 0
        for number, kind in enumerate(kinds):
            own = {"same": "", "alike": f"own {number}\n", "empty": "", "other": ""}[kind]
            common = "".join(f"{line} of all\n" for line in range(8)) if kind in ("same", "alike") else ""
            (root / f"f{number}").write_text(self._fresh() if kind == "other" else common + own)
            self.origins[f"f{number}"] = frozenset({f"f{number}"})
            self.first[f"f{number}"] = (root / f"f{number}").read_bytes()

    def do(self, step: tuple[str, int, int]) -> None:
        kind, first, second = step
        source, target = f"f{first}", f"f{second}"
        if kind == "write":
            (self.root / source).write_text(self._fresh())
            self.origins[source] = frozenset()
        elif kind == "edit all":
            names = sorted(self.origins)
            subprocess.check_call(["sed", "-i", "s/^3/A/", "--", *names], cwd=self.root) if names else None
        elif source in self.origins:
            self._do(kind, source, target)

    def _do(self, kind: str, source: str, target: str) -> None:
        path, other = self.root / source, self.root / target
        match kind:
            case "move" if source != target:
                path.rename(other)
                self.origins[target] = self.origins.pop(source)
            case "copy" if source != target:
                shutil.copyfile(path, other)
                self.origins[target] = self.origins[source]
            case "swap" if target in self.origins and source != target:
                path.rename(self.root / "t")
                other.rename(path)
                (self.root / "t").rename(other)
                self.origins[source], self.origins[target] = self.origins[target], self.origins[source]
            case "append":
                with path.open("a") as file:
                    file.write(self._fresh()[:20])
            case "remove":
                path.unlink()
                del self.origins[source]
            case "save by rename":
                (self.root / "t").write_bytes(path.read_bytes() + b"saved\n")
                (self.root / "t").rename(path)
            case _:
                pass

    def _fresh(self) -> str:
        self._count += 1
        return "".join(f"{self._count} {line} {'xyz'[line % 3] * self._count}\n" for line in range(6))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(KINDS_OF_FILE, min_size=3, max_size=6), steps=st.lists(STEPS, min_size=1, max_size=8))
def test_whatever_a_command_does_a_file_is_only_paired_with_itself_or_its_like(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], steps: list[tuple[str, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("lineage")
    root = folder / "ws"
    root.mkdir()
    files = Lineage(root, kinds)
    capture = StatCapture(root, Baseline(folder / "cache" / "b.sqlite3"))
    snapshot = capture.begin()
    for step in steps:
        files.do(step)
    found = collect(capture, snapshot)
    capture.close()
    for source, target in renames(found):
        content = found.content(source)[0]
        likes = {files.first[origin] for origin in files.origins[target]} | {found.content(target)[1]}
        assert content in likes, (source, target)


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


# -- what is kept --------------------------------------------------------------------------------------------------


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(database) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_of_what_git_has_no_copy_is_kept(root: Path, database: Path, run: Run) -> None:
    commit(root)
    (root / "src" / "b.py").write_bytes(b"not as committed")
    (root / "new").write_bytes(b"untracked")
    run("true")
    assert rows(database, "SELECT path FROM entry WHERE kept = 'copy' ORDER BY path") == [("new",), ("src/b.py",)]
    assert rows(database, "SELECT COUNT(*) FROM copy") == [(2,)]


def test_copies_of_what_was_committed_since_are_dropped(root: Path, database: Path, run: Run) -> None:
    git(root, "init", "-q")
    run("true")
    commit(root)
    run("true")
    assert rows(database, "SELECT path FROM entry WHERE kept = 'copy'") == []
    assert rows(database, "SELECT COUNT(*) FROM copy") == [(0,)]
    assert run("rm src/a.py").content("src/a.py") == (b"a\n", None)


def test_content_that_nobody_has_any_more_is_named(root: Path, run: Run, database: Path) -> None:
    commit(root)
    shutil.rmtree(database.with_suffix(".objects"), ignore_errors=True)
    found = run(f"rm -rf .git {database.with_suffix('.objects')}; echo changed > src/a.py")
    assert found.items == []
    assert [(item.path, "Git no longer has" in item.reason) for item in found.report.lost] == [("src/a.py", True)]


def test_a_file_that_git_stores_in_another_form_comes_back_as_it_was(root: Path, run: Run) -> None:
    git(root, "init", "-q")
    git(root, "config", "core.autocrlf", "true")
    commit(root)
    assert run("rm src/b.py").content("src/b.py") == (b"b\r\n", None)


MANY = 250


@pytest.fixture
def large(root: Path) -> Path:
    """A repository with enough files that git is asked for the list, all committed a while ago."""
    for number in range(MANY):
        path = root / f"{number:03}.txt"
        path.write_bytes(b"%d\n" % number)
        os.utime(path, ns=(10**18, 10**18))
    commit(root)
    return root


def test_files_that_git_has_unchanged_are_not_even_read(
    large: Path, database: Path, settle: Callable[[], None]
) -> None:
    settle()
    capture = StatCapture(large, Baseline(database))
    before = tree(large)
    snapshot = capture.begin()
    assert rows(database, "SELECT COUNT(*) FROM entry WHERE kept = 'git' AND digest = x''") == [(MANY + 3,)]
    shell(large, "rm 001.txt; echo x >> 002.txt; mv 003.txt src/moved.txt; chmod 600 004.txt")
    shell(large, "touch 005.txt; git rm 006.txt")
    found = collect(capture, snapshot)
    assert found.report == CaptureReport((), ())
    assert renames(found) == {("003.txt", "src/moved.txt")}
    assert len(found.items) == 6
    take_back(large, found.items)
    assert tree(large) == before


def test_files_that_git_converts_are_read(large: Path, database: Path, settle: Callable[[], None]) -> None:
    (large / ".gitattributes").write_text("*.txt filter=rot13\n")
    settle()
    StatCapture(large, Baseline(database)).begin()
    assert rows(database, "SELECT COUNT(*) FROM entry WHERE digest = x''") == [(0,)]


def test_an_edit_that_git_cannot_see_in_its_index_is_not_taken_for_what_it_has(
    large: Path, database: Path, settle: Callable[[], None]
) -> None:
    (large / "001.txt").write_bytes(b"X\n")
    os.utime(large / "001.txt", ns=(10**18, 10**18))
    settle()
    capture = StatCapture(large, Baseline(database))
    snapshot = capture.begin()
    shell(large, "rm 001.txt")
    assert collect(capture, snapshot).content("001.txt") == (b"X\n", None)


@pytest.mark.parametrize("version", ["2", "4"])
def test_every_version_of_the_index_is_understood(large: Path, version: str) -> None:
    git(large, "update-index", "--index-version", version)
    found = {path.relative_to(large).as_posix(): path.lstat() for path in large.rglob("*") if ".git" not in path.parts}
    signatures = {
        path: (one.st_ctime_ns, one.st_mtime_ns, one.st_size, one.st_ino, one.st_mode) for path, one in found.items()
    }
    objects = unchanged_objects(large, signatures)
    assert len(objects) >= MANY
    assert all(blob_id((large / path).read_bytes()) == identifier for path, identifier in objects.items())


def test_nothing_is_kept_of_snapshots_that_were_released(root: Path, database: Path, run: Run) -> None:
    for number in range(5):
        run(f"echo {number} > src/a.py; rm -f data.bin")
    run("true")
    assert rows(database, "SELECT path FROM entry ORDER BY path") == [("src",), ("src/a.py",), ("src/b.py",)]
    assert rows(database, "SELECT COUNT(*) FROM copy") == [(2,)]
    assert rows(database, "SELECT COUNT(*) FROM snapshot WHERE is_released = 0") == [(0,)]


def test_known_images_are_told(root: Path, capture: StatCapture) -> None:
    capture.begin()
    state = read_state(root / "src" / "a.py")
    assert state is not None
    assert capture.images(["src/a.py", "nowhere"]) == {"src/a.py": state.image()}


# -- limits --------------------------------------------------------------------------------------------------------


def test_a_file_too_large_to_keep_is_named_instead(run: Run, root: Path) -> None:
    found = run(lambda: (root / "big").write_bytes(b"x" * 2000))
    assert found.items == []
    assert [item.path for item in found.report.lost] == ["big"]
    assert run("true").report.lost == ()
    assert [item.path for item in run("rm big").report.lost] == ["big"]


@pytest.mark.parametrize("is_settled", [True, False])
def test_files_beyond_the_budget_of_the_whole_folder_are_named(
    run: Run, root: Path, settle: Callable[[], None], is_settled: bool
) -> None:
    for number in range(12):
        (root / f"f{number:02}").write_bytes(bytes([number]) * 900)
    if is_settled:
        settle()
    found = run(lambda: [(root / f"f{number:02}").write_bytes(b"!") for number in range(12)])
    assert [item.path for item in found.report.lost] == ["f10", "f11"]
    assert len(found.items) == 10
    assert {item.reason for item in found.report.lost} == {
        "The files in this folder exceed the limit of 0 MiB for copies."
    }


def test_more_files_than_are_watched_are_said(root: Path, database: Path) -> None:
    capture = StatCapture(root, Baseline(database), lambda: replace(LIMITS, max_files=2))
    report = collect(capture, capture.begin()).report
    assert report.lost == ()
    assert "more than 2 files" in report.out_of_reach[0].reason


def test_a_look_that_takes_too_long_ends_and_says_so(root: Path, database: Path) -> None:
    capture = StatCapture(root, Baseline(database), lambda: replace(LIMITS, max_seconds=1e-9))
    snapshot = capture.begin()
    (root / "src" / "a.py").unlink()
    report = collect(capture, snapshot).report
    assert report.lost == ()
    assert "took longer than" in report.out_of_reach[0].reason


def test_ignored_folders_are_left_out(root: Path, database: Path) -> None:
    capture = StatCapture(root, Baseline(database), lambda: replace(LIMITS, ignored_folders=("made",)))
    snapshot = capture.begin()
    shell(root, "mkdir -p made src/made .cache; touch made/x src/made/x .cache/x")
    assert collect(capture, snapshot).paths == [".cache", ".cache/x"]


def test_a_workspace_that_was_removed_is_gone_file_by_file(root: Path, capture: StatCapture) -> None:
    snapshot = capture.begin()
    shutil.rmtree(root)
    assert collect(capture, snapshot).paths == ["data.bin", "src/a.py", "src/b.py", "src"]


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
