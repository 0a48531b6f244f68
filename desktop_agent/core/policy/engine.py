"""The approval policy: a pure decision whether a call is allowed, must be put to the user, or is forbidden.

```
forbid rules, blocked commands, .git, nothing writable   → Forbid
ask rules, request_approval, secrets in commands         → Ask
the user's allow rules                                   → Allow, except for a server's tool that has changed since
what the policy leaves free, commands by their sandbox   → Allow
everything else                                          → Ask
```

Under the policy `never`, calls that would be asked are forbidden. Nothing here reads the disk or the clock.
"""

import posixpath

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.policy.paths import inside, normalized, sensitivity
from desktop_agent.core.policy.read_only_commands import only_reads
from desktop_agent.core.policy.risks import Risk, needs_network, outside_paths, risks_of, secret_in, writes_git
from desktop_agent.core.policy.rules import (
    forbidding_patterns,
    freeing_rule,
    matching_rule,
    mentioned,
    names_any,
    patterns_for,
    patterns_outside,
    stale_rule,
)
from desktop_agent.core.policy.segments import ParsedCommand
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.model import Rule, RuleKind, SandboxMode

CONFINEMENT_WORDS: dict[SandboxMode, str] = {
    "strict": "In the sandbox: may write nothing, no network",
    "restricted": "In the sandbox: may write this folder, no network",
    "none": "Not sandboxed: has all the rights of your account",
}
"""How a command will run, in words for the user. Journals contain these words, and are read by them."""

FORMER_UNCONFINED = "Not confined: may do whatever your account may"
"""The former wording of `none`, which older journals still have."""


class Allow(Struct, frozen=True):
    """The call may run, a command under `confinement`. `rule` is the user's rule that allowed the call, if any."""

    confinement: SandboxMode | None = None
    rule: Rule | None = None


class Ask(Struct, frozen=True):
    """The user must be asked. `reason` is a sentence for the user; `cause` is what raised the question."""

    reason: str
    cause: str = ""
    risks: tuple[str, ...] = ()
    confinement: SandboxMode | None = None
    is_escalation: bool = False
    is_once: bool = False
    """Whether no rule could ever answer this question, so that a yes holds for this call only."""
    is_by_rule: bool = False
    """Whether a rule of the user's wants the question."""
    rule_kind: RuleKind | None = None
    rule_patterns: tuple[tuple[str, ...], ...] = ()
    """As in `ApprovalRequest`. A command without any can only be allowed by its exact text."""
    standing: Rule | None = None
    """The rule that allowed the server's tool before the tool changed. It does not apply to the changed tool."""

    @property
    def is_waivable(self) -> bool:
        """Whether something of the user's other than a rule may answer: only what a rule could answer, too."""
        return self.rule_kind is not None and not self.is_once and not self.is_by_rule and self.standing is None

    @property
    def confinement_words(self) -> str:
        return CONFINEMENT_WORDS[self.confinement] if self.confinement else ""


class Forbid(Struct, frozen=True):
    reason: str


Verdict = Allow | Ask | Forbid


def decide(call: CallFacts, context: PolicyContext) -> Verdict:
    rule = matching_rule(call, context, "forbid")
    if rule is not None:
        return Forbid(f"A rule of the user forbids this: `{rule.pattern}`.")
    if call.command is not None:
        verdict = _decide_command(_Command.of(call, context, call.command))
    elif call.asks:
        verdict = Ask(call.asks)
    elif call.source == "external":
        verdict = _decide_external(call, context)
    elif "network" in call.capabilities:
        verdict = _by_tool_rule(call, context, "This uses the network.")
    elif "write_fs" in call.capabilities:
        verdict = _decide_edit(call, context)
    else:
        verdict = _decide_reading(call, context)
    return refused(verdict) if isinstance(verdict, Ask) and context.policy == "never" else verdict


def refused(question: Ask) -> Forbid:
    """Return what a question is under the policy that never asks."""
    return Forbid(f"{question.reason} Your approval policy never asks, so this was refused. Adapt, or do without it.")


