"""Pins: added within their budget, removed, and taken out when their time is over."""

from datetime import timedelta

from msgspec import Struct

from desktop_agent.core.base.clock import Clock, is_over
from desktop_agent.core.base.ids import new_pin_id
from desktop_agent.core.context.history import History
from desktop_agent.core.context.packing import pinned_text
from desktop_agent.core.context.tokens import text_tokens
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import Pin

_LONGEST_S = 10 * 365 * 86_400.0


class Pins(Struct, frozen=True, kw_only=True, eq=False):
    """The pins of one session."""

    history: History
    log: EventLog
    clock: Clock

    async def add(self, op: ops.AddPin, budget: int) -> None:
        """Record the pin, or say why not: it is empty, over the budget with the others, or its time is not one."""
        text = op.text.strip()
        ttl_s = op.ttl_s
        if not text:
            await self._refuse("There is nothing to pin: the text is empty.", "")
            return
        if ttl_s is not None and not 0 < ttl_s <= _LONGEST_S:
            await self._refuse("Nothing was pinned: the time to keep it must be a number of seconds above 0.", "")
            return
        await self.expire()
        expires_at = None if ttl_s is None else self.clock.now() + timedelta(seconds=ttl_s)
        pin = Pin(id=self._unused_id(), text=text, expires_at=expires_at)
        tokens = round(text_tokens(pinned_text((*self.history.pins, pin))))
        if tokens > budget:
            title = f"Nothing was pinned: with this, the pins would take about {tokens:,} tokens of {budget:,}."
            await self._refuse(
                title, "Remove a pin, shorten the text, or raise compaction.pins_tokens in the settings."
            )
            return
        await self.log.record(ev.Pinned(pin=pin))

    async def remove(self, op: ops.RemovePin) -> None:
        """Record that the pin is gone, or say that there is none of that id."""
        if any(pin.id == op.pin_id for pin in self.history.pins):
            await self.log.record(ev.Unpinned(pin_id=op.pin_id))
        else:
            await self._refuse(f"There is no pin “{op.pin_id}”.", "")

    async def expire(self) -> None:
        """Record that pins are gone whose time is over."""
        now = self.clock.now()
        for pin in self.history.pins:
            if pin.expires_at is not None and is_over(pin.expires_at, now):
                await self.log.record(ev.Unpinned(pin_id=pin.id, is_expired=True))

    def _unused_id(self) -> str:
        used = {pin.id for pin in self.history.pins}
        return next(identifier for identifier in iter(new_pin_id, "") if identifier not in used)

    async def _refuse(self, title: str, hint: str) -> None:
        await self.log.record(ev.Notice(level="warning", code="pin", title=title, hint=hint))
