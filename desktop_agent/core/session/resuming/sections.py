"""The state of a session as sections of a snapshot, and back.

What grows with a session (changes, prompts, pages …) is written in pieces of some hundred, so that reading one of them
holds the interpreter lock for a moment only.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Final, Generic, TypeVar, cast, get_type_hints

from msgspec import Struct, convert, to_builtins

from desktop_agent.core.base.ids import CallId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.context.history_fold import Beginning
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import decode_event, encode, encode_event
from desktop_agent.core.protocol.model import (
    ApprovalRequest,
    JsonObject,
    ModelRef,
    OutsideFile,
    RefChange,
    Rule,
    ToolUseBlock,
    Uncaptured,
)
from desktop_agent.core.session.resuming.replay_state import ReplayState
from desktop_agent.core.session.spending.state import SpendingState
from desktop_agent.core.store.journal.journal_reader import Damage
from desktop_agent.core.store.journal.snapshot import Section
from desktop_agent.core.transcript import (
    ChangeRecord,
    ChangeState,
    ContextState,
    Destroyed,
    JournalPage,
    SessionInfo,
    Transcript,
    Turned,
    TurnState,
    UndoEntry,
    UndoStep,
)

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

_PIECE: Final = 100
_LIVE: Final = {"jobs", "rules", "activity", "use"}
"""What only a running session has."""
_GROWING: Final = {
    "changes",
    "kept",
    "prompts",
    "undos",
    "steps",
    "turned",
    "uncaptured",
    "destroyed",
    "put_back",
    "numbers",
    "twice",
}

_FOLDS: Final = {"session": SessionInfo, "turns": TurnState, "changed": ChangeState, "context": ContextState}
"""What a transcript has besides its entries. No two have a field of the same name."""
_SMALL: Final = [
    (fold, name, kind)
    for fold, kind in _FOLDS.items()
    for name in kind.__struct_fields__
    if name not in _LIVE | _GROWING
]


@dataclass(frozen=True, slots=True)
class _Series(Generic[T]):
    """Something that grows with a session."""

    kind: type[list[T]]
    items: Callable[[ReplayState], Iterable[T]]
    put: Callable[[ReplayState, list[T]], object]

    def pieces(self, known: ReplayState) -> Iterator[object]:
        """Yield its items as JSON, piece by piece."""
        items = iter(self.items(known))
        while piece := list(islice(items, _PIECE)):
            yield to_builtins(piece)

    def add(self, known: ReplayState, piece: object) -> None:
        """Put a piece back. Raises `ValueError`."""
        self.put(known, convert(piece, learned(self.kind)))


def _listed(kind: type[list[T]], of: Callable[[ReplayState], list[T]]) -> _Series[T]:
    return _Series(kind, of, lambda known, found: of(known).extend(found))


def _mapped(kind: type[list[tuple[K, V]]], of: Callable[[ReplayState], dict[K, V]]) -> _Series[tuple[K, V]]:
    return _Series(kind, lambda known: of(known).items(), lambda known, found: of(known).update(found))


class _Rest(Struct, frozen=True):
    """Everything that stays small."""

    records: int
    events: int
    damages: list[Damage]
    damage_count: int
    beginning: int
    rules: list[Rule]
    turn: int | None
    model: ModelRef | None
    requests: int
    since: datetime | None
    seen_at: datetime | None
    calls: list[ToolUseBlock]
    started: set[CallId]
    asked: list[ApprovalRequest]
    acted: set[CallId]
    spending: SpendingState


def sections_of(known: ReplayState) -> Iterator[Section]:
    """Yield what is known, for `write_snapshot`."""
    transcript = known.state.transcript
    yield "head", {name: to_builtins(getattr(getattr(transcript, fold), name)) for fold, name, _ in _SMALL}
    unfinished = known.state.unfinished
    rest = _Rest(
        records=known.records,
        events=known.events,
        damages=known.damages,
        damage_count=known.damage_count,
        beginning=known.beginning.seq,
        rules=list(known.state.rules.values()),
        turn=unfinished.turn,
        model=unfinished.model,
        requests=unfinished.requests,
        since=unfinished.since,
        seen_at=unfinished.seen_at,
        calls=list(unfinished.calls.values()),
        started=unfinished.started,
        asked=list(unfinished.asked.values()),
        acted=unfinished.acted,
        spending=known.state.spending,
    )
    yield "rest", to_builtins(rest)
    if unfinished.prepared is not None:
        yield "prepared", encode_event(unfinished.prepared)
    for event in unfinished.jobs.values():
        yield "job", encode_event(event)
    for event in known.beginning.events:
        yield "beginning", encode_event(event)
    for name, series in _SERIES.items():
        for piece in series.pieces(known):
            yield name, piece


def known_of(sections: Iterable[Section], offset: int, yield_gil: Callable[[], None]) -> ReplayState:
    """Return what `sections_of` was given; it holds up to `offset`. Raises `ValueError` for anything else."""
    known = ReplayState(offset=offset)
    for name, value in sections:
        match name:
            case "head":
                _put_head(known.state.transcript, cast("JsonObject", value))
            case "rest":
                _put_rest(known, convert(value, learned(_Rest)))
            case "prepared":
                event = decode_event(cast("JsonObject", value))
                known.state.unfinished.prepared = event if isinstance(event, ev.ChangesPrepared) else None
            case "job":
                event = cast("ev.ChangesPrepared", decode_event(cast("JsonObject", value)))
                known.state.unfinished.jobs[event.call_id] = event
            case "beginning":
                event = cast("ev.KnownEvent", decode_event(cast("JsonObject", value)))
                known.beginning = known.beginning._replace(events=(*known.beginning.events, event))
            case _ if name in _SERIES:
                _SERIES[name].add(known, value)
            case _:
                raise ValueError(f"an unknown section: {name}")
        yield_gil()
    return known


def _put_head(transcript: Transcript, head: JsonObject) -> None:
    for fold, name, kind in _SMALL:
        if name in head:
            setattr(getattr(transcript, fold), name, convert(head[name], learned(_kinds(kind)[name])))


@cache
def _kinds(fold: type) -> dict[str, type]:
    return get_type_hints(fold)


def _put_rest(known: ReplayState, rest: _Rest) -> None:
    known.records, known.events = rest.records, rest.events
    known.damages, known.damage_count = rest.damages, rest.damage_count
    known.beginning = Beginning(rest.beginning, ())
    known.state.spending = rest.spending
    known.state.rules = {rule.id: rule for rule in rest.rules}
    unfinished = known.state.unfinished
    unfinished.turn, unfinished.model, unfinished.requests = rest.turn, rest.model, rest.requests
    unfinished.since, unfinished.seen_at = rest.since, rest.seen_at
    unfinished.calls = {block.id: block for block in rest.calls}
    unfinished.asked = {request.call_id: request for request in rest.asked}
    unfinished.started, unfinished.acted = rest.started, rest.acted


def _put_pages(known: ReplayState, pages: list[JournalPage]) -> None:
    for page in pages:
        known.state.transcript.paged.add_page(page)


def _put_back(fields: JsonObject) -> RefChange | OutsideFile:
    return convert(fields, learned(RefChange if "name" in fields else OutsideFile))


_SERIES: Final = cast(
    "dict[str, _Series[object]]",
    {
        "changes": _Series(
            list[ChangeRecord],
            lambda known: known.state.transcript.changes.values(),
            lambda known, found: known.state.transcript.changes.update((item.change.id, item) for item in found),
        ),
        "kept": _mapped(list[tuple[str, set[str]]], lambda known: known.state.transcript.changed.kept),
        "prompts": _mapped(list[tuple[int, str]], lambda known: known.state.transcript.turns.prompts),
        "undos": _listed(list[UndoEntry], lambda known: known.state.transcript.changed.undos),
        "steps": _listed(list[UndoStep], lambda known: known.state.transcript.changed.steps),
        "turned": _listed(list[Turned], lambda known: known.state.transcript.changed.turned),
        "uncaptured": _listed(list[tuple[int, Uncaptured]], lambda known: known.state.transcript.changed.uncaptured),
        "destroyed": _mapped(list[tuple[CallId, Destroyed]], lambda known: known.state.transcript.changed.destroyed),
        "put_back": _Series(
            list[tuple[CallId, JsonObject]],
            lambda known: ((call, encode(one)) for call, one in known.state.transcript.changed.put_back),
            lambda known, found: known.state.transcript.changed.put_back.update(
                (call, _put_back(one)) for call, one in found
            ),
        ),
        "numbers": _mapped(list[tuple[int, int]], lambda known: known.state.transcript.changed.numbers),
        "twice": _mapped(list[tuple[str, int]], lambda known: known.state.transcript.changed.twice),
        "reads": _mapped(list[tuple[str, str | None]], lambda known: known.state.reads.seen),
        "pages": _Series(list[JournalPage], lambda known: known.state.transcript.pages, _put_pages),
        "places": _mapped(list[tuple[int, int]], lambda known: known.places),
    },
)
