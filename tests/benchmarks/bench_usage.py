"""*Usage*. Run: `pytest tests/benchmarks/bench_usage.py`.

Yardsticks: for the first reading of all journals, one `json` pass over them; for reading the cache, a `stat` of every
journal. A ratio is the median of the pairs' ratios. `--profile nightly` has 5,000 sessions.
"""

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.session_catalog import SessionCatalog
from desktop_agent.core.usage.journal_usage import UsageReader
from desktop_agent.core.usage.report import report_of
from desktop_agent.ui.usage.usage_report import shown_of
from tests.benchmarks.bench_session_catalog import compare, journals
from tests.benchmarks.session_data import Author

FIRST_LIMIT = 1.5
AGAIN_LIMIT = 25.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    count = 5_000 if request.config.getoption("--profile") == "nightly" else 1_000
    root = tmp_path_factory.mktemp("home")
    for _ in Author().sessions(root / "sessions", count):
        pass
    return root


def test_reading_all_for_the_first_time_is_about_as_quick_as_decoding_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def decode() -> object:
        for path in journals(home):
            for line in Path(path).read_bytes().splitlines():
                json.loads(line)
        return None

    def read_anew() -> object:
        shutil.rmtree(home / "cache", ignore_errors=True)
        return see(home)

    ratio = compare("usage, nothing cached / json pass", decode, read_anew, 3, home, capsys)
    assert ratio <= FIRST_LIMIT


def test_reading_it_again_costs_little_more_than_looking_at_the_journals(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    see(home)

    def look() -> object:
        return [os.stat(path) for path in journals(home)]  # noqa: PTH116 - as quick as it can be

    ratio = compare("usage, all cached / stat of all", look, lambda: see(home), 5, home, capsys)
    assert ratio <= AGAIN_LIMIT


def see(home: Path) -> object:
    catalog = SessionCatalog(home / "sessions", Blobs(home / "blobs"), home / "cache")
    sessions = UsageReader(catalog, home / "sessions", home / "cache").read()
    return shown_of(report_of(sessions, None, datetime.now(UTC).date()))
