import sys
from collections.abc import Callable

import pytest


@pytest.fixture(autouse=True, scope="session")
def unsynced() -> None:
    """Let writes sync to disk, as in the application: syncing is part of the measurement."""


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def say(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}")

    return say
