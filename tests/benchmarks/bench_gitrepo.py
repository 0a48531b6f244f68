"""A status query against git itself. Run: `pytest -s tests/benchmarks/bench_gitrepo.py`.

The four kinds take turns; numbers are medians of 15. Git reads the settings when the configuration is not plain.
Nothing fails for being slow.
"""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from desktop_agent.core.system.git.git_process import query_status
from desktop_agent.core.system.git.repository import RepoStatus

RUNS = 15
FILES = 50
STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--ignored=matching")
SANDBOX = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all")


def make_repository(folder: Path, settings: str) -> Path:
    subprocess.check_call(["git", "init", "-q", str(folder)])
    for number in range(FILES):
        (folder / f"file{number}").write_text("x", encoding="utf-8")
    subprocess.check_call(["git", "add", "-A"], cwd=folder)
    with (folder / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(settings)
    return folder


async def test_asking_for_the_status(tmp_path: Path) -> None:
    plain = make_repository(tmp_path / "plain", "")
    quoted = make_repository(tmp_path / "quoted", '[core]\n\tabbrev = "12"\n')

    async def ask(folder: Path) -> None:
        assert isinstance(await query_status(folder), RepoStatus)

    async def run(*argv: str) -> None:
        process = await asyncio.create_subprocess_exec(*argv, cwd=plain, stdout=asyncio.subprocess.PIPE)
        await process.communicate()
        assert process.returncode == 0

    kinds: dict[str, Callable[[], Awaitable[None]]] = {
        "query_status": lambda: ask(plain),
        "query_status, settings read by git": lambda: ask(quoted),
        "git status alone": lambda: run("git", *STATUS),
    }
    if shutil.which("bwrap"):
        kinds["git status in bubblewrap"] = lambda: run(*SANDBOX, "git", *STATUS)
    took: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(RUNS + 1):
        for name, question in kinds.items():
            start = time.perf_counter()
            await question()
            took[name].append((time.perf_counter() - start) * 1000)
    for name, times in took.items():
        print(f"{name:36}{median(times[1:]):8.1f} ms")  # the first one warms up
