"""What telemetry knows of a session besides its events."""

from collections.abc import Callable

from msgspec import Struct

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.ids import SessionId


class SessionFacts(Struct, frozen=True, kw_only=True):
    """One session."""

    session_id: SessionId
    is_tool: Callable[[str], bool]
    """Whether the session has a tool of this name. Others are names that a model made up."""
    clock: Clock
