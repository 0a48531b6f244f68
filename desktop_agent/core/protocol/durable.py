"""What every event of the journal has."""

from datetime import UTC, datetime
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

UNSTAMPED = datetime.fromtimestamp(0, UTC)


class DurableEvent(Struct, frozen=True, kw_only=True):
    """An event that is written to the journal before any front end receives it."""

    seq: int = 0
    at: datetime = UNSTAMPED

    def stamped(self, seq: int, at: datetime) -> Self:
        """Return this event as the `seq`-th record of its session."""
        return replace(self, seq=seq, at=at)
