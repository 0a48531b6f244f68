"""What is kept of a folder: no more than git lacks, within limits, and what was lost is named."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import CaptureReport, StatCapture
from desktop_agent.core.capture.git_objects import unchanged_objects
from desktop_agent.core.changes.patch import blob_id
from desktop_agent.core.system.files import read_state
from tests.core.capture.folders import LIMITS, Run, collect, commit, git, renames, rows, shell, take_back, tree


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
