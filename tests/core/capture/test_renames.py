"""A file is paired with the one that it was renamed to, and with no other that is like it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import StatCapture
from tests.core.capture.folders import Run, collect, renames


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
