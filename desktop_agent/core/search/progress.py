"""How far the update of an index is."""

from dataclasses import dataclass


@dataclass(slots=True)
class IndexProgress:
    """Counts in files (source code) or in bytes of journals (sessions). One thread writes it, any thread reads it."""

    total: int = 0
    done: int = 0
    is_waiting: bool = False
    """Another session or process is updating the same index."""
    is_complete: bool = False
