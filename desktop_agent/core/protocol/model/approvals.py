"""Questions to the user, from the gate and from servers, their answers, and the rules they make of them."""

from datetime import date, datetime
from typing import ClassVar, Literal

from msgspec import Struct, field

from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.protocol.model.changes import FileChange
from desktop_agent.core.protocol.model.messages import JsonObject

Answer = str | int | float | bool | tuple[str, ...]
"""What stands in one field of a form."""

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
FieldFormat = Literal["", "email", "uri", "date", "date-time"]


class FormOption(Struct, frozen=True, kw_only=True):
    """One of the values to choose from, and what the user reads for it."""

    value: str
    label: str


class FormField(Struct, frozen=True, kw_only=True):
    """One value that is asked for."""

    name: str
    """The server's own, for the answer."""
    label: str
    kind: FieldKind
    description: str = ""
    is_required: bool = False
    default: Answer | None = None
    options: tuple[FormOption, ...] = ()
    """Of a `choice` or of `choices`."""
    format: FieldFormat = ""
    """Of a `text`."""
    least: float | None = None
    """The smallest number, the fewest characters or the fewest choices."""
    most: float | None = None


class SampledText(Struct, frozen=True, kw_only=True):
    """A text that the model would get."""

    role: Literal["system", "user", "assistant"]
    text: str


class SamplingQuestion(Struct, frozen=True, kw_only=True):
    """Whether a server may ask the session's model something, beside the conversation."""

    texts: tuple[SampledText, ...]
    max_tokens: int
    model: str
    """Who would answer, by its provider's name."""
    price: str = ""
    """What a million tokens cost, read and written; empty when that is not known."""
    notes: tuple[str, ...] = ()
    """What else the server wanted and does not get, in sentences."""


class ServerQuestion(Struct, frozen=True, kw_only=True):
    """A question of a server. With an `address` it is whether the user visits that, and has no fields;
    with `sampling` whether it may ask the model."""

    server: str
    message: str
    fields: tuple[FormField, ...] = ()
    address: str = ""
    sampling: SamplingQuestion | None = None
    """What it wants to ask the model; yes with the scope `session` lets it ask without a question from then on."""


ApprovalPolicy = Literal["always", "on_write", "on_request", "never"]
SandboxMode = Literal["restricted", "strict", "none"]
"""What confines commands: `restricted` lets them write the workspace and a private temporary folder, `strict` only the
latter; neither has a network. `none` confines nothing."""

ApprovalScope = Literal["once", "session", "project", "always"]
RuleScope = Literal["session", "project", "always"]
"""How far a rule reaches: this session, every session in this folder, or every session."""

RuleEffect = Literal["allow", "ask", "forbid"]
RuleKind = Literal["command", "edit", "tool"]


class Rule(Struct, frozen=True, kw_only=True):
    """What the user decided once for calls to come.

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
    """An exact command's variables, input and shell, as the user was shown them. No other rule matches such calls."""
    workspace: str = ""
    """The folder of a `project` rule, absolute."""
    expires_at: datetime | None = None
    """When it ends; None: it does not."""
    is_unconfined: bool = False
    """Whether what it allows runs outside the sandbox. It then counts only in the repository in which it was made."""
    repository: str = ""
    """The top folder of that repository, absolute; without a repository, the command's folder. Empty: it counts
    nowhere."""
    repository_mark: Digest = ""
    """A mark of its configuration, hooks and attributes, and of the scripts that the command runs. When they change,
    the rule no longer counts."""


class ScopeOffer(Struct, frozen=True, kw_only=True):
    """One way to say yes, with its consequence in words: `Allow `pytest -q` in this session`."""

    scope: ApprovalScope
    label: str
    is_quick: bool = False
    """Whether one press may say it: the label has the whole rule, and what it allows neither destroys nor acts outward.
    Others take the dialog, where the rule is seen and chosen."""


class ScriptMark(Struct, frozen=True, kw_only=True):
    """A file that a command would run, and what identifies its content; empty when it is not there."""

    path: str
    mark: Digest


class SpendingQuestion(Struct, frozen=True, kw_only=True):
    """A limit of spending that is reached. The answer yes lets the session spend up to `until_usd`."""

    limit: Literal["session_usd", "day_usd"]
    """The setting, in its section `spending`."""
    day: date
    """In UTC, when it was reached."""
    limit_usd: float
    spent_usd: float
    """As far as it is known; for a day, by all sessions."""
    until_usd: float
    """When to ask again, counted like `spent_usd`."""


