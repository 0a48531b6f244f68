"""The session list. Run it by name: `pytest tests/benchmarks/bench_session_catalog.py`.

Yardsticks: for listing from the cache, a `stat` of every journal; for rebuilding it, one `json` pass over them. A ratio
is the median of the pairs' ratios. `--profile nightly` has 5,000 sessions.
"""

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from tests.benchmarks.floors import in_turns, ratio_of

LIST_LIMIT = 8.0
REBUILD_LIMIT = 1.0


def journals(home: Path) -> list[str]:
    return [f"{folder.path}/journal.jsonl" for folder in os.scandir(home / "sessions")]


def test_listing_costs_little_more_than_looking_at_the_journals(sessions_home: Path) -> None:
    catalog_of(sessions_home).summaries()
    list_all = partial(looked_at, sessions_home)
    name = "list from the cache / stat of all"
    assert compare(name, list_all, lambda: catalog_of(sessions_home).summaries(), 15, sessions_home) <= LIST_LIMIT


def test_rebuilding_is_quicker_than_decoding_the_journals(sessions_home: Path) -> None:
    def rebuild() -> object:
        shutil.rmtree(sessions_home / "cache")
        return catalog_of(sessions_home).summaries()

    ratio = compare("rebuild / json pass", partial(decode, sessions_home), rebuild, 3, sessions_home)
    assert ratio <= REBUILD_LIMIT


def catalog_of(home: Path) -> SessionCatalog:
    return SessionCatalog(home / "sessions", Blobs(home / "blobs"), home / "cache")


def looked_at(home: Path) -> list[os.stat_result]:
    paths = [f"{folder.path}/journal.jsonl" for folder in os.scandir(home / "sessions")]
    return [os.stat(path) for path in paths]  # noqa: PTH116 - as quick as it can be


def decode(home: Path) -> None:
    for path in home.glob("sessions/*/journal.jsonl"):
        for line in path.read_bytes().splitlines():
            json.loads(line)


def compare(
    name: str, yardstick: Callable[[], object], measured: Callable[[], object], rounds: int, home: Path
) -> float:
    theirs, ours = in_turns(rounds, yardstick, measured)
    ratio = ratio_of(ours, theirs)
    journals = looked_at(home)
    size = sum(journal.st_size for journal in journals) / 1e6
    figures = f"{median(theirs):10.1f} ms{median(ours):10.1f} ms{ratio:8.2f}"
    print(f"{len(journals)} sessions, {size:.0f} MB: {name:36}{figures}")
    return ratio
