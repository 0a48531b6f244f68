"""The search through all sessions. Run: `pytest tests/benchmarks/bench_session_search.py`.

The yardstick is ripgrep listing the journals with a word, in turns with the index. A ratio is the median of the pairs'
ratios. `--profile nightly` searches 1 GB instead of 100 MB, which takes minutes to write and to index.
"""

import os
import subprocess
import time
from collections import Counter
from functools import partial
from pathlib import Path
from statistics import median

import pytest

from desktop_agent.core.protocol.model import SearchQuery
from desktop_agent.core.search.session_search import SessionSearch
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.tools.files.ripgrep import find_ripgrep
from tests.benchmarks.floors import in_turns, ratio_of
from tests.benchmarks.session_data import Author

RIPGREP = find_ripgrep(os.environ) or ""
LIMIT = 1.0
"""Of a search's time to ripgrep's over the same journals."""

pytestmark = pytest.mark.skipif(not RIPGREP, reason="ripgrep is not installed")


class Library:
    def __init__(self, root: Path, total_bytes: int) -> None:
        self.sessions = root / "sessions"
        self.author = Author()
        paths = self.author.sessions(self.sessions, max(1, total_bytes // 125_000), total_bytes)
        self.size = sum(path.stat().st_size for path in paths)
        self.search = SessionSearch(self.sessions, Blobs(root / "blobs"), root / "cache")
        begun, used = time.perf_counter(), time.process_time()
        self.search.update()
        self.seconds, self.used = time.perf_counter() - begun, time.process_time() - used
        self.index_size = (root / "cache" / "session-search.sqlite3").stat().st_size


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Library:
    total = 1_000_000_000 if request.config.getoption("--profile") == "nightly" else 100_000_000
    return Library(tmp_path_factory.mktemp("library"), total)


def test_a_search_reads_less_than_the_journals(library: Library) -> None:
    common = [word for word, _ in Counter(library.author.words).most_common(300)]
    rows = {
        "a word that stands once": (SearchQuery(text="needle17 "), "needle17"),
        "the most common word": (SearchQuery(text=f"{common[0]} "), common[0]),
        "two common words": (SearchQuery(text=f"{common[0]} {common[1]} "), common[0]),
        "a phrase": (SearchQuery(text=f'"{common[0]} {common[1]}"'), f"{common[0]} {common[1]}"),
        "a beginning of 4 letters": (SearchQuery(text="baco"), "baco"),
        "the common word in prompts": (SearchQuery(text=f"{common[0]} ", kind="prompt"), common[0]),
        "the common word and a tool": (SearchQuery(text=f"{common[0]} ", tool="grep"), common[0]),
        "nothing like it": (SearchQuery(text="zzzzzz"), "zzzzzz"),
    }
    late: list[str] = []
    lines = [
        f"{library.size / 1e6:.0f} MB of journals; index {library.index_size / 1e6:.0f} MB "
        f"({library.index_size / library.size:.2f}), made in {library.seconds:.0f} s "
        f"({library.used:.0f} s of one processor, {library.size / 1e6 / library.used:.1f} MB/s)",
        f"{'':34}{'rg -F -l ms':>14}{'search ms':>12}{'ratio':>8}{'found':>8}",
    ]
    for name, (query, literal) in rows.items():
        look, ask = partial(grep, literal, library), partial(library.search.ask, query)
        theirs, ours = in_turns(7, look, ask)
        ratio = ratio_of(ours, theirs)
        lines.append(
            f"{name:34}{median(theirs):14.1f}{median(ours):12.1f}{ratio:8.2f}{len(library.search.ask(query)):8}"
        )
        if ratio > LIMIT:
            late.append(f"{name}: {ratio:.2f} > {LIMIT}")
    print(*lines, sep="\n")
    assert not late


def grep(literal: str, library: Library) -> None:
    command = [RIPGREP, "-F", "-l", "--no-ignore", "--", literal, str(library.sessions)]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)  # noqa: TID251