def _decide_reading(call: CallFacts, context: PolicyContext) -> Verdict:
    if call.disguised:  # no rule is offered, because its label would not name the secret
        path, secret = call.disguised[0]
        text = f"`{path}` is another name (a hard link) of `{secret}`, which often holds secrets"
        return Ask(f"{text}, and what is read goes to the model.", cause=path)
    secrets = [path for path in call.paths if sensitivity(path) == "secret"]
    if secrets:
        reason = f"`{secrets[0]}` often holds secrets, and what is read goes to the model."
        return _unless_allowed(call, context, _about_paths(reason, secrets, secrets[0]))
    return _by_tool_rule(call, context, _ALWAYS) if context.policy == "always" else _free(call, context)


def _free(call: CallFacts, context: PolicyContext) -> Verdict:
    asked = matching_rule(call, context, "ask")
    return Ask(_asked_by(asked), is_by_rule=True) if asked else Allow()


def _decide_edit(call: CallFacts, context: PolicyContext) -> Verdict:
    kinds = {path: sensitivity(path) for path in call.paths}
    if git := next((path for path, kind in kinds.items() if kind == "git"), None):
        return Forbid(f"`{git}` belongs to git, and edit tools never write git's own files. Use git commands instead.")
    if context.sandbox == "strict":
        return Forbid("The sandbox is strict: nothing may be written. Say what you would change instead.")
    special = [path for path, kind in kinds.items() if kind is not None]
    if special:
        what = "often holds secrets" if kinds[special[0]] == "secret" else "decides how this assistant works here"
        return _unless_allowed(call, context, _about_paths(f"`{special[0]}` {what}.", special, special[0]))
    reason = (
        _ALWAYS if context.policy == "always" else "This changes files, and your approval policy asks before writing."
    )
    if context.policy in ("always", "on_write"):
        return _unless_allowed(call, context, _about_paths(reason, call.paths, ""))
    return _free(call, context)


def _decide_external(call: CallFacts, context: PolicyContext) -> Verdict:
    if call.capabilities == ("read_fs",) and context.policy != "always":
        return _free(call, context)
    own = "This tool belongs to an MCP server." if call.server else "This tool is not part of the application."
    verdict = _by_tool_rule(call, context, _ALWAYS if context.policy == "always" else own)
    if not call.tool_change:
        return verdict
    note, reason = _TOOL_CHANGES[call.tool_change]
    if isinstance(verdict, Allow) and verdict.rule is not None:  # the rule was made for an earlier version of the tool
        return Ask(reason.format(verdict.rule.pattern), risks=(note,), standing=verdict.rule)
    is_changed = isinstance(verdict, Ask) and call.tool_change == "changed"
    return replace(verdict, risks=(note,)) if is_changed else verdict


_TOOL_CHANGES = {
    "changed": (
        "The server changed this tool since you allowed it.",
        "Your rule `{}` is for this tool as it was. It applies again once you allow the tool as it is now.",
    ),
    "unknown": (
        "There is no record that you allowed this tool. It may be new.",
        "Your rule `{}` applies to this tool once you allow it as it is now.",
    ),
}


def _by_tool_rule(call: CallFacts, context: PolicyContext, reason: str) -> Verdict:
    patterns = (call.tool, f"{call.server}__*") if call.server else (call.tool,)
    return _unless_allowed(call, context, Ask(reason, rule_kind="tool", rule_patterns=(patterns,)))


def _unless_allowed(call: CallFacts, context: PolicyContext, question: Ask) -> Verdict:
    rule = matching_rule(call, context)
    if rule is None:
        return question
    return Allow(rule=rule) if rule.effect == "allow" else replace(question, reason=_asked_by(rule), is_by_rule=True)


def _about_paths(reason: str, paths: tuple[str, ...] | list[str], cause: str) -> Ask:
    patterns = tuple((path,) for path in paths) if cause else _edit_patterns(paths)
    if any(sign in path for path in paths for sign in "*?"):  # read as a glob, such a name means other files, too
        return Ask(reason, cause=cause) if cause else Ask(reason, rule_kind="edit", rule_patterns=(("**",),))
    return Ask(reason, cause=cause, rule_kind="edit", rule_patterns=patterns)


