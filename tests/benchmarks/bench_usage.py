"""*Usage*. Run: `pytest tests/benchmarks/bench_usage.py`.

Yardsticks: for the first reading of all journals, one `json` pass over them; for reading the cache, a `stat` of every
journal. A ratio is the median of the pairs' ratios. `--profile nightly` has 5,000 sessions.
"""

import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from desktop_agent.core.usage.journal_usage import UsageReader
from desktop_agent.core.usage.report import report_of
from desktop_agent.ui.usage.usage_report import shown_of
from tests.benchmarks.bench_session_catalog import catalog_of, compare, decode, looked_at

FIRST_LIMIT = 1.5
AGAIN_LIMIT = 25.0


def test_reading_all_for_the_first_time_is_about_as_quick_as_decoding_it(sessions_home: Path) -> None:
    def read_anew() -> object:
        shutil.rmtree(sessions_home / "cache", ignore_errors=True)
        return see(sessions_home)

    name = "usage, nothing cached / json pass"
    assert compare(name, partial(decode, sessions_home), read_anew, 3, sessions_home) <= FIRST_LIMIT


def test_reading_it_again_costs_little_more_than_looking_at_the_journals(sessions_home: Path) -> None:
    see(sessions_home)
    look, again = partial(looked_at, sessions_home), partial(see, sessions_home)
    assert compare("usage, all cached / stat of all", look, again, 5, sessions_home) <= AGAIN_LIMIT


def see(home: Path) -> object:
    sessions = UsageReader(catalog_of(home), home / "sessions", home / "cache").read()
    return shown_of(report_of(sessions, None, datetime.now(UTC).date()))
