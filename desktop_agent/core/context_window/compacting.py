"""Compaction: the older part of a conversation gives way to a summary, by itself or when the user asks.

Nothing is ever removed: what happens is one event more, and taking it back is another.
"""

import logging
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import new_compaction_id
from desktop_agent.core.context.history import History
from desktop_agent.core.context.history_fold import Compaction
from desktop_agent.core.context.summaries import extracted, rendered
from desktop_agent.core.context.tokens import message_tokens, text_tokens
from desktop_agent.core.context_window.plan import CompactionPlan
from desktop_agent.core.context_window.summariser import RetryWait, SummaryJob, summarise
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import ModelRef, Summary
from desktop_agent.core.providers.base import Provider
from desktop_agent.core.transcript import Transcript

ACTIVITY = "Summarising the conversation to make room"

logger = logging.getLogger(__name__)

Urgency = Literal["asked", "wanted", "needed"]
"""By the user; because it is over the target; or because it does not fit otherwise."""


class Room(Struct, frozen=True, kw_only=True):
    """What a compaction is made for, and measured with."""

    model: ModelRef
    provider: Provider
    window: int
    tokens: int
    """Of the whole request, before."""
    ratio: float
    """Corrects estimates."""


class Compacting(Struct, frozen=True, kw_only=True, eq=False):
    """Carries compactions out."""

    history: History
    transcript: Transcript
    log: EventLog
    wait: RetryWait
    """Before a summary is asked for again."""

    async def compact(self, plan: CompactionPlan, room: Room, *, urgency: Urgency, focus: str = "") -> bool:
        """Carry out `plan`; whether the conversation is smaller now.

        A model that cannot be reached is the user's to hear when they asked for this. A summary that is only wanted
        can wait; one that is needed is made without the model. Raises `StorageError`. Cancelling leaves all as it was.
        """
        before = self.history.compaction
        summary = before.summary if before is not None else Summary()
        if plan.is_summarising:
            self._say(ACTIVITY)
            try:
                found = await self._summary(plan, room, urgency, focus)
            finally:
                self._say("")
            if found is None:
                return False
            summary = found
        if self.history.compaction is not before or self._is_gone(plan.through_turn):
            await self._notify("The conversation changed while it was summarised, so nothing was summarised.")
            return False
        event = ev.Compacted(
            compaction_id=new_compaction_id(),
            through_turn=plan.through_turn,
            summary=summary,
            focus=focus,
            is_automatic=urgency != "asked",
            tokens_before=room.tokens,
            tokens_after=self._after(plan, summary, before, room),
            shortened=plan.shortened,
        )
        await self.log.record(event)
        return True

    async def _summary(self, plan: CompactionPlan, room: Room, urgency: Urgency, focus: str) -> Summary | None:
        before = self.history.compaction
        job = SummaryJob(
            messages=self.history.messages_through(plan.through_turn),
            before=before.summary if before is not None and before.through_turn else None,
            focus=focus.strip(),
            turn=self.transcript.turn,
        )
        problem = "The model's answer held no summary"
        try:
            found = await summarise(job, room.provider, room.model, room.window, log=self.log, wait=self.wait)
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
        title = f"{problem}, so only what was asked, the files and the to-dos were kept of the older turns."
        await self._notify(title, "You can edit that summary, or undo it: nothing is lost.")
        todos = (item.content for item in self.transcript.turns.todos if item.status != "completed")
        return extracted(job.messages, job.before, todos)

    def _is_gone(self, turn: int) -> bool:
        compaction = self.history.compaction
        is_summarised = compaction is not None and compaction.through_turn == turn
        return turn > 0 and not self.history.has_turn(turn) and not is_summarised

    def _after(self, plan: CompactionPlan, summary: Summary, before: Compaction | None, room: Room) -> int:
        """Estimate the whole request as it will be."""
        gone = message_tokens(self.history.messages_through(plan.through_turn)) if plan.is_summarising else 0.0
        if before is not None and plan.is_summarising:
            gone += _summary_tokens(before.summary)
        known = before.shortened if before is not None else frozenset[str]()
        saved = dict(self.history.long_results(self.history.turns))
        gone += sum(saved.get(call_id, 0.0) for call_id in plan.shortened if call_id not in known)
        added = _summary_tokens(summary) if plan.is_summarising else 0.0
        return max(round(room.tokens - (gone - added) * room.ratio), 0)

    def _say(self, message: str) -> None:
        self.log.emit(ev.ToolProgress(turn=self.transcript.turn, call_id="", name="compact", message=message))

    async def _notify(self, title: str, hint: str = "", detail: str = "") -> None:
        await self.log.record(ev.Notice(level="warning", code="compaction", title=title, hint=hint, detail=detail))


def _summary_tokens(summary: Summary) -> float:
    return text_tokens(rendered(summary))
