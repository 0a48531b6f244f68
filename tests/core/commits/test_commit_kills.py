"""A commit that is killed has happened, has not, or left its lines staged; and the next one completes it."""

import shutil
import sys
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import AgentError
from tests.core.commits.commit_kill_lab import commit, prepare
from tests.core.commits.test_generated_commits import World
from tests.e2e.kill_lab import run_lab

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells when git has ended")


async def test_a_killed_commit_loses_nothing_and_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_nightly: bool
) -> None:
    await check_trials(tmp_path, monkeypatch, 60 if is_nightly else 4, seed=7)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace kills at a system call, and is not installed")
async def test_a_commit_of_which_a_process_is_killed_at_any_system_call_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_nightly: bool
) -> None:
    await check_trials(tmp_path, monkeypatch, 1000 if is_nightly else 3, seed=0)


async def check_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, *, seed: int) -> None:
    before = prepare(tmp_path / "before")
    trials = await run_lab("tests.core.commits.commit_kill_lab", tmp_path / "lab", count, seed)
    whole = again(before, tmp_path / "lab/hooked/whole/repository")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", before.environ["GIT_CONFIG_GLOBAL"])
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for trial in trials:
        place = tmp_path / f"lab/{trial['trial']}"
        killed = again(before, place / "repository")
        assert killed.disk() == before.disk()
        killed.git("fsck", "--strict", "--no-dangling")
        heads = [before.tree("HEAD"), whole.tree("HEAD")]
        indexes = [before.tree("index"), whole.tree("index")]
        state = heads.index(killed.tree("HEAD")), indexes.index(killed.tree("index"))
        assert state in ((0, 0), (0, 1), (1, 1)), trial
        for lock in (killed.root / ".git").rglob("*.lock"):
            lock.unlink()  # as the message of the next commit says
        redone = prepare(place / "again")
        redone.root, redone.folder = killed.root, killed.root
        redone.ledger.files.root = killed.root
        if state == (1, 1):
            with pytest.raises(AgentError, match="nothing to commit"):
                await commit(redone)
        else:
            await commit(redone)
        assert (killed.tree("HEAD"), killed.tree("index")) == (heads[1], indexes[1])
        assert killed.disk() == before.disk()


def again(world: World, root: Path) -> World:
    """Return the same world, seen in another repository."""
    seen = object.__new__(World)
    seen.__dict__.update(world.__dict__)
    seen.root = seen.folder = root
    return seen