def _edit_patterns(paths: tuple[str, ...] | list[str]) -> tuple[tuple[str, ...], ...]:
    if len(paths) > _MOST_FILES:
        return (_folder_patterns(posixpath.commonpath([posixpath.join(".", path) for path in paths])),)
    return tuple((path, *_folder_patterns(posixpath.dirname(path))) for path in paths) or (("**",),)


def _folder_patterns(folder: str) -> tuple[str, ...]:
    plain = normalized(folder)
    return ("**",) if plain == "." or "*" in plain or "?" in plain else (f"{plain}/**", "**")


_MOST_FILES = 3


def _asked_by(rule: Rule) -> str:
    return f"A rule of yours asks before this: `{rule.pattern}`."


_ALWAYS = "Your approval policy asks before every call."


class _Command(Struct, frozen=True):
    call: CallFacts
    context: PolicyContext
    parsed: ParsedCommand
    only_reads: bool
    need: Risk | None = None

    @classmethod
    def of(cls, call: CallFacts, context: PolicyContext, command: str) -> "_Command":
        parsed = parse(command, is_for_sh=context.shell == "sh")
        reads = only_reads(parsed) and not call.details
        return cls(call, context, parsed, reads, None if reads else _need(parsed, call, context))

    def ask(self, reason: str, *, cause: str = "", confinement: SandboxMode, is_escalation: bool = False) -> Ask:
        risks = risks_of(self.parsed, self.call.folder, self.context.workspace)
        patterns = patterns_outside if confinement == "none" else patterns_for
        return Ask(
            reason,
            cause=cause or next((risk.cause for risk in risks if risk.cause), ""),
            risks=tuple(risk.note for risk in risks),
            confinement=confinement,
            is_escalation=is_escalation,
            rule_kind="command",
            rule_patterns=() if self.call.details else patterns(self.parsed),
        )


def _decide_command(command: _Command) -> Verdict:
    call, context = command.call, command.context
    if not command.parsed.text.strip():
        return Forbid("Command must not be empty")
    forbidden = (*context.blocked_commands, *forbidding_patterns(context))
    answers = {pattern: names_any(pattern, command.parsed) for pattern in forbidden}
    if found := next((pattern for pattern, answer in answers.items() if answer == "yes"), None):
        return Forbid(f"Command contains blocked pattern: {found}")
    question = _question(command)
    if not context.shell:
        return _only_once(_asked(command, question, _NO_SHELL))
    if "maybe" in answers.values():
        reason = "This command was not fully understood, so it may contain one that you blocked."
        return _only_once(_asked(command, question, reason))
    rule = matching_rule(call, context)
    named = _named_later(command, forbidden)
    if named is not None and (rule is None or rule.effect != "allow" or not rule.is_exact):
        # A pattern does not say what the words behind it start. Only allowing the exact line does.
        return replace(_asked(command, question, named.note), cause=named.cause, rule_patterns=())
    if rule is not None and rule.effect == "ask":
        return replace(_asked(command, question, _asked_by(rule)), is_by_rule=True)
    if secret := secret_in(command.parsed):
        return _about_secret(command, question, secret)
    if (freeing := freeing_rule(call, context)) is not None and _may_leave(command):
        return Allow("none", freeing)
    if question is None:
        return Allow(_free_confinement(command), rule)
    if rule is not None and context.is_confined and not question.is_escalation:
        return Allow(question.confinement, rule)
    if _may_leave(command) and (stale := stale_rule(call, context)) is not None:
        return replace(question, risks=(_why_stale(stale, call), *question.risks))
    return question


def _why_stale(rule: Rule, call: CallFacts) -> str:
    if not (rule.repository and rule.repository_mark):
        return f"Your rule `{rule.pattern}` does not say in which repository it was made, so it no longer applies."
    if not call.repository:
        return f"Your rule `{rule.pattern}` does not apply here, because the command changes to another folder."
    if rule.repository != call.repository:
        return f"Your rule `{rule.pattern}` was made in another repository, so it does not apply here."
    return f"Your rule `{rule.pattern}` no longer applies, because something that it runs here has changed."


