"""What the model sees in one session: made for each turn, and changed when the user says so."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import assert_never

from msgspec import Struct

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AgentError, StorageError
from desktop_agent.core.context.guidance import GuidanceReader
from desktop_agent.core.context.history import History
from desktop_agent.core.context.inspection import sections
from desktop_agent.core.context.loaded_tools import loaded_tools
from desktop_agent.core.context.packing import pack
from desktop_agent.core.context.tokens import Calibration, message_tokens, request_tokens
from desktop_agent.core.context_window.compacting import Compacting, Room
from desktop_agent.core.context_window.guiding import Guiding
from desktop_agent.core.context_window.meter import Meter
from desktop_agent.core.context_window.pins import Pins
from desktop_agent.core.context_window.plan import CompactionPlan, asked_for
from desktop_agent.core.context_window.summariser import RetryWait
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import ContextReport, ContextUse, ModelRef, ModelRequest
from desktop_agent.core.providers.base import Provider
from desktop_agent.core.settings import CompactionSettings, Settings
from desktop_agent.core.tools.access import ToolOffer
from desktop_agent.core.transcript import Transcript

ContextOp = ops.Compact | ops.EditSummary | ops.UndoCompaction | ops.AddPin | ops.RemovePin | ops.InspectContext
"""The ops that concern what the model sees."""

_FULL = 0.9
"""How much of a window may be full before it is time to summarise, whatever the target is."""


class ContextParts(Struct, frozen=True, kw_only=True):
    """What it works with."""

    history: History
    transcript: Transcript
    log: EventLog
    clock: Clock
    wait: RetryWait
    """Waits before a summary is asked for again."""
    settings: Callable[[], Settings]
    reader: GuidanceReader
    calibration: Calibration
    system: str
    """The system prompt without the list of tools and without guidance."""
    offer: Callable[[int, Sequence[str]], ToolOffer]
    """Gives the tools for a window of so many tokens, when tools of these names were found or called."""
    make_definitions: Callable[[], None]
    """Makes what the model receives of the tools. Blocks the first time."""
    with_pictures: Callable[[ModelRequest, ModelRef], Awaitable[ModelRequest]]
    """Adds the bytes of the pictures that a request names, or leaves them out for a model that takes none."""
    read_history: Callable[[], Awaitable[None]]
    """Folds in what the history has not, because it was summarised before the session was opened."""
    max_tokens: Callable[[], int]
    """How long an answer may be, now."""
    known: Callable[[ModelRef], Awaitable[KnownModel | None]]
    """What is known of a model, without asking the network."""
    conversation: str = ""
    """What all requests of the session have in common, for providers' caches: see `ModelRequest`."""


