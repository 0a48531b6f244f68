from pathlib import Path

import pytest

from desktop_agent.core.protocol.model import RefChange
from desktop_agent.core.system.git.refs import Refs, changed_refs, keep_objects, read_refs, restore_refs
from tests.core.system.conftest import Git


@pytest.fixture
def git(git: Git, folder: Path) -> Git:
    for text in ("one", "two", "three"):
        (folder / "a.txt").write_text(text)
        git("add", "-A")
        git("commit", "-qm", text)
    return git


def stash(git: Git, folder: Path, *texts: str) -> None:
    for text in texts:
        (folder / "a.txt").write_text(text)
        git("stash", "push", "-q", "-m", text)


async def refs_of(folder: Path) -> Refs:
    refs = await read_refs(folder)
    assert refs is not None
    return refs


def everything(git: Git) -> str:
    refs = git("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/notes")
    return refs + git("rev-parse", "HEAD") + git("rev-parse", "--abbrev-ref", "HEAD") + git("stash", "list")


async def test_nothing_changed_is_no_change(folder: Path, git: Git) -> None:
    stash(git, folder, "first")
    before = await refs_of(folder)
    git("status")
    assert changed_refs(before, await refs_of(folder)) == ()


async def test_a_detached_head_is_put_back(folder: Path, git: Git) -> None:
    git("checkout", "-q", "--detach", "HEAD~1")
    before = await refs_of(folder)
    git("checkout", "-q", "-f", "main")
    [change] = changed_refs(before, await refs_of(folder))
    assert (change.name, change.after) == ("HEAD", "refs/heads/main")
    for _ in range(2):
        assert (await restore_refs(folder, [change])).problems == ()
        assert await refs_of(folder) == before, "once more changes nothing"


async def test_what_somebody_moved_since_is_left_alone(folder: Path, git: Git) -> None:
    git("branch", "topic", "HEAD~1")
    before = await refs_of(folder)
    git("branch", "-D", "topic")
    changes = changed_refs(before, await refs_of(folder))
    git("branch", "topic", "main")  # by the user
    recovery = await restore_refs(folder, changes)
    assert [problem.reason for problem in recovery.problems] == ["It was moved since; it was left where it is."]
    assert git("rev-parse", "topic") == git("rev-parse", "main")


async def test_what_was_created_stays(folder: Path, git: Git) -> None:
    before = await refs_of(folder)
    git("branch", "new")
    changes = changed_refs(before, await refs_of(folder))
    assert [change.is_loss for change in changes] == [False]
    assert (await restore_refs(folder, changes)).restored == ()
    assert git("rev-parse", "new")


async def test_neither_files_nor_the_index_are_touched(folder: Path, git: Git) -> None:
    before = await refs_of(folder)
    git("reset", "-q", "--hard", "HEAD~1")
    (folder / "a.txt").write_text("mine")
    git("add", "-A")
    index = (folder / ".git" / "index").read_bytes()
    await restore_refs(folder, changed_refs(before, await refs_of(folder)))
    assert (folder / "a.txt").read_text() == "mine"
    assert (folder / ".git" / "index").read_bytes() == index


async def test_kept_objects_survive_the_strictest_clean_up_and_show_nowhere(folder: Path, git: Git) -> None:
    stash(git, folder, "first", "second")
    git("branch", "topic", "HEAD~1")
    git("checkout", "-q", "topic")
    (folder / "b.txt").write_text("only here")
    git("add", "-A")
    git("commit", "-qm", "only here")
    git("checkout", "-q", "main")
    told, before = everything(git), await refs_of(folder)
    history = git("log", "--all", "--oneline", "--decorate", "--", "main")
    git("branch", "-D", "topic")
    git("stash", "clear")
    changes = changed_refs(before, await refs_of(folder))
    await keep_objects(folder, changes)
    shown = git("log", "--all", "--oneline", "--decorate")
    assert "only here" not in shown
    assert "desktop-agent" not in shown
    assert history == ""
    git("reflog", "expire", "--expire=now", "HEAD", "main")
    git("gc", "-q", "--prune=now")
    assert (await restore_refs(folder, changes)).problems == ()
    assert everything(git) == told


async def test_a_commit_that_git_deleted_is_said_to_be_gone(folder: Path, git: Git) -> None:
    gone = RefChange(name="refs/heads/x", before="1" * 40, after=None)
    dropped = RefChange(name="stash:" + "1" * 40, before="1" * 40, after=None)
    recovery = await restore_refs(folder, [gone, dropped])
    assert {problem.reason for problem in recovery.problems} == {"git does not have its commit any more."}


async def test_no_repository_has_no_refs(tmp_path: Path) -> None:
    assert await read_refs(tmp_path) is None


async def test_a_repository_without_a_commit_has_a_branch_to_be(tmp_path: Path, git: Git) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git("init", "-q", "-b", "main", at=empty)
    assert await refs_of(empty) == Refs(head="refs/heads/main")
