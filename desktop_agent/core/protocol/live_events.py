"""Events that exist only while something runs: their content is repeated, whole, by a durable event later."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.errors import ProviderFault
from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.protocol.model import (
    ApprovalRequest,
    ContextReport,
    ContextUse,
    Finite,
    HostedCall,
    Job,
    ModelRef,
    Rule,
    StopReason,
    Usage,
)

RequestPurpose = Literal["turn", "summary", "title", "server"]
"""What a request to a model is for: the conversation, a summary of it, its title, or an MCP server that asks."""


class TextDelta(Struct, frozen=True, kw_only=True):
    """More text of the message being written."""

    turn: int
    text: str
    type: Literal["text_delta"] = "text_delta"


class ThinkingDelta(Struct, frozen=True, kw_only=True):
    """More thinking of the message being written."""

    turn: int
    text: str
    type: Literal["thinking_delta"] = "thinking_delta"


class ToolOutputDelta(Struct, frozen=True, kw_only=True):
    """More output of a running call, as it was written."""

    turn: int
    call_id: CallId
    text: str
    type: Literal["tool_output_delta"] = "tool_output_delta"


class ToolProgress(Struct, frozen=True, kw_only=True):
    """How far something is that takes a while: a call the model is still writing, a search, a scan."""

    turn: int
    call_id: CallId
    name: str
    message: str
    type: Literal["tool_progress"] = "tool_progress"


class HostedCallReported(Struct, frozen=True, kw_only=True):
    """One of the provider's own tools began or ended, in the message being written."""

    turn: int
    at: datetime
    call: HostedCall
    type: Literal["hosted_call_reported"] = "hosted_call_reported"


class PromptRejected(Struct, frozen=True, kw_only=True):
    """A prompt could not be taken: nothing can be written, or what it mentions was not to be had, as a notice says.

    Here is its text back, so that it is not lost.
    """

    text: str
    type: Literal["prompt_rejected"] = "prompt_rejected"


class RetryWaitReported(Struct, frozen=True, kw_only=True):
    """A turn waits before it asks the model again, as the notice `retrying` before it says, or waits no longer."""

    turn: int
    is_waiting: bool
    delay_s: Finite = 0.0
    """How long it waits from now, unless the user skips it; 0 when it waits no longer."""
    type: Literal["retry_wait_reported"] = "retry_wait_reported"


class ModelRequestReported(Struct, frozen=True, kw_only=True):
    """A request was sent to a model, or has come to its end; told of each try, and of those beside the conversation."""

    turn: int
    request_id: str
    """The same in both events of a request; new for each try."""
    model: ModelRef
    state: Literal["sent", "answered", "failed", "stopped"]
    """`stopped`: the answer was not waited for."""
    purpose: RequestPurpose = "turn"
    fault: ProviderFault | None = None
    """What went wrong, of one that failed."""
    message_id: str = ""
    """What the provider calls the answer."""
    stop_reason: StopReason | None = None
    usage: Usage | None = None
    """What it took; `usage_reported` says it again, on record."""
    type: Literal["model_request_reported"] = "model_request_reported"


class JobsReported(Struct, frozen=True, kw_only=True):
    """The session's background commands as they are now, oldest first."""

    jobs: tuple[Job, ...]
    type: Literal["jobs_reported"] = "jobs_reported"


class RulesReported(Struct, frozen=True, kw_only=True):
    """The rules in force in this session, the session's own first."""

    rules: tuple[Rule, ...]
    type: Literal["rules_reported"] = "rules_reported"


class ContextMeasured(Struct, frozen=True, kw_only=True):
    """How full the context is now."""

    use: ContextUse
    type: Literal["context_measured"] = "context_measured"


class ContextInspected(Struct, frozen=True, kw_only=True):
    """What the model would see now; the answer to `InspectContext`."""

    report: ContextReport
    type: Literal["context_inspected"] = "context_inspected"


class CommandJudged(Struct, frozen=True, kw_only=True):
    """What there is to know of a command as the user edits it: the answer to `JudgeCommand`, in one or two steps."""

    call_id: CallId
    command: str
    request: ApprovalRequest | None
    """The question as it would be about this command; None when it must not run."""
    digest: Digest | None = None
    """What an answer to it carries (`Allowed.judged`); None while the safety copy is still being found out."""
    obstacle: str = ""
    """Why it must not run."""
    type: Literal["command_judged"] = "command_judged"
