"""Compaction: what a summary replaces of a conversation, automatically or when the user asks, and the request for it.

What to summarise is decided here, first. Then `ContextManager.compact` asks the session's model in a separate request:
plain text in, JSON out. Nothing is ever removed: a compaction is one more event, and undoing it is another.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.context.history import History
from desktop_agent.core.context.summaries import conversation_text, fitted, rendered, summary_text
from desktop_agent.core.context.tokens import text_tokens
from desktop_agent.core.protocol.model import Message, ModelRef, ModelRequest, Summary, TextBlock, UserMessage


class CompactionPlan(Struct, frozen=True):
    """What to summarise (all through `through_turn`, if `is_summarising`) and which calls' results to shorten."""

    through_turn: int
    is_summarising: bool
    shortened: tuple[CallId, ...]


def automatic(history: History, *, keep: int, room: float) -> CompactionPlan | None:
    """Return a plan that keeps at most `room` estimated tokens verbatim; None if that is impossible.

    The last `keep` turns are kept, or fewer if they are too large. If the last one alone is, its oldest results are
    shortened.
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
    """Return what to summarise when the user asks: all but the last `keep` turns, or else all but the last one."""
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
"""How many tokens a summary may have."""
_LONGEST_PART = 2_000
"""How many characters of a result or of arguments the summarising model reads. It needs only the outcome."""
_CHARS_PER_TOKEN = 3
_PLACEHOLDER = "Summarise this conversation.{focus}\n\n<conversation>\n{earlier}{text}\n</conversation>"


Urgency = Literal["asked", "wanted", "needed"]
"""Why to summarise: the user asked; the conversation exceeds the target; or it does not fit without a summary."""


def summary_request(
    messages: Sequence[Message], before: Summary | None, focus: str, model: ModelRef, window: int
) -> ModelRequest:
    """Return a separate request for a summary of `messages` and of `before`, the summary that it replaces."""
    longest = max((window - 2 * MAX_TOKENS) * _CHARS_PER_TOKEN, 4_000)
    text = fitted(conversation_text(messages, longest_part=_LONGEST_PART), longest)
    earlier = f"An earlier summary:\n{summary_text(before)}\n\n" if before else ""
    emphasis = f" Keep above all what concerns this: {focus}" if focus else ""
    prompt = _PLACEHOLDER.format(focus=emphasis, earlier=earlier, text=text)
    return ModelRequest(
        model=model.model,
        system=resource_path("prompts", "compact.md").read_text(encoding="utf-8").strip(),
        messages=(UserMessage(content=(TextBlock(text=prompt),)),),
        tools=(),
        max_tokens=MAX_TOKENS,
    )


def summary_tokens(summary: Summary) -> float:
    return text_tokens(rendered(summary))
