"""What a server says of itself and offers, what a call comes to, and how the server is now; without the SDK's types.

The user reads it on the server's card, and `desktop-agent mcp list` prints it. Every text that a server wrote is not
to be trusted.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from desktop_agent.core.base.plain_text import named

Era = Literal["stateless", "handshake"]
"""`stateless`: protocol 2026-07-28 and later. `handshake`: those before it, which begin with `initialize`."""


class OfferedTool(Struct, frozen=True, kw_only=True):
    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, object] = field(default_factory=dict[str, object])
    only_reads: bool | None = None
    """What the server claims of its effects: a hint, which never widens what may be done."""
    destroys: bool | None = None
    view: str = ""
    """The address of the interactive view that it has, which is not shown here; empty without one."""
    unusable: str = ""
    """Why it cannot be used here, in a sentence; empty when it can."""
    annotations: Mapping[str, object] = field(default_factory=dict[str, object])
    """All that it claims, by the protocol's names."""


class PromptArgument(Struct, frozen=True, kw_only=True):
    name: str
    is_required: bool = False


class OfferedPrompt(Struct, frozen=True, kw_only=True):
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class OfferedResource(Struct, frozen=True, kw_only=True):
    uri: str
    name: str
    title: str = ""
    media_type: str = ""
    description: str = ""
    size: int | None = None


class ResourceTemplate(Struct, frozen=True, kw_only=True):
    """Any number of resources: an address (RFC 6570) with names in braces in place of its parts."""

    uri_template: str
    name: str
    title: str = ""
    media_type: str = ""
    description: str = ""


class ServerFacts(Struct, frozen=True, kw_only=True):
    protocol: str
    """The version that is spoken, such as `2026-07-28`."""
    era: Era
    name: str = ""
    version: str = ""
    instructions: str = ""
    has_tools: bool = False
    has_resources: bool = False
    has_prompts: bool = False
    has_completions: bool = False
    unused: tuple[str, ...] = ()
    """What else it says that it can do and is not used here: extensions by their identifiers, others in words."""


class TextPart(Struct, frozen=True):
    text: str


class MediaPart(Struct, frozen=True):
    """A picture, a sound, or a file that is not text."""

    content: bytes
    media_type: str
    uri: str = ""


class ResourcePart(Struct, frozen=True):
    """A resource of the server that is text, whole."""

    uri: str
    text: str
    media_type: str = ""


class LinkPart(Struct, frozen=True):
    """A resource of the server that can be read by its address."""

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""


Part = TextPart | MediaPart | ResourcePart | LinkPart


class CallReply(Struct, frozen=True, kw_only=True):
    """What a call came to. A failure that the server reports is a reply, too, for the model to read."""

    parts: tuple[Part, ...] = ()
    structured: object = None
    is_error: bool = False


class Progress(Struct, frozen=True, kw_only=True):
    """How far a call is: `done` of `total`, in whatever the server counts; `total` is None when it does not say."""

    done: float
    total: float | None = None
    message: str = ""


ServerState = Literal["idle", "starting", "ready", "failed", "resting"]
"""`idle`: not running, and started when it is needed. `failed`: the last try failed; the next one comes when it is
needed and some time has passed. `resting`: it failed so often that only the user starts it again."""

STATE_WORDS: dict[ServerState, str] = {
    "idle": "Not running. It starts when it is needed.",
    "starting": "Starting…",
    "ready": "Running",
    "failed": "Failed. It is tried again when it is needed.",
    "resting": "Failed too often. Restart it once the cause is fixed.",
}


class LastCall(Struct, frozen=True, kw_only=True):
    tool: str
    at: datetime
    duration_s: float
    problem: str = ""


class ServerStatus(Struct, frozen=True, kw_only=True):
    name: str
    state: ServerState = "idle"
    problem: str = ""
    hint: str = ""
    facts: ServerFacts | None = None
    """Who answered; kept when it ends."""
    tools: tuple[OfferedTool, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    """As they were when it started."""
    resources: tuple[OfferedResource, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()
    pid: int | None = None
    started_at: datetime | None = None
    failures: int = 0
    needs_sign_in: bool = False
    """Whether it said last that the user has to sign in, or to allow more."""
    last_calls: tuple[LastCall, ...] = ()
    """The newest last."""


def unused_line(facts: ServerFacts) -> str:
    """Say what a server says that it can do, and what is not used here; empty when it says nothing of the kind."""
    return f"Not used: {', '.join(map(named, facts.unused))}." if facts.unused else ""
