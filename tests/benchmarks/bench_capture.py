"""The capture of a command's changes against `git status`. Run: `pytest tests/benchmarks/bench_capture.py`.

The tree has 30,000 files (`source_tree`). Measured are the snapshot before `true` and the report after it, with their
process; shown is the median of the pairs' ratios to one `git status --porcelain`. Also the first look, the size of the
cache, the memory of the table, and the delay of a ticker on the event loop.
"""

import asyncio
import gc
import shutil
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from statistics import median

import pytest

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import StatCapture
from tests.benchmarks.source_tree import GIT, grow

FILES = 30_000
LIMIT = 2.0
TICK_S = 0.001

pytestmark = pytest.mark.skipif(not GIT, reason="git is not installed")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    grow(root, FILES)
    return root


@pytest.fixture
def repeats(is_nightly: bool) -> int:
    return 41 if is_nightly else 15


def status(root: Path) -> float:
    begun = time.perf_counter()
    subprocess.check_output([GIT, "status", "--porcelain"], cwd=root)
    return time.perf_counter() - begun


def command(capture: StatCapture, root: Path) -> float:
    begun = time.perf_counter()
    snapshot = capture.begin()
    subprocess.check_call(["true"], cwd=root)
    report = capture.collect(snapshot, refuse)
    capture.release(snapshot)
    assert report.lost == ()
    return time.perf_counter() - begun


def refuse(change: object) -> None:
    raise AssertionError(change)


def settle(capture: StatCapture) -> None:
    """Look until every folder is old enough for its time stamp to be trusted."""
    until = time.monotonic() + 3.5
    while time.monotonic() < until:
        capture.release(capture.begin())


def stored(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def size(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)


def test_around_a_command(tree: Path, tmp_path: Path, repeats: int, capsys: pytest.CaptureFixture[str]) -> None:
    status(tree)
    cache = tmp_path / "cache"
    capture = StatCapture(tree, Baseline(cache / "git.sqlite3"))
    begun = time.perf_counter()
    capture.release(capture.begin())
    first_s = time.perf_counter() - begun
    in_git = stored(cache)
    settle(capture)
    gc.freeze()
    pairs = [(status(tree), command(capture, tree)) for _ in range(repeats + 1)][1:]
    capture.close()
    git_ms, ours_ms = (median(side) * 1000 for side in zip(*pairs, strict=True))
    ratio = median(ours / theirs for theirs, ours in pairs)
    with capsys.disabled():
        sys.stdout.write(
            f"\nfiles {FILES:,}, {size(tree) / 2**20:.0f} MiB\n"
            f"{'git status ms':>14}{'snapshot, true, report ms':>28}{'ratio':>8}{'limit':>8}\n"
            f"{git_ms:14.1f}{ours_ms:28.1f}{ratio:8.2f}{LIMIT:8.2f}\n"
            f"first look {first_s:.2f} s; cache {in_git / 2**20:.1f} MiB; table {memory(tree, cache):.1f} MiB\n"
        )
    assert ratio <= LIMIT


def memory(tree: Path, cache: Path) -> float:
    """Return the memory of a session's table, in MiB."""
    tracemalloc.start()
    capture = StatCapture(tree, Baseline(cache / "git.sqlite3"))
    capture.release(capture.begin())
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    capture.close()
    del capture
    return held / 2**20


async def test_the_loop_meanwhile(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = StatCapture(tree, Baseline(tmp_path / "cache" / "git.sqlite3"))
    first = await longest_stall(asyncio.create_task(asyncio.to_thread(capture.begin)))
    await asyncio.to_thread(settle, capture)
    warm = await longest_stall(asyncio.create_task(asyncio.to_thread(capture.begin)))
    capture.close()
    with capsys.disabled():
        sys.stdout.write(f"\nlongest wait of a ticker: first look {first:.1f} ms, later {warm:.1f} ms\n")


async def longest_stall(task: "asyncio.Task[object]") -> float:
    """Return the worst delay of a 1 ms ticker while `task` ran, in ms."""
    late = 0.0
    while not task.done():
        begun = time.perf_counter()
        await asyncio.sleep(TICK_S)
        late = max(late, time.perf_counter() - begun - TICK_S)
    task.result()
    return late * 1000


def test_a_plain_folder(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "plain"
    shutil.copytree(tree, root, ignore=shutil.ignore_patterns(".git"))
    begun = time.perf_counter()
    capture = StatCapture(root, Baseline(tmp_path / "cache" / "plain.sqlite3"))
    capture.release(capture.begin())
    taken = time.perf_counter() - begun
    capture.close()
    kept = stored(tmp_path / "cache") / 2**20
    with capsys.disabled():
        whole = size(root) / 2**20
        sys.stdout.write(f"\nplain folder: first look {taken:.2f} s, cache {kept:.1f} MiB of {whole:.0f} MiB\n")
