"""The safety copy, the scan, and earlier contents from git."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import Snapshot, StatCapture
from desktop_agent.core.capture.git_objects import GitObjects, GitState, HeldObjects, drop_stranded
from desktop_agent.core.capture.safety import EndangeredPath, SafetyCopies, SafetyLimits, restore_outside
from desktop_agent.core.capture.scan import Known, KnownFolder, Scan, Signature, below, half_of, pieces_of_scan
from desktop_agent.core.protocol.model import FileImage, OutsideFile
from desktop_agent.core.settings.sections import CaptureSettings
from desktop_agent.core.system.files import FileState, FileTransition, read_state


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder.resolve()


def copies_of(root: Path, **more: int) -> SafetyCopies:
    ignored = frozenset({"node_modules", ".git", ".cache"})
    return SafetyCopies(
        root, root.parent / "safety", lambda: SafetyLimits(ignored_folders=ignored, max_captured_bytes=100, **more)
    )


def write(root: Path, path: str, content: str = "x") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


def test_only_what_the_capture_does_not_watch_is_copied(root: Path) -> None:
    write(root, "src/a.py")
    write(root, "src/node_modules/b.js")
    write(root, "big.bin", "x" * 101)
    write(root.parent, "outside/c.txt")
    copy = copies_of(root).make([EndangeredPath(root), EndangeredPath(root.parent / "outside")])
    assert sorted(Path(file.path).name for file in copy.files) == ["b.js", "big.bin", "c.txt", "node_modules"]
    assert copy.gaps == ()


def test_what_was_named_in_an_unwatched_folder_is_all_that_is_copied_of_it(root: Path) -> None:
    write(root, "node_modules/a/x.js")
    write(root, "node_modules/b/y.js")
    copy = copies_of(root).make([EndangeredPath(root / "node_modules" / "a")])
    assert [Path(file.path).name for file in copy.files] == ["a", "x.js"]


def test_what_is_gone_different_or_new_is_told_and_nothing_else(root: Path) -> None:
    for name in ("gone", "changed", "touched", "same"):
        write(root, f"node_modules/{name}", name)
    link = root / "node_modules" / "link"
    link.symlink_to("same")
    copies = copies_of(root)
    copy = copies.make([EndangeredPath(root / "node_modules")])
    (root / "node_modules/gone").unlink()
    (root / "node_modules/changed").write_text("now")
    (root / "node_modules/touched").write_text("touched")
    link.unlink()
    write(root, "node_modules/deep/er/new", "new")
    report = copies.compare(copy)
    told = {item.path.removeprefix("node_modules/"): (item.before, item.after) for item in report.inside}
    assert {name: before.content if before else None for name, (before, _) in told.items()} == {
        "gone": b"gone",
        "changed": b"changed",
        "link": b"same",
        "deep": None,
        "deep/er": None,
        "deep/er/new": None,
    }
    kinds = {name: after.kind for name, (before, after) in told.items() if before is None and after is not None}
    assert kinds == {"deep": "folder", "deep/er": "folder", "deep/er/new": "file"}
    assert told["link"][0] is not None
    assert told["link"][0].kind == "symlink"


def test_folders_are_told_too_with_their_permissions(root: Path) -> None:
    (root / "node_modules/empty").mkdir(parents=True, mode=0o700)
    (root / "node_modules/other").mkdir()
    copies = copies_of(root)
    copy = copies.make([EndangeredPath(root / "node_modules")])
    (root / "node_modules/empty").rmdir()
    (root / "node_modules/other").rmdir()
    write(root, "node_modules/other", "a file now")
    empty, other = copies.compare(copy).inside
    assert (empty.path, empty.before, empty.after) == (
        "node_modules/empty",
        FileState(content=b"", mode=0o700, kind="folder"),
        None,
    )
    assert (other.path, other.before and other.before.kind, other.after and other.after.content) == (
        "node_modules/other",
        "folder",
        b"a file now",
    )


def test_the_smallest_are_copied_first_and_what_does_not_fit_any_more_is_named(root: Path) -> None:
    for number in range(4):
        write(root, f"node_modules/{number}")
    write(root, ".cache/one")
    copy = copies_of(root, max_files=4).make([EndangeredPath(root / "node_modules"), EndangeredPath(root / ".cache")])
    assert [Path(unit).name for unit in copy.units] == [".cache"]
    assert [(gap.path, gap.reason) for gap in copy.gaps] == [
        ("node_modules", "It is more than a safety copy may hold: 4 files, 200 MiB.")
    ]


def test_size_counts_as_well(root: Path) -> None:
    write(root, "node_modules/a", "x" * 60)
    write(root, "node_modules/b", "x" * 60)
    copy = copies_of(root, max_bytes=100).make([EndangeredPath(root / "node_modules")])
    assert (copy.files, [gap.path for gap in copy.gaps]) == ((), ["node_modules"])


def test_a_guess_leaves_the_repository_alone_and_names_no_gaps(root: Path) -> None:
    write(root, ".git/config")
    write(root, "node_modules/a")
    write(root, "node_modules/b")
    guessed = copies_of(root, max_files=1).make([EndangeredPath(root, is_guess=True)])
    assert (guessed.units, guessed.gaps) == ((), ())
    named = copies_of(root).make([EndangeredPath(root)])
    assert sorted(Path(unit).name for unit in named.units) == [".git", "node_modules"]


def test_a_symlink_is_copied_as_a_link_and_what_it_leads_to_is_not(root: Path) -> None:
    write(root.parent, "outside/c.txt")
    (root / "link").symlink_to(root.parent / "outside")
    assert copies_of(root).make([EndangeredPath(root / "link")]).files == ()
    copy = copies_of(root).make([EndangeredPath(root / "link" / "c.txt")])
    assert [file.path for file in copy.files] == [str(root.parent / "outside" / "c.txt")]


def test_a_place_for_a_file_is_no_folder_and_a_missing_one_is_nothing(root: Path) -> None:
    write(root, "node_modules/a")
    copy = copies_of(root).make([EndangeredPath(root / "node_modules", is_file=True), EndangeredPath(root / "missing")])
    assert (copy.files, copy.gaps) == ((), ())


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
def test_a_name_that_is_no_text_is_copied_like_any_other(root: Path) -> None:
    write(root, "node_modules/a")
    odd = root / "node_modules" / os.fsdecode(b"\xff")
    odd.write_text("x")
    copies = copies_of(root)
    copy = copies.make([EndangeredPath(root / "node_modules")])
    odd.unlink()
    (lost,) = (item for item in copies.compare(copy).inside if item.after is None)
    assert (copy.gaps, lost.path, lost.before and lost.before.content) == ((), "node_modules/\udcff", b"x")


def test_git_s_own_files_are_told_as_outside(root: Path) -> None:
    write(root, ".git/index", "one")
    copies = copies_of(root)
    copy = copies.make([EndangeredPath(root / ".git/index")])
    (root / ".git/index").write_text("two")
    report = copies.compare(copy)
    assert report.inside == []
    assert [item.path for item in report.outside] == [str(root / ".git/index")]


def outside_file(path: Path, before: FileImage, after: FileImage | None) -> OutsideFile:
    return OutsideFile(path=str(path), before=before, after=after)


def test_an_outside_file_is_put_back_only_while_it_is_what_the_command_left(tmp_path: Path) -> None:
    file = write(tmp_path, "folder/a.txt", "before")
    file.chmod(0o600)
    state = read_state(file)
    assert state is not None
    contents = {state.digest: state.content}
    file.unlink()
    file.parent.rmdir()
    lost = outside_file(file, state.image(), None)
    for _ in range(2):  # once more changes nothing
        assert restore_outside([lost], contents.__getitem__) == ((lost,), ())
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("before", 0o600)
    file.write_text("mine")
    restored, [problem] = restore_outside([lost], contents.__getitem__)
    assert (restored, problem.state, file.read_text()) == ((), "conflict", "mine")


@pytest.mark.parametrize("is_back", [True, False], ids=["made anew", "written over"])
def test_what_somebody_writes_at_the_last_moment_is_not_overwritten_outside(tmp_path: Path, *, is_back: bool) -> None:
    file = write(tmp_path, "a.txt", "before")
    state = read_state(file)
    assert state is not None
    if is_back:
        file.unlink()
    else:
        file.write_text("by the command")
    left = read_state(file)
    lost = outside_file(file, state.image(), left.image() if left else None)

    def read_while_somebody_writes(digest: Digest) -> bytes:
        assert digest == state.digest
        file.write_text("mine, a moment ago")
        return state.content

    restored, [problem] = restore_outside([lost], read_while_somebody_writes)
    assert (restored, problem.state, file.read_text()) == ((), "conflict", "mine, a moment ago")


@given(st.lists(st.tuples(st.lists(st.sampled_from("abc"), max_size=5), st.integers(0, 400)), max_size=40))
def test_a_half_is_never_more_than_half_and_no_folder_is_in_it_twice(
    folders: list[tuple[list[str], int]],
) -> None:
    known: Known = {"": KnownFolder(mode=0)}
    for parts, files in folders:
        for depth in range(1, len(parts) + 1):
            path, parent = "/".join(parts[:depth]), "/".join(parts[: depth - 1])
            if path not in known:
                known[path] = KnownFolder(mode=0)
                known[parent].folders += (parts[depth - 1],)
        known["/".join(parts)].files = dict.fromkeys(map(str, range(files)), (0, 0, 0, 0, 0))
    half = list(below(known, half_of(known)))
    assert len({path for path, _ in half}) == len(half)
    cost = sum(len(folder.files) + 5 for _, folder in half)
    whole = sum(len(folder.files) + 5 for folder in known.values())
    assert cost <= whole / 2
    left = [sum(len(below_it.files) + 5 for _, below_it in below(known, [name])) for name in known[""].folders]
    assert half or not left or min(left) > whole / 2


def test_a_result_in_pieces_is_the_same_result() -> None:
    signature: Signature = (1, 2, 3, 4, 33_188)
    files: dict[str, Signature] = {f"{number}.txt": signature for number in range(5000)}
    scan = Scan(
        7,
        changed={f"a/{name}": signature for name in files},
        gone=["b"],
        file_count=5000,
        folders_left=3,
        unread={"a/1.txt"},
    )
    scan.listed = {"a": KnownFolder(mode=0, files=files), "c": KnownFolder(mode=0)}
    first, *rest = pieces_of_scan(scan)
    assert len(rest) == 5
    for piece in rest:
        first.add(piece)
    assert first == scan


ENVIRON = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "T",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "T",
    "GIT_COMMITTER_EMAIL": "t@example.org",
    "PATH": os.environ["PATH"],
}
CONTENT = "".join(f"line {number}\n" for number in range(500))
FILES = 12
COLLECT = "git reflog expire --expire=now --all; git gc -q --prune=now"


def shell(folder: Path, command: str) -> None:
    subprocess.check_output(["sh", "-ec", command], cwd=folder, env=ENVIRON, stderr=subprocess.STDOUT)


def grown(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for number in range(FILES):
        (folder / f"{number}.txt").write_text(f"file {number}\n{CONTENT}")
    shell(folder, "git init -q -b main; git add -A; git commit -qm all")
    return folder


def loose(place: Path) -> Path:
    return grown(place / "ws")


def packed(place: Path) -> Path:
    root = grown(place / "ws")
    shell(root, "git gc -q")
    return root


def borrowing(place: Path) -> Path:
    shell(grown(place / "lender"), "git gc -q")
    shell(place, "git clone -q --shared lender ws")
    return place / "ws"


def borrowing_loose(place: Path) -> Path:
    grown(place / "lender")
    shell(place, "git clone -q --shared lender ws")
    return place / "ws"


def worktree(place: Path) -> Path:
    grown(place / "lender")
    shell(place / "lender", "git worktree add -q ../ws -b other")
    return place / "ws"


def shallow(place: Path) -> Path:
    grown(place / "lender")
    shell(place, 'git clone -q --depth 1 "file://$PWD/lender" ws')
    return place / "ws"


def inside(place: Path) -> Path:
    root = grown(place / "top" / "ws")
    shutil.rmtree(root / ".git")
    shell(place / "top", "git init -q -b main; git add -A; git commit -qm all; git gc -q")
    return root


def staged(place: Path) -> Path:
    root = grown(place / "ws")
    for number in range(FILES):
        (root / f"{number}.txt").write_text(f"staged {number}\n{CONTENT}")
    shell(root, "git add -A")
    return root


LOSSES = {
    "loose": "rm -rf .git",
    "loose, moved": "mv .git ../elsewhere",
    "loose, begun anew": "rm -rf .git; git init -q",
    "loose, objects only": "rm -rf .git/objects/??",
    "loose, collected": f"git rm -rq --cached .; echo z > z; git add z; git commit -q --amend -m z; {COLLECT}",
    "packed": "rm -rf .git",
    "packed, packs only": "rm -rf .git/objects/pack",
    "packed, collected": f"git rm -rq --cached .; echo z > z; git add z; git commit -q --amend -m z; {COLLECT}",
    "borrowing": "rm -rf ../lender",
    "borrowing, no more": "rm .git/objects/info/alternates",
    "borrowing loose": "rm -rf ../lender",
    "worktree": "rm -rf ../lender",
    "worktree, no more": "rm .git",
    "shallow": "rm -rf .git",
    "inside": "rm -rf ../.git",
    "staged": f"git reset -q; {COLLECT}",
}
SETUPS: dict[str, Callable[[Path], Path]] = {
    "loose": loose,
    "packed": packed,
    "borrowing": borrowing,
    "borrowing loose": borrowing_loose,
    "worktree": worktree,
    "shallow": shallow,
    "inside": inside,
    "staged": staged,
}


def refuse_link(*_args: object, **_options: object) -> None:
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


@pytest.fixture(params=["links", "no links", "read at once"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How contents are saved: by links, by copies to another disk, or through git's index."""
    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse_link)
    if request.param == "read at once":
        monkeypatch.setattr("desktop_agent.core.capture.capture._MANY", 1)
    return request.param


