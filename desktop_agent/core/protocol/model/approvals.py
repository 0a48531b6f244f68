"""Questions to the user from the gate and from servers, the answers, and the rules made from them."""

from datetime import date, datetime
from typing import ClassVar, Literal

from msgspec import Struct, field

from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.protocol.model.changes import FileChange
from desktop_agent.core.protocol.model.messages import JsonObject

Answer = str | int | float | bool | tuple[str, ...]

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
FieldFormat = Literal["", "email", "uri", "date", "date-time"]


class FormOption(Struct, frozen=True, kw_only=True):
    """One of the values to choose from, and its label for the user."""

    value: str
    label: str


class FormField(Struct, frozen=True, kw_only=True):
    """One value that a form asks for."""

    name: str
    """The server's own name for the field, used in the answer."""
    label: str
    kind: FieldKind
    description: str = ""
    is_required: bool = False
    default: Answer | None = None
    options: tuple[FormOption, ...] = ()
    format: FieldFormat = ""
    least: float | None = None
    """The minimum of a number, of a text's length, or of how many options are chosen."""
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
    price: str = ""
    notes: tuple[str, ...] = ()


class ServerQuestion(Struct, frozen=True, kw_only=True):
    """A question of a server: a form, a visit to an `address`, or a request for `sampling`."""

    server: str
    message: str
    fields: tuple[FormField, ...] = ()
    address: str = ""
    sampling: SamplingQuestion | None = None


ApprovalPolicy = Literal["always", "on_write", "on_request", "never"]
SandboxMode = Literal["restricted", "strict", "none"]
"""How commands are confined. `none`: not at all; the other two have no network.

`restricted`: commands write to the workspace and a private temporary folder. `strict`: only to that folder.
"""

ApprovalScope = Literal["once", "session", "project", "always"]
RuleScope = Literal["session", "project", "always"]
"""How far a rule reaches: this session, every session in this folder, or every session."""

RuleEffect = Literal["allow", "ask", "forbid"]
RuleKind = Literal["command", "edit", "tool"]


class Rule(Struct, frozen=True, kw_only=True):
    """A decision of the user about future calls.

    `pattern` selects calls by `kind`. *command*: the first words of a command, quoted as in a shell (`git push`), or
    with `is_exact` the whole line. *edit*: a glob of paths relative to the workspace. *tool*: a glob of tool names.
    """

    id: str
    effect: RuleEffect
    kind: RuleKind
    pattern: str
    scope: RuleScope
    created_at: datetime
    is_exact: bool = False
    folder: str = ""
    details: tuple[str, ...] = ()
    """The variables, input and shell of an exact command, as shown to the user. Calls with others do not match."""
    workspace: str = ""
    expires_at: datetime | None = None
    is_unconfined: bool = False
    """Whether allowed calls run outside the sandbox. The rule then applies only in its repository."""
    repository: str = ""
    """The absolute top folder of that repository, or else the command's folder. If empty, the rule applies nowhere."""
    repository_mark: Digest = ""
    """A digest of the repository's configuration, hooks, attributes and scripts. If it changes, the rule ends."""


class ScopeOffer(Struct, frozen=True, kw_only=True):
    """One way to say yes, with its consequence in words: `Allow `pytest -q` in this session`."""

    scope: ApprovalScope
    label: str
    is_quick: bool = False
    """Whether one press is enough: the label shows the whole rule, which allows nothing destructive or outward."""


class ScriptMark(Struct, frozen=True, kw_only=True):
    """A file that a command would run, and a digest of its content; empty if it does not exist."""

    path: str
    mark: Digest


class SpendingQuestion(Struct, frozen=True, kw_only=True):
    """A spending limit that was reached. A yes lets the session spend up to `until_usd`."""

    limit: Literal["session_usd", "day_usd"]
    day: date
    limit_usd: float
    spent_usd: float
    until_usd: float
    """The amount at which to ask again, counted like `spent_usd`."""


