"""How far the update of an index is."""

from msgspec import Struct


class IndexProgress(Struct):
    """Counts in files (source code) or in bytes of journals (sessions). One thread writes it, any thread reads it."""

    total: int = 0
    done: int = 0
    is_waiting: bool = False
    """Another session or process is updating the same index."""
    is_complete: bool = False
