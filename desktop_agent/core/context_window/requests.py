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
        context_manager = self.context_manager
        await context_manager.pins.expire()
        if self._is_first:
            await context_manager.look_up(self.model)
            await context_manager.make_definitions()
        await context_manager.guiding.refresh(is_turn_start=self._is_first)
        self._is_first = False
        request = context_manager.pack(self.model)
        tokens = context_manager.meter.tokens(request, self.model)
        window = context_manager.window(self.model)
        target = context_manager.target(self.model)
        fits = tokens + context_manager.max_tokens() <= window
        if self._is_forced or (target and tokens > (target if fits else 0)):
            urgency: Urgency = "needed" if self._is_forced or not fits else "wanted"
            # What the user took back by hand is not done again before it must be.
            is_wanted = not (context_manager.history.fold.is_compaction_undone or self._has_failed)
            if urgency == "needed" or is_wanted:
                if await self._compact(tokens, urgency):
                    request = context_manager.pack(self.model)
                else:
                    self._has_failed = True
        self._is_forced = False
        tokens = context_manager.meter.report_estimate(request, self.model, window)
        if tokens > window:
            raise self._no_room(tokens)
        self._last = await context_manager.with_pictures(request, self.model)
        return self._last

    async def as_it_is(self) -> ModelRequest:
        """Return the request of a model that is asked only once: nothing is summarised for it. Raises `NoRoomError`."""
        context_manager = self.context_manager
        request = context_manager.pack(self.model)
        tokens = context_manager.meter.tokens(request, self.model)
        if tokens > context_manager.window(self.model):
            raise self._no_room(tokens)
        self._last = await context_manager.with_pictures(request, self.model)
        return self._last

    def _no_room(self, tokens: int) -> NoRoomError:
        return NoRoomError(
            f"The conversation takes about {tokens:,} tokens, and the model's window has "
            f"{self.context_manager.window(self.model):,}.",
            hint="Go back to before the last message, send less at once, or start a new session for the next task.",
        )

    def answered(self, usage: Usage, told: CacheMiss | None) -> CacheMiss | None:
        """Take in what the provider reported with the answer to the last request.

        Return why its cache was not used, by what it `told` and by what it counted.
        """
        if self._last is not None:
            window = self.context_manager.window(self.model)
            self.context_manager.meter.report_usage(self._last, usage, self.model, window)
            self.context_manager.meter.ask_for_window(self.model, self.provider)
        return self.context_manager.meter.caching.missed(self.model, usage, told)

    def make_room(self, *, is_certain: bool = True) -> bool:
        """Let the next request be a smaller one, because the provider said that the last did not fit.

        False when that was tried before in this turn, when the user does not want compaction by itself, or, unless it
        `is_certain` that this was why the request was refused, when it should have fitted easily.
        """
        if self._has_made_room or self._last is None or not self.context_manager.target(self.model):
            return False
        if (
            not is_certain
            and self.context_manager.meter.tokens(self._last, self.model) < self.context_manager.window(self.model) / 2
        ):
            return False
        self._has_made_room = self._is_forced = True
        return True

    async def _compact(self, tokens: int, urgency: Urgency) -> bool:
        context_manager = self.context_manager
        room = context_manager.room(self.model, self.provider, tokens)
        target = context_manager.target(self.model) or context_manager.window(self.model)
        fixed = tokens / room.ratio - context_manager.conversation_tokens()
        left = max(target / room.ratio - fixed, 0.0) * _ROOM_AFTER
        if self._is_forced:  # estimates were wrong, so the target is no guide: half of what is there must go
            left = min(left, context_manager.conversation_tokens() / 2)
        plan = automatic(context_manager.history, keep=context_manager.settings().keep_last_turns, room=left)
        return plan is not None and await context_manager.compacting.compact(plan, room, urgency=urgency)
