import threading
import time
from collections.abc import Callable

import pytest


@pytest.fixture
def settle() -> Callable[[], None]:
    """Wait until the next write gets a time stamp that differs from the last one."""

    def settle() -> None:
        begun = time.monotonic()
        while time.monotonic() < begun + 0.06:
            threading.Event().wait(0.01)

    return settle
