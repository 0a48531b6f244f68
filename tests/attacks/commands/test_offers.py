"""One press makes a rule only for a short command that neither destroys nor acts outward."""

import pytest

from desktop_agent.core.policy.destructive import losses_of
from desktop_agent.core.policy.engine import Ask
from desktop_agent.core.policy.offers import LONGEST_QUICK, rules_of, scope_offers
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest
from tests.attacks.commands.lines import lines_of
from tests.core.policy.lines import NOW, WORK, bare, run, sandboxed, verdict

TABLE = lines_of("offers")


def _is_quick(command: str, *, is_bare: bool) -> bool:
    question = verdict(command, (bare if is_bare else sandboxed)("on_write"))
    assert isinstance(question, Ask), command
    return any(offer.is_quick for offer in scope_offers(run(command), question))


@pytest.mark.parametrize("is_bare", [True, False])
def test_only_short_harmless_commands_become_rules_by_one_press(is_bare: bool) -> None:
    wrong = [line.command for line in TABLE if _is_quick(line.command, is_bare=is_bare) != (line.verdict == "quick")]
    assert wrong == []


def test_what_destroys_is_known_to_destroy() -> None:
    lines = [line.command for line in TABLE if line.verdict == "destroys"]
    assert [line for line in lines if not any(loss.is_destructive for loss in losses_of(parse(line), WORK))] == []


def test_an_answer_without_rules_makes_one_that_can_be_read_whole() -> None:
    for line in TABLE:
        question = verdict(line.command, sandboxed("on_write"))
        assert isinstance(question, Ask)
        request = ApprovalRequest(
            call_id="c",
            tool="run_terminal_cmd",
            title="",
            reason="",
            arguments_digest="",
            command=line.command,
            cwd=WORK,
            rule_kind=question.rule_kind,
            rule_patterns=question.rule_patterns,
        )
        (made,) = rules_of(request, Allowed(scope="session"), now=NOW, workspace=WORK)
        assert made.is_exact or len(made.pattern) <= LONGEST_QUICK, line.command
        assert not made.is_exact or made.pattern == line.command
