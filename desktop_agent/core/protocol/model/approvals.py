"""Questions to the user from the gate and from servers, the answers, and the rules made from them."""

from datetime import date, datetime
from typing import ClassVar, Literal

from msgspec import Struct, field

from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.protocol.model.changes import FileChange
from desktop_agent.core.protocol.model.messages import JsonObject

Answer = str | int | float | bool | tuple[str, ...]
"""The value of one field of a form."""

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
FieldFormat = Literal["", "email", "uri", "date", "date-time"]


class FormOption(Struct, frozen=True, kw_only=True):
    """One of the values to choose from, and its label for the user."""

    value: str
    label: str


class FormField(Struct, frozen=True, kw_only=True):
    """One value that a form asks for."""

    name: str
    """The server's own name for it, used in the answer."""
    label: str
    kind: FieldKind
    description: str = ""
    is_required: bool = False
    default: Answer | None = None
    options: tuple[FormOption, ...] = ()
    """The choices of a `choice` or `choices` field."""
    format: FieldFormat = ""
    """The format of a `text` field."""
    least: float | None = None
    """The minimum: of a number, of the length of a text, or of how many options are chosen."""
    most: float | None = None


class SampledText(Struct, frozen=True, kw_only=True):
    """A text that would be sent to the model."""

    role: Literal["system", "user", "assistant"]
    text: str


class SamplingQuestion(Struct, frozen=True, kw_only=True):
    """Whether a server may ask the session's model something outside the conversation."""

    texts: tuple[SampledText, ...]
    max_tokens: int
    model: str
    """The model that would answer, under its provider's name for it."""
    price: str = ""
    """The price of a million tokens, input and output; empty if not known."""
    notes: tuple[str, ...] = ()
    """What else the server requested but will not get, in sentences."""


class ServerQuestion(Struct, frozen=True, kw_only=True):
    """A question of a server. With an `address` it asks whether the user visits that, and has no fields; with
    `sampling` it asks whether the server may ask the model.
    """

    server: str
    message: str
    fields: tuple[FormField, ...] = ()
    address: str = ""
    sampling: SamplingQuestion | None = None
    """What the server wants to ask the model. Allowing it for the session lets it ask again without a question."""


ApprovalPolicy = Literal["always", "on_write", "on_request", "never"]
SandboxMode = Literal["restricted", "strict", "none"]
"""How commands are confined. `restricted` lets them write to the workspace and to a private temporary folder; `strict`
lets them write only to that temporary folder; neither gives them a network. `none` confines nothing.
"""

ApprovalScope = Literal["once", "session", "project", "always"]
RuleScope = Literal["session", "project", "always"]
"""How far a rule reaches: this session, every session in this folder, or every session."""

RuleEffect = Literal["allow", "ask", "forbid"]
RuleKind = Literal["command", "edit", "tool"]


class Rule(Struct, frozen=True, kw_only=True):
    """A decision of the user about future calls.

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
    """An exact command's folder; a rule without a folder applies in every folder."""
    details: tuple[str, ...] = ()
    """The variables, input and shell of an exact command, as shown to the user. Other rules do not match such calls."""
    workspace: str = ""
    """The folder of a `project` rule, absolute."""
    expires_at: datetime | None = None
    is_unconfined: bool = False
    """Whether allowed calls run outside the sandbox. If so, the rule applies only in the repository it was made in."""
    repository: str = ""
    """The absolute top folder of that repository, or else the command's folder. If empty, the rule applies nowhere."""
    repository_mark: Digest = ""
    """A digest of the repository's configuration, hooks and attributes, and of the scripts that the command runs. When
    any of them changes, the rule no longer applies.
    """


class ScopeOffer(Struct, frozen=True, kw_only=True):
    """One way to say yes, with its consequence in words: `Allow `pytest -q` in this session`."""

    scope: ApprovalScope
    label: str
    is_quick: bool = False
    """Whether one press is enough, because the label shows the whole rule and the rule allows nothing destructive and
    no outward action. Other offers need the dialog, where the rule is shown and chosen.
    """


class ScriptMark(Struct, frozen=True, kw_only=True):
    """A file that a command would run, and a digest that identifies its content; empty if it does not exist."""

    path: str
    mark: Digest


class SpendingQuestion(Struct, frozen=True, kw_only=True):
    """A spending limit that was reached. A yes lets the session spend up to `until_usd`."""

    limit: Literal["session_usd", "day_usd"]
    day: date
    """The UTC day on which it was reached."""
    limit_usd: float
    spent_usd: float
    """The known costs so far: of this session, or for a day limit of all sessions."""
    until_usd: float
    """The amount at which to ask again, counted like `spent_usd`."""


