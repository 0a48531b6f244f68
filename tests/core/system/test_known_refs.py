"""Refs are read from git again exactly when their files look different."""

import os
import time
from pathlib import Path

import pytest

from desktop_agent.core.system.git import refs as module
from desktop_agent.core.system.git.refs import KnownRefs, read_refs, refs_stamp
from tests.core.system.conftest import Git

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there git is always asked")


@pytest.fixture
def repository(folder: Path, git: Git) -> Path:
    (folder / "a.txt").write_text("one")
    git("add", ".")
    git("commit", "-qm", "one")
    git("branch", "feature/deep")
    git("tag", "v1")
    (folder / "a.txt").write_text("two")
    git("commit", "-qam", "two")
    return folder


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look an hour later, when all dates are old enough to be trusted."""
    real = time.time_ns
    monkeypatch.setattr(module.time, "time_ns", lambda: real() + 3_600 * 10**9)


def in_place(git: Git, folder: Path) -> None:
    """Replace a branch's commit id while size and date stay the same."""
    path = folder / ".git" / "refs" / "heads" / "main"
    status = path.stat()
    with path.open("r+") as file:
        file.write(git("rev-parse", "HEAD~1").strip())
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def put_another_folder(place: Path, away: Path) -> None:
    place.rename(away)
    place.mkdir()


MOVES: dict[str, tuple[str, ...]] = {
    "commit": ("commit --allow-empty -qm three",),
    "reset": ("reset -q --hard HEAD~1",),
    "branch": ("branch new",),
    "deep branch": ("branch -f feature/deep main",),
    "removed branch": ("branch -D feature/deep",),
    "tag": ("tag -d v1",),
    "switch": ("switch -q feature/deep",),
    "stash": ("stash",),
    "packed and removed": ("pack-refs --all", "tag -d v1"),
    "by hand, with the date that it had": (),
}


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("name", MOVES)
async def test_whatever_moves_a_ref_is_seen(repository: Path, git: Git, name: str) -> None:
    known = KnownRefs()
    before = await known.read(repository)
    if name == "stash":
        (repository / "a.txt").write_text("three")
    for command in MOVES[name]:
        git(*command.split())
    if not MOVES[name]:
        in_place(git, repository)

    after = await known.read(repository)

    assert after == await read_refs(repository)
    assert after != before


@pytest.mark.usefixtures("later")
async def test_in_a_worktree_both_its_own_head_and_the_shared_refs_are_seen(
    repository: Path, git: Git, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    git("worktree", "add", "-q", str(tree), "feature/deep")
    known = KnownRefs()
    await known.read(tree)
    git("switch", "-q", "-c", "here", at=tree)
    assert await known.read(tree) == await read_refs(tree)
    git("tag", "v2")
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
async def test_another_repository_in_its_place_is_asked_about(repository: Path, git: Git, tmp_path: Path) -> None:
    known = KnownRefs()
    await known.read(repository)
    put_another_folder(repository, tmp_path / "away")
    assert await known.read(repository) is None
    git("init", "-q", "-b", "other")
    git("commit", "--allow-empty", "-qm", "one")

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
