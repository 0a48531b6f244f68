"""The approval policy: a pure decision whether a call may run, must be asked about, or is out of the question."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from desktop_agent.core.model import Allowed, ApprovalPolicy, ApprovalRequest, Capability, ScopeOffer

Grant = str
"""Something the person allowed for the rest of the session: `edits`, or one exact command as it was shown."""

EDITS: Grant = "edits"


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The person decides. `reason` says, in a sentence, why they are asked."""

    reason: str


@dataclass(frozen=True, slots=True)
class Forbid:
    """The call will not run, whatever anybody says. `reason` is for the model and the person."""

    reason: str


Verdict = Allow | Ask | Forbid


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What the decision is about."""

    tool: str
    capabilities: tuple[Capability, ...]
    command: str | None = None
    """The command line, for tools that run one."""
    folder: str = ""
    """Where the command would run."""
    details: tuple[str, ...] = ()
    """What else decides what would run; the same command with another environment is another command."""


def decide(call: CallFacts, policy: ApprovalPolicy, grants: Collection[Grant]) -> Verdict:
    """Return the verdict on `call` under `policy`, given what was already granted in this session.

    Commands are not confined by anything yet, so no policy but the person's own grant lets one run unasked.
    """
    if policy == "always" and not _is_granted(call, grants):
        return Ask("Your approval policy asks before every call.")
    if call.command is not None:
        if _is_granted(call, grants):
            return Allow()
        return Ask("A command can change anything your account can, so it asks first.")
    if "network" in call.capabilities:
        return Ask("This uses the network.")
    if "write_fs" in call.capabilities and policy == "on_write" and not _is_granted(call, grants):
        return Ask("This changes files, and your approval policy asks before writing.")
    return Allow()


def grants_of(request: ApprovalRequest, answer: Allowed) -> set[Grant]:
    """What the person granted beyond this one call by this answer; an edited command is granted as edited."""
    if answer.scope == "once":
        return set()
    if request.command is not None:
        return {_command_grant(answer.edited_command or request.command, request.cwd, request.details)}
    return {EDITS} if request.changes else set()


def scope_offers(call: CallFacts) -> tuple[ScopeOffer, ...]:
    """The ways to say yes to this call, each with its consequence in words."""
    once = ScopeOffer(scope="once", label="Allow once")
    match _grant(call):
        case None:
            return (once,)
        case grant if grant == EDITS:
            return (once, ScopeOffer(scope="session", label="Allow edits in this session"))
        case _:
            return (once, ScopeOffer(scope="session", label=f"Allow `{call.command}` in this session"))


def _is_granted(call: CallFacts, grants: Collection[Grant]) -> bool:
    grant = _grant(call)
    return grant is not None and grant in grants


def _grant(call: CallFacts) -> Grant | None:
    if call.command is not None:
        return _command_grant(call.command, call.folder, call.details)
    return EDITS if "write_fs" in call.capabilities else None


def _command_grant(command: str, folder: str, details: tuple[str, ...]) -> Grant:
    return "command:" + json.dumps([command, folder, *details])
