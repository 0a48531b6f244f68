import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from desktop_agent.core.capture.baseline import Baseline
from desktop_agent.core.capture.capture import StatCapture
from desktop_agent.core.capture.scan_process import SharedScanner
from tests.core.capture.folders import LIMITS, Found, Run, collect, shell


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_bytes(b"a\n")
    (root / "src" / "b.py").write_bytes(b"b\r\n")
    (root / "data.bin").write_bytes(bytes(range(256)))
    return root


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "baseline.sqlite3"


@pytest.fixture(params=[10_000, 1], ids=["one walk", "two walks"])
def capture(root: Path, database: Path, request: pytest.FixtureRequest) -> Iterator[StatCapture]:
    scanner = SharedScanner(root, big_files=request.param, start_s=0)
    capture = StatCapture(root, Baseline(database), lambda: LIMITS, make_scanner=lambda _: scanner)
    yield capture
    capture.close()


@pytest.fixture
def run(root: Path, capture: StatCapture) -> Run:
    def run(command: str | Callable[[], object]) -> Found:
        snapshot = capture.begin()
        if isinstance(command, str):
            shell(root, command)
        else:
            command()
        found = collect(capture, snapshot)
        capture.release(snapshot)
        return found

    return run


@pytest.fixture
def settle() -> Callable[[], None]:
    """Wait until the next write gets a time stamp that differs from the last one."""

    def settle() -> None:
        begun = time.monotonic()
        while time.monotonic() < begun + 0.06:
            threading.Event().wait(0.01)

    return settle
