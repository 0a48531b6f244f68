"""Frozen data that ops and events share: messages, tool calls, changes, approvals, sessions.

Journals must stay readable (`docs/session-format.md`): add fields with a default, remove none.
"""

from desktop_agent.core.protocol.model.approvals import (
    Aborted as Aborted, Allowed as Allowed, Answer as Answer, ApprovalPolicy as ApprovalPolicy,
    ApprovalRequest as ApprovalRequest, ApprovalScope as ApprovalScope, Decision as Decision, Denied as Denied,
    FieldFormat as FieldFormat, FieldKind as FieldKind, FormField as FormField, FormOption as FormOption,
    Rule as Rule, RuleEffect as RuleEffect, RuleKind as RuleKind, RuleScope as RuleScope, SampledText as SampledText,
    SamplingQuestion as SamplingQuestion, SandboxMode as SandboxMode, ScopeOffer as ScopeOffer,
    ScriptMark as ScriptMark, ServerQuestion as ServerQuestion, SpendingQuestion as SpendingQuestion,
    ToolChange as ToolChange,
)  # fmt: skip
from desktop_agent.core.protocol.model.changes import (
    SEVERITIES as SEVERITIES, Author as Author, ChangeKind as ChangeKind, ChangeSelection as ChangeSelection,
    Clash as Clash, CommittedFile as CommittedFile, Diagnostic as Diagnostic, DiagnosticSeverity as DiagnosticSeverity,
    Edit as Edit, FileChange as FileChange, FileDiagnostics as FileDiagnostics, FileDiff as FileDiff,
    FileExtras as FileExtras, FileImage as FileImage, FileKind as FileKind, FileOutcome as FileOutcome, Hunk as Hunk,
    Landmarks as Landmarks, LeftOut as LeftOut, LineComment as LineComment, Maker as Maker, MovedBlock as MovedBlock,
    OutcomeState as OutcomeState, OutsideFile as OutsideFile, Owner as Owner, RefChange as RefChange,
    Reverted as Reverted, ReviewHunk as ReviewHunk, ReviewState as ReviewState, RewindScope as RewindScope,
    Share as Share, Surplus as Surplus, Uncaptured as Uncaptured,
)  # fmt: skip
from desktop_agent.core.protocol.model.messages import (
    AGENTS as AGENTS, AssistantBlock as AssistantBlock, AssistantMessage as AssistantMessage, Attachment as Attachment,
    AttachmentKind as AttachmentKind, BlobRef as BlobRef, Capability as Capability, Citation as Citation,
    Finite as Finite, HostedCall as HostedCall, HostedTool as HostedTool, ImageBlock as ImageBlock, Job as Job,
    JobState as JobState, JsonObject as JsonObject, Message as Message, ModelRef as ModelRef,
    ModelRequest as ModelRequest, OpaqueBlock as OpaqueBlock, RedactedThinkingBlock as RedactedThinkingBlock,
    Flaw as Flaw, StopReason as StopReason, TextBlock as TextBlock, ThinkingBlock as ThinkingBlock,
    TodoItem as TodoItem, TodoStatus as TodoStatus, ToolCall as ToolCall, ToolDefinition as ToolDefinition,
    ToolResult as ToolResult, ToolResultBlock as ToolResultBlock, ToolSource as ToolSource, ToolState as ToolState,
    ToolUseBlock as ToolUseBlock, UserBlock as UserBlock, UserMessage as UserMessage, WebPage as WebPage,
)  # fmt: skip
from desktop_agent.core.protocol.model.sessions import (
    AgentChoice as AgentChoice, AgentCommand as AgentCommand, AgentOption as AgentOption, AgentSession as AgentSession,
    AgentSignIn as AgentSignIn, CacheMiss as CacheMiss, CacheMissReason as CacheMissReason,
    ContextReport as ContextReport, ContextSection as ContextSection, ContextUse as ContextUse,
    DayAllowance as DayAllowance, FolderIdentity as FolderIdentity, GuidanceFile as GuidanceFile,
    GuidanceScope as GuidanceScope, HitKind as HitKind, HookDecision as HookDecision, HookEvent as HookEvent,
    HookState as HookState, Pin as Pin, SaidElsewhere as SaidElsewhere,
    SearchHit as SearchHit, SearchQuery as SearchQuery, SectionKind as SectionKind, SessionPurpose as SessionPurpose,
    SessionState as SessionState, SessionSummary as SessionSummary, Spending as Spending, Summary as Summary,
    TaskOrigin as TaskOrigin, Usage as Usage, WorktreeOrigin as WorktreeOrigin,
)  # fmt: skip
