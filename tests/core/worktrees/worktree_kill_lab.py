"""The kill test of worktrees: `python -m tests.core.worktrees.worktree_kill_lab FOLDER COUNT SEED`

Every trial is a forked child that makes, removes or restores a worktree, and is killed at a random moment.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

from tests.core.worktrees.scene import Repo, work_in
from tests.e2e.kill_lab import live

FILES = {f"d{number % 20}/f{number}.txt": f"{number}\n" * 50 for number in range(600)}
ACTS = ("make", "remove", "restore")


async def prepare(folder: Path, act: str) -> Repo:
    repo = Repo(folder)
    repo.prepare(FILES | {"a.txt": "one\n", ".gitignore": ".env\n", ".worktreeinclude": ".env\n"})
    repo.write({".env": "KEY=1\n"})
    if act != "make":
        one = await repo.made()
        work_in(repo, Path(one.path))
    if act == "restore":
        await repo.worktrees.remove("one")
    return repo


async def carry_out(repo: Repo, act: str) -> None:
    if act == "make":
        await repo.made()
    elif act == "remove":
        await repo.worktrees.remove("one")
    else:
        await repo.worktrees.restore("one")


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    lifetimes: dict[str, float] = {}
    for act in ACTS:
        repo = asyncio.run(prepare(folder / act, act))  # noqa: TID251 - the entry point
        started = time.monotonic()
        _, status = os.waitpid(live(partial(carry_out, repo, act)), 0)
        assert status == 0, f"the whole {act} must succeed"
        lifetimes[act] = time.monotonic() - started
    for number in range(count):
        act = ACTS[number % len(ACTS)]
        repo = asyncio.run(prepare(folder / f"{number:04}", act))  # noqa: TID251 - the entry point
        child = live(partial(carry_out, repo, act))
        time.sleep(rng.uniform(0, lifetimes[act]))  # noqa: TID251 - the random moment is the point
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(json.dumps({"trial": number}), flush=True)


if __name__ == "__main__":
    main()
