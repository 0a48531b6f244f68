"""The session list. Run it by name: `pytest tests/benchmarks/bench_session_catalog.py`.

Yardsticks: for listing from the cache, a `stat` of every journal; for rebuilding it, one `json` pass over them. A ratio
is the median of the pairs' ratios. `--profile nightly` has 5,000 sessions.
"""

import gc
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from tests.benchmarks.session_data import Author

LIST_LIMIT = 8.0
REBUILD_LIMIT = 1.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    count = 5_000 if request.config.getoption("--profile") == "nightly" else 1_000
    root = tmp_path_factory.mktemp("home")
    for _ in Author().sessions(root / "sessions", count):
        pass
    return root


def journals(home: Path) -> list[str]:
    return [f"{folder.path}/journal.jsonl" for folder in os.scandir(home / "sessions")]


def test_listing_costs_little_more_than_looking_at_the_journals(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog_of(home).summaries()

    def look() -> object:
        return [os.stat(path) for path in journals(home)]  # noqa: PTH116 - as quick as it can be

    ratio = compare("list from the cache / stat of all", look, lambda: catalog_of(home).summaries(), 15, home, capsys)
    assert ratio <= LIST_LIMIT


def test_rebuilding_is_quicker_than_decoding_the_journals(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def decode() -> object:
        for path in journals(home):
            for line in Path(path).read_bytes().splitlines():
                json.loads(line)
        return None

    def rebuild() -> object:
        shutil.rmtree(home / "cache")
        return catalog_of(home).summaries()

    ratio = compare("rebuild / json pass", decode, rebuild, 3, home, capsys)
    assert ratio <= REBUILD_LIMIT


def catalog_of(home: Path) -> SessionCatalog:
    return SessionCatalog(home / "sessions", Blobs(home / "blobs"), home / "cache")


def compare(
    name: str,
    yardstick: Callable[[], object],
    measured: Callable[[], object],
    repeats: int,
    home: Path,
    capsys: pytest.CaptureFixture[str],
) -> float:
    pairs = [(seconds(yardstick), seconds(measured)) for _ in range(repeats + 1)][1:]
    floor, cost = (median(side) * 1000 for side in zip(*pairs, strict=True))
    ratio = median(ours / theirs for theirs, ours in pairs)
    with capsys.disabled():
        count, size = len(journals(home)), sum(os.stat(path).st_size for path in journals(home))  # noqa: PTH116
        sys.stdout.write(
            f"\n{count} sessions, {size / 1e6:.0f} MB: {name:36}{floor:10.1f} ms{cost:10.1f} ms{ratio:8.2f}\n"
        )
    return ratio


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