def collect(capture: StatCapture, snapshot: Snapshot) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}

    def add(change: FileTransition) -> None:
        found[change.path] = change.before.content if change.before else None

    report = capture.collect(snapshot, add)
    capture.release(snapshot)
    assert report.lost == ()
    return found


@pytest.mark.parametrize("moment", ["between two calls", "in the command", "before the first call of a process"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.sampled(3, "way", "loss", "moment")
def test_what_was_left_to_git_is_not_lost_with_it(
    tmp_path: Path, way: str, loss: str, moment: str, settle: Callable[[], None]
) -> None:
    root = SETUPS[loss.partition(",")[0]](tmp_path)
    before = {path.name: path.read_bytes() for path in root.glob("*.txt")}
    if way == "read at once":
        settle()
        shell(root, "git update-index -q --refresh")
    database = tmp_path / "cache" / "b.sqlite3"
    capture = StatCapture(root, Baseline(database))
    capture.release(capture.begin())
    if moment == "before the first call of a process":
        capture.close()
        shell(root, LOSSES[loss])
        capture = StatCapture(root, Baseline(database))
    if moment == "between two calls":
        shell(root, LOSSES[loss])
    snapshot = capture.begin()
    if moment == "in the command":
        shell(root, LOSSES[loss])
    shell(root, "for f in [0-9]*.txt; do echo agent > $f; done; rm 3.txt")
    found = collect(capture, snapshot)
    capture.close()
    assert {path: found[path] for path in before} == before


def test_what_git_does_not_have_any_more_takes_no_room_for_long(tmp_path: Path) -> None:
    root = packed(tmp_path)
    capture = StatCapture(root, Baseline(tmp_path / "cache" / "b.sqlite3"))
    capture.release(capture.begin())
    packs = tmp_path / "cache" / "b.objects"
    (first,) = packs.rglob("*.pack")
    shell(root, f"git rm -rq --cached .; echo z > z; git add z; git commit -q --amend -m z; {COLLECT}")
    capture.release(capture.begin())
    assert first.name not in [path.name for path in packs.rglob("*.pack")]
    shutil.rmtree(root / ".git")
    capture.release(capture.begin())
    capture.close()
    assert list(packs.rglob("*.pack")) == []


def test_of_what_is_held_no_content_is_copied(tmp_path: Path) -> None:
    root = packed(tmp_path)
    capture = StatCapture(root, Baseline(tmp_path / "cache" / "b.sqlite3"))
    capture.release(capture.begin())
    kept = capture.images([f"{number}.txt" for number in range(FILES)])
    assert len(kept) == FILES
    (pack,) = (tmp_path / "cache").rglob("*.pack")
    assert pack.samefile(next((root / ".git" / "objects" / "pack").glob("*.pack")))
    assert (tmp_path / "cache" / "b.sqlite3").stat().st_size < len(CONTENT) * FILES
    capture.close()


def test_what_does_not_fit_into_the_budget_is_kept_for_as_long_as_git_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", refuse_link)
    root = packed(tmp_path)
    limits = CaptureSettings(max_total_bytes=3 * len(CONTENT))
    capture = StatCapture(root, Baseline(tmp_path / "cache" / "b.sqlite3"), lambda: limits)
    snapshot = capture.begin()
    before = {path.name: path.read_bytes() for path in root.glob("*.txt")}
    shell(root, "for f in *.txt; do echo agent > $f; done")
    assert collect(capture, snapshot) == before
    capture.close()


@pytest.mark.parametrize("named", ["link", "pipe", "folder"])
def test_only_ordinary_files_are_held(tmp_path: Path, named: str) -> None:
    root = packed(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("not git's")
    place = root / ".git" / "objects" / "pack"
    (pack,) = place.glob("*.pack")
    for name in (f"pack-{'0' * 40}.pack", f"pack-{'0' * 40}.idx"):
        match named:
            case "link":
                (place / name).symlink_to(secret)
            case "pipe":
                os.mkfifo(place / name)
            case _:
                (place / name).mkdir()
    held = HeldObjects(tmp_path / "held")
    state = GitState.of(root)
    assert state is not None
    held.take_packs(state.folders)
    assert [path.name for path in (tmp_path / "held").rglob("*.pack")] == [pack.name]
    objects = GitObjects.of(state, held)
    assert objects is not None


def test_packs_of_a_repository_that_is_gone_are_let_go_of_after_a_while(tmp_path: Path) -> None:
    root = packed(tmp_path)
    database = tmp_path / "cache" / "b.sqlite3"
    capture = StatCapture(root, Baseline(database))
    capture.release(capture.begin())
    capture.close()
    now_s, month_s = database.stat().st_mtime, 30 * 86_400
    held = database.with_suffix(".objects")
    drop_stranded(database.parent, now_s + month_s)
    assert list(held.rglob("*.pack"))
    shutil.rmtree(root / ".git")
    drop_stranded(database.parent, now_s + 60)
    assert list(held.rglob("*.pack"))
    drop_stranded(database.parent, now_s + month_s)
    assert list(held.rglob("*.pack")) == []
    before = {path.name: path.read_bytes() for path in root.glob("*.txt")}
    capture = StatCapture(root, Baseline(database))
    snapshot = capture.begin()
    shell(root, "for f in *.txt; do echo agent > $f; done")
    assert collect(capture, snapshot) == before
    capture.close()
