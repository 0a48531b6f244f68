"""Finds this machine's processes by their environment."""

import psutil


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
