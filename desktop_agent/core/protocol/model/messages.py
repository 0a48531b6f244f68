"""Messages to and from a model: their blocks, calls and attachments, and the requests to providers."""

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path, PurePath
from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr, replace

from desktop_agent.core.base.errors import ToolErrorType
from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.base.web_address import has_userinfo, without_userinfo

JsonObject = dict[str, object]
"""A decoded JSON object whose shape another program defines (tool arguments, metadata)."""

Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
"""A finite number, so that infinite ones (such as `1e400`) in a line are rejected."""


class BlobRef(Struct, frozen=True, kw_only=True):
    """A payload outside the journal: its digest, its length in bytes, and its media type."""

    blob: Digest
    size: int
    media_type: str


AttachmentKind = Literal["resource", "file", "picture", "folder", "session"]
"""`resource`: of an MCP server; `folder`: its listing."""


class Attachment(Struct, frozen=True, kw_only=True):
    """The content of a mention in a prompt when the prompt was sent. It is never fetched again."""

    mention: str
    server: str = ""
    uri: str
    """Depending on the kind: the resource's address, a path relative to the workspace, a session's id, or a name."""
    name: str
    kind: AttachmentKind = "resource"
    lines: str = ""
    digest: Digest | None = None
    """The digest of the whole file, to notice later changes; `None` if no edit tool can change it."""
    media_type: str = ""
    size: int = 0
    text: str = ""
    content: BlobRef | None = None
    """The whole text, if `text` has only its beginning and its end."""
    images: tuple[BlobRef, ...] = ()
    files: tuple[BlobRef, ...] = ()
    """Parts that are neither text nor a picture."""


Capability = Literal["read_fs", "write_fs", "exec_shell", "network"]

ToolSource = Literal["workspace", "external", "system"]
"""`workspace`: the application's tools for this folder. `external`: an MCP server."""

ToolState = Literal["started", "completed", "failed"]


class ToolCall(Struct, frozen=True, kw_only=True):
    """A tool call as it will run: the user may have edited the arguments that the model wrote."""

    id: CallId
    name: str
    arguments: JsonObject


class ToolResult(Struct, frozen=True, kw_only=True):
    """The result of a tool call.

    The model reads `content`, within its limits; `output` is the whole output if that was longer. `metadata` and
    `error_type` are never sent to a provider.
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
"""`exited`: on its own. `stopped`: on request. `timed_out`: at the limit that it was started with."""


class Job(Struct, frozen=True, kw_only=True):
    """One background command."""

    id: str
    command: str
    cwd: Path
    pid: int
    log: Path
    started_at: datetime
    state: JobState = "running"
    exit_code: int | None = None
    """The exit code as a shell reports it; `None` while the command runs."""
    ended_at: datetime | None = None
    memory_bytes: int = 0
    """The memory of the command's whole process tree; 0 if unknown or ended."""
    last_line: str = ""


AGENTS: Final = "acp"
"""The provider id that stands for agents of other programs, which speak the Agent Client Protocol."""


class ModelRef(Struct, frozen=True, kw_only=True):
    """A model: a provider id, the provider's name for it, and an address if not the default one.

    A user name and a password in the address are removed: a reference is written to the journal.
    """

    provider: str
    model: str
    base_url: str | None = None
    account: str = ""
    """The account for requests, together with its address; empty for the provider's default account."""
    effort: str = ""
    """How much the model is to think, in the provider's word for it; empty for the provider's default."""

    @property
    def is_agent(self) -> bool:
        """Whether an agent of another program takes the turns. Then `model` is its name, or its command line."""
        return self.provider == AGENTS

    @property
    def name(self) -> str:
        """Its short name in texts: for an agent with a command line, its program."""
        line = self.model.strip()
        if not self.is_agent or not any(sign in line for sign in " /\\"):
            return self.model
        is_quoted = line[0] in "'\""
        return PurePath(line[1:].partition(line[0])[0] if is_quoted else line.partition(" ")[0]).stem

    @property
    def shown(self) -> str:
        """How it is named in full: an agent by its name or command line, a model also by its provider."""
        return self.model if self.is_agent else f"{self.provider}/{self.model}"

    @property
    def bare(self) -> "ModelRef":
        return replace(self, effort="") if self.effort else self

    def __post_init__(self) -> None:
        if self.base_url and has_userinfo(self.base_url):
            force_setattr(self, "base_url", without_userinfo(self.base_url))


