"""What the model sees in one session: the requests of its turns, pins, guidance, and the ops that change them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from msgspec import Struct

from desktop_agent.core.base.clock import Clock, is_over
from desktop_agent.core.base.errors import AgentError, ProviderError, StorageError
from desktop_agent.core.base.ids import new_id
from desktop_agent.core.context.history import History, pack
from desktop_agent.core.context.history_fold import Compaction, loaded_tools
from desktop_agent.core.context.packing import pinned_text, sections
from desktop_agent.core.context.summaries import extracted, parsed, summary_text
from desktop_agent.core.context.tokens import Calibration, message_tokens, request_tokens, text_tokens
from desktop_agent.core.context_window.compaction import (
    CompactionPlan,
    Urgency,
    asked_for,
    automatic,
    summary_request,
    summary_tokens,
)
from desktop_agent.core.context_window.guiding import Guiding
from desktop_agent.core.context_window.meter import Meter
from desktop_agent.core.extensions.hook_runs import Hooks
from desktop_agent.core.extensions.instructions import InstructionReader
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import (
    CacheMiss,
    ContextReport,
    ContextUse,
    GuidanceFile,
    ModelRef,
    ModelRequest,
    Pin,
    Summary,
    TextBlock,
    Usage,
)
from desktop_agent.core.providers.provider import Provider, RetryWait, answer_aside
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.tools.access import ToolOffer
from desktop_agent.core.transcript import Transcript

_ACTIVITY = "Summarising the conversation to make room"

logger = logging.getLogger(__name__)

_FULL = 0.9

_LONGEST_S = 10 * 365 * 86_400.0


ACCEPTED_PLAN = "# The accepted plan"


class Pins(Struct, frozen=True, kw_only=True, eq=False):
    history: History
    log: EventLog
    clock: Clock

    async def add(self, op: ops.AddPin, budget: int) -> bool:
        """Return whether there was room for it. If not, a notice says so."""
        text = op.text.strip()
        ttl_s = op.ttl_s
        if not text:
            await self._refuse("There is nothing to pin: the text is empty.", "")
            return False
        if ttl_s is not None and not 0 < ttl_s <= _LONGEST_S:
            await self._refuse("Nothing was pinned: the time to keep it must be a number of seconds above 0.", "")
            return False
        await self.expire()
        expires_at = None if ttl_s is None else self.clock.now() + timedelta(seconds=ttl_s)
        used = {pin.id for pin in self.history.pins}
        unused = next(identifier for identifier in iter(lambda: new_id("pin"), "") if identifier not in used)
        pin = Pin(id=unused, text=text, expires_at=expires_at)
        tokens = round(text_tokens(pinned_text((*self.history.pins, pin))))
        if tokens > budget:
            title = f"Nothing was pinned: with this, the pins would take about {tokens:,} tokens of {budget:,}."
            await self._refuse(
                title, "Remove a pin, shorten the text, or raise compaction.pins_tokens in the settings."
            )
            return False
        await self.log.record(ev.Pinned(pin=pin))
        return True

    async def add_plan(self, plan: str, budget: int) -> bool:
        """Pin the accepted plan in place of an earlier one. Return whether there was room for it."""
        for pin in self.history.pins:
            if pin.text.startswith(ACCEPTED_PLAN):
                await self.log.record(ev.Unpinned(pin_id=pin.id))
        return await self.add(ops.AddPin(text=f"{ACCEPTED_PLAN}\n\n{plan}"), budget)

    async def remove(self, op: ops.RemovePin) -> None:
        if any(pin.id == op.pin_id for pin in self.history.pins):
            await self.log.record(ev.Unpinned(pin_id=op.pin_id))
        else:
            await self._refuse(f"There is no pin “{op.pin_id}”.", "")

    async def expire(self) -> None:
        now = self.clock.now()
        for pin in self.history.pins:
            if pin.expires_at is not None and is_over(pin.expires_at, now):
                await self.log.record(ev.Unpinned(pin_id=pin.id, is_expired=True))

    async def _refuse(self, title: str, hint: str) -> None:
        await self.log.record(ev.Notice(level="warning", code="pin", title=title, hint=hint))


ContextOp = (
    ops.Compact
    | ops.EditSummary
    | ops.UndoCompaction
    | ops.AddPin
    | ops.RemovePin
    | ops.SwitchGuidance
    | ops.InspectContext
)


@dataclass(kw_only=True, eq=False)
class ContextManager:
    """Makes the requests of one session. Every change is an event, so all data here can be recomputed."""

    history: History
    transcript: Transcript
    log: EventLog
    clock: Clock
    wait: RetryWait
    settings: Callable[[], Settings]
    change_setting: Callable[[str, object], Awaitable[object]]
    reader: InstructionReader
    skills: Callable[[int], GuidanceFile | None]
    """Returns the list of skills for a window of this many tokens. Blocks."""
    calibration: Calibration
    system: str
    offer: Callable[[int, Sequence[str]], ToolOffer]
    """Returns the tools for a window of this many tokens, given the names of tools already found or called."""
    make_definitions: Callable[[], None]
    with_pictures: Callable[[ModelRequest, ModelRef], Awaitable[ModelRequest]]
    """Adds the bytes of a request's pictures, or removes the pictures for a model that takes none."""
    read_history: Callable[[], Awaitable[None]]
    """Folds into the history the part that was summarised before the session was opened."""
    max_tokens: Callable[[], int]
    known: Callable[[ModelRef], Awaitable[KnownModel | None]]
    hooks: Hooks
    conversation: str = ""
    """The same in all requests of the session, for providers' caches: see `ModelRequest`."""

    def __post_init__(self) -> None:
        self.meter = Meter(self.log, self.calibration)
        self.pins = Pins(history=self.history, log=self.log, clock=self.clock)
        self.guiding = Guiding(
            reader=self.reader,
            history=self.history,
            transcript=self.transcript,
            log=self.log,
            settings=self.settings,
            change_setting=self.change_setting,
            skills=self.skills,
        )
        self._task: asyncio.Task[None] | None = None

    # -- requests --

    async def look_up_model(self, model: ModelRef) -> KnownModel | None:
        known = await self.known(model)
        if known is not None:
            self.meter.know_window(model, known.context_tokens)
        return known

    def window(self, model: ModelRef) -> int:
        return self.meter.window(model, self.settings().model.context_tokens)

    def target(self, model: ModelRef) -> int:
        """Return the number of tokens above which the conversation is summarised automatically; 0 for never."""
        settings, window = self.settings().compaction, self.window(model)
        room = max(window - self.max_tokens(), window // 2)
        return min(settings.target_tokens, round(window * _FULL), room) if settings.auto else 0

    def pack(self, model: ModelRef) -> ModelRequest:
        """Return a request for the present history, without the bytes of its pictures. Uses no network."""
        self.meter.offer = self.offer(self.window(model), loaded_tools(self.history.fold))
        return pack(
            self.history,
            model=model,
            system=self._system(),
            tools=self.meter.offer.definitions,
            max_tokens=self.max_tokens(),
            conversation=self.conversation,
        )

    def _system(self) -> str:
        return f"{self.system}\n\n{self.meter.offer.listing}"

    # -- for the session --

    async def handle(
        self, op: ContextOp, *, is_running: bool, provider: Callable[[ModelRef], Awaitable[Provider]]
    ) -> asyncio.Task[None] | None:
        """Carry out the op. Long work continues in the returned task, which the caller need not await."""
        match op:
            case ops.AddPin():
                await self.pins.add(op, self.settings().compaction.pins_tokens)
            case ops.RemovePin():
                await self.pins.remove(op)
            case ops.SwitchGuidance():
                await self._switch_guidance(op)
            case ops.InspectContext():
                await self.pins.expire()
                if not is_running and (model := self.transcript.session.model) is not None:
                    await self.guiding.refresh(is_turn_start=True, window=self.window(model))
                self.log.emit(ev.ContextInspected(report=await self._report()))
                return None
            case ops.Compact() | ops.EditSummary() | ops.UndoCompaction() if is_running or self.is_compacting:
                await self._notify("The agent is working, so nothing was summarised or undone.", "Stop it first.")
                return None
            case ops.EditSummary() | ops.UndoCompaction():
                await self._change_summary(op)
            case ops.Compact(focus=focus):
                plan = asked_for(self.history, keep=self.settings().compaction.keep_last_turns)
                if plan is None:
                    await self._notify("There is nothing to summarise yet: only the last turn is left.")
                    return None
                self._task = asyncio.create_task(self._compact_as_asked(plan, focus, provider), name="compact")
                return self._task
            case _:
                assert_never(op)
        await self.measure(provider=None)
        return None

    @property
    def is_compacting(self) -> bool:
        return self._task is not None and not self._task.done()

    def interrupt(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def measure(self, provider: Provider | None) -> None:
        model = self.transcript.session.model
        if model is None or model.is_agent:
            return
        await self.look_up_model(model)
        request = self.pack(model)
        window = self.window(model)
        self.meter.report_estimate(request, model, window)
        if provider is not None and request.messages:
            self.meter.count(request, model, provider, window)

    async def measure_opened(self) -> None:
        """Report how full a reopened session's context is: by the number in the journal, if that is still valid."""
        model, tokens = self.transcript.session.model, self.transcript.context.context_tokens
        if model is None or model.is_agent:
            return
        if tokens and self.history.fold.is_as_answered:
            await self.look_up_model(model)
            self.meter.report_known(tokens, self.window(model))
        elif self.history.turns:
            await self.measure(provider=None)

    async def aclose(self) -> None:
        self.interrupt()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self.meter.aclose()

    # -- compaction --

    async def compact(
        self, plan: CompactionPlan, model: ModelRef, provider: Provider, tokens: int, urgency: Urgency, focus: str = ""
    ) -> bool:
        """Carry out `plan` for a request of `tokens` tokens; return whether it is smaller now. Raises `StorageError`.

        If the model fails, a summary that is only wanted is postponed, and one that is needed is made by rules.
        """
        before = self.history.fold.compaction
        summary = before.summary if before is not None else Summary()
        if plan.is_summarising:
            kept = await self._ask_hooks(focus, urgency)
            if kept is None:
                return False
            self._say(_ACTIVITY)
            try:
                found = await self._summary(plan, model, provider, urgency, kept)
            finally:
                self._say("")
            if found is None:
                return False
            summary = found
        is_known = self.history.has_turn(plan.through_turn) or (before and before.through_turn == plan.through_turn)
        if self.history.fold.compaction is not before or (plan.through_turn > 0 and not is_known):
            await self._notify("The conversation changed while it was summarised, so nothing was summarised.")
            return False
        event = ev.Compacted(
            compaction_id=new_id("c"),
            through_turn=plan.through_turn,
            summary=summary,
            focus=focus,
            is_automatic=urgency != "asked",
            tokens_before=tokens,
            tokens_after=max(round(tokens - self._saved_by(plan, summary, before) * self.meter.ratio(model)), 0),
            shortened=plan.shortened,
        )
        await self.log.record(event)
        if plan.is_summarising:
            text, is_automatic = summary_text(summary), urgency != "asked"
            await self.hooks.after_compaction(self.transcript.turn, is_automatic=is_automatic, summary=text)
        return True

    async def _ask_hooks(self, focus: str, urgency: Urgency) -> str | None:
        """Return what the summary must keep above all; `None` if a hook forbids the summary."""
        turn = self.transcript.turn
        if urgency == "asked":  # outside a turn
            await self.hooks.refresh(turn)
        said = await self.hooks.before_compaction(turn, is_automatic=urgency != "asked", focus=focus)
        if said.decision in ("block", "stop"):
            await self._notify("A hook kept the conversation from being summarised.", said.reason)
            return None
        return "\n".join(filter(None, (focus, said.context)))

    async def _summary(
        self, plan: CompactionPlan, model: ModelRef, provider: Provider, urgency: Urgency, focus: str
    ) -> Summary | None:
        before = self.history.fold.compaction
        messages = self.history.messages_through(plan.through_turn)
        earlier = before.summary if before is not None and before.through_turn else None
        request = summary_request(messages, earlier, focus.strip(), model, self.window(model))
        turn = self.transcript.turn
        problem = "The model's answer held no summary"
        try:
            answer = await answer_aside(self.log, provider, model, request, turn, "summary", self.wait)
            texts = [block.text for block in answer.content if isinstance(block, TextBlock)]
            found = parsed("\n".join(texts))
        except ProviderError as error:
            if urgency == "wanted":
                logger.info("Nothing was summarised: %s", error.title)
                return None
            if urgency == "asked":
                await self._notify(f"The conversation was not summarised. {error.title}", error.hint, error.detail)
                return None
            found, problem = None, f"The model could not be asked for a summary ({error.title})"
        if found is not None:
            return found
        title = f"{problem}, so only the requests, files and to-dos of the older turns were kept."
        await self._notify(title, "You can edit that summary, or undo it: nothing is lost.")
        todos = (item.content for item in self.transcript.turns.todos if item.status != "completed")
        return extracted(messages, earlier, todos)

    def _saved_by(self, plan: CompactionPlan, summary: Summary, before: Compaction | None) -> float:
        gone = message_tokens(self.history.messages_through(plan.through_turn)) if plan.is_summarising else 0.0
        if before is not None and plan.is_summarising:
            gone += summary_tokens(before.summary)
        known = before.shortened if before is not None else frozenset[str]()
        saved = dict(self.history.long_results(self.history.turns))
        gone += sum(saved.get(call_id, 0.0) for call_id in plan.shortened if call_id not in known)
        return gone - (summary_tokens(summary) if plan.is_summarising else 0.0)

    def _say(self, message: str) -> None:
        self.log.emit(ev.ToolProgress(turn=self.transcript.turn, call_id="", name="compact", message=message))

    # -- ops --

    async def _compact_as_asked(
        self, plan: CompactionPlan, focus: str, provider_of: Callable[[ModelRef], Awaitable[Provider]]
    ) -> None:
        model = self.transcript.session.model
        assert model is not None, "the journal's first line names the model"
        with suppress(asyncio.CancelledError):
            try:
                provider = await provider_of(model)
                tokens = self.meter.tokens(self.pack(model), model)
                if await self.compact(plan, model, provider, tokens, "asked", focus):
                    await self.measure(provider)
            except StorageError:
                raise
            except AgentError as error:
                await self._notify(f"The conversation was not summarised. {error.title}", error.hint)

    async def _change_summary(self, op: ops.EditSummary | ops.UndoCompaction) -> None:
        compaction = self.history.fold.compaction
        if compaction is None:
            await self._notify("There is no active summary.")
        elif isinstance(op, ops.UndoCompaction):
            if not self.history.can_undo_compaction:
                await self.read_history()
            await self.log.record(ev.CompactionUndone(compaction_id=compaction.id))
        elif op.summary != compaction.summary:
            await self.log.record(ev.SummaryEdited(compaction_id=compaction.id, summary=op.summary))

    async def _report(self) -> ContextReport:
        model = self.transcript.session.model
        assert model is not None, "the journal's first line names the model"
        request, offer, use = self.pack(model), self.meter.offer, self.meter.use
        compaction, guidance = self.history.fold.compaction, self.guiding.listed()
        # The parts are scaled to the reported total, which is nearer to the truth than the estimate.
        ratio = use.tokens / max(request_tokens(request), 1.0) if use is not None else self.meter.ratio(model)
        found = await asyncio.to_thread(sections, request, guidance, compaction, self._system(), ratio)
        window = self.window(model)
        tokens = sum(section.tokens for section in found if not section.is_off)
        return ContextReport(
            sections=found,
            use=use or ContextUse(tokens=tokens, window=window, source="estimated"),
            target=self.target(model),
            compaction_id=compaction.id if compaction is not None else "",
            summary=compaction.summary if compaction is not None else None,
            deferred_tools=offer.deferred,
            deferred_tokens=round(offer.deferred_tokens * ratio),
        )

    async def _switch_guidance(self, op: ops.SwitchGuidance) -> None:
        try:
            await self.guiding.switch(op)
        except AgentError as error:  # the settings cannot be written
            await self._notify(error.title, error.hint, error.detail)

    async def _notify(self, title: str, hint: str = "", detail: str = "") -> None:
        await self.log.record(ev.Notice(level="warning", code="compaction", title=title, hint=hint, detail=detail))


_ROOM_AFTER = 0.5
"""The share of the target's room that a compaction fills, so that the next one is not due at once."""


class NoRoomError(AgentError):
    """The conversation does not fit the model's window, and no compaction can make it fit."""


class TurnRequests(Struct, kw_only=True, eq=False):
    context_manager: ContextManager
    model: ModelRef
    provider: Provider
    _is_first: bool = True
    _has_made_room: bool = False
    _is_forced: bool = False
    _has_failed: bool = False
    """Whether a summary that was only wanted failed in this turn. It is not tried again at every step."""
    _last: ModelRequest | None = None

    async def next(self) -> ModelRequest:
        """Return the next request with its pictures. Raises `NoRoomError` and `StorageError`; may compact first."""
        context_manager = self.context_manager
        await context_manager.pins.expire()
        if self._is_first:
            await context_manager.look_up_model(self.model)
            await asyncio.to_thread(context_manager.make_definitions)  # the first time, that takes several frames
        window = context_manager.window(self.model)
        await context_manager.guiding.refresh(is_turn_start=self._is_first, window=window)
        self._is_first = False
        request = context_manager.pack(self.model)
        tokens = context_manager.meter.tokens(request, self.model)
        target = context_manager.target(self.model)
        fits = tokens + context_manager.max_tokens() <= window
        if self._is_forced or (target and tokens > (target if fits else 0)):
            urgency: Urgency = "needed" if self._is_forced or not fits else "wanted"
            # A compaction that the user took back is not made again before it is necessary.
            is_wanted = not (context_manager.history.fold.is_compaction_undone or self._has_failed)
            if urgency == "needed" or is_wanted:
                if await self._compact(tokens, urgency):
                    request = context_manager.pack(self.model)
                else:
                    self._has_failed = True
        self._is_forced = False
        return await self._ready(request, context_manager.meter.report_estimate(request, self.model, window))

    async def as_it_is(self) -> ModelRequest:
        """Return a request without summarising, for a model that is asked only once. Raises `NoRoomError`."""
        request = self.context_manager.pack(self.model)
        return await self._ready(request, self.context_manager.meter.tokens(request, self.model))

    async def _ready(self, request: ModelRequest, tokens: int) -> ModelRequest:
        window = self.context_manager.window(self.model)
        if tokens > window:
            raise NoRoomError(
                f"The conversation takes about {tokens:,} tokens, and the model's window has {window:,}.",
                hint="Go back to before the last message, send less at once, or start a new session for the next task.",
            )
        self._last = await self.context_manager.with_pictures(request, self.model)
        return self._last

    def answered(self, usage: Usage, told: CacheMiss | None) -> CacheMiss | None:
        """Note what the provider reported with an answer; return why the cache was missed, if it was."""
        meter = self.context_manager.meter
        if self._last is not None:
            meter.report_usage(self._last, usage, self.model, self.context_manager.window(self.model))
            meter.ask_for_window(self.model, self.provider)
        return meter.caching.missed(self.model, usage, told)

    def make_room(self, *, is_certain: bool = True) -> bool:
        """Make the next request smaller, because the last did not fit. Return whether another try makes sense.

        Unless size `is_certain` to be the reason, nothing is done for a request that should have fitted easily.
        """
        context_manager = self.context_manager
        if self._has_made_room or self._last is None or not context_manager.target(self.model):
            return False
        tokens = context_manager.meter.tokens(self._last, self.model)
        if not is_certain and tokens < context_manager.window(self.model) / 2:
            return False
        self._has_made_room = self._is_forced = True
        return True

    async def _compact(self, tokens: int, urgency: Urgency) -> bool:
        context_manager, ratio = self.context_manager, self.context_manager.meter.ratio(self.model)
        target = context_manager.target(self.model) or context_manager.window(self.model)
        conversation = message_tokens(context_manager.history.messages())
        left = max((target - tokens) / ratio + conversation, 0.0) * _ROOM_AFTER
        if self._is_forced:  # estimates were wrong, so the target is no guide: half of what is there must go
            left = min(left, conversation / 2)
        plan = automatic(context_manager.history, keep=context_manager.settings().compaction.keep_last_turns, room=left)
        if plan is None:
            return False
        return await context_manager.compact(plan, self.model, self.provider, tokens, urgency)
