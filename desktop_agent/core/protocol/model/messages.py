"""Messages to and from a model: their blocks, calls and attachments, and the requests to providers."""

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
"""A measure or duration. None is ever written as infinite, so a line with one (such as `1e400`) is foreign."""


class BlobRef(Struct, frozen=True, kw_only=True):
    """A payload kept outside the journal: its digest, its length in bytes, and its media type."""

    blob: Digest
    size: int
    media_type: str


AttachmentKind = Literal["resource", "file", "picture", "folder", "session"]
"""`resource`: of an MCP server; `folder`: its listing."""


class Attachment(Struct, frozen=True, kw_only=True):
    """The content that a mention in a prompt stood for when the prompt was sent. It is never fetched again.

    All texts but `mention` were written by a server, or come from a file.
    """

    mention: str
    """The mention as written in the prompt: `@docs:readme`."""
    server: str = ""
    """The MCP server that the content came from; empty unless the attachment is a resource."""
    uri: str
    """Depending on the kind: the resource's address, a path relative to the workspace, a session's id, or a name."""
    name: str
    kind: AttachmentKind = "resource"
    lines: str = ""
    """The mentioned lines of a file, such as `10-40`; empty for all."""
    digest: Digest | None = None
    """The digest of the whole file, by which an edit notices later changes; `None` if no edit tool can change it."""
    media_type: str = ""
    size: int = 0
    """The size of the whole content, in bytes."""
    text: str = ""
    """What the model reads."""
    content: BlobRef | None = None
    """The whole text, if `text` has only its beginning and its end."""
    images: tuple[BlobRef, ...] = ()
    files: tuple[BlobRef, ...] = ()
    """Parts that are neither text nor a picture, kept for the user."""


Capability = Literal["read_fs", "write_fs", "exec_shell", "network"]
"""What a tool can do to the world. The approval policy is expressed in these terms."""

ToolSource = Literal["workspace", "external", "system"]
"""Where a tool comes from: the application's tools for this folder, an MCP server, or the application itself."""

ToolState = Literal["started", "completed", "failed"]


class ToolCall(Struct, frozen=True, kw_only=True):
    """A tool call as it will run: the user may have edited the arguments that the model wrote."""

    id: CallId
    name: str
    arguments: JsonObject


class ToolResult(Struct, frozen=True, kw_only=True):
    """The result of a tool call.

    `content` is what the model reads, already within its limits; `output` points to the whole output if that was
    longer. `metadata` and `error_type` are internal and are never sent to a provider.
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
"""`exited`: it ended on its own. `stopped`: on request. `timed_out`: at the limit that it was started with."""


class Job(Struct, frozen=True, kw_only=True):
    """One background command as it is now."""

    id: str
    """`job-20261121-213700-0123abcd`: when it was started (UTC), then 32 random bits."""
    command: str
    cwd: Path
    pid: int
    log: Path
    started_at: datetime
    state: JobState = "running"
    exit_code: int | None = None
    """The exit code as a shell reports it; `None` while it runs."""
    ended_at: datetime | None = None
    memory_bytes: int = 0
    """The memory of the command's whole process tree; 0 if unknown, or when it has ended."""
    last_line: str = ""


class ModelRef(Struct, frozen=True, kw_only=True):
    """Which model answers: a provider id, the provider's own model name, and an address if not the default one.

    A user name and a password in the address are left out: a reference is written to the journal.
    """

    provider: str
    model: str
    base_url: str | None = None
    account: str = ""
    """The account that requests use, together with its address; empty for the provider's default account."""
    effort: str = ""
    """How much the model is to think, in the provider's word for it; empty for the provider's default."""

    @property
    def bare(self) -> "ModelRef":
        return replace(self, effort="") if self.effort else self

    def __post_init__(self) -> None:
        if self.base_url and has_userinfo(self.base_url):
            force_setattr(self, "base_url", without_userinfo(self.base_url))


HostedTool = Literal["web_search", "web_fetch"]
"""Tools that a provider runs itself while its model answers: search the web, read a page that was found there."""


class Citation(Struct, frozen=True, kw_only=True):
    """A page, found by a search of its provider, that the model cites as the source of a text."""

    url: str
    title: str = ""
    quote: str = ""
    seal: str = ""
    """The provider's own opaque reference to the page. It is sent back to this provider only."""


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
    """A call of one of the provider's own tools, which ran there and not on this machine, as far as a block reports it.

    One block may begin it (`started`) and another end it; both have its id.
    """

    id: CallId
    tool: HostedTool = "web_search"
    query: str = ""
    """The search query, or the page that was read; empty if the provider does not say."""
    pages: tuple[WebPage, ...] = ()
    error: str = ""
    state: ToolState = "completed"


class OpaqueBlock(Struct, frozen=True, kw_only=True, tag="opaque"):
    """A block that only its provider understands. Kept so that the message can be sent back unchanged."""

    payload: JsonObject
    """The block as the provider sent it; empty for a block that is only reported and not sent back."""
    call: HostedCall | None = None
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
"""Why the model stopped. Tools run only on `tool_use`. `interrupted` is our own: the user stopped the answer."""


Flaw = Literal[
    "calls_at_one_index",
    "calls_in_text",
    "changing_call_id",
    "control_characters",
    "encoded_twice",
    "no_end_event",
    "no_stop_reason",
    "not_utf8",
    "other_stop_reason",
    "thoughts_in_text",
    "whole_answer",
    "whole_message",
]
"""A way in which an answer broke its format although it could mean only one thing, so that it was mended."""


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
    """One message of the model, unchanged.

    `made_by` is the model that wrote it: signed thinking and unknown blocks are sent back to no other. `None` if not
    known.
    """

    content: tuple[AssistantBlock, ...]
    made_by: ModelRef | None = None
    id: str = ""
    role: Literal["assistant"] = "assistant"


Message = UserMessage | AssistantMessage


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool as the model receives it: its name, what it is for, and the JSON schema of its arguments."""

    name: str
    description: str
    input_schema: JsonObject
    hosted_tool: HostedTool | None = None
    """The provider's own tool that replaces this one, if the provider has such a tool."""


class ModelRequest(Struct, frozen=True, kw_only=True):
    """Everything a provider needs for one answer. Roles alternate, and every tool call is answered.

    `stable_messages` is how many leading messages were already part of the previous request: a provider that caches
    prompts puts a breakpoint after them. `images` has the bytes of every picture the messages refer to. `pinned` goes
    to the very end of the last message, after everything that can be cached, because it may change with every request.
    `effort` is how much the model is to think; a provider leaves it out for a model without such levels.

    `conversation` is the same for all requests of a conversation, so that a provider finds its cache again; it says
    nothing about the user. `follows` is the message id of the previous answer, if the same account gave it: a provider
    can then say why it could not use the cache of that request. Empty: there is none yet; `None`: the reason is not
    wanted.
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
