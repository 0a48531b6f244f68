"""The next request of a turn: pins that are over are gone, guidance is fresh, and it fits, or there is no request."""

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.context_window.compacting import Urgency
from desktop_agent.core.context_window.context_manager import ContextManager
from desktop_agent.core.context_window.plan import automatic
from desktop_agent.core.protocol.model import CacheMiss, ModelRef, ModelRequest, Usage
from desktop_agent.core.providers.base import Provider

_ROOM_AFTER = 0.5
"""How much of what the target leaves to the conversation may stay: the next compaction should not be due at once."""


class NoRoomError(AgentError):
    """The conversation does not fit the model's window and cannot be made to."""


class TurnRequests(Struct, kw_only=True, eq=False):
    """Makes the requests of one turn, each after the answer to the one before is on record."""

    context_manager: ContextManager
    model: ModelRef
    provider: Provider
    _is_first: bool = True
    _has_made_room: bool = False
    _is_forced: bool = False
    _has_failed: bool = False
    """Whether a summary that was only wanted could not be had in this turn: every step would wait for the next try."""
    _last: ModelRequest | None = None

    async def next(self) -> ModelRequest:
        """Return the next request, pictures and all. Raises `NoRoomError` and `StorageError`; may compact first."""
        context_manager, packer = self.context_manager, self.context_manager.packer
        await context_manager.pins.expire()
        if self._is_first:
            await packer.look_up(self.model)
            await packer.make_definitions()
        await context_manager.guiding.refresh(is_turn_start=self._is_first)
        self._is_first = False
        request = packer.pack(self.model)
        tokens = context_manager.meter.tokens(request, self.model)
        window = packer.window(self.model)
        target = packer.target(self.model)
        fits = tokens + packer.max_tokens() <= window
        if self._is_forced or (target and tokens > (target if fits else 0)):
            urgency: Urgency = "needed" if self._is_forced or not fits else "wanted"
            # What the user took back by hand is not done again before it must be.
            is_wanted = not (context_manager.history.fold.is_compaction_undone or self._has_failed)
            if urgency == "needed" or is_wanted:
                if await self._compact(tokens, urgency):
                    request = packer.pack(self.model)
                else:
                    self._has_failed = True
        self._is_forced = False
        tokens = context_manager.meter.report_estimate(request, self.model, window)
        if tokens > window:
            raise self._no_room(tokens)
        self._last = await packer.with_pictures(request, self.model)
        return self._last

    async def as_it_is(self) -> ModelRequest:
        """Return the request of a model that is asked only once: nothing is summarised for it. Raises `NoRoomError`."""
        packer = self.context_manager.packer
        request = packer.pack(self.model)
        tokens = self.context_manager.meter.tokens(request, self.model)
        if tokens > packer.window(self.model):
            raise self._no_room(tokens)
        self._last = await packer.with_pictures(request, self.model)
        return self._last

    def _no_room(self, tokens: int) -> NoRoomError:
        return NoRoomError(
            f"The conversation takes about {tokens:,} tokens, and the model's window has "
            f"{self.context_manager.packer.window(self.model):,}.",
            hint="Go back to before the last message, send less at once, or start a new session for the next task.",
        )

    def answered(self, usage: Usage, told: CacheMiss | None) -> CacheMiss | None:
        """Take in what the provider reported with the answer to the last request.

        Return why its cache was not used, by what it `told` and by what it counted.
        """
        meter = self.context_manager.meter
        if self._last is not None:
            meter.report_usage(self._last, usage, self.model, self.context_manager.packer.window(self.model))
            meter.ask_for_window(self.model, self.provider)
        return meter.caching.missed(self.model, usage, told)

    def make_room(self, *, is_certain: bool = True) -> bool:
        """Let the next request be a smaller one, because the provider said that the last did not fit.

        False when that was tried before in this turn, when the user does not want compaction by itself, or, unless it
        `is_certain` that this was why the request was refused, when it should have fitted easily.
        """
        packer = self.context_manager.packer
        if self._has_made_room or self._last is None or not packer.target(self.model):
            return False
        tokens = self.context_manager.meter.tokens(self._last, self.model)
        if not is_certain and tokens < packer.window(self.model) / 2:
            return False
        self._has_made_room = self._is_forced = True
        return True

    async def _compact(self, tokens: int, urgency: Urgency) -> bool:
        context_manager, packer = self.context_manager, self.context_manager.packer
        room = context_manager.room(self.model, self.provider, tokens)
        target = packer.target(self.model) or packer.window(self.model)
        fixed = tokens / room.ratio - packer.conversation_tokens()
        left = max(target / room.ratio - fixed, 0.0) * _ROOM_AFTER
        if self._is_forced:  # estimates were wrong, so the target is no guide: half of what is there must go
            left = min(left, packer.conversation_tokens() / 2)
        plan = automatic(context_manager.history, keep=context_manager.settings().keep_last_turns, room=left)
        return plan is not None and await context_manager.compacting.compact(plan, room, urgency=urgency)
