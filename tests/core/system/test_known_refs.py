"""Refs are asked of git again as soon as anything that they are kept in looks different, and not before."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from desktop_agent.core.system.git import refs as module
from desktop_agent.core.system.git.refs import KnownRefs, read_refs, refs_stamp

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there git is always asked")


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.check_output(("git", *who, *arguments), cwd=folder, stderr=subprocess.DEVNULL, text=True).strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    git(folder, "branch", "feature/deep")
    git(folder, "tag", "v1")
    (folder / "a.txt").write_text("two")
    git(folder, "commit", "-qam", "two")
    return folder


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look from an hour later, when no date is too young to be relied on."""
    real = time.time_ns
    monkeypatch.setattr(module.time, "time_ns", lambda: real() + 3_600 * 10**9)


def in_place(folder: Path) -> None:
    """Write another commit's id over a branch's, with the length and the date that it had."""
    path = folder / ".git" / "refs" / "heads" / "main"
    status = path.stat()
    with path.open("r+") as file:
        file.write(git(folder, "rev-parse", "HEAD~1"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def put_another_folder(place: Path, away: Path) -> None:
    place.rename(away)
    place.mkdir()


def stash(folder: Path) -> None:
    (folder / "a.txt").write_text("three")
    git(folder, "stash")


MOVES: dict[str, Callable[[Path], object]] = {
    "commit": lambda folder: git(folder, "commit", "--allow-empty", "-qm", "three"),
    "reset": lambda folder: git(folder, "reset", "-q", "--hard", "HEAD~1"),
    "branch": lambda folder: git(folder, "branch", "new"),
    "deep branch": lambda folder: git(folder, "branch", "-f", "feature/deep", "main"),
    "removed branch": lambda folder: git(folder, "branch", "-D", "feature/deep"),
    "tag": lambda folder: git(folder, "tag", "-d", "v1"),
    "switch": lambda folder: git(folder, "switch", "-q", "feature/deep"),
    "stash": stash,
    "packed and removed": lambda folder: (git(folder, "pack-refs", "--all"), git(folder, "tag", "-d", "v1")),
    "by hand, with the date that it had": in_place,
}


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
async def test_whatever_moves_a_ref_is_seen(repository: Path, move: Callable[[Path], object]) -> None:
    known = KnownRefs()
    before = await known.read(repository)
    move(repository)

    after = await known.read(repository)

    assert after == await read_refs(repository)
    assert after != before


@pytest.mark.usefixtures("later")
async def test_in_a_worktree_both_its_own_head_and_the_shared_refs_are_seen(repository: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(repository, "worktree", "add", "-q", str(tree), "feature/deep")
    known = KnownRefs()
    await known.read(tree)
    git(tree, "switch", "-q", "-c", "here")
    assert await known.read(tree) == await read_refs(tree)
    git(repository, "tag", "v2")
    assert await known.read(tree) == await read_refs(tree)


@pytest.mark.usefixtures("later")
async def test_while_nothing_moved_git_is_not_asked(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = KnownRefs()
    before = await known.read(repository)
    (repository / "a.txt").write_text("other work")
    monkeypatch.setenv("PATH", "")

    assert before is not None
    assert await known.read(repository) == before


@pytest.mark.usefixtures("later")
async def test_another_repository_in_its_place_is_asked_about(repository: Path, tmp_path: Path) -> None:
    known = KnownRefs()
    await known.read(repository)
    put_another_folder(repository, tmp_path / "away")
    assert await known.read(repository) is None
    git(repository, "init", "-q", "-b", "other")
    git(repository, "commit", "--allow-empty", "-qm", "one")

    after = await known.read(repository)

    assert after is not None
    assert after.head == "refs/heads/other"


def test_what_is_too_young_cannot_be_relied_on(repository: Path) -> None:
    assert refs_stamp(repository) is None


@pytest.mark.usefixtures("later")
def test_a_ref_that_is_a_link_cannot_be_relied_on(repository: Path) -> None:
    assert refs_stamp(repository) is not None
    (repository / ".git" / "refs" / "heads" / "linked").symlink_to("main")
    assert refs_stamp(repository) is None


@pytest.mark.usefixtures("later")
def test_where_there_is_no_repository_there_is_nothing_to_rely_on(tmp_path: Path) -> None:
    assert refs_stamp(tmp_path) is None
