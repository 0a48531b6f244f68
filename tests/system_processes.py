"""Which processes run on this machine, by what stands in their environment."""

import psutil


def processes_with(variable: str, value: str) -> list[int]:
    """Return the ids of all processes in whose environment a variable has this value, but those that have ended."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(variable) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
