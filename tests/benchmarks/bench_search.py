"""Searching against ripgrep and git. Run: `pytest tests/benchmarks/bench_search.py`.

The tree has 30,000 files, tracked, untracked and ignored (`source_tree`). A row compares a whole process with the tool,
from its arguments to its result, in turns. A ratio is the median of the pairs' ratios, with printed limits.
`--profile nightly` repeats more often.
"""

import asyncio
import dataclasses
import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from msgspec.structs import replace

from desktop_agent.core.policy.boundary import Boundary
from desktop_agent.core.tools.builtin import codebase_search
from desktop_agent.core.tools.builtin.codebase_search import CodebaseSearch
from desktop_agent.core.tools.builtin.glob_file_search import GlobFileSearch
from desktop_agent.core.tools.builtin.grep import Grep
from desktop_agent.core.tools.builtin.list_files import ListFiles
from desktop_agent.core.tools.files.ripgrep import find_ripgrep
from desktop_agent.core.tools.tool import ReadTool
from desktop_agent.ui.runtime.eventloop import SWITCH_INTERVAL_S
from tests.benchmarks.floors import Standstill, Ticker, idle_beside, ratio_of
from tests.benchmarks.source_tree import FILES, GIT
from tests.core.tools.conftest import Workspace, workspace

RIPGREP = find_ripgrep(os.environ) or ""
GREP_LIMIT = 1.25
LIST_LIMIT = 1.3

pytestmark = pytest.mark.skipif(not GIT or not RIPGREP, reason="git or ripgrep is not installed")

Row = tuple[str, tuple[str, ...], ReadTool[Any], dict[str, object], float | None]
"""The title, the yardstick, the tool, its arguments, and the limit of the ratio."""


@pytest.fixture
def repeats(is_nightly: bool) -> int:
    return 25 if is_nightly else 9


@asynccontextmanager
async def workspace_in(tree: Path, folder: Path) -> AsyncGenerator[Workspace]:
    async with workspace(folder) as work:
        boundary = await asyncio.to_thread(Boundary, tree)
        yield dataclasses.replace(work, root=tree, context=replace(work.context, boundary=boundary))


async def measure(title: str, rows: list[Row], work: Workspace, repeats: int) -> list[str]:
    lines = [f"{title}", f"{'':58}{'yardstick ms':>14}{'tool ms':>10}{'ratio':>8}{'limit':>8}"]
    late: list[str] = []
    for name, command, tool, arguments, limit in rows:
        pairs = [await pair(command, tool, arguments, work) for _ in range(repeats + 1)][1:]
        theirs, ours = zip(*pairs, strict=True)
        floor, cost, ratio = median(theirs) * 1000, median(ours) * 1000, ratio_of(ours, theirs)
        if limit is not None and ratio > limit:
            late.append(f"{name}: {ratio:.2f} > {limit}")
        asserted = f"{limit:8.2f}" if limit is not None else ""
        lines.append(f"{f'{name} / {command[0]}':58}{floor:14.1f}{cost:10.1f}{ratio:8.2f}{asserted}")
    print(*lines, sep="\n")
    return late


async def pair(
    command: tuple[str, ...], tool: ReadTool[Any], arguments: dict[str, object], work: Workspace
) -> tuple[float, float]:
    """Return the seconds of the whole program, output dropped, and of the tool from dispatch to result."""
    program = {"rg": RIPGREP, "git": GIT}[command[0]]
    begun = time.perf_counter()
    await asyncio.to_thread(run, (program, *command[1:]), work.root)
    between = time.perf_counter()
    await work.call(tool, **arguments)
    return between - begun, time.perf_counter() - between


def run(command: tuple[str, ...], folder: Path) -> None:
    # Standard input is empty: ripgrep would read a pipe instead of the folder.
    subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)  # noqa: TID251


async def test_grep_takes_at_most_1_25_times_as_long_as_ripgrep(tree: Path, tmp_path: Path, repeats: int) -> None:
    rare, common = "store_cache_77", r"def \w+_page_\d+\("
    lines_on = rf"{rare}\d\(.*\n.*resume"
    tool = Grep()
    rows: list[Row] = [
        ("rare literal", ("rg", "-n", rare), tool, {"pattern": rare}, GREP_LIMIT),
        ("with context", ("rg", "-n", "-C3", rare), tool, {"pattern": rare, "context_lines": 3}, GREP_LIMIT),
        ("ignoring case", ("rg", "-n", "-i", rare), tool, {"pattern": rare, "case_insensitive": True}, GREP_LIMIT),
        ("common regex, 100 shown", ("rg", "-n", common), tool, {"pattern": common}, GREP_LIMIT),
        ("across lines", ("rg", "-n", "-U", lines_on), tool, {"pattern": lines_on, "multiline": True}, GREP_LIMIT),
        (
            "files with a match",
            ("rg", "-l", rare),
            tool,
            {"pattern": rare, "output_mode": "files_with_matches"},
            GREP_LIMIT,
        ),
        ("count", ("rg", "--count-matches", common), tool, {"pattern": common, "output_mode": "count"}, GREP_LIMIT),
        ("rare literal in *.py", ("rg", "-n", "-tpy", rare), tool, {"pattern": rare, "include": "*.py"}, GREP_LIMIT),
    ]
    async with workspace_in(tree, tmp_path) as work:
        late = await measure(f"grep, {FILES:,} files", rows, work, repeats)
    assert late == []


