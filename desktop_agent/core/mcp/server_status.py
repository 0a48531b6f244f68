"""What a server offers, what a call returns, and the current status of a server; without the SDK's types.

The user reads it on the server's card, and `desktop-agent mcp list` prints it. Every text from a server is untrusted.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

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
    """What the server claims about its effects. This is a hint, which never widens permissions."""
    destroys: bool | None = None
    view: str = ""
    """The address of the tool's interactive view, which is not shown here; empty without one."""
    unusable: str = ""
    """Why the tool cannot be used here, in a sentence; empty when it can."""
    annotations: Mapping[str, object] = field(default_factory=dict[str, object])
    """All annotations of the tool, under the protocol's names."""


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
    """Other capabilities, which are not used here: identifiers of extensions, and words for others."""


class TextPart(Struct, frozen=True):
    text: str


class MediaPart(Struct, frozen=True):
    """A picture, a sound, or a binary file."""

    content: bytes
    media_type: str
    uri: str = ""


class ResourcePart(Struct, frozen=True):
    """The whole content of a text resource of the server."""

    uri: str
    text: str
    media_type: str = ""


class LinkPart(Struct, frozen=True):
    """A link to a resource of the server that can be read by its address."""

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""


Part = TextPart | MediaPart | ResourcePart | LinkPart


class CallReply(Struct, frozen=True, kw_only=True):
    """The result of a call. If the server reports a failure, this is a result, too, which the model reads."""

    parts: tuple[Part, ...] = ()
    structured: object = None
    is_error: bool = False


class Progress(Struct, frozen=True, kw_only=True):
    """The progress of a call: `done` of `total`, in the server's own unit; `total` is None when unknown."""

    done: float
    total: float | None = None
    message: str = ""


ServerState = Literal["idle", "starting", "ready", "failed", "resting"]
"""`idle`: not running, started on demand. `failed`: the last start failed; it is retried on demand after a pause.

`resting`: the server failed so often that only the user can start it again.
"""

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
    """What the server said about itself. It is kept after the server has ended."""
    tools: tuple[OfferedTool, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    """The prompts that the server listed when it started."""
    resources: tuple[OfferedResource, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()
    left_out: tuple[str, ...] = ()
    """What the server listed in another way than the protocol demands, in words. The rest is kept."""
    pid: int | None = None
    started_at: datetime | None = None
    failures: int = 0
    needs_sign_in: bool = False
    """Whether the server's last answer required the user to sign in or to grant more scopes."""
    last_calls: tuple[LastCall, ...] = ()
    """The latest calls; the newest is the last one."""


def unused_line(status: ServerStatus) -> str:
    unused = (*(status.facts.unused if status.facts is not None else ()), *status.left_out)
    return f"Not used: {', '.join(map(named, unused))}." if unused else ""
