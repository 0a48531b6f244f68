"""What the model sees besides the conversation, and what it sees no more."""

from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ContextUse, GuidanceFile, Pin

CONTEXT_EVENTS: Final = frozenset(
    (
        ev.Rewound,
        ev.Compacted,
        ev.CompactionUndone,
        ev.UsageReported,
        ev.Pinned,
        ev.Unpinned,
        ev.GuidanceLoaded,
        ev.ContextMeasured,
    )
)
"""What `ContextState.apply` folds in; it does nothing with other events."""


class ContextState(Struct):
    """The fold of the context window. Only `apply` changes it."""

    context_tokens: int = 0
    """How full the context was after the last request."""
    use: ContextUse | None = None
    """The same against the model's window, as the running session last reported it."""
    pins: dict[str, Pin] = field(default_factory=dict[str, Pin])
    """What stays in the model's sight, by id, oldest first."""
    guidance: tuple[GuidanceFile, ...] = ()
    """The AGENTS.md files that hold."""
    compactions: dict[str, int] = field(default_factory=dict[str, int])
    """The summaries neither taken back nor rewound, each with the last turn it covers. The model sees the last."""
    rewound: set[int] = field(default_factory=set[int])
    """The turns that the model does not see any more."""

    @property
    def compaction_in_force(self) -> str | None:
        """The summary that the model sees."""
        return next(reversed(self.compactions), None)

    def copy(self) -> "ContextState":
        """Return the same for another fold."""
        return replace(self, pins=dict(self.pins), compactions=dict(self.compactions), rewound=set(self.rewound))

    def apply(self, event: ev.Event, last_turn: int) -> None:
        """Fold one event in; `last_turn` is the last that began before it."""
        match event:
            case ev.Rewound(turn=turn, scope=scope) if scope != "files":
                self.rewound.update(range(turn, last_turn + 1))
                self.compactions = {name: last for name, last in self.compactions.items() if last < turn}
            case ev.Compacted(compaction_id=compaction_id, through_turn=through_turn):
                self.compactions[compaction_id] = through_turn
            case ev.CompactionUndone(compaction_id=compaction_id):
                self.compactions.pop(compaction_id, None)
            case ev.UsageReported(usage=usage, is_aside=False):
                self.context_tokens = usage.context_tokens
            case ev.Pinned(pin=pin):
                self.pins[pin.id] = pin
            case ev.Unpinned(pin_id=pin_id):
                self.pins.pop(pin_id, None)
            case ev.GuidanceLoaded(files=files):
                self.guidance = files
            case ev.ContextMeasured(use=use):
                self.use = use
            case _:
                pass
