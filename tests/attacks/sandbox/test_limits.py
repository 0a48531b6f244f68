"""Commands that exhaust a machine are ended completely by a limit, a time-out and a stop.

`tests/benchmarks/bench_limits.py` measures how long that takes.
"""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from tests.attacks.bounds import net
from tests.attacks.corpus import cases
from tests.attacks.sandbox.bombs import HOGS, Bomb, Way, blow_up

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the commands and the net are Linux's")

GUARD_S = 40
CORPUS = [
    Bomb(hog, sandbox, way, has_group)
    for has_group, sandbox, hog, way in product((True, False), ("none", "bubblewrap", "landlock"), HOGS, get_args(Way))
]
EXCESSES = {
    "thread bomb": "its processes had more than 120 threads at once",
    "memory hog": "it held more than 0.5 GiB of memory",
    "descriptor hog": "",
}
"""A limit's message about each hog; a fork bomb has too many processes, and the kernel limits descriptors."""


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder outside of `/tmp`: a sandbox may show another `/tmp`."""
    base = Path(tempfile.mkdtemp(prefix="bomb-", dir="/var/tmp"))
    yield base
    shutil.rmtree(base)


@pytest.fixture
def enter() -> Iterator[str]:
    with net() as enter:
        yield enter


@pytest.mark.parametrize("bomb", cases(CORPUS, lambda bomb: bomb.name))
async def test_nothing_of_it_is_left(bomb: Bomb, base: Path, enter: str) -> None:
    if (bomb.hog, bomb.way) == ("descriptor hog", "limit"):
        pytest.skip("it gets no more descriptors, and goes on without")
    async with asyncio.timeout(GUARD_S):
        blown_up = await blow_up(bomb, base, enter)
    assert (blown_up.outcome.end.survivors, blown_up.left) == ({}, [])
    assert blown_up.outcome.timed_out == (bomb.way == "timeout")
    expected = EXCESSES.get(bomb.hog, "it ran more than 30 processes at once")
    assert blown_up.outcome.end.excess == (expected if bomb.way == "limit" else "")
