"""The request that would be sent now, and how much of the model's window it may take."""

import asyncio

from desktop_agent.core.context.loaded_tools import loaded_tools
from desktop_agent.core.context.packing import pack
from desktop_agent.core.context.tokens import message_tokens
from desktop_agent.core.context_window.meter import Meter
from desktop_agent.core.context_window.parts import ContextParts
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.protocol.model import ModelRef, ModelRequest
from desktop_agent.core.tools.access import ToolOffer

_FULL = 0.9
"""How much of a window may be full before it is time to summarise, whatever the target is."""


class RequestPacker:
    """Makes requests of the history as it is. Asks no network."""

    def __init__(self, parts: ContextParts, meter: Meter) -> None:
        self._parts = parts
        self._meter = meter
        self.with_pictures = parts.with_pictures
        self.max_tokens = parts.max_tokens

    async def look_up(self, model: ModelRef) -> KnownModel | None:
        """Return what is known of the model now; its window counts from here on."""
        known = await self._parts.known(model)
        if known is not None:
            self._meter.know_window(model, known.context_tokens)
        return known

    async def make_definitions(self) -> None:
        """Make the definitions of the tools, in a thread: the first time, that takes several frames."""
        await asyncio.to_thread(self._parts.make_definitions)

    def window(self, model: ModelRef) -> int:
        """How many tokens fit into the model's window."""
        return self._meter.window(model, self._parts.settings().model.context_tokens)

    def target(self, model: ModelRef) -> int:
        """From how many tokens on the conversation is summarised by itself; 0 for never."""
        settings, window = self._parts.settings().compaction, self.window(model)
        room = max(window - self.max_tokens(), window // 2)
        return min(settings.target_tokens, round(window * _FULL), room) if settings.auto else 0

    def pack(self, model: ModelRef) -> ModelRequest:
        """Return the request that would be sent now, without the bytes of its pictures."""
        return self.pack_with(model, self.offer(model))

    def pack_with(self, model: ModelRef, offer: ToolOffer) -> ModelRequest:
        """Return the request with these tools, without the bytes of its pictures."""
        return pack(
            self._parts.history,
            model=model,
            system=self.system(offer),
            tools=offer.definitions,
            max_tokens=self.max_tokens(),
            conversation=self._parts.conversation,
        )

    def offer(self, model: ModelRef) -> ToolOffer:
        """Return the tools that a request has now."""
        offer = self._parts.offer(self.window(model), loaded_tools(self._parts.history.fold))
        self._meter.offer = offer
        return offer

    def system(self, offer: ToolOffer) -> str:
        """Return the system prompt without guidance."""
        return f"{self._parts.system}\n\n{offer.listing}"

    def conversation_tokens(self) -> float:
        """Estimate the conversation alone."""
        return message_tokens(self._parts.history.messages())
