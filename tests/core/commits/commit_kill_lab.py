"""The kill test of commits: `python -m tests.core.commits.commit_kill_lab FOLDER COUNT SEED`

Every trial is a forked child that commits in a repository of its own, with a hook, for which git commits, or without,
where no git starts. It is killed at a random moment. With the seed 0, `strace` kills the process, ours or git's, that
makes a system call on one of the files that a commit changes, until all calls were tried, or COUNT of them.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

from desktop_agent.core.commits.git_commit import commit_changes
from desktop_agent.core.protocol.model import ChangeSelection
from tests.core.commits.test_generated_commits import Place, Scene, World
from tests.e2e.kill_lab import live

PLACES = (Place("1", "replaced"), Place("staged", "inserted"), Place("before", "removed"), Place("2", "inserted"))
NewWorld = Callable[[Path], World]
SCENE = Scene(
    "plain", {"a.txt": ("edited", PLACES), "d/ü.txt": ("renamed", (PLACES[0], *PLACES[2:], PLACES[0]))}, "all", 0
)


def prepare(folder: Path, *, has_hook: bool = False) -> World:
    folder.mkdir(parents=True)
    world = World(folder, SCENE)
    os.environ.update({name: value for name, value in world.environ.items() if name.startswith("GIT_CONFIG")})
    world.prepare()
    world.act()
    if has_hook:
        hook = world.root / ".git/hooks/pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ngit diff --cached --quiet || true\n")
        hook.chmod(0o755)
    return world


async def commit(world: World, beginning: int | None = None) -> None:
    """Commit; before that, wait for a byte from `beginning`."""
    if beginning is not None:
        os.read(beginning, 1)
    await commit_changes(world.record.transcript, world.ledger, (ChangeSelection(),), "Ours")


PATHS = (
    "refs/heads/main.lock", "HEAD.lock", "index.lock", "index", "refs/heads/main", "HEAD", "logs/HEAD",
    "logs/refs/heads/main", "COMMIT_EDITMSG", "config",
)  # fmt: skip
CALLS = ("rename", "unlink", "openat", "write", "close", "chmod")


def main() -> None:
    count, seed = int(sys.argv[2]), int(sys.argv[3])
    for name in ("hooked", "plain"):
        folder, new_world = Path(sys.argv[1], name), partial(prepare, has_hook=name == "hooked")
        world = new_world(folder / "whole")
        started = time.monotonic()
        _, status = os.waitpid(live(partial(commit, world)), 0)
        assert status == 0, "the whole commit must succeed"
        life_s = time.monotonic() - started
        moments = partial(random.Random(seed).uniform, 0, life_s)
        trials = kill_at_times(folder, new_world, count, moments) if seed else kill_at_calls(folder, new_world, count)
        for trial in trials:
            print(json.dumps({**trial, "trial": f"{name}/{trial['trial']}"}), flush=True)


def kill_at_times(
    folder: Path, new_world: NewWorld, count: int, moments: Callable[[], float]
) -> Iterator[dict[str, object]]:
    for number in range(count):
        world = new_world(folder / f"{number:04}")
        child = live(partial(commit, world))
        time.sleep(moments())  # noqa: TID251 - the random moment is the point
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        wait_for_git(world.root)
        yield {"trial": f"{number:04}"}


def kill_at_calls(folder: Path, new_world: NewWorld, count: int) -> Iterator[dict[str, object]]:
    number = 0
    for path, call in product(PATHS, CALLS):
        for time_of_call in range(1, count + 1):
            name, what = f"{number:04}", f"{call}:signal=KILL:when={time_of_call}"
            if number == count or not is_killed_at(new_world, folder / name, path, what):
                break
            number += 1
            yield {"trial": name, "path": path, "call": call, "time": time_of_call}


def is_killed_at(new_world: NewWorld, folder: Path, path: str, what: str) -> bool:
    """Commit in a new folder. `strace` counts the calls of each process, on the path as git writes it and as we do."""
    shutil.rmtree(folder, ignore_errors=True)
    world, log = new_world(folder), folder / "strace"
    reader, writer = os.pipe()
    child = live(partial(commit, world, reader))
    paths = ("-P", str(world.root / ".git" / path), "-P", f".git/{path}")
    argv = ["strace", "-f", "-p", str(child), "-o", str(log), *paths, "-e", f"inject={what}"]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as tracing:
        assert tracing.stderr is not None
        assert any("attached" in line for line in tracing.stderr)
        os.write(writer, b"x")
        os.waitpid(child, 0)
        wait_for_git(world.root)
        tracing.terminate()
    os.close(reader)
    os.close(writer)
    return "SIGKILL" in log.read_text()


def wait_for_git(folder: Path) -> None:
    while _is_git_running_in(folder):
        time.sleep(0.01)  # noqa: TID251 - git ends what it has begun


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
