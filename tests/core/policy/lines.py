"""Short ways to the policy's decisions, for tests."""

from datetime import UTC, datetime
from typing import Any

from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.policy.engine import Verdict, decide
from desktop_agent.core.protocol.model import Rule

NOW = datetime(2026, 11, 22, 4, 0, tzinfo=UTC)
WORK = "/home/me/work"


HERE = {"repository": WORK, "repository_mark": "as it was"}


def rule(pattern: str, **fields: Any) -> Rule:
    """Return a rule that allows a command in this session, unless `fields` say otherwise."""
    usual: dict[str, Any] = {"id": pattern, "effect": "allow", "kind": "command", "scope": "session", "created_at": NOW}
    usual |= HERE if fields.get("is_unconfined") else {}
    return Rule(pattern=pattern, **(usual | fields))


def run(command: str, **fields: Any) -> CallFacts:
    usual: dict[str, Any] = {"tool": "run_terminal_cmd", "capabilities": ("exec_shell",), "folder": WORK} | HERE
    return CallFacts(command=command, **(usual | fields))


def sandboxed(policy: str = "on_write", *rules: Rule, **fields: Any) -> PolicyContext:
    usual: dict[str, Any] = {"now": NOW, "workspace": WORK, "is_sandbox_available": True}
    return PolicyContext(policy=policy, rules=rules, **(usual | fields))  # pyright: ignore[reportArgumentType]  # a table's text


def bare(policy: str = "on_write", *rules: Rule, **fields: Any) -> PolicyContext:
    return sandboxed(policy, *rules, is_sandbox_available=False, **fields)


def verdict(command: str, context: PolicyContext) -> Verdict:
    return decide(run(command), context)