HostedTool = Literal["web_search", "web_fetch"]


class Citation(Struct, frozen=True, kw_only=True):
    """A page that the model cites as the source of a text."""

    url: str
    title: str = ""
    quote: str = ""
    seal: str = ""


class TextBlock(Struct, frozen=True, kw_only=True, tag="text"):
    """Text of a message, as markdown if the model wrote it."""

    text: str
    citations: tuple[Citation, ...] = ()
    type: ClassVar[Literal["text"]] = "text"


class ThinkingBlock(Struct, frozen=True, kw_only=True, tag="thinking"):
    """The model's visible reasoning. It must go back unmodified: the signature covers the text."""

    thinking: str
    signature: str
    type: ClassVar[Literal["thinking"]] = "thinking"


class RedactedThinkingBlock(Struct, frozen=True, kw_only=True, tag="redacted_thinking"):
    """Reasoning that the provider encrypted. It must go back unmodified."""

    data: str
    type: ClassVar[Literal["redacted_thinking"]] = "redacted_thinking"


class ToolUseBlock(Struct, frozen=True, kw_only=True, tag="tool_use"):
    """A tool call as the model wrote it.

    `rejected` tells the model why the call cannot be trusted, such as malformed JSON; such a call never runs.
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
    """A call of one of the provider's own tools. One block may begin it (`started`) and another end it."""

    id: CallId
    tool: HostedTool = "web_search"
    query: str = ""
    pages: tuple[WebPage, ...] = ()
    error: str = ""
    state: ToolState = "completed"


class OpaqueBlock(Struct, frozen=True, kw_only=True, tag="opaque"):
    """A block that only its provider understands. Kept so that the message can be sent back unchanged."""

    payload: JsonObject
    """Empty for a block that is only reported and not sent back."""
    call: HostedCall | None = None
    type: ClassVar[Literal["opaque"]] = "opaque"


AssistantBlock = TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | OpaqueBlock

StopReason = Literal[
    "end_turn", "tool_use", "max_tokens", "stop_sequence", "pause_turn", "refusal", "model_context_window_exceeded",
    "interrupted", "other",
]  # fmt: skip
"""Why the model stopped. Tools run only on `tool_use`. `interrupted`: the user stopped the answer."""

Flaw = Literal[
    "calls_at_one_index", "calls_in_text", "changing_call_id", "control_characters", "encoded_twice", "no_end_event",
    "no_stop_reason", "not_utf8", "other_stop_reason", "thoughts_in_text", "whole_answer", "whole_message",
]  # fmt: skip


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
    """One unmodified message of a model. Signed thinking and unknown blocks are sent back only to `made_by`."""

    content: tuple[AssistantBlock, ...]
    made_by: ModelRef | None = None
    id: str = ""
    role: Literal["assistant"] = "assistant"


Message = UserMessage | AssistantMessage


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """A tool as the model receives it: its name, its purpose, and the JSON schema of its arguments."""

    name: str
    description: str
    input_schema: JsonObject
    hosted_tool: HostedTool | None = None


class ModelRequest(Struct, frozen=True, kw_only=True):
    """Everything a provider needs for one answer. Roles alternate, and every tool call is answered.

    The first `stable_messages` were part of the previous request, so a cache breakpoint follows them. `images` has the
    pictures' bytes. `pinned` goes to the end of the last message, because it may change with every request.

    `conversation` is the same for all requests of a conversation, for the provider's cache. `follows` is the message id
    of the previous answer, if the same account gave it, so that the provider can explain a cache miss. Empty: there is
    none yet; `None`: no explanation is wanted.
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
