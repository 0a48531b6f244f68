"""How often a server that fails is tried again: after pauses that double, and after some failures no more."""

from typing import Final

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.status import ServerStatus

MOST_FAILURES: Final = 5
"""After this many failed tries in a row only the user starts the server again."""

FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
"""How long after a failure the server is not tried again; the pause doubles from the first to the longest."""


class CircuitBreaker:
    """Says whether a server may be tried."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._may_try_at = 0.0

    def require_may_try(self, status: ServerStatus) -> None:
        """Raise `ServerError` when the server of this status may not be tried now."""
        if status.state == "resting":
            title = f"The MCP server {status.name} failed {status.failures} times in a row and is not tried any more."
            raise ServerError(title, hint="Restart it when the cause is mended.", detail=status.problem)
        wait_s = self._may_try_at - self._clock.monotonic()
        if wait_s > 0:
            title = f"The MCP server {status.name} failed a moment ago: {status.problem}"
            raise ServerError(title, hint=f"It is tried again in {wait_s:.0f} s.")

    def note_failures(self, in_a_row: int) -> None:
        """Begin the pause after so many failures."""
        pause_s = min(FIRST_PAUSE_S * 2 ** (in_a_row - 1), LONGEST_PAUSE_S)
        self._may_try_at = self._clock.monotonic() + pause_s

    def reset(self) -> None:
        """Let it be tried at once."""
        self._may_try_at = 0.0
