"""What is left to git is not lost with it: earlier contents outlive the repository."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import Snapshot, StatCapture
from desktop_agent.core.capture.git_objects import GitObjects, GitState, HeldObjects, drop_stranded
from desktop_agent.core.settings.sections import CaptureSettings
from desktop_agent.core.system.files import FileTransition

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
    """How contents come to be held: by links, by copies to another disk, or through git's index."""
    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse_link)
    if request.param == "read at once":
        monkeypatch.setattr("desktop_agent.core.capture.capture._MANY", 1)
    return request.param


def collect(capture: StatCapture, snapshot: Snapshot) -> dict[str, bytes | None]:
    """Return the earlier content of each changed file."""
    found: dict[str, bytes | None] = {}

    def add(change: FileTransition) -> None:
        found[change.path] = change.before.content if change.before else None

    report = capture.collect(snapshot, add)
    capture.release(snapshot)
    assert report.lost == ()
    return found


@pytest.mark.parametrize("moment", ["between two calls", "in the command", "before the first call of a process"])
@pytest.mark.parametrize("loss", LOSSES)
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
