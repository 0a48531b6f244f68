"""Compaction: a summary replaces the older part of a conversation, automatically or when the user asks.

What to summarise is decided first, by pure functions; then the session's model is asked, in a separate request: plain
text in, JSON out. Nothing is ever removed: a compaction is one more event, and undoing it is another.
"""

import logging
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.ids import CallId, new_compaction_id
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.context.history import History
from desktop_agent.core.context.history_fold import Compaction
from desktop_agent.core.context.summaries import conversation_text, extracted, fitted, parsed, rendered, summary_text
from desktop_agent.core.context.tokens import message_tokens, text_tokens
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import Message, ModelRef, ModelRequest, Summary, TextBlock, UserMessage
from desktop_agent.core.providers.provider import Provider, RetryWait, answer_aside
from desktop_agent.core.transcript import Transcript


class CompactionPlan(Struct, frozen=True):
    """Summarise up to and including `through_turn`, if it is a new one, and shorten the results of the `shortened`
    calls.
    """

    through_turn: int
    is_summarising: bool
    shortened: tuple[CallId, ...]


def automatic(history: History, *, keep: int, room: float) -> CompactionPlan | None:
    """Return a plan that keeps at most `room` estimated tokens verbatim; None if that is impossible.

    The last `keep` turns stay, or fewer; if the last one alone is too large, its oldest results are shortened.
    """
    sizes = history.turn_sizes()
    turns = tuple(sizes)
    kept = list(turns[-keep:])
    while len(kept) > 1 and sum(sizes[turn] for turn in kept) > room:
        del kept[0]
    summarised = turns[: len(turns) - len(kept)]
    shortened = _shortened(history, kept, sum(sizes[turn] for turn in kept) - room)
    return _plan(history, summarised, shortened)


def asked_for(history: History, *, keep: int) -> CompactionPlan | None:
    """Return what to summarise when the user asks: all but the last `keep` turns, or all but the last one."""
    turns = history.turns
    return _plan(history, turns[: -keep if len(turns) > keep else -1], ())


def _plan(history: History, summarised: tuple[int, ...], shortened: tuple[CallId, ...]) -> CompactionPlan | None:
    before = history.fold.compaction
    through = summarised[-1] if summarised else before.through_turn if before else 0
    if not summarised and not shortened:
        return None
    # What was shortened stays so: showing it again would take the room back.
    known = before.shortened if before is not None else frozenset[CallId]()
    return CompactionPlan(through, bool(summarised), (*sorted(known), *shortened))


def _shortened(history: History, kept: list[int], excess: float) -> tuple[CallId, ...]:
    chosen: list[CallId] = []
    for call_id, saved in history.long_results(kept):
        if excess <= 0:
            break
        chosen.append(call_id)
        excess -= saved
    return tuple(chosen)


MAX_TOKENS = 6_000
"""The longest summary."""
_LONGEST_PART = 2_000
"""Of a result or of a call's arguments, in characters: a summary needs the outcome, not all of it."""
_CHARS_PER_TOKEN = 3
_PLACEHOLDER = "Summarise this conversation.{focus}\n\n<conversation>\n{earlier}{text}\n</conversation>"


ACTIVITY = "Summarising the conversation to make room"

logger = logging.getLogger(__name__)

Urgency = Literal["asked", "wanted", "needed"]
"""The user asked; the conversation is over the target; or it does not fit otherwise."""


class Room(Struct, frozen=True, kw_only=True):
    model: ModelRef
    provider: Provider
    window: int
    tokens: int
    """The tokens of the whole request before compaction."""
    ratio: float
    """The factor that corrects estimates."""


class Compacting(Struct, frozen=True, kw_only=True, eq=False):
    history: History
    transcript: Transcript
    log: EventLog
    wait: RetryWait

    async def compact(self, plan: CompactionPlan, room: Room, *, urgency: Urgency, focus: str = "") -> bool:
        """Carry out `plan`; return whether the conversation is smaller now. Raises `StorageError`.

        Without the model, a summary that is only wanted is postponed, and one that is needed is made by rules.
        """
        before = self.history.fold.compaction
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
        is_known = self.history.has_turn(plan.through_turn) or (before and before.through_turn == plan.through_turn)
        if self.history.fold.compaction is not before or (plan.through_turn > 0 and not is_known):
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
        before = self.history.fold.compaction
        messages = self.history.messages_through(plan.through_turn)
        earlier = before.summary if before is not None and before.through_turn else None
        request = _request(messages, earlier, focus.strip(), room)
        turn = self.transcript.turn
        problem = "The model's answer held no summary"
        try:
            answer = await answer_aside(self.log, room.provider, room.model, request, turn, "summary", self.wait)
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

    def _after(self, plan: CompactionPlan, summary: Summary, before: Compaction | None, room: Room) -> int:
        """Estimate the whole request after compaction."""
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


def _request(messages: Sequence[Message], before: Summary | None, focus: str, room: Room) -> ModelRequest:
    """Return a separate request for a summary, which also replaces the summary `before` these messages."""
    longest = max((room.window - 2 * MAX_TOKENS) * _CHARS_PER_TOKEN, 4_000)
    text = fitted(conversation_text(messages, longest_part=_LONGEST_PART), longest)
    earlier = f"An earlier summary:\n{summary_text(before)}\n\n" if before else ""
    emphasis = f" Keep above all what concerns this: {focus}" if focus else ""
    prompt = _PLACEHOLDER.format(focus=emphasis, earlier=earlier, text=text)
    return ModelRequest(
        model=room.model.model,
        system=resource_path("prompts", "compact.md").read_text(encoding="utf-8").strip(),
        messages=(UserMessage(content=(TextBlock(text=prompt),)),),
        tools=(),
        max_tokens=MAX_TOKENS,
    )


def _summary_tokens(summary: Summary) -> float:
    return text_tokens(rendered(summary))