class ToolChange(Struct, frozen=True, kw_only=True):
    """How the definition of a server's tool differs from the one that the user allowed.

    The texts were written by the server; what cannot be seen stands in them by name.
    """

    server: str
    tool: str
    """The server's own name for it."""
    kind: Literal["changed", "unknown"]
    """`unknown`: no definition of the tool is on record as allowed. It may be new."""
    before: str = ""
    """The definition as it was allowed, in lines; empty when it is not known."""
    after: str
    diff: str
    """What differs, in lines that begin with `-`, `+` or a blank; all of it when there is nothing to compare with."""
    digest: Digest
    """Of the definition as it is now: a yes is for this one."""


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """Everything a user needs to decide about one call, ready to show; with `spending`, whether the turn goes on.

    With `question`, the call runs and its server asks: yes carries the answers, no declines.

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
    server: str = ""
    """The MCP server that would be called; empty for a tool of our own."""
    server_tool: str = ""
    """What that server calls the tool; `tool` is what the model calls it."""
    arguments: JsonObject = field(default_factory=dict[str, object])
    """What the tool would be called with, except what `command`, `changes` and `details` show in full."""
    explanation: str = ""
    changes: tuple[FileChange, ...] = ()
    risks: tuple[str, ...] = ()
    """Plain notes, found locally, on what makes this dangerous: deletes, network, history, credentials."""
    safety: tuple[str, ...] = ()
    """What is copied before it runs, and what is not, in sentences; empty when it does not destroy."""
    scopes: tuple[ScopeOffer, ...] = ()
    cause: str = ""
    """The part of the command, or the path, that made it a question. A substring of `command` when there is one."""
    confinement: str = ""
    """How it would run, in words: `In the sandbox: may write this folder, no network`."""
    is_escalation: bool = False
    """Whether this asks to run a command outside the sandbox."""
    rule_kind: RuleKind | None = None
    """What kind of rule would have answered this; None when no rule could."""
    scripts: tuple[ScriptMark, ...] = ()
    """The files that the command runs, as they were when it asked: a yes is for these."""
    rule_patterns: tuple[tuple[str, ...], ...] = ()
    """What such rules could say: for every part that needs one, its patterns from the narrowest to the widest.

    Outside the sandbox there is one part, and its first pattern is the whole line: a rule for exactly that."""
    repository: str = ""
    """For a command that would run outside the sandbox: where a rule for it would count, as in `Rule`."""
    repository_mark: Digest = ""
    spending: SpendingQuestion | None = None
    question: ServerQuestion | None = None
    tool_change: ToolChange | None = None
    """What changed about a server's tool since the user allowed it; a yes for more than once is for it as it is now."""
    tool_definition: str = ""
    """What a server says of its tool, in lines, while the user has not allowed it yet; cut, with nothing hidden."""


class Allowed(Struct, frozen=True, kw_only=True, tag_field="outcome", tag="allowed"):
    """Yes. `edited_command` replaces the command when the user changed it; the model learns of it."""

    scope: ApprovalScope = "once"
    edited_command: str | None = None
    judged: Digest | None = None
    """What was shown of the edited command, by `CommandJudged.digest`; None when it was not judged as it was edited."""
    rules: tuple[Rule, ...] = ()
    """Rules the user made of this answer. Without any, `scope` alone says what else is allowed from now on."""
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    """What the user filled in of a server's form, by the names of its fields; what was left empty is not there."""
    outcome: ClassVar[Literal["allowed"]] = "allowed"


class Denied(Struct, frozen=True, kw_only=True, tag_field="outcome", tag="denied"):
    """No, with a word to the model if the user gave one."""

    message: str = ""
    outcome: ClassVar[Literal["denied"]] = "denied"


class Aborted(Struct, frozen=True, kw_only=True, tag_field="outcome", tag="aborted"):
    """No answer: the turn was stopped, the front end went away, or no user is there to ask. Not approved."""

    reason: str
    outcome: ClassVar[Literal["aborted"]] = "aborted"


Decision = Allowed | Denied | Aborted
