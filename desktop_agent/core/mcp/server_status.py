"""What a server offers, what a call returns, and the current status of a server. Every text is untrusted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct, field

from desktop_agent.core.base.plain_text import named

Era = Literal["stateless", "handshake"]
"""`stateless`: protocol 2026-07-28 and later. `handshake`: earlier ones, which begin with `initialize`."""


class OfferedTool(Struct, frozen=True, kw_only=True):
    name: str
    title: str = ""
    description: str = ""
    input_schema: Mapping[str, object] = field(default_factory=dict[str, object])
    only_reads: bool | None = None
    """Whether the server claims to change nothing. The claim never widens permissions."""
    destroys: bool | None = None
    view: str = ""
    """The address of the tool's interactive view, which is not shown here; empty without one."""
    unusable: str = ""
    """Why the tool cannot be used here, in a sentence; empty if it can."""
    annotations: Mapping[str, object] = field(default_factory=dict[str, object])


class PromptArgument(Struct, frozen=True, kw_only=True, rename={"is_required": "required"}):
    name: str
    is_required: bool = False


class OfferedPrompt(Struct, frozen=True, kw_only=True):
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class OfferedResource(Struct, frozen=True, kw_only=True, rename={"media_type": "mime_type"}):
    uri: str
    name: str
    title: str = ""
    media_type: str = ""
    description: str = ""
    size: int | None = None


class ResourceTemplate(Struct, frozen=True, kw_only=True, rename={"media_type": "mime_type"}):
    """A family of resources: an address (RFC 6570) with names in braces for its variable parts."""

    uri_template: str
    name: str
    title: str = ""
    media_type: str = ""
    description: str = ""


class ServerFacts(Struct, frozen=True, kw_only=True):
    protocol: str
    """The negotiated version, such as `2026-07-28`."""
    era: Era
    name: str = ""
    version: str = ""
    instructions: str = ""
    has_tools: bool = False
    has_resources: bool = False
    has_prompts: bool = False
    has_completions: bool = False
    unused: tuple[str, ...] = ()


class TextPart(Struct, frozen=True):
    text: str


class MediaPart(Struct, frozen=True):
    content: bytes
    media_type: str
    uri: str = ""


class ResourcePart(Struct, frozen=True):
    uri: str
    text: str
    media_type: str = ""


class LinkPart(Struct, frozen=True):
    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""


Part = TextPart | MediaPart | ResourcePart | LinkPart


class CallReply(Struct, frozen=True, kw_only=True):
    """The result of a call. A failure that the server reports is a result, too."""

    parts: tuple[Part, ...] = ()
    structured: object = None
    is_error: bool = False


class Progress(Struct, frozen=True, kw_only=True):
    """The progress of a call: `done` of `total`, in the server's own unit. `total` is `None` if unknown."""

    done: float
    total: float | None = None
    message: str = ""


ServerState = Literal["idle", "starting", "ready", "waiting", "failed", "resting"]
"""`idle`: not running, started on demand. `failed`: the last start failed; it is retried after a pause.

`waiting`: it runs what the user has not trusted as it is now; it is tried again once the user has.

`resting`: the server failed so often that only the user can start it again.
"""

TROUBLED: Final = frozenset[ServerState]({"waiting", "failed", "resting"})
"""The states in which it does not run though it should."""

STATE_WORDS: dict[ServerState, str] = {
    "idle": "Not running. It starts when it is needed.",
    "starting": "Starting…",
    "ready": "Running",
    "waiting": "Waiting for your answer about the project or the plugin.",
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
    """The server's description of itself, kept after the server has ended."""
    tools: tuple[OfferedTool, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    resources: tuple[OfferedResource, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()
    left_out: tuple[str, ...] = ()
    """Entries of the server that violate the protocol, in words. The other entries are kept."""
    pid: int | None = None
    started_at: datetime | None = None
    failures: int = 0
    needs_sign_in: bool = False
    last_calls: tuple[LastCall, ...] = ()


def unused_line(status: ServerStatus) -> str:
    unused = (*(status.facts.unused if status.facts is not None else ()), *status.left_out)
    return f"Not used: {', '.join(map(named, unused))}." if unused else ""