_NO_SHELL = (
    "This system has neither bash nor sh, so commands cannot be checked. Install bash to have them checked again."
)


def _about_secret(command: _Command, question: Ask | None, secret: Risk) -> Ask:
    asked = _asked(command, question, secret.note)
    if question is not None and question.confinement == "none":
        asked = replace(asked, risks=(question.reason, *asked.risks))
    return replace(_only_once(asked), cause=secret.cause)


def _only_once(asked: Ask) -> Ask:
    return replace(asked, is_once=True, rule_kind=None, rule_patterns=())


def _named_later(command: _Command, forbidden: tuple[str, ...]) -> Risk | None:
    for pattern in forbidden:
        if word := mentioned(pattern, command.parsed):
            note = f"This command mentions `{pattern}`, which you blocked. Another program may start it."
            return Risk(note, word if word in command.parsed.text else "")
    return None


def _question(command: _Command) -> Ask | None:
    call, context = command.call, command.context
    if call.agent and call.wants_unconfined:
        return command.ask(f"{call.agent} runs its commands outside the sandbox.", confinement="none")
    if not context.is_confined:
        return command.ask(_why_unconfined(context), confinement="none")
    if call.wants_unconfined:
        why = f" It says: {call.justification}" if call.justification else ""
        reason = f"The model asks to run this outside the sandbox.{why}"
        return command.ask(reason, confinement="none", is_escalation=True)
    if context.sandbox == "strict" or command.only_reads:
        return command.ask(_ALWAYS, confinement="strict") if context.policy == "always" else None
    if command.need is not None and context.policy != "never":
        reason = f"{command.need.note} The sandbox blocks that, so the command would run outside it."
        return command.ask(reason, cause=command.need.cause, confinement="none", is_escalation=True)
    match context.policy:
        case "always":
            return command.ask(_ALWAYS, confinement="restricted")
        case "on_write":
            reason = "A command may change files, and your approval policy asks before writing."
            return command.ask(reason, confinement="restricted")
        case "on_request" | "never":
            return None


def _may_leave(command: _Command) -> bool:
    context = command.context
    return (
        not context.is_confined
        or command.call.wants_unconfined
        or (context.sandbox != "strict" and not command.only_reads)
    )


def _free_confinement(command: _Command) -> SandboxMode:
    return "strict" if command.only_reads or command.context.sandbox == "strict" else "restricted"


def _asked(command: _Command, question: Ask | None, reason: str) -> Ask:
    if question is None:
        return command.ask(reason, confinement=_free_confinement(command))
    return replace(question, reason=reason)


def _why_unconfined(context: PolicyContext) -> str:
    if context.sandbox == "none":
        return "A command can change anything your account can: the sandbox is switched off."
    return (
        "A command can change anything your account can, because no sandbox is available here. "
        "`desktop-agent doctor` says why."
    )


def _need(parsed: ParsedCommand, call: CallFacts, context: PolicyContext) -> Risk | None:
    for segment in parsed.segments:
        source = parsed.source(segment)
        if "sudo" in segment.wrappers or "doas" in segment.wrappers:
            return Risk("This needs administrator rights.", source)
        if needs_network(segment):
            return Risk("This needs the network.", source)
        if writes_git(segment):
            return Risk("This writes git's own files.", source)
        writes = [r.target.text for r in segment.redirections if r.is_write]
        outside = outside_paths(segment, call.folder, context.workspace)
        beyond = [path for path in outside if not _is_writable(path, context)]
        if beyond and (segment.program in _WRITERS or set(writes) & set(beyond)):
            return Risk(f"This reaches outside the workspace ({beyond[0]}).", source)
    return None


def _is_writable(path: str, context: PolicyContext) -> bool:
    """Whether the call can write to a path. `/tmp` counts: the sandbox has its own."""
    return any(inside(path, "/", folder) is not None for folder in (*context.writable_folders, _TEMPORARY))


_TEMPORARY = "/tmp"  # noqa: S108  # nothing is made there: only what commands name is compared with it
_WRITERS = frozenset(
    {"rm", "rmdir", "mv", "cp", "mkdir", "touch", "tee", "ln", "install", "chmod", "chown", "truncate", "dd"}
)
