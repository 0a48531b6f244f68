"""Compaction: which part of a conversation a summary replaces, and the request for the summary."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.paths import prompt_text
from desktop_agent.core.context.history import History
from desktop_agent.core.context.summaries import conversation_text, fitted, rendered, summary_text
from desktop_agent.core.context.tokens import text_tokens
from desktop_agent.core.protocol.model import Message, ModelRef, ModelRequest, Summary, TextBlock, UserMessage


class CompactionPlan(Struct, frozen=True):
    """Summarise all through `through_turn`, if `is_summarising`, and shorten the results of some calls."""

    through_turn: int
    is_summarising: bool
    shortened: tuple[CallId, ...]


def automatic(history: History, *, keep: int, room: float) -> CompactionPlan | None:
    """Return a plan that keeps at most `room` estimated tokens verbatim; `None` if that is impossible.

    The last `keep` turns are kept, or fewer if they are too large. If the last one alone is too large, its oldest
    results are shortened.
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
    """Summarise all but the last `keep` turns. If there are no more turns than that, keep only the last."""
    turns = history.turns
    return _plan(history, turns[: -keep if len(turns) > keep else -1], ())


def _plan(history: History, summarised: tuple[int, ...], shortened: tuple[CallId, ...]) -> CompactionPlan | None:
    before = history.fold.compaction
    through = summarised[-1] if summarised else before.through_turn if before else 0
    if not summarised and not shortened:
        return None
    # What was shortened stays short: in full it would take up the room again.
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
_LONGEST_PART = 2_000
"""How many characters of a result or of arguments the summarising model reads."""
_CHARS_PER_TOKEN = 3
_PLACEHOLDER = "Summarise this conversation.{focus}\n\n<conversation>\n{earlier}{text}\n</conversation>"

Urgency = Literal["asked", "wanted", "needed"]
"""`wanted`: the conversation exceeds the target. `needed`: it does not fit without a summary."""


def summary_request(
    messages: Sequence[Message], before: Summary | None, focus: str, model: ModelRef, window: int
) -> ModelRequest:
    longest = max((window - 2 * MAX_TOKENS) * _CHARS_PER_TOKEN, 4_000)
    text = fitted(conversation_text(messages, longest_part=_LONGEST_PART), longest)
    earlier = f"An earlier summary:\n{summary_text(before)}\n\n" if before else ""
    emphasis = f" Keep above all what concerns this: {focus}" if focus else ""
    prompt = _PLACEHOLDER.format(focus=emphasis, earlier=earlier, text=text)
    return ModelRequest(
        model=model.model,
        system=prompt_text("compact.md"),
        messages=(UserMessage(content=(TextBlock(text=prompt),)),),
        tools=(),
        max_tokens=MAX_TOKENS,
    )


def summary_tokens(summary: Summary) -> float:
    return text_tokens(rendered(summary))
