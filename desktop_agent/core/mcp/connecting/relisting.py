"""When the tools of a server that says they changed are listed again: at once for those who wait, else with pauses."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.mcp.offers import OfferedTool

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
"""How long after a listing the next one waits, as long as the changes go on; it doubles from the first to the longest.

A server that says after each listing that its tools changed would otherwise be asked without an end.
"""


class Relisting:
    """Follows what a server says of changes, and who waits for the listing after one. Belongs to one event loop."""

    def __init__(self, clock: Clock, on_due: Callable[[], None]) -> None:
        """`on_due` is called when `due_in_s` may have become less: the owner of the connection looks again."""
        self._clock = clock
        self._on_due = on_due
        self._changes = 0
        self._listed = 0
        """How many changes the last listing has seen."""
        self._pause_s = 0.0
        self._next_at = 0.0
        self._waiting: dict[asyncio.Future[None], int] = {}
        """Who waits, and for how many changes to be listed."""

    @property
    def is_pending(self) -> bool:
        """Whether the server said that its tools changed, and has not listed them since."""
        return self._listed < self._changes

    @property
    def due_in_s(self) -> float | None:
        """How many seconds from now the tools are to be listed; None when nothing changed."""
        if not self.is_pending:
            return None
        return 0.0 if self._waiting else max(0.0, self._next_at - self._clock.monotonic())

    def note_change(self) -> None:
        """Take note that the server said its tools changed."""
        self._changes += 1
        self._on_due()

    async def run(self, list_tools: Callable[[], Awaitable[tuple[OfferedTool, ...]]]) -> tuple[OfferedTool, ...]:
        """List the tools, and return them. What changes meanwhile is for the next listing."""
        seen = self._changes
        is_calm = self._clock.monotonic() > self._next_at + LONGEST_PAUSE_S
        self._pause_s = FIRST_PAUSE_S if is_calm else min(2 * self._pause_s, LONGEST_PAUSE_S)
        tools = await list_tools()
        self._next_at = self._clock.monotonic() + self._pause_s
        self._settle(seen)
        return tools

    async def wait(self) -> None:
        """Return when the tools were listed that changed before this was called, without a pause."""
        listed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[listed] = self._changes
        self._on_due()
        try:
            await listed
        finally:
            self._waiting.pop(listed, None)

    def give_up(self) -> None:
        """Release every waiting caller: the server is gone, and its next start lists its tools."""
        self._settle(self._changes)

    def _settle(self, seen: int) -> None:
        self._listed = seen
        for listed, wanted in list(self._waiting.items()):
            if wanted <= seen and not listed.done():
                listed.set_result(None)
                del self._waiting[listed]
