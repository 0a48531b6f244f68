"""What the model sees in one session: made for each turn, and changed when the user says so."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import assert_never

from desktop_agent.core.base.errors import AgentError, StorageError
from desktop_agent.core.context.inspection import sections
from desktop_agent.core.context.tokens import request_tokens
from desktop_agent.core.context_window.compacting import Compacting, Room
from desktop_agent.core.context_window.guiding import Guiding
from desktop_agent.core.context_window.meter import Meter
from desktop_agent.core.context_window.parts import ContextParts
from desktop_agent.core.context_window.pins import Pins
from desktop_agent.core.context_window.plan import CompactionPlan, asked_for
from desktop_agent.core.context_window.request_packer import RequestPacker
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ContextReport, ContextUse, ModelRef
from desktop_agent.core.providers.base import Provider
from desktop_agent.core.settings import CompactionSettings

ContextOp = ops.Compact | ops.EditSummary | ops.UndoCompaction | ops.AddPin | ops.RemovePin | ops.InspectContext
"""The ops that concern what the model sees."""


class ContextManager:
    """One per session. Everything that changes is an event; what is kept here can be worked out again."""

    def __init__(self, parts: ContextParts) -> None:
        self._parts = parts
        self._log = parts.log
        self.history = parts.history
        self.meter = Meter(parts.log, parts.calibration)
        self.packer = RequestPacker(parts, self.meter)
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
        await self.packer.look_up(model)
        request = self.packer.pack(model)
        window = self.packer.window(model)
        self.meter.report_estimate(request, model, window)
        if provider is not None and request.messages:
            self.meter.count(request, model, provider, window)

    async def measure_opened(self) -> None:
        """Report how full the context is when a session is opened again: as it was reported, if that still holds."""
        model, tokens = self._parts.transcript.session.model, self._parts.transcript.context.context_tokens
        if model is not None and tokens and self.history.fold.is_as_answered:
            await self.packer.look_up(model)
            self.meter.report_known(tokens, self.packer.window(model))
        elif self.history.turns:
            await self.measure(provider=None)

    async def aclose(self) -> None:
        """Stop everything that runs beside the turns."""
        self.interrupt()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self.meter.aclose()

    # -- for compaction --

    def settings(self) -> CompactionSettings:
        """The settings in force."""
        return self._parts.settings().compaction

    def room(self, model: ModelRef, provider: Provider, tokens: int) -> Room:
        """Return what a compaction is made for now."""
        return Room(
            model=model,
            provider=provider,
            window=self.packer.window(model),
            tokens=tokens,
            ratio=self.meter.ratio(model),
        )

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
                room = self.room(model, provider, self.meter.tokens(self.packer.pack(model), model))
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
        offer = self.packer.offer(model)
        request, system, use = self.packer.pack_with(model, offer), self.packer.system(offer), self.meter.use
        compaction, guidance = self.history.compaction, self.history.guidance
        # The parts come to what the whole is said to take: what was reported is nearer to the truth than the estimate.
        ratio = use.tokens / max(request_tokens(request), 1.0) if use is not None else self.meter.ratio(model)
        found = await asyncio.to_thread(sections, request, guidance, compaction, system, ratio)
        window = self.packer.window(model)
        tokens = sum(section.tokens for section in found)
        return ContextReport(
            sections=found,
            use=use or ContextUse(tokens=tokens, window=window, source="estimated"),
            target=self.packer.target(model),
            compaction_id=compaction.id if compaction is not None else "",
            summary=compaction.summary if compaction is not None else None,
            deferred_tools=offer.deferred,
            deferred_tokens=round(offer.deferred_tokens * ratio),
        )

    async def _notify(self, title: str, hint: str) -> None:
        await self._log.record(ev.Notice(level="warning", code="compaction", title=title, hint=hint))