class ToolChange(Struct, frozen=True, kw_only=True):
    """The difference of a server's tool from the definition that the user allowed. Hidden characters are named."""

    server: str
    tool: str
    kind: Literal["changed", "unknown"]
    """`unknown`: the user has allowed no definition of the tool. It may be a new tool."""
    before: str = ""
    after: str
    diff: str
    """The difference in lines with `-`, `+` or a space; the whole definition if there is nothing to compare."""
    digest: Digest
    """Identifies the current definition. A yes applies to exactly this one."""


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """Everything a user needs to decide about one call, ready to show.

    With `spending`, the question is whether the turn continues; with `question`, the server of a running call asks.
    Otherwise `command` or `changes` is set. `arguments_digest` ties the answer to these arguments.
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
    server_tool: str = ""
    """The server's name for the tool; `tool` is the name that the model uses."""
    arguments: JsonObject = field(default_factory=dict[str, object])
    """The tool's arguments, except what `command`, `changes` and `details` show in full."""
    explanation: str = ""
    changes: tuple[FileChange, ...] = ()
    risks: tuple[str, ...] = ()
    """Notes on what makes the call dangerous: deletes, network, history, credentials."""
    safety: tuple[str, ...] = ()
    scopes: tuple[ScopeOffer, ...] = ()
    cause: str = ""
    """The part of the command, or the path, because of which the user is asked."""
    confinement: str = ""
    """How the command would run, in words: `In the sandbox: may write this folder, no network`."""
    is_escalation: bool = False
    is_fixed: bool = False
    """Whether the command cannot be edited, because an agent of another program runs it."""
    rule_kind: RuleKind | None = None
    """The kind of rule that would have made this question unnecessary; `None` if no rule could."""
    scripts: tuple[ScriptMark, ...] = ()
    """The files that the command runs, as they were when the question was asked. A yes is for these versions."""
    rule_patterns: tuple[tuple[str, ...], ...] = ()
    """The patterns of such rules, for every part of the command that needs one, the narrowest first.

    A command outside the sandbox is one part, whose first pattern is the whole line.
    """
    repository: str = ""
    """The `Rule.repository` of a rule for a command outside the sandbox."""
    repository_mark: Digest = ""
    spending: SpendingQuestion | None = None
    question: ServerQuestion | None = None
    tool_change: ToolChange | None = None
    """The change of a server's tool since the user allowed it. A lasting yes applies to the current definition."""
    tool_definition: str = ""
    """A server's description of a tool that the user has not allowed yet, cut, with hidden characters named."""
    subagent: str = ""
    """Role and task of the sub-agent that asks. `call_id` is then the call that started it, and `tool` its own tool."""

    @property
    def is_from_running_call(self) -> bool:
        """Whether a server or a sub-agent asks, whose call already runs."""
        return self.question is not None or bool(self.subagent)


class Allowed(Struct, frozen=True, kw_only=True, tag_field="outcome", tag="allowed"):
    """Yes. `edited_command` replaces the command if the user changed it; the model is told."""

    scope: ApprovalScope = "once"
    edited_command: str | None = None
    judged: Digest | None = None
    """The `CommandJudged.digest` that the user saw for the edited command; `None` if it was not judged."""
    rules: tuple[Rule, ...] = ()
    """The user's new rules. Without rules, `scope` alone determines what is allowed from now on."""
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    """The user's answers to a server's form, by field. Empty fields are missing."""
    outcome: ClassVar[Literal["allowed"]] = "allowed"


class Denied(Struct, frozen=True, kw_only=True, tag_field="outcome", tag="denied"):
    """No, with a message to the model if the user wrote one."""

    message: str = ""
    outcome: ClassVar[Literal["denied"]] = "denied"


class Aborted(Struct, frozen=True, kw_only=True, tag_field="outcome", tag="aborted"):
    """No answer: the turn was stopped, the front end went away, or no user is there. Not approved."""

    reason: str
    outcome: ClassVar[Literal["aborted"]] = "aborted"


Decision = Allowed | Denied | Aborted
