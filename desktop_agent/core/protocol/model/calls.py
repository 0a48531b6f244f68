"""Tool calls, their results, the agent's plan, and background commands."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from desktop_agent.core.base.errors import ToolErrorType
from desktop_agent.core.base.ids import CallId
from desktop_agent.core.protocol.model.payloads import BlobRef, JsonObject

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
    """Pictures that the model is shown beside `content`."""


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
    """The end of what it has printed."""
