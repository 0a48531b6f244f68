"""A blocked program is forbidden where it is found, and a line that names it by a later word asks."""

from collections.abc import Callable

import pytest

from desktop_agent.core.policy.engine import Allow, Ask, Forbid, Verdict
from tests.attacks.commands.lines import lines_of
from tests.core.policy.lines import bare, rule, sandboxed, verdict

BLOCKED = ("rm", "shutdown", "git push", "dd if=")
TABLE = lines_of("blocked")
WIDE = tuple(rule(name) for name in ("echo", "cat", "touch", "make", "./runner", "prlimit", "git commit", "grep"))

_JUDGES: dict[str, Callable[[Verdict], bool]] = {
    "forbidden": lambda found: isinstance(found, Forbid),
    "stopped": lambda found: isinstance(found, Forbid | Ask),
    "names": lambda found: isinstance(found, Ask),
    "free": lambda found: isinstance(found, Allow),
}


@pytest.mark.parametrize("judged_as", _JUDGES)
def test_a_blocked_program_is_started_by_no_line(judged_as: str) -> None:
    lines = [line.command for line in TABLE if line.verdict == judged_as]
    assert lines
    context = sandboxed("on_request", *WIDE, blocked_commands=BLOCKED)
    assert [line for line in lines if not _JUDGES[judged_as](verdict(line, context))] == []


@pytest.mark.parametrize("policy", ["always", "on_write", "on_request", "never"])
def test_what_is_stopped_is_stopped_under_every_policy_and_every_sandbox(policy: str) -> None:
    contexts = [
        sandboxed(policy, *WIDE, blocked_commands=BLOCKED),
        sandboxed(policy, *WIDE, blocked_commands=BLOCKED, sandbox="strict"),
        bare(policy, *(rule(made.pattern, is_unconfined=True) for made in WIDE), blocked_commands=BLOCKED),
    ]
    lines = [line.command for line in TABLE if line.verdict != "free"]
    assert [line for line in lines for context in contexts if isinstance(verdict(line, context), Allow)] == []


def test_a_rule_that_forbids_holds_like_the_setting() -> None:
    """The words of the setting as rules: a program named by a later word is not run unasked either."""
    forbidding = tuple(rule(pattern, effect="forbid") for pattern in BLOCKED)
    context = sandboxed("on_request", *WIDE, *forbidding)
    for line in TABLE:
        assert _JUDGES[line.verdict](verdict(line.command, context)), line.command
