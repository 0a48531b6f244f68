"""Finds this machine's processes by their environment, and knows those that several tests share."""

from typing import Final

import psutil

SHARED: Final[set[int]] = set()
"""Processes that outlive a test. What they start is not a leak of the test, either."""


def processes_with(variable: str, value: str) -> list[int]:
    """Return the ids of the live processes that have this value of an environment variable."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(variable) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
