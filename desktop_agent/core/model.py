"""Frozen data that ops and events share: messages, tool calls, changes, approvals, diffs.

Plain slotted dataclasses with no behaviour beyond small derived properties. `codec.py` turns them into JSON and back;
importing this module is cheap and pulls in nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from desktop_agent.core.errors import ToolErrorType
from desktop_agent.core.ids import CallId, ChangeId, Digest, SessionId

JsonObject = dict[str, object]
"""A decoded JSON object whose shape somebody else defines (tool arguments, metadata)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRef:
    """A payload kept outside the journal: its digest, its length in bytes, and what it is."""

    blob: Digest
    size: int
    media_type: str


# --- the model and its messages -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRef:
    """Which model answers: a provider id, the provider's own model name, and an address if not the usual one."""

    provider: str
    model: str
    base_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Text of a message, markdown when the model wrote it."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingBlock:
    """The model's visible reasoning. Must go back unmodified: the signature covers the text."""

    thinking: str
    signature: str
    type: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedThinkingBlock:
    """Reasoning that the provider encrypted. Opaque, and must go back unmodified."""

    data: str
    type: Literal["redacted_thinking"] = "redacted_thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUseBlock:
    """A tool call as the model wrote it.

    `rejected` is empty for a call that may run. Otherwise it says, for the model, why the call cannot be trusted (cut
    off by the token limit, malformed JSON): such a call is answered with an error and never executed.
    """

    id: CallId
    name: str
    arguments: JsonObject
    rejected: str = ""
    type: Literal["tool_use"] = "tool_use"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueBlock:
    """A block that this version does not know. Kept so that the message can go back to its provider as it came."""

    payload: JsonObject
    type: Literal["opaque"] = "opaque"


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
"""Why the model stopped. A tool runs only on `tool_use`; `interrupted` is ours: the person stopped the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request. The whole input is `input_tokens + cache_read_tokens + cache_write_tokens`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def context_tokens(self) -> int:
        """How much of the context window the conversation takes after this request."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


# --- what a provider is asked -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultBlock:
    """The answer to one tool call, as the model reads it."""

    call_id: CallId
    content: str
    is_error: bool = False
    images: tuple[BlobRef, ...] = ()
    type: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """One message to the model: tool results first, in call order, then text."""

    content: tuple[TextBlock | ToolResultBlock, ...]
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage:
    """One message of the model, as it came."""

    content: tuple[AssistantBlock, ...]
    role: Literal["assistant"] = "assistant"


Message = UserMessage | AssistantMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool as the model is told of it: its name, what it is for, and the JSON schema of its arguments."""

    name: str
    description: str
    input_schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Everything a provider needs for one answer. Roles alternate, and every tool call is answered.

    `stable_messages` is how many leading messages were already part of the previous request: a provider that caches
    prompts puts a breakpoint behind them. `images` has the bytes of every picture the messages refer to.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    max_tokens: int
    stable_messages: int = 0
    images: Mapping[Digest, bytes] = field(default_factory=dict[Digest, bytes])


# --- tool calls ---------------------------------------------------------------------------------------------------

Capability = Literal["read_fs", "write_fs", "exec_shell", "network"]
"""What a tool can do to the world. The approval policy speaks in these words."""

ToolSource = Literal["workspace", "external", "system"]
"""Where a tool comes from: ours on this folder, an MCP server, or the application itself."""

ToolState = Literal["started", "completed", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool, as it will run: the arguments may have been edited by the person since the model wrote it."""

    id: CallId
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
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
    """Pictures that the model is shown beside `content`."""


TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoItem:
    """One step of the agent's plan."""

    id: str
    content: str
    status: TodoStatus = "pending"


JobState = Literal["running", "exited", "stopped", "timed_out"]
"""`exited` by itself, `stopped` by somebody, `timed_out` by the limit it was started with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
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
    """The end of what it has printed."""


# --- changes ------------------------------------------------------------------------------------------------------

ChangeKind = Literal["created", "modified", "deleted", "mode_changed"]
Author = Literal["agent", "shell", "mcp", "person"]
"""Who wrote a change: an edit tool, a command, an MCP server, or the person."""

FileKind = Literal["file", "symlink"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImage:
    """The exact state of a file: content by digest, length in bytes, and permission bits.

    For a symlink the content is its target path.
    """

    digest: Digest
    size: int
    mode: int
    kind: FileKind = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file, before and after one call. `None` means that the file did not exist.

    `path` is relative to the workspace, with `/`. Line counts are 0 for binary files.
    """

    id: ChangeId
    path: str
    kind: ChangeKind
    author: Author
    before: FileImage | None
    after: FileImage | None
    added: int = 0
    removed: int = 0
    is_binary: bool = False
    new_folders: tuple[str, ...] = ()
    """Folders that had to be made for a created file, outermost first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncaptured:
    """A file whose change could not be recorded, and why. Said at once, before anybody relies on undo."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSelection:
    """Which changes an undo or redo means. An empty selection means the whole session; criteria narrow it down."""

    turn: int | None = None
    call_id: CallId | None = None
    path: str | None = None
    change_ids: tuple[ChangeId, ...] = ()

    def includes(self, change: FileChange, *, turn: int, call_id: CallId) -> bool:
        """Whether the selection covers `change`, made by `call_id` in `turn`."""
        return (
            (self.turn is None or self.turn == turn)
            and (self.call_id is None or self.call_id == call_id)
            and (self.path is None or self.path == change.path)
            and (not self.change_ids or change.id in self.change_ids)
        )


