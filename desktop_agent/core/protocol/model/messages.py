"""Messages to and from a model: their blocks, calls and attachments, and what a provider is asked."""

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr, replace

from desktop_agent.core.base.errors import ToolErrorType
from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.base.web_address import has_userinfo, without_userinfo

JsonObject = dict[str, object]
"""A decoded JSON object whose shape another program defines (tool arguments, metadata)."""

Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
"""A measure or duration. None is infinite: a line that says so (`1e400` does) was not written by us."""


class BlobRef(Struct, frozen=True, kw_only=True):
    """A payload kept outside the journal: its digest, its length in bytes, and what it is."""

    blob: Digest
    size: int
    media_type: str


AttachmentKind = Literal["resource", "file", "picture", "folder", "session"]
"""A resource of an MCP server, a file of text, a picture, what a folder holds, or another session."""


class Attachment(Struct, frozen=True, kw_only=True):
    """What a mention in a prompt stood for when the prompt was sent. Nothing of it is fetched again.

    All texts but `mention` were written by a server, or are what a file held.
    """

    mention: str
    """As it stands in the prompt: `@docs:readme`."""
    server: str = ""
    """The name of the MCP server that it came from; empty for all but a resource."""
    uri: str
    """Its address there; the path of a file or folder, relative to the workspace; the id of a session; a name."""
    name: str
    kind: AttachmentKind = "resource"
    lines: str = ""
    """Which lines of a file were meant, such as `10-40`; empty for all."""
    digest: Digest | None = None
    """Of the whole file, so that an edit notices when it changed since; None for what no edit tool takes."""
    media_type: str = ""
    size: int = 0
    """Of all of it, in bytes."""
    text: str = ""
    """What the model reads of it."""
    content: BlobRef | None = None
    """The whole text, where `text` has only its beginning and its end."""
    images: tuple[BlobRef, ...] = ()
    files: tuple[BlobRef, ...] = ()
    """What is neither text nor a picture: kept for the user."""


Capability = Literal["read_fs", "write_fs", "exec_shell", "network"]
"""What a tool can do to the world. The approval policy speaks in these words."""

ToolSource = Literal["workspace", "external", "system"]
"""Where a tool comes from: ours on this folder, an MCP server, or the application itself."""

ToolState = Literal["started", "completed", "failed"]


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call of a tool, as it will run: the arguments may have been edited by the user since the model wrote it."""

    id: CallId
    name: str
    arguments: JsonObject


class ToolResult(Struct, frozen=True, kw_only=True):
    """What a tool call came to.

    `content` is what the model reads, already within its limits; `output` points to the whole output when that was
    longer. `metadata` and `error_type` are ours and never reach a provider.
    """

    content: str
    is_error: bool = False
    error_type: ToolErrorType | None = None
    metadata: JsonObject = field(default_factory=dict[str, object])
    output: BlobRef | None = None
    images: tuple[BlobRef, ...] = ()


TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


class TodoItem(Struct, frozen=True, kw_only=True):
    """One step of the agent's plan."""

    id: str
    content: str
    status: TodoStatus = "pending"


JobState = Literal["running", "exited", "stopped", "timed_out"]
"""`exited` by itself, `stopped` on request, `timed_out` by the limit it was started with."""


class Job(Struct, frozen=True, kw_only=True):
    """One background command as it is now."""

    id: str
    """`job-20261121-213700-0123abcd`: when it was started (UTC), then 32 random bits."""
    command: str
    """As people read it."""
    cwd: Path
    pid: int
    log: Path
    started_at: datetime
    state: JobState = "running"
    exit_code: int | None = None
    """As shells count it; None while it runs."""
    ended_at: datetime | None = None
    memory_bytes: int = 0
    """What its whole process tree holds; 0 when unknown or ended."""
    last_line: str = ""


class ModelRef(Struct, frozen=True, kw_only=True):
    """Which model answers: a provider id, the provider's own model name, and an address if not the usual one.

    A user name and a password in the address are left out: a reference is written to the journal.
    """

    provider: str
    model: str
    base_url: str | None = None
    account: str = ""
    """The name of the account by which it is asked, at that account's address; empty for the provider's usual one."""
    effort: str = ""
    """How much it is to think, in its provider's word; empty for as much as it does by itself."""

    @property
    def bare(self) -> "ModelRef":
        """Who answers, however much it is to think."""
        return replace(self, effort="") if self.effort else self

    def __post_init__(self) -> None:
        if self.base_url and has_userinfo(self.base_url):
            force_setattr(self, "base_url", without_userinfo(self.base_url))


HostedTool = Literal["web_search", "web_fetch"]
"""What a provider does by itself while its model answers: search the web, read a page that was found there."""


class Citation(Struct, frozen=True, kw_only=True):
    """A page that the model says a text rests on, which a search of its provider found."""

    url: str
    title: str = ""
    quote: str = ""
    """What of the page it rests on."""
    seal: str = ""
    """The provider's own reference to it, opaque; it goes back to nobody else."""


