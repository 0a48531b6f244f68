"""What the tools cost beside the programs they stand on. Run it by name: `pytest tests/benchmarks/bench_tools.py`.

Every row is a yardstick (a whole process) and the tool doing the same work, interleaved in one run; numbers are
medians, and only the ratios mean anything on another machine. Nothing fails for being slow. `--profile nightly` takes
30,000 files instead of 3,000, and 1 GB of output instead of 100 MB.
"""

import asyncio
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import pytest

from desktop_agent.core.clock import SystemClock
from desktop_agent.core.process import Command, ProcessRunner
from desktop_agent.core.tools.builtin.grep import Grep
from desktop_agent.core.tools.builtin.list_files import ListFiles
from desktop_agent.core.tools.ripgrep import find_ripgrep
from tests.core.tools.conftest import workspace

REPEATS = 7
RIPGREP = find_ripgrep(os.environ) or ""
GIT = shutil.which("git") or ""

Row = tuple[str, str, Callable[[], None], Callable[[], Awaitable[object]]]
"""What is measured, the yardstick's name, the yardstick, and ours."""


@pytest.fixture
def files(is_nightly: bool) -> int:
    return 30_000 if is_nightly else 3_000


@pytest.fixture
def megabytes(is_nightly: bool) -> int:
    return 1_000 if is_nightly else 100


def grow(root: Path, files: int) -> None:
    """Write a tree like a project's: folders of about thirty files, lines of code, some of it ignored."""
    chance = random.Random(7)
    words = [
        f"{verb}_{noun}" for verb in ("get", "set", "load", "store") for noun in ("page", "user", "index", "cache")
    ]
    for number in range(files):
        folder = root / f"pkg{number // 900:02}" / f"mod{number // 30 % 30:02}"
        if number % 30 == 0:
            folder.mkdir(parents=True)
        lines = [
            f"def {chance.choice(words)}_{chance.randrange(10_000)}(value):\n    return value\n" for _ in range(40)
        ]
        (folder / f"file{number:05}.{'log' if number % 10 == 9 else 'py'}").write_text("".join(lines))
    (root / ".gitignore").write_text("*.log\n")
    subprocess.check_call([GIT, "init", "-q", root])


def process(*argv: str, folder: Path) -> Callable[[], None]:
    """Return a yardstick: `argv` from start to exit, its output read and dropped."""

    def run() -> None:
        subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, check=False)  # noqa: TID251 - a whole process

    return run


async def measure(title: str, rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    """Print a table of both sides of every row."""
    lines = [f"\n{title}", f"{'':44}{'yardstick ms':>14}{'tool ms':>10}{'ratio':>8}"]
    for name, yardstick_name, yardstick, ours in rows:
        theirs_s: list[float] = []
        ours_s: list[float] = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            await asyncio.to_thread(yardstick)
            between = time.perf_counter()
            await ours()
            theirs_s.append(between - begun)
            ours_s.append(time.perf_counter() - between)
        floor, cost = median(theirs_s) * 1000, median(ours_s) * 1000
        lines.append(f"{f'{name} / {yardstick_name}':44}{floor:14.1f}{cost:10.1f}{cost / floor:8.2f}")
    with capsys.disabled():
        sys.stdout.write("\n".join(lines) + "\n")


async def test_searching(tmp_path: Path, files: int, capsys: pytest.CaptureFixture[str]) -> None:
    async with workspace(tmp_path) as work:
        await asyncio.to_thread(grow, work.root, files)
        tool = Grep()

        def search(**arguments: object) -> Callable[[], Awaitable[object]]:
            return lambda: work.call(tool, **arguments)

        rare, common = "store_cache_77", r"def \w+_page_\d+\("
        await measure(
            f"grep, {files:,} files",
            [
                ("rare literal", "rg", process(RIPGREP, "-n", rare, folder=work.root), search(pattern=rare)),
                (
                    "common regex, 100 shown",
                    "rg",
                    process(RIPGREP, "-n", common, folder=work.root),
                    search(pattern=common),
                ),
                (
                    "files with a match",
                    "rg -l",
                    process(RIPGREP, "-l", rare, folder=work.root),
                    search(pattern=rare, output_mode="files_with_matches"),
                ),
                (
                    "count of matches",
                    "rg --count-matches",
                    process(RIPGREP, "--count-matches", common, folder=work.root),
                    search(pattern=common, output_mode="count"),
                ),
                (
                    "rare literal in *.py",
                    "rg -tpy",
                    process(RIPGREP, "-n", "-tpy", rare, folder=work.root),
                    search(pattern=rare, include="*.py"),
                ),
            ],
            capsys,
        )


async def test_listing(tmp_path: Path, files: int, capsys: pytest.CaptureFixture[str]) -> None:
    async with workspace(tmp_path) as work:
        await asyncio.to_thread(grow, work.root, files)
        git = process(GIT, "ls-files", "-co", "--exclude-standard", folder=work.root)
        ripgrep = process(RIPGREP, "--files", "--hidden", folder=work.root)

        def listing(**arguments: object) -> Callable[[], Awaitable[object]]:
            return lambda: work.call(ListFiles(), **arguments)

        await measure(
            f"list_files, {files:,} files",
            [
                ("everything", "git ls-files -co", git, listing()),
                ("everything", "rg --files", ripgrep, listing()),
                ("glob **/*7.py", "git ls-files -co", git, listing(glob="**/*7.py")),
                ("newest first", "git ls-files -co", git, listing(sort="mtime")),
                ("directories, 2 levels", "git ls-files -co", git, listing(include_dirs=True, depth=2)),
            ],
            capsys,
        )


async def test_much_output(tmp_path: Path, megabytes: int, capsys: pytest.CaptureFixture[str]) -> None:
    size = megabytes * 1_000_000
    runner = ProcessRunner(SystemClock())
    produce = f"head -c {size} /dev/zero"

    def taken(command: str, spool: Path | None = None) -> Callable[[], Awaitable[object]]:
        ours = Command(argv=("/bin/sh", "-c", command), cwd=tmp_path, environ=os.environ)

        def ignore(_: str) -> None:
            pass

        async def run() -> None:
            outcome = await runner.run(ours, spool_folder=spool, on_text=ignore)
            if outcome.spool_path is not None:
                await asyncio.to_thread(outcome.spool_path.unlink)

        return run

    piped = process("/bin/sh", "-c", f"{produce} | cat > /dev/null", folder=tmp_path)
    lines = process("/bin/sh", "-c", f"yes | head -c {size} | cat > /dev/null", folder=tmp_path)
    await measure(
        f"command output, {megabytes:,} MB",
        [
            ("ends kept in memory", "| cat", piped, taken(produce)),
            ("and 64 MB in a file", "| cat", piped, taken(produce, tmp_path)),
            ("short lines", "yes | cat", lines, taken(f"yes | head -c {size}")),
            ("nothing at all", "sh -c true", process("/bin/sh", "-c", "true", folder=tmp_path), taken("true")),
        ],
        capsys,
    )
    await runner.aclose()
