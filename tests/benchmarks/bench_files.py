"""An atomic write against a plain one. Run: `pytest tests/benchmarks/bench_files.py`.

The yardstick replaces a file's content durably: open, write, fsync. Both take turns; only the ratios of the medians
matter. Writes without fsync are measured apart, since the next fsync would pay for them. Nothing fails for being slow.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from desktop_agent.core.system.file_writes import write_atomically

SIZES = {"4 KiB": 4 * 1024, "64 KiB": 64 * 1024, "1 MiB": 1024 * 1024}
MOST_OF_DURABLE = 2.5

Write = Callable[[Path, bytes], None]


@pytest.fixture
def repeats(is_nightly: bool) -> int:
    return 301 if is_nightly else 61


def plain(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)


def durable(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def test_replacing_a_file(tmp_path: Path, repeats: int) -> None:
    head = f"{'size':8}{'plain ms':>12}{'durable ms':>12}{'atomic ms':>12}{'/ durable':>12}{'/ plain':>10}"
    lines = [f"write_atomically; at most {MOST_OF_DURABLE} x a durable write is wanted", head]
    for name, size in SIZES.items():
        ms = measured(tmp_path, size, repeats, {"durable": durable, "atomic": write_atomically})
        ms |= measured(tmp_path, size, repeats, {"plain": plain})
        figures = f"{ms['plain']:12.3f}{ms['durable']:12.3f}{ms['atomic']:12.3f}"
        lines.append(f"{name:8}{figures}{ms['atomic'] / ms['durable']:12.2f}{ms['atomic'] / ms['plain']:10.1f}")
    print(*lines, sep="\n")


def measured(folder: Path, size: int, repeats: int, sides: dict[str, Write]) -> dict[str, float]:
    taken: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(repeats):
        content = bytes([number % 256]) * size
        for side, write in sides.items():
            path = folder / side
            begun = time.perf_counter()
            write(path, content)
            taken[side].append(time.perf_counter() - begun)
            assert path.stat().st_size == size
    return {side: median(times) * 1000 for side, times in taken.items()}
