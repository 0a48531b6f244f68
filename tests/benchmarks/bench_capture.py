"""The capture of a command's changes against `git status`. Run: `pytest tests/benchmarks/bench_capture.py`.

The tree has 30,000 files (`source_tree`). Measured are the snapshot before `true` and the report after it, with their
process; shown is the median of the pairs' ratios to one `git status --porcelain`. Also the first look, the size of the
cache, the memory of the table, and the delay of a ticker on the event loop.
"""

import asyncio
import gc
import shutil
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import StatCapture
from tests.benchmarks.floors import Ticker, in_turns, ratio_of, took_ms
from tests.benchmarks.source_tree import FILES, GIT

LIMIT = 2.0

pytestmark = pytest.mark.skipif(not GIT, reason="git is not installed")


@pytest.fixture
def repeats(is_nightly: bool) -> int:
    return 41 if is_nightly else 15


def command(capture: StatCapture, root: Path) -> None:
    snapshot = capture.begin()
    subprocess.check_call(["true"], cwd=root)
    report = capture.collect(snapshot, refuse)
    capture.release(snapshot)
    assert report.lost == ()


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


def test_around_a_command(tree: Path, tmp_path: Path, repeats: int) -> None:
    def status() -> None:
        subprocess.check_output([GIT, "status", "--porcelain"], cwd=tree)

    status()
    cache = tmp_path / "cache"
    capture = StatCapture(tree, Baseline(cache / "git.sqlite3"))
    first_ms = took_ms(lambda: capture.release(capture.begin()))
    in_git = stored(cache)
    settle(capture)
    gc.freeze()
    theirs, ours = in_turns(repeats, status, lambda: command(capture, tree))
    capture.close()
    ratio = ratio_of(ours, theirs)
    print(
        f"files {FILES:,}, {size(tree) / 2**20:.0f} MiB\n"
        f"{'git status ms':>14}{'snapshot, true, report ms':>28}{'ratio':>8}{'limit':>8}\n"
        f"{median(theirs):14.1f}{median(ours):28.1f}{ratio:8.2f}{LIMIT:8.2f}\n"
        f"first look {first_ms / 1000:.2f} s; cache {in_git / 2**20:.1f} MiB; table {memory(tree, cache):.1f} MiB"
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


async def test_the_loop_meanwhile(tree: Path, tmp_path: Path) -> None:
    capture = StatCapture(tree, Baseline(tmp_path / "cache" / "git.sqlite3"))
    first = await longest_stall(capture.begin)
    await asyncio.to_thread(settle, capture)
    warm = await longest_stall(capture.begin)
    capture.close()
    print(f"longest wait of a ticker: first look {first:.1f} ms, later {warm:.1f} ms")


async def longest_stall(work: Callable[[], object]) -> float:
    ticker = Ticker()
    await asyncio.to_thread(work)
    return await ticker.stop()


def test_a_plain_folder(tree: Path, tmp_path: Path) -> None:
    root = tmp_path / "plain"
    shutil.copytree(tree, root, ignore=shutil.ignore_patterns(".git"))
    capture = StatCapture(root, Baseline(tmp_path / "cache" / "plain.sqlite3"))
    taken = took_ms(lambda: capture.release(capture.begin())) / 1000
    capture.close()
    kept = stored(tmp_path / "cache") / 2**20
    whole = size(root) / 2**20
    print(f"plain folder: first look {taken:.2f} s, cache {kept:.1f} MiB of {whole:.0f} MiB")
