"""The cost of a worktree, beside `git worktree add` of the same commit, and its size.

Ours writes a record and moves the folder that git makes, inside a running process; git's is a process of its own. At
most 1.2 times git's time is wanted. The limit is on the processor's time, which other programs hardly change; the time
by the clock is printed beside it.

Run: `pytest tests/benchmarks/bench_worktree.py`; `--profile nightly` takes a repository of 30,000 files.
"""

import asyncio
import subprocess
import time
from pathlib import Path

import pytest

from desktop_agent.core.worktrees.worktrees import NewWorktree
from tests.benchmarks.floors import children_s, took_ms
from tests.core.worktrees.scene import Repo

ROUNDS = 5
MOST_WORK = 1.2


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def test_the_cost_of_a_worktree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_nightly: bool) -> None:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
        monkeypatch.setenv(name, "")
    files = 30_000 if is_nightly else 3_000
    repo = Repo(tmp_path)
    text = "".join(f"line {line} of a file\n" for line in range(100))
    contents = {f"d{number % 200}/f{number}.txt": f"{number}\n{text}" for number in range(files)}
    repo.prepare(contents)
    loop = asyncio.new_event_loop()
    number = 0

    def ours() -> None:
        loop.run_until_complete(repo.worktrees.make(repo.folder, NewWorktree(name=f"w{number}")))

    def gits() -> None:
        argv = ["git", "worktree", "add", "-q", "-b", f"g{number}", str(tmp_path / f"g{number}")]
        subprocess.check_call(argv, cwd=repo.folder)

    times: dict[str, list[tuple[float, float]]] = {"ours": [], "git's": []}
    before = size_of(repo.folder / ".git")
    for number in range(ROUNDS):  # noqa: B007 - both use it
        for name, work in (("ours", ours), ("git's", gits)):
            begun = time.process_time()
            cost: list[float] = []
            children = children_s(lambda: cost.append(took_ms(work)))  # noqa: B023 - it is called at once
            times[name].append((cost[0], (time.process_time() - begun + children) * 1000))
    loop.close()
    (our_clock, our_work), (gits_clock, gits_work) = (
        [min(one) for one in zip(*times[name], strict=True)] for name in times
    )
    print(f"\n{files:,} files: ours {our_work:.0f} ms of work in {our_clock:.0f} ms,", end=" ")
    print(f"git's {gits_work:.0f} ms in {gits_clock:.0f} ms")
    in_git = (size_of(repo.folder / ".git") - before) / ROUNDS / 2
    of_files = size_of(repo.data / "worktrees/w0")
    print(f"a worktree takes {of_files / 2**20:.1f} MiB, and {in_git / 2**20:.1f} MiB in `.git`")
    assert our_work <= MOST_WORK * gits_work
