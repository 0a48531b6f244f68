"""The numbered parts of an answer while they arrive: each begins once, takes its events, and ends; all in bounds."""

from typing import Generic, TypeVar

from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.arguments import weight_of
from desktop_agent.core.providers.http.faults import broken_off
from desktop_agent.core.system.network.connections import MAX_BLOCKS, MAX_CALLS, MAX_CHARS, oversized

Part = TypeVar("Part")


class Parts(Generic[Part]):
    """Every method may raise `ProviderError`: for a number out of order, and for an answer beyond every bound."""

    def __init__(self, *, times_said: int = 1) -> None:
        """`times_said` is how often a format sends each text: in pieces, and perhaps whole at the end again."""
        self._most_chars = times_said * MAX_CHARS
        self._parts: dict[int, Part] = {}
        self._open: set[int] = set()
        self._calls = 0
        self._chars = 0

    def __contains__(self, index: int) -> bool:
        return index in self._parts

    @property
    def has_open(self) -> bool:
        """Whether one of them has not ended."""
        return bool(self._open)

    def begin(self, index: int, part: Part, *, is_call: bool) -> None:
        """Take the part that begins under this number."""
        if index in self._parts:
            raise broken_off(f"part {index} started twice")
        self._calls += is_call
        if len(self._parts) >= MAX_BLOCKS or self._calls > MAX_CALLS:
            raise oversized(f"more than {MAX_CALLS} calls or {MAX_BLOCKS:,} parts")
        self._parts[index] = part
        self._open.add(index)

    def at(self, index: int) -> Part:
        """Return the part under this number, which is open."""
        if index not in self._open:
            raise broken_off(f"part {index} is not open")
        return self._parts[index]

    def end(self, index: int) -> Part:
        """Return the part that ends: nothing may come for it any more."""
        part = self.at(index)
        self._open.discard(index)
        return part

    def measure(self, fields: JsonObject) -> None:
        """Count what came for a part."""
        self._chars += weight_of(fields)
        if self._chars > self._most_chars:
            raise oversized(f"more than {MAX_CHARS:,} characters")

    def in_order(self) -> list[Part]:
        """Return all of them by their numbers."""
        return [self._parts[index] for index in sorted(self._parts)]