async def test_listing_takes_at_most_1_3_times_as_long_as_git(tree: Path, tmp_path: Path, repeats: int) -> None:
    """The search by modification time has no limit: git does not look at times."""
    git = ("git", "ls-files", "-co", "--exclude-standard")
    files, by_glob = ListFiles(), GlobFileSearch()
    rows: list[Row] = [
        ("list_files", git, files, {}, LIST_LIMIT),
        ("list_files, glob **/*7.py", git, files, {"glob": "**/*7.py"}, LIST_LIMIT),
        ("list_files, one level", git, files, {"recursive": False}, LIST_LIMIT),
        ("list_files, with directories", git, files, {"include_dirs": True, "depth": 2}, None),
        ("list_files, newest of all first", git, files, {"sort": "mtime"}, None),
        ("list_files", ("rg", "--files", "--hidden"), files, {}, None),
        ("glob_file_search *.md", git, by_glob, {"glob_pattern": "*.md"}, LIST_LIMIT),
        ("glob_file_search pkg0*/**/load_*.ts", git, by_glob, {"glob_pattern": "pkg0*/**/load_*.ts"}, LIST_LIMIT),
        ("glob_file_search *session*", git, by_glob, {"glob_pattern": "*session*"}, LIST_LIMIT),
        ("glob_file_search *, all of them", git, by_glob, {"glob_pattern": "*"}, None),
    ]
    async with workspace_in(tree, tmp_path) as work:
        late = await measure(f"listing, {FILES:,} files", rows, work, repeats)
    assert late == []


def row(name: str, took_s: float, ticker: Ticker, standstill: Standstill) -> str:
    late = ticker.late_ms()
    stalls = f"{late[-1]:10.1f}{late[int(len(late) * 0.99) - 1]:10.1f}"
    return f"{name:44}{took_s:8.2f}{stalls}{standstill.worst_ms:14.1f}"


@contextmanager
def as_in_the_window() -> Generator[None]:
    """Switch threads and collect garbage as the window does."""
    switch_interval_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.disable()
    yield
    gc.enable()
    sys.setswitchinterval(switch_interval_s)


async def test_codebase_search(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Print only: seconds of the first answer, which builds the index, of later answers, and the loop's stalls.

    An idle process beside it shows which part of a stall the machine causes.
    """
    monkeypatch.setattr(codebase_search, "MOST_WAITED_S", 600.0)
    questions = ("where are sessions resumed", "store_cache_7750", "merge a patch into the queue", "where are tokens?")
    gc.collect()
    gc.freeze()  # as the window does: older objects are not scanned again
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = [
        f"codebase_search, {FILES:,} files",
        f"{'':44}{'s':>8}{'stall ms':>10}{'p99 ms':>10}{'idle process':>14}",
    ]
    with as_in_the_window():
        async with workspace_in(tree, tmp_path) as work:
            ticker = Ticker(0.004)
            with idle_beside() as standstill:
                await asyncio.sleep(1)
            lines.append(row("nothing", 1, ticker, standstill))
            tool = CodebaseSearch(tmp_path / "cache", is_secret=lambda _: False)
            for number, question in enumerate(questions):
                begun = time.perf_counter()
                with idle_beside() as standstill:
                    await work.call(tool, query=question)
                    took = time.perf_counter() - begun
                lines.append(row(f"{'' if number else 'build, '}{question}", took, ticker, standstill))
                if number == 0:
                    lines.append(f"{'  per 1,000 files':44}{took * 1000 / FILES:8.2f}")
            await ticker.stop()
            await tool.aclose()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    size = sum(file.stat().st_size for file in (tmp_path / "cache/index").iterdir()) / 1e6
    lines.append(f"memory +{grown:.0f} MB, index {size:.0f} MB")
    gc.unfreeze()
    print(*lines, sep="\n")