class ToolChange(Struct, frozen=True, kw_only=True):
    """How the definition of a server's tool differs from the one that the user allowed.

    The texts were written by the server; invisible characters in them are shown by name.
    """

    server: str
    tool: str
    """The server's own name for the tool."""
    kind: Literal["changed", "unknown"]
    """`unknown`: the tool has no definition on record that the user allowed. It may be a new tool."""
    before: str = ""
    """The allowed definition, in lines; empty if not known."""
    after: str
    diff: str
    """The difference in lines with `-`, `+` or a space; the whole definition if there is nothing to compare."""
    digest: Digest
    """Identifies the current definition. A yes applies to exactly this one."""


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """Everything a user needs to decide about one call, ready to show.

    With `spending`, the question is whether the turn goes on. With `question`, the call is running and its server asks:
    yes carries the answers, no declines.

    Usually exactly one of `command` and `changes` is set: the command that would run, or the files as they would be
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
    """What else determines what would run, one per line: variables, input, a special shell."""
    server: str = ""
    """The MCP server that would be called; empty for one of the application's own tools."""
    server_tool: str = ""
    """What that server calls the tool; `tool` is what the model calls it."""
    arguments: JsonObject = field(default_factory=dict[str, object])
    """The tool's arguments, except what `command`, `changes` and `details` show in full."""
    explanation: str = ""
    changes: tuple[FileChange, ...] = ()
    risks: tuple[str, ...] = ()
    """Plain notes, computed locally, on what makes the call dangerous: deletes, network, history, credentials."""
    safety: tuple[str, ...] = ()
    """What is copied before the call runs, and what is not, in sentences; empty if the call is not destructive."""
    scopes: tuple[ScopeOffer, ...] = ()
    cause: str = ""
    """The part of the command, or the path, because of which the user is asked. If there is a `command`, part of it."""
    confinement: str = ""
    """How the command would run, in words: `In the sandbox: may write this folder, no network`."""
    is_escalation: bool = False
    """Whether this asks to run a command outside the sandbox."""
    rule_kind: RuleKind | None = None
    """The kind of rule that would have made this question unnecessary; `None` if no rule could."""
    scripts: tuple[ScriptMark, ...] = ()
    """The files that the command runs, as they were when the question was asked. A yes is for these versions."""
    rule_patterns: tuple[tuple[str, ...], ...] = ()
    """The patterns of such rules, for every part of the command that needs one. The narrowest pattern comes first.

    A command outside the sandbox is one part. Its first pattern is the whole line, for a rule about exactly that line.
    """
    repository: str = ""
    """For a command that would run outside the sandbox: the `Rule.repository` that a rule for it would have."""
    repository_mark: Digest = ""
    spending: SpendingQuestion | None = None
    question: ServerQuestion | None = None
    tool_change: ToolChange | None = None
    """What changed about a server's tool since the user allowed it. A lasting yes applies to its current definition."""
    tool_definition: str = ""
    """A server's description of a tool that the user has not allowed yet, in lines. Cut; no signs in it are hidden."""


class Allowed(Struct, frozen=True, kw_only=True, tag_field="outcome", tag="allowed"):
    """Yes. `edited_command` replaces the command if the user changed it; the model is told."""

    scope: ApprovalScope = "once"
    edited_command: str | None = None
    judged: Digest | None = None
    """The `CommandJudged.digest` that the user saw for the edited command; `None` if that was not judged."""
    rules: tuple[Rule, ...] = ()
    """Rules that the user made with this answer. Without rules, `scope` alone says what is allowed from now on."""
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    """The user's answers to a server's form, by the names of the fields. Fields left empty are missing."""
    outcome: ClassVar[Literal["allowed"]] = "allowed"


class Denied(Struct, frozen=True, kw_only=True, tag_field="outcome", tag="denied"):
    """No, with a message to the model if the user wrote one."""

    message: str = ""
    outcome: ClassVar[Literal["denied"]] = "denied"


class Aborted(Struct, frozen=True, kw_only=True, tag_field="outcome", tag="aborted"):
    """No answer: the turn was stopped, the front end went away, or no user is there to ask. Not approved."""

    reason: str
    outcome: ClassVar[Literal["aborted"]] = "aborted"


Decision = Allowed | Denied | Aborted
