"""Notices of tries that failed: of those that follow each other only the last is shown, with the wait that is on."""

from typing import Final

from msgspec import Struct

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.transcript.entries import Entry, NoticeEntry
from desktop_agent.core.transcript.paged import PagedEntries
from desktop_agent.core.transcript.patches import Patch

RETRYING = "retrying"
"""The notice code after which a half-streamed message is void: the request is sent again."""

FALLBACK = "fallback"
"""The notice code after which another model answers the request: a half-streamed message is void then, too."""

ANEW: Final = frozenset((RETRYING, FALLBACK))
"""The notice codes after which the message comes again from its beginning."""


class RetryNotices(Struct):
    """Which of the live entries is the notice of the wait before the next try."""

    waiting: int | None = None
    """Counted from the first live entry; none while nothing waits."""

    def begin(self, paged: PagedEntries, wait_s: float) -> list[Patch]:
        """Mark the notice that announced the wait: the last one, which the answer to a command may come after."""
        lasts = range(len(paged.entries) - 1, paged.base - 1, -1)
        self.waiting = next((at - paged.base for at in lasts if _tells_retry(paged.entries[at])), None)
        return self._mark(paged, is_waiting=True, wait_s=wait_s)

    def end(self, paged: PagedEntries) -> list[Patch]:
        """Say that nothing waits any more."""
        patches = self._mark(paged, is_waiting=False, wait_s=0.0)
        self.waiting = None
        return patches

    def _mark(self, paged: PagedEntries, *, is_waiting: bool, wait_s: float) -> list[Patch]:
        if self.waiting is None:
            return []
        index = paged.base + self.waiting
        entry = paged.entries[index]
        if isinstance(entry, NoticeEntry):
            entry.is_waiting, entry.wait_s = is_waiting, wait_s
        return [Patch("update", index)]

    def give_way(self, paged: PagedEntries, event: ev.Notice) -> list[Patch]:
        """Remove the last entry if it reports a failed try, and `event` the next one: one of them is enough."""
        if len(paged.entries) == paged.base or event.turn is None:
            return []
        last = paged.entries[-1]
        is_same_turn = isinstance(last, NoticeEntry) and _tells_retry(last) and last.notice.turn == event.turn
        if not (is_same_turn and (event.code in ANEW or event.level == "error")):
            return []
        self.waiting = None
        return [paged.remove(len(paged.entries) - 1)]


def _tells_retry(entry: Entry) -> bool:
    return isinstance(entry, NoticeEntry) and entry.notice.code == RETRYING
