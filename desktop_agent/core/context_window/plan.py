"""What to compact: which turns are summarised, and which results of those that stay are shortened. Pure."""

from msgspec import Struct

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.context.history import History


class CompactionPlan(Struct, frozen=True):
    """Summarise up to and with `through_turn`, if it is a new one, and show the `shortened` calls' results short."""

    through_turn: int
    is_summarising: bool
    shortened: tuple[CallId, ...]


def automatic(history: History, *, keep: int, room: float) -> CompactionPlan | None:
    """Return how to make the conversation fit: at most `room` estimated tokens for what stays word by word.

    The last `keep` turns stay, or fewer if they take too much; the last one always does, and if it is too much by
    itself, the oldest results in it are shortened. None when nothing can be made smaller.
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
    before = history.compaction
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
