"""A worktree is made, moved to the trash and back, and no way to lose one loses a byte."""

import asyncio
import secrets
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import AgentError, UsageError
from desktop_agent.core.store.session_folder import SessionLock
from desktop_agent.core.worktrees.worktrees import NewWorktree, Worktree
from tests.core.worktrees.scene import Repo, files_in, work_in
from tests.full_disk import FullDisk


class MovedClock:
    """A clock that the test moves on; waiting takes no time."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 22, 9, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def repo(tmp_path: Path, clock: MovedClock, monkeypatch: pytest.MonkeyPatch) -> Repo:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
        monkeypatch.setenv(name, "")  # so that it is put back
    repo = Repo(tmp_path, clock)
    repo.prepare()
    return repo


# --- making ---------------------------------------------------------------------------------------------------------


async def test_a_worktree_has_a_branch_of_its_own_and_leaves_one_entry(repo: Repo) -> None:
    before = repo.of_git()
    one = await repo.made()
    assert one.path.endswith("/data/worktrees/one/app")
    assert repo.entries() == [str(repo.folder), one.path]
    new = {Path(path) for path in repo.of_git() - before}
    assert {path.parts[1] for path in new if path.parts[:1] == ("worktrees",) and len(path.parts) > 1} == {
        "desktop-agent-one"
    }
    assert {str(path) for path in new if path.parts[0] != "worktrees"} == {
        "refs/heads/desktop-agent",
        "refs/heads/desktop-agent/one",
    }
    assert repo.git("rev-parse", "desktop-agent/one") == one.base == repo.git("rev-parse", "HEAD")
    assert files_in(Path(one.path)) == files_in(repo.folder)
    work_in(repo, Path(one.path))
    assert (repo.git("status", "--porcelain"), await repo.states()) == ("", {"one": "made"})
    repo.check()


async def test_it_starts_from_the_named_commit_and_the_named_folder(repo: Repo) -> None:
    repo.git("tag", "v1")
    repo.write({"a.txt": "later\n"})
    repo.git("commit", "-qam", "later")
    one = await repo.made(base="v1")
    assert (Path(one.path) / "a.txt").read_text() == "one\ntwo\nthree\n"
    two, _ = await repo.worktrees.make(repo.folder / "d", NewWorktree())
    assert two.workspace == Path(two.path) / "d"
    assert two.name.count("-") == 1


@pytest.mark.parametrize(
    ("name", "base", "said"),
    [
        ("../out", "HEAD", "cannot be the name"),
        ("trash", "HEAD", "cannot be the name"),
        ("x" * 61, "HEAD", "cannot be the name"),
        ("taken", "HEAD", "a worktree or branch of the name taken"),
        ("branch", "HEAD", "a worktree or branch of the name branch"),
        ("new", "nothing", "There is no commit nothing"),
        ("new", "--all", "There is no commit --all"),
    ],
)
async def test_what_cannot_be_made_is_refused_in_words_and_leaves_nothing(
    repo: Repo, name: str, base: str, said: str
) -> None:
    await repo.made("taken")
    repo.git("branch", "desktop-agent/branch")
    before = repo.of_git()
    with pytest.raises(UsageError, match=said):
        await repo.made(name, base)
    assert (repo.of_git(), await repo.states()) == (before, {"taken": "made"})


async def test_without_a_repository_or_a_commit_there_is_no_worktree(tmp_path: Path, repo: Repo) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(UsageError, match="not in a git repository"):
        await repo.worktrees.make(tmp_path / "plain", NewWorktree())
    repo.git("init", "-q", str(tmp_path / "empty"))
    with pytest.raises(UsageError, match="has no commit yet"):
        await repo.worktrees.make(tmp_path / "empty", NewWorktree())
    assert await repo.states() == {}


async def test_listed_ignored_files_come_along_as_copies(repo: Repo) -> None:
    repo.write(
        {".worktreeinclude": ".env\nbuild/*\n!build/no.txt\na.txt\nnew.txt\n", ".env": "KEY=1\n", "new.txt": "new\n"}
    )
    repo.write({"build/yes.txt": "yes\n", "build/no.txt": "no\n", "build/ü\nx.txt": "odd\n"})
    (repo.folder / "build/in").symlink_to("yes.txt")
    (repo.folder / "build/out").symlink_to(repo.folder / "a.txt")
    one, said = await repo.worktrees.make(repo.folder, NewWorktree(name="one"))
    path = Path(one.path)
    assert set(files_in(path)) - {".gitignore", "a.txt", "d/b.txt"} == {
        ".env",
        "build/in",
        "build/yes.txt",
        "build/ü\nx.txt",
    }
    assert said == ["Not copied, because it is a link that leads out of it: build/out"]
    repo.write({".env": "KEY=2\n"}, path)
    assert (repo.folder / ".env").read_text() == "KEY=1\n"


async def test_empty_submodules_are_named(repo: Repo, tmp_path: Path) -> None:
    repo.git("init", "-q", str(tmp_path / "inner"))
    repo.git("-C", str(tmp_path / "inner"), "commit", "-q", "--allow-empty", "-m", "inner")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "inner"), "inner")
    repo.git("commit", "-qm", "a submodule")
    _, said = await repo.worktrees.make(repo.folder, NewWorktree(name="one"))
    assert ["submodules are empty" in one for one in said] == [True]
    await repo.worktrees.remove("one")
    assert (await repo.worktrees.restore("one")).state == "made"


async def test_a_failing_hook_or_a_cancellation_leaves_nothing(repo: Repo) -> None:
    hook = repo.folder / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    before = repo.of_git()
    with pytest.raises(AgentError, match="could not make the worktree"):
        await repo.made()
    assert (repo.of_git(), await repo.states()) == (before, {})
    hook.write_text("#!/bin/sh\necho begun > ../../../begun\nsleep 60\n")
    making = asyncio.create_task(repo.made())
    while not await asyncio.to_thread(lambda: list(repo.data.rglob("begun"))):
        pass
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert (repo.of_git(), await repo.states()) == (before, {})


async def test_ten_are_made_beside_each_other_and_all_are_whole(repo: Repo) -> None:
    files = files_in(repo.folder)
    made = await asyncio.gather(*(repo.worktrees.make(repo.folder, NewWorktree()) for _ in range(10)))
    assert len({one.name for one, _ in made}) == 10
    assert all(files_in(Path(one.path)) == files for one, _ in made)
    contents = [work_in(repo, Path(one.path)) for one, _ in made]
    removed = await asyncio.gather(*(repo.worktrees.remove(one.name) for one, _ in made))
    assert [files_in(seen.path) for seen in removed] == contents
    await asyncio.gather(*(repo.worktrees.restore(one.name) for one, _ in made))
    assert [files_in(Path(one.path)) for one, _ in made] == contents
    assert len(repo.entries()) == 11
    repo.check()


async def test_of_two_that_draw_the_same_name_the_second_draws_again(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []

    def first_twice(words: Sequence[str]) -> str:
        drawn.append(words[len(drawn) // 4])
        return drawn[-1]

    monkeypatch.setattr(secrets, "choice", first_twice)
    async with asyncio.timeout(60):
        first, _ = await repo.worktrees.make(repo.folder, NewWorktree())
        await repo.worktrees.unmake(first)
        lock = SessionLock(Path(first.path).parent)  # as if it was being made
        second, _ = await repo.worktrees.make(repo.folder, NewWorktree())
        lock.release()
    assert ["-".join(drawn[2:4]), "-".join(drawn[4:])] == [first.name, second.name]
    repo.check()


# --- ways to lose one -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locked", [False, True])
async def test_the_trash_keeps_every_byte_for_a_month(repo: Repo, clock: MovedClock, *, locked: bool) -> None:
    one = await repo.made()
    path = Path(one.path)
    files = work_in(repo, path)
    status = repo.git("status", "--porcelain", "--ignored", folder=path)
    if locked:
        repo.git("worktree", "lock", str(path))
    removed = await repo.worktrees.remove("one")
    assert (removed.state, files_in(removed.path), files_in(path)) == ("trashed", files, {})
    repo.git("worktree", "prune", "--expire=now")
    assert repo.entries() == [str(repo.folder), str(removed.path)]
    clock.time += timedelta(days=29)
    await repo.worktrees.purge()
    assert (await repo.worktrees.restore("one")).path == path
    assert (files_in(path), repo.git("status", "--porcelain", "--ignored", folder=path)) == (files, status)
    await repo.worktrees.remove("one")
    clock.time += timedelta(days=31)
    await repo.worktrees.purge()
    assert (await repo.states(), repo.entries()) == ({}, [str(repo.folder)])
    assert repo.git("show", "desktop-agent/one:committed.txt") == "committed"
    assert list((repo.data / "worktrees").rglob("*")) == [repo.data / "worktrees/trash"]
    repo.check()


async def test_a_merged_branch_goes_with_the_trash(repo: Repo, clock: MovedClock) -> None:
    one = await repo.made()
    work_in(repo, Path(one.path))
    repo.git("merge", "-q", "desktop-agent/one")
    await repo.worktrees.remove("one")
    clock.time += timedelta(days=31)
    await repo.worktrees.purge()
    assert repo.git("branch", "--list", "desktop-agent/*") == ""


def drop_branch(repo: Repo, one: Worktree) -> None:
    repo.git("update-ref", "-d", f"refs/heads/{one.branch}")


def drop_folder(_repo: Repo, one: Worktree) -> None:
    shutil.rmtree(one.path)


def drop_and_prune(repo: Repo, one: Worktree) -> None:
    shutil.rmtree(one.path)
    repo.git("worktree", "prune", "--expire=now")


def drop_by_git(repo: Repo, one: Worktree) -> None:
    repo.git("worktree", "remove", "--force", one.path)
    drop_branch(repo, one)


def drop_gits_data(_repo: Repo, one: Worktree) -> None:
    shutil.rmtree(one.git_dir)


def drop_all_of_git(repo: Repo, one: Worktree) -> None:
    drop_gits_data(repo, one)
    drop_branch(repo, one)


@pytest.mark.parametrize(
    ("drop", "state", "kept"),
    [
        (drop_branch, "made", "everything"),
        (drop_folder, "missing", "staged"),
        (drop_and_prune, "missing", "committed"),
        (drop_by_git, "missing", "committed"),
        (drop_gits_data, "unlinked", "everything"),
        (drop_all_of_git, "unlinked", "everything"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize("is_trashed", [False, True])
async def test_what_was_lost_by_hand_is_named_and_as_much_as_git_knows_comes_back(
    repo: Repo, drop: Callable[[Repo, Worktree], None], state: str, kept: str, *, is_trashed: bool
) -> None:
    one = await repo.made()
    path = Path(one.path)
    files = work_in(repo, path)
    tip = repo.git("rev-parse", "HEAD", folder=path)
    await repo.worktrees.find("one")
    if is_trashed:
        one.path = str((await repo.worktrees.remove("one")).path)
    drop(repo, one)
    seen = await repo.worktrees.find("one")
    assert seen.state == ("trashed" if is_trashed and state == "made" else state)
    if state == "made" and not is_trashed:
        await repo.worktrees.remove("one")
    await repo.worktrees.restore("one")
    there = files_in(path)
    if kept == "everything":
        assert there == files
    else:
        assert {"committed.txt", *(["staged.txt"] if kept == "staged" else [])} <= there.keys()
        assert there["a.txt"] == b"one\ntwo\nthree\n"
    assert repo.git("rev-parse", one.branch) == repo.git("rev-parse", "HEAD", folder=path) == tip
    assert repo.entries() == [str(repo.folder), str(path)]
    repo.check()


async def test_one_that_was_moved_by_hand_is_found_and_left_alone(repo: Repo, tmp_path: Path) -> None:
    one = await repo.made()
    files = work_in(repo, Path(one.path))
    repo.git("worktree", "move", one.path, str(tmp_path / "elsewhere"))
    seen = await repo.worktrees.find("one")
    assert (seen.state, seen.path) == ("moved", tmp_path / "elsewhere")
    for act in (repo.worktrees.remove, repo.worktrees.restore):
        with pytest.raises(AgentError, match="was moved to"):
            await act("one")
    assert files_in(tmp_path / "elsewhere") == files
    repo.git("worktree", "move", str(tmp_path / "elsewhere"), one.path)
    assert await repo.states() == {"one": "made"}


async def test_one_whose_session_is_open_is_not_removed(repo: Repo) -> None:
    one, _ = await repo.worktrees.make(repo.folder, NewWorktree(name="one"), "20261121-213700-k3f9qx")
    session = repo.data / "sessions" / one.session_id
    session.mkdir(parents=True)
    lock = SessionLock(session)
    with pytest.raises(AgentError, match="is open"):
        await repo.worktrees.remove("one")
    lock.release()
    assert (await repo.worktrees.remove("one")).state == "trashed"


async def test_a_repository_that_is_gone_takes_no_file_along(repo: Repo, tmp_path: Path) -> None:
    one = await repo.made()
    files = work_in(repo, Path(one.path))
    repo.folder.rename(tmp_path / "moved")
    assert await repo.states() == {"one": "unlinked"}
    assert files_in((await repo.worktrees.remove("one")).path) == files
    with pytest.raises(AgentError, match="is not at"):
        await repo.worktrees.restore("one")
    (tmp_path / "moved").rename(repo.folder)
    await repo.worktrees.restore("one")
    assert files_in(Path(one.path)) == files
    assert repo.git("status", "--porcelain", folder=Path(one.path)).count("\n") == 2


async def test_something_else_in_its_place_is_not_written_over(repo: Repo) -> None:
    one = await repo.made()
    await repo.worktrees.remove("one")
    repo.write({"mine.txt": "mine\n"}, Path(one.path))
    with pytest.raises(AgentError, match="Something else is at"):
        await repo.worktrees.restore("one")
    assert files_in(Path(one.path)) == {"mine.txt": b"mine\n"}


async def test_a_full_disk_leaves_nothing_half_made_and_loses_nothing(
    tmp_path: Path, full_disk: FullDisk, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
        monkeypatch.setenv(name, "")
    repo = Repo(tmp_path, data=isolated_home / "desktop-agent/data")
    repo.prepare({"a.txt": "one\ntwo\nthree\n", ".gitignore": ".env\nbuild/\n", "big.bin": "x" * 100_000})
    one = await repo.made()
    files = work_in(repo, Path(one.path))
    before = repo.of_git()
    full_disk.fill()
    for act in (repo.made("two"), repo.worktrees.remove("one")):
        with pytest.raises(AgentError):
            await act
        assert (files_in(Path(one.path)), repo.of_git()) == (files, before)
    full_disk.make_room()
    assert await repo.states() == {"one": "made"}
    assert files_in((await repo.worktrees.remove("one")).path) == files
    repo.check()