class ContextManager:
    """One per session. Everything that changes is an event; what is kept here can be worked out again."""

    def __init__(self, parts: ContextParts) -> None:
        self._parts = parts
        self._log = parts.log
        self.history = parts.history
        self.with_pictures = parts.with_pictures
        self.max_tokens = parts.max_tokens
        self.meter = Meter(parts.log, parts.calibration)
        history, transcript, log = parts.history, parts.transcript, parts.log
        self.pins = Pins(history=history, log=log, clock=parts.clock)
        self.guiding = Guiding(reader=parts.reader, history=history, transcript=transcript, log=log)
        self.compacting = Compacting(history=history, transcript=transcript, log=log, wait=parts.wait)
        self._task: asyncio.Task[None] | None = None

    # -- for the session --

    async def handle(
        self, op: ContextOp, *, is_running: bool, provider: Callable[[ModelRef], Awaitable[Provider]]
    ) -> asyncio.Task[None] | None:
        """Carry out what the user asked for. What takes long is returned as a task, which the caller need not await."""
        match op:
            case ops.AddPin():
                await self.pins.add(op, self.settings().pins_tokens)
            case ops.RemovePin():
                await self.pins.remove(op)
            case ops.InspectContext():
                await self.pins.expire()
                self._log.emit(ev.ContextInspected(report=await self._report()))
                return None
            case ops.Compact() | ops.EditSummary() | ops.UndoCompaction() if is_running or self.is_compacting:
                await self._notify("The agent is working, so nothing was summarised or taken back.", "Stop it first.")
                return None
            case ops.EditSummary() | ops.UndoCompaction():
                await self._change_summary(op)
            case ops.Compact(focus=focus):
                plan = asked_for(self.history, keep=self.settings().keep_last_turns)
                if plan is None:
                    await self._notify("There is nothing to summarise yet: only the last turn is left.", "")
                    return None
                self._task = asyncio.create_task(self._compact(plan, focus, provider), name="compact")
                return self._task
            case _:
                assert_never(op)
        await self.measure(provider=None)
        return None

    @property
    def is_compacting(self) -> bool:
        """Whether a summary that the user asked for is being made."""
        return self._task is not None and not self._task.done()

    def interrupt(self) -> None:
        """Stop making the summary that the user asked for."""
        if self._task is not None:
            self._task.cancel()

    async def measure(self, provider: Provider | None) -> None:
        """Report how full the context is now, and let `provider` count it in the background."""
        model = self._parts.transcript.session.model
        if model is None:
            return
        await self.look_up(model)
        request = self.pack(model)
        window = self.window(model)
        self.meter.report_estimate(request, model, window)
        if provider is not None and request.messages:
            self.meter.count(request, model, provider, window)

    async def measure_opened(self) -> None:
        """Report how full the context is when a session is opened again: as it was reported, if that still holds."""
        model, tokens = self._parts.transcript.session.model, self._parts.transcript.context.context_tokens
        if model is not None and tokens and self.history.fold.is_as_answered:
            await self.look_up(model)
            self.meter.report_known(tokens, self.window(model))
        elif self.history.turns:
            await self.measure(provider=None)

    async def aclose(self) -> None:
        """Stop everything that runs beside the turns."""
        self.interrupt()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self.meter.aclose()

    # -- for requests --

    async def look_up(self, model: ModelRef) -> KnownModel | None:
        """Return what is known of the model now; its window counts from here on. Asks no network."""
        known = await self._parts.known(model)
        if known is not None:
            self.meter.know_window(model, known.context_tokens)
        return known

    async def make_definitions(self) -> None:
        """Make the definitions of the tools, in a thread: the first time, that takes several frames."""
        await asyncio.to_thread(self._parts.make_definitions)

    def settings(self) -> CompactionSettings:
        """The settings in force."""
        return self._parts.settings().compaction

    def window(self, model: ModelRef) -> int:
        """How many tokens fit into the model's window."""
        return self.meter.window(model, self._parts.settings().model.context_tokens)

    def target(self, model: ModelRef) -> int:
        """From how many tokens on the conversation is summarised by itself; 0 for never."""
        settings, window = self.settings(), self.window(model)
        room = max(window - self.max_tokens(), window // 2)
        return min(settings.target_tokens, round(window * _FULL), room) if settings.auto else 0

    def pack(self, model: ModelRef) -> ModelRequest:
        """Return the request that would be sent now, without the bytes of its pictures."""
        return self._pack(model, self._offer(model))

    def _offer(self, model: ModelRef) -> ToolOffer:
        offer = self._parts.offer(self.window(model), loaded_tools(self.history.fold))
        self.meter.offer = offer
        return offer

    def _pack(self, model: ModelRef, offer: ToolOffer) -> ModelRequest:
        return pack(
            self.history,
            model=model,
            system=self._system(offer),
            tools=offer.definitions,
            max_tokens=self.max_tokens(),
            conversation=self._parts.conversation,
        )

    def _system(self, offer: ToolOffer) -> str:
        return f"{self._parts.system}\n\n{offer.listing}"

    def room(self, model: ModelRef, provider: Provider, tokens: int) -> Room:
        """Return what a compaction is made for now."""
        return Room(
            model=model,
            provider=provider,
            window=self.window(model),
            tokens=tokens,
            ratio=self.meter.ratio(model),
        )

    def conversation_tokens(self) -> float:
        """Estimate the conversation alone."""
        return message_tokens(self.history.messages())

    # -- ops --

    async def _compact(
        self, plan: CompactionPlan, focus: str, provider_of: Callable[[ModelRef], Awaitable[Provider]]
    ) -> None:
        """Make the summary that the user asked for. Ends without one when it is stopped."""
        model = self._parts.transcript.session.model
        assert model is not None, "the journal's first line names the model"
        with suppress(asyncio.CancelledError):
            try:
                provider = await provider_of(model)
                room = self.room(model, provider, self.meter.tokens(self.pack(model), model))
                if await self.compacting.compact(plan, room, urgency="asked", focus=focus):
                    await self.measure(provider)
            except StorageError:
                raise
            except AgentError as error:
                await self._notify(f"The conversation was not summarised. {error.title}", error.hint)

    async def _change_summary(self, op: ops.EditSummary | ops.UndoCompaction) -> None:
        compaction = self.history.compaction
        if compaction is None:
            await self._notify("There is no summary in force.", "")
        elif isinstance(op, ops.UndoCompaction):
            if not self.history.can_undo_compaction:
                await self._parts.read_history()
            await self._log.record(ev.CompactionUndone(compaction_id=compaction.id))
        elif op.summary != compaction.summary:
            await self._log.record(ev.SummaryEdited(compaction_id=compaction.id, summary=op.summary))

    async def _report(self) -> ContextReport:
        """Take the next request apart, off the event loop: a long conversation is megabytes of text."""
        model = self._parts.transcript.session.model
        assert model is not None, "the journal's first line names the model"
        offer = self._offer(model)
        request, system, use = self._pack(model, offer), self._system(offer), self.meter.use
        compaction, guidance = self.history.compaction, self.history.guidance
        # The parts come to what the whole is said to take: what was reported is nearer to the truth than the estimate.
        ratio = use.tokens / max(request_tokens(request), 1.0) if use is not None else self.meter.ratio(model)
        found = await asyncio.to_thread(sections, request, guidance, compaction, system, ratio)
        window = self.window(model)
        tokens = sum(section.tokens for section in found)
        return ContextReport(
            sections=found,
            use=use or ContextUse(tokens=tokens, window=window, source="estimated"),
            target=self.target(model),
            compaction_id=compaction.id if compaction is not None else "",
            summary=compaction.summary if compaction is not None else None,
            deferred_tools=offer.deferred,
            deferred_tokens=round(offer.deferred_tokens * ratio),
        )

    async def _notify(self, title: str, hint: str) -> None:
        await self._log.record(ev.Notice(level="warning", code="compaction", title=title, hint=hint))
