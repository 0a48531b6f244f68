"""A worktree whose making, removal or restoring was killed is gone without a trace, or whole in one place."""

from pathlib import Path

import pytest

from tests.core.worktrees.scene import WORK, Repo, files_in
from tests.core.worktrees.worktree_kill_lab import ACTS, FILES
from tests.e2e.kill_lab import run_lab


async def test_a_kill_in_any_step_loses_no_byte_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_nightly: bool
) -> None:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
        monkeypatch.setenv(name, "")
    trials = await run_lab("tests.core.worktrees.worktree_kill_lab", tmp_path, 120 if is_nightly else 9, 7)
    whole = set(FILES) | {"a.txt", ".gitignore", ".worktreeinclude", ".env"}
    seen: set[str] = set()
    for trial in trials:
        number = int(trial["trial"])
        act, repo = ACTS[number % len(ACTS)], Repo(tmp_path / f"{number:04}")
        states = await repo.states()
        while set(states.values()) & {"making"}:  # git ends what it has begun
            states = await repo.states()
        seen |= {f"{act}: {state}" for state in (*states.values(), *([] if states else ["gone"]))}
        assert set(states.values()) <= ({"made"} if act == "make" else {"made", "trashed"})
        if not states:
            assert act == "make"
            assert repo.entries() == [str(repo.folder)]
            assert not [path for path in repo.of_git() if "desktop-agent-" in path or path.endswith("/one")]
            await repo.made()
        files = files_in((await repo.worktrees.find("one")).path)
        if act == "make":
            assert set(files) == whole
        else:
            assert set(files) == whole | set(WORK) | {"committed.txt"}
            assert {path: files[path].decode() for path in WORK} == WORK
        assert len(repo.entries()) == 2
        assert repo.git("status", "--porcelain") == ""
        if next(iter(states.values()), "made") == "trashed":
            await repo.worktrees.restore("one")
        else:
            await repo.worktrees.remove("one")
        repo.check()
    assert not is_nightly or len(seen) == 6, seen