class TextBlock(Struct, frozen=True, kw_only=True, tag="text"):
    """Text of a message, markdown when the model wrote it."""

    text: str
    citations: tuple[Citation, ...] = ()
    type: ClassVar[Literal["text"]] = "text"


class ThinkingBlock(Struct, frozen=True, kw_only=True, tag="thinking"):
    """The model's visible reasoning. Must go back unmodified: the signature covers the text."""

    thinking: str
    signature: str
    type: ClassVar[Literal["thinking"]] = "thinking"


class RedactedThinkingBlock(Struct, frozen=True, kw_only=True, tag="redacted_thinking"):
    """Reasoning that the provider encrypted. Opaque, and must go back unmodified."""

    data: str
    type: ClassVar[Literal["redacted_thinking"]] = "redacted_thinking"


class ToolUseBlock(Struct, frozen=True, kw_only=True, tag="tool_use"):
    """A tool call as the model wrote it.

    `rejected` is empty for a call that may run. Otherwise it says, for the model, why the call cannot be trusted (cut
    off by the token limit, malformed JSON): such a call is answered with an error and never executed.
    """

    id: CallId
    name: str
    arguments: JsonObject
    rejected: str = ""
    type: ClassVar[Literal["tool_use"]] = "tool_use"


class WebPage(Struct, frozen=True, kw_only=True):
    """A page that a search found."""

    url: str
    title: str = ""


class HostedCall(Struct, frozen=True, kw_only=True):
    """A call of one of the provider's own tools, which ran there and not on this machine, as far as a block tells.

    One block may begin it (`started`) and another end it; both have its id.
    """

    id: CallId
    tool: HostedTool = "web_search"
    query: str = ""
    """What was searched for, or the page that was read; empty where the provider does not say."""
    pages: tuple[WebPage, ...] = ()
    error: str = ""
    state: ToolState = "completed"


class OpaqueBlock(Struct, frozen=True, kw_only=True, tag="opaque"):
    """A block that only its provider understands. Kept so that the message can go back there as it came."""

    payload: JsonObject
    """Empty for what is only told and does not go back."""
    call: HostedCall | None = None
    """What it tells of a call that ran at the provider."""
    type: ClassVar[Literal["opaque"]] = "opaque"


AssistantBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | OpaqueBlock

StopReason = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
    "interrupted",
    "other",
]
"""Why the model stopped. A tool runs only on `tool_use`; `interrupted` is ours: the user stopped the answer."""


class ToolResultBlock(Struct, frozen=True, kw_only=True, tag="tool_result"):
    """The answer to one tool call, as the model reads it."""

    call_id: CallId
    content: str
    is_error: bool = False
    images: tuple[BlobRef, ...] = ()
    type: ClassVar[Literal["tool_result"]] = "tool_result"


class ImageBlock(Struct, frozen=True, kw_only=True, tag="image"):
    """A picture that came with a prompt."""

    image: BlobRef
    type: ClassVar[Literal["image"]] = "image"


UserBlock = TextBlock | ToolResultBlock | ImageBlock


class UserMessage(Struct, frozen=True, kw_only=True):
    """One message to the model: tool results first, in call order, then text and pictures."""

    content: tuple[UserBlock, ...]
    role: Literal["user"] = "user"


class AssistantMessage(Struct, frozen=True, kw_only=True):
    """One message of the model, as it came.

    `made_by` is whose it is: signed thinking and blocks that are not known go back to no other. `None` is not known.
    """

    content: tuple[AssistantBlock, ...]
    made_by: ModelRef | None = None
    id: str = ""
    """What its provider calls it."""
    role: Literal["assistant"] = "assistant"


Message = UserMessage | AssistantMessage


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool as the model receives it: its name, what it is for, and the JSON schema of its arguments."""

    name: str
    description: str
    input_schema: JsonObject
    hosted_tool: HostedTool | None = None
    """The provider's own tool that takes its place, where the provider has that."""


class ModelRequest(Struct, frozen=True, kw_only=True):
    """Everything a provider needs for one answer. Roles alternate, and every tool call is answered.

    `stable_messages` is how many leading messages were already part of the previous request: a provider that caches
    prompts puts a breakpoint behind them. `images` has the bytes of every picture the messages refer to. `pinned` goes
    to the very end of the last message, behind everything that may be cached: it may change with every request.
    `effort` is how much the model is to think; a provider leaves it out for a model that takes no such level.

    `conversation` is the same for all requests of one, so that a provider finds its cache again; it says nothing about
    the user. `follows` is the message id of the answer before, if the same account gave it: a provider may say why it
    could not use the cache of that request. Empty: there is none yet; `None`: nobody wants to know.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    max_tokens: int
    stable_messages: int = 0
    pinned: str = ""
    effort: str = ""
    conversation: str = ""
    follows: str | None = None
    images: Mapping[Digest, bytes] = field(default_factory=dict[Digest, bytes])
