"""The kill test of commits: `python -m tests.core.commits.commit_kill_lab FOLDER COUNT SEED`

Every trial is a forked child that commits in a repository of its own, and is killed at a random moment.
"""

import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

from desktop_agent.core.commits.git_commit import commit_changes
from desktop_agent.core.protocol.model import ChangeSelection
from tests.core.commits.test_generated_commits import Place, Scene, World
from tests.e2e.kill_lab import live

PLACES = (Place("1", "replaced"), Place("staged", "inserted"), Place("before", "removed"), Place("2", "inserted"))
SCENE = Scene(
    "plain", {"a.txt": ("edited", PLACES), "d/ü.txt": ("renamed", (PLACES[0], *PLACES[2:], PLACES[0]))}, "all", 0
)


def prepare(folder: Path) -> World:
    folder.mkdir(parents=True)
    world = World(folder, SCENE)
    os.environ.update({name: value for name, value in world.environ.items() if name.startswith("GIT_CONFIG")})
    world.prepare()
    world.act()
    hook = world.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngit diff --cached --quiet || true\n")
    hook.chmod(0o755)
    return world


async def commit(world: World) -> None:
    await commit_changes(world.record.transcript, world.ledger, (ChangeSelection(),), "Ours")


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    world = prepare(folder / "whole")
    started = time.monotonic()
    _, status = os.waitpid(live(partial(commit, world)), 0)
    assert status == 0, "the whole commit must succeed"
    lifetime_s = time.monotonic() - started
    for number in range(count):
        world = prepare(folder / f"{number:04}")
        child = live(partial(commit, world))
        time.sleep(rng.uniform(0, lifetime_s))  # noqa: TID251 - the random moment is the point
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while _is_git_running_in(world.root):
            time.sleep(0.01)  # noqa: TID251 - git ends what it has begun
        print(json.dumps({"trial": number}), flush=True)


def _is_git_running_in(folder: Path) -> bool:
    for place in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if place.readlink().is_relative_to(folder):
                return True
        except OSError:
            continue
    return False


if __name__ == "__main__":
    main()
