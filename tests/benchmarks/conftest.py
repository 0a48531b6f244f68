"""What benchmarks do otherwise than tests."""

import sys
from collections.abc import Callable

import pytest


@pytest.fixture(autouse=True, scope="session")
def unsynced() -> None:
    """Wait for the disk, as the application does: that is part of what is measured."""


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Write a line where it is seen at once."""

    def say(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}")

    return say
