"""What one session says of its use: data, as it is kept and added up."""

from datetime import date

from msgspec import Struct

from desktop_agent.core.protocol.model import Spending
from desktop_agent.core.usage.durations import Durations


class ToolUse(Struct, frozen=True, kw_only=True):
    """The calls of one tool that ended on one day."""

    day: date
    """In UTC, as costs are counted."""
    tool: str
    calls: int
    failed: dict[str, int]
    """How many of them failed, by what kind of error."""
    took: Durations
    """Without the time they waited for the user."""


class ModelUse(Struct, frozen=True, kw_only=True):
    """What one model did on one day, beside what it took and cost."""

    day: date
    provider: str
    model: str
    answered: Durations
    """From when its answer was wanted until it was there, with all tries."""
    turns: int
    ends: dict[str, int]
    """How many turns ended, by the reason."""
    turn_s: float


class SessionFigures(Struct, frozen=True, kw_only=True):
    """Everything that one session used, by day."""

    workspace: str
    """Its folder, as an absolute path."""
    spending: tuple[Spending, ...]
    tools: tuple[ToolUse, ...]
    models: tuple[ModelUse, ...]
