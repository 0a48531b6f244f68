"""How long ending a command that exhausts the machine takes, and how long the window stalls meanwhile.

Run: `pytest tests/benchmarks/bench_limits.py`. Targets: no process of the command lives 1 second after the stop or the
time-out, and the window never stalls for more than 33 ms. The net of `tests.attacks.bounds` is the only limit.
"""

import shutil
import tempfile
from pathlib import Path
from statistics import median
from typing import get_args

import pytest
from PySide6.QtWidgets import QApplication

from desktop_agent.ui.runtime.eventloop import run
from tests.attacks.bounds import MOST_TASKS, net
from tests.attacks.sandbox.bombs import HOGS, Bomb, Told, Way, blow_up
from tests.benchmarks.measuring import Heart

REPEATS = 3


@pytest.mark.parametrize("has_group", [True, False], ids=["cgroup", "no_cgroup"])
@pytest.mark.parametrize("sandbox", ["none", "bubblewrap", "landlock"])
def test_ending_what_takes_all(qapp: QApplication, sandbox: str, *, has_group: bool, is_nightly: bool) -> None:
    heart = Heart()

    async def told(bomb: Bomb) -> Told:
        base = Path(tempfile.mkdtemp(prefix="bomb-", dir="/var/tmp"))
        try:
            with net() as enter:
                return await blow_up(bomb, base, enter)
        finally:
            shutil.rmtree(base)

    group = "cgroup" if has_group else "no cgroup"
    lines = [
        f"{sandbox}, {group}, at most {MOST_TASKS} tasks: nothing left within 1.00 s, stalls at most 33 ms",
        f"{'':32}{'median s':>10}{'worst s':>10}{'left':>6}{'stall ms: median':>18}{'worst':>8}",
    ]

    async def main() -> int:
        for hog in HOGS:
            for way in [way for way in get_args(Way) if way != "limit"]:
                took: list[float] = []
                stalls: list[float] = []
                left = 0
                for _ in range(REPEATS if is_nightly else 1):
                    heart.start()
                    one = await told(Bomb(hog, sandbox, way, has_group))
                    took.append(one.took_s)
                    stalls.append(heart.stop())
                    left += len(one.left)
                lines.append(
                    f"{hog + ', ' + way:32}{median(took):10.2f}{max(took):10.2f}{left:6}"
                    f"{median(stalls):18.1f}{max(stalls):8.1f}"
                )
        return 0

    assert run(qapp, main) == 0
    print(*lines, sep="\n")