OutcomeState = Literal["restored", "unchanged", "conflict", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """What an undo or redo did to one file.

    `restored`: written back. `unchanged`: it already was in the wanted state. `conflict`: somebody changed it since, so
    it was left alone. `failed`: it could not be written. The last two say why in `reason`.
    """

    path: str
    state: OutcomeState
    change_ids: tuple[ChangeId, ...]
    reason: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the file is in the state that was asked for."""
        return self.state in ("restored", "unchanged")


# --- approvals ----------------------------------------------------------------------------------------------------

ApprovalPolicy = Literal["always", "on_write", "on_request", "never"]
SandboxMode = Literal["restricted", "strict", "none"]
"""What confines commands: `restricted` lets them write the workspace and a private temporary folder, `strict` only the
latter; neither has a network. `none` confines nothing."""

ApprovalScope = Literal["once", "session", "project", "always"]
RuleScope = Literal["session", "project", "always"]
"""How far a rule reaches: this session, every session in this folder, or every session."""

RuleEffect = Literal["allow", "ask", "forbid"]
RuleKind = Literal["command", "edit", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What the person decided once for calls to come.

    `pattern` says which calls, by `kind`. *command*: words, quoted as in a shell, that a command of a parsed command
    line begins with (`git push`), or with `is_exact` the whole line as written. *edit*: a glob of paths relative to the
    workspace. *tool*: a tool's name or a glob of names.
    """

    id: str
    effect: RuleEffect
    kind: RuleKind
    pattern: str
    scope: RuleScope
    created_at: datetime
    is_exact: bool = False
    folder: str = ""
    """An exact command's folder; a rule without one holds in every folder."""
    details: tuple[str, ...] = ()
    """An exact command's variables, input and shell, as the person was shown them. No other rule matches such calls."""
    workspace: str = ""
    """The folder of a `project` rule, absolute."""
    expires_at: datetime | None = None
    """When it ends; None: it does not."""
    is_unconfined: bool = False
    """Whether what it allows runs outside the sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeOffer:
    """One way to say yes, with its consequence in words: `Allow `pytest -q` in this session`."""

    scope: ApprovalScope
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """Everything a person needs to decide about one call, ready to show.

    Exactly one of `command` and `changes` is usually set: the command that would run, or the files as they would be
    before and after. `arguments_digest` ties the answer to these very arguments.
    """

    call_id: CallId
    tool: str
    title: str
    reason: str
    arguments_digest: Digest
    command: str | None = None
    cwd: str = ""
    details: tuple[str, ...] = ()
    """What else decides what would run, one line each: variables, input, a special shell."""
    changes: tuple[FileChange, ...] = ()
    risks: tuple[str, ...] = ()
    """Plain notes, found locally, on what makes this dangerous: deletes, network, history, credentials."""
    scopes: tuple[ScopeOffer, ...] = ()
    cause: str = ""
    """The part of the command, or the path, that made it a question. A substring of `command` when there is one."""
    confinement: str = ""
    """How it would run, in words: `In the sandbox: may write this folder, no network`."""
    is_escalation: bool = False
    """Whether this asks to run a command outside the sandbox."""
    rule_kind: RuleKind | None = None
    """What kind of rule would have answered this; None when no rule could."""
    rule_patterns: tuple[tuple[str, ...], ...] = ()
    """What such rules could say: for every part that needs one its patterns, from the narrowest to the widest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """Yes. `edited_command` replaces the command when the person changed it; the model is told."""

    scope: ApprovalScope = "once"
    edited_command: str | None = None
    rules: tuple[Rule, ...] = ()
    """Rules the person made of this answer. Without any, `scope` alone says what else is allowed from now on."""
    outcome: Literal["allowed"] = "allowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """No, with a word to the model if the person gave one."""

    message: str = ""
    outcome: Literal["denied"] = "denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aborted:
    """Nobody answered: the turn was stopped, the front went away, or there is nobody to ask. Not approved."""

    reason: str
    outcome: Literal["aborted"] = "aborted"


Decision = Allowed | Denied | Aborted

# --- sessions -----------------------------------------------------------------------------------------------------

SessionState = Literal["idle", "working", "waiting"]
"""What a session is doing: nothing, running a turn, or waiting for an answer of the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session as a list shows it. `workspace` is an absolute path; both times are UTC."""

    id: SessionId
    title: str
    workspace: str
    created_at: datetime
    updated_at: datetime
    state: SessionState
    turns: int
    size_bytes: int
    """Of the journal alone."""


# --- diffs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Old lines `old_start:old_end` became new lines `new_start:new_end` (0-based, half open, a side may be empty)."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One file's two texts and where they differ. Lines keep their line ending.

    Rows are derived by whoever draws them, so a diff of 100,000 lines stays two tuples of strings and its edits.
    """

    path: str
    kind: ChangeKind
    author: Author
    old_lines: tuple[str, ...] = ()
    new_lines: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    is_binary: bool = False
    old_size: int = 0
    new_size: int = 0
    notes: tuple[str, ...] = ()
    """What the text alone does not show: `mode 644 → 755`, `only line endings changed (CRLF → LF)`."""
    old_mode: int | None = None
    """File type and permissions as in `stat` (`0o100644`, `0o120777`); `None` when the file did not exist."""
    new_mode: int | None = None
    old_encoding: str = "utf-8"
    """How the lines become bytes again: `utf-8` (other bytes are surrogate escapes), `utf-16-le` or `utf-16-be`."""
    new_encoding: str = "utf-8"

    @property
    def added(self) -> int:
        """How many lines are new."""
        return sum(edit.new_end - edit.new_start for edit in self.edits)

    @property
    def removed(self) -> int:
        """How many lines are gone."""
        return sum(edit.old_end - edit.old_start for edit in self.edits)
