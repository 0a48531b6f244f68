from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import CommandLine, Ran
from tests.e2e.batch.lab import Lab

BatchHere = Callable[..., Ran]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    lab = Lab(tmp_path)
    for name, value in lab.environ.items():
        monkeypatch.setenv(name, value)
    return lab


@pytest.fixture
def batch(lab: Lab, capsys: pytest.CaptureFixture[str]) -> BatchHere:
    """Run the lab's batch to its end in this process; only its workers have processes of their own."""
    run = CommandLine(capsys)
    return lambda *more: run("batch", lab.tasks, "--output", lab.results, *more)
