"""How a server is: what the user reads on its card, and what `desktop-agent mcp list` prints."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.mcp.offers import OfferedPrompt, OfferedResource, OfferedTool, ResourceTemplate, ServerFacts

ServerState = Literal["idle", "starting", "ready", "failed", "resting"]
"""`idle`: not running, and started when it is needed. `failed`: the last try failed; the next one comes when it is
needed and some time has passed. `resting`: it failed so often that only the user starts it again."""

STATE_WORDS: dict[ServerState, str] = {
    "idle": "Not running. It starts when it is needed.",
    "starting": "Starting…",
    "ready": "Running",
    "failed": "Failed. It is tried again when it is needed.",
    "resting": "Failed too often. Restart it when the cause is mended.",
}


class LastCall(Struct, frozen=True, kw_only=True):
    """A call that is over."""

    tool: str
    at: datetime
    duration_s: float
    problem: str = ""
    """Why it failed; empty when it did not."""


class ServerStatus(Struct, frozen=True, kw_only=True):
    """One server as it is now."""

    name: str
    state: ServerState = "idle"
    problem: str = ""
    """What went wrong last, in a sentence."""
    hint: str = ""
    """What the user can do about it."""
    facts: ServerFacts | None = None
    """Who answered; kept when it ends."""
    tools: tuple[OfferedTool, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    """As they were when it started."""
    resources: tuple[OfferedResource, ...] = ()
    """As they were when they were listed last."""
    templates: tuple[ResourceTemplate, ...] = ()
    """Likewise."""
    pid: int | None = None
    started_at: datetime | None = None
    failures: int = 0
    """How many tries in a row failed."""
    needs_sign_in: bool = False
    """Whether it said last that the user has to sign in, or to allow more."""
    last_calls: tuple[LastCall, ...] = ()
    """The newest last."""


def unused_line(facts: ServerFacts) -> str:
    """Say what a server says that it can do, and what is not used here; empty when it says nothing of the kind."""
    return f"Not used: {', '.join(map(named, facts.unused))}." if facts.unused else ""
