"""A batch against the same runs started by hand: copies, two at once, one process a run.

Both take turns. Fails below 0.9 of the yardstick's throughput. The processor time of one task on a cluster is the basis
of the projection in docs/guide/batch.md.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from tests.benchmarks.floors import children_s
from tests.e2e.batch.cluster_lab import ClusterLab
from tests.e2e.batch.lab import DEMO, PROMPT, Lab

LEAST_RATIO = 0.9
WORKERS = 2


def test_a_batch_is_as_quick_as_runs_by_hand(tmp_path: Path, is_nightly: bool) -> None:
    tasks, repeats = (40, 5) if is_nightly else (12, 3)
    lab = ClusterLab(tmp_path)
    here = Lab(tmp_path)
    lab.write_demo(tasks)
    took: dict[str, list[tuple[float, float]]] = {"by hand": [], "batch": [], "cluster": []}
    with lab.cluster():
        for _ in range(repeats):
            took["by hand"].append(_taken(lambda: _by_hand(here, tmp_path, tasks)))
            took["batch"].append(_taken(lambda: _batch(here)))
            before = lab.processor_s()
            wall, cpu = _taken(lambda: _batch(lab))
            took["cluster"].append((wall, cpu + lab.processor_s() - before))
    rates = {name: tasks / median(wall for wall, _ in each) for name, each in took.items()}
    ratio = rates["batch"] / rates["by hand"]
    lines = [
        f"{tasks} demo tasks, {WORKERS} at once (median of {repeats}; ratio at least {LEAST_RATIO})",
        f"{'':12}{'tasks/s':>10}{'CPU s a task':>14}",
        *(f"{name:12}{rates[name]:10.2f}{median(cpu for _, cpu in each) / tasks:14.2f}" for name, each in took.items()),
        f"{'ratio':12}{ratio:10.2f}",
    ]
    print(*lines, sep="\n")
    assert ratio >= LEAST_RATIO


def _taken(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall-clock and the processor seconds of `work`, with its child processes."""
    begun = time.perf_counter()
    cpu = children_s(work)
    return time.perf_counter() - begun, cpu


def _batch(lab: Lab) -> None:
    lab.results.unlink(missing_ok=True)
    assert lab.run("--workers", str(WORKERS))[0] == 0


def _by_hand(lab: Lab, folder: Path, tasks: int) -> None:
    def run(number: int) -> None:
        copy = folder / "copies" / str(number)
        shutil.copytree(DEMO, copy)
        command = [sys.executable, "-m", "desktop_agent", "run", "--provider", "demo", "--approval", "on_request"]
        subprocess.run(  # noqa: TID251 - the yardstick
            [*command, "--workspace", str(copy), "--prompt", PROMPT],
            env=lab.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        shutil.rmtree(copy)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(run, range(tasks)))
