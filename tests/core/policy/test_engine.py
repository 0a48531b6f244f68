"""What may run unasked, as a table."""

from dataclasses import replace

import pytest

from desktop_agent.core.model import Allowed, ApprovalPolicy, ApprovalRequest, Capability
from desktop_agent.core.policy.engine import EDITS, Allow, Ask, CallFacts, decide, grants_of, scope_offers

READ = CallFacts(tool="read_file", capabilities=("read_fs",))
EDIT = CallFacts(tool="edit_file", capabilities=("write_fs",))
SEARCH = CallFacts(tool="web_search", capabilities=("network",))
RUN = CallFacts(tool="run_terminal_cmd", capabilities=("exec_shell",), command="pytest -q")


@pytest.mark.parametrize(
    ("policy", "asks"),
    [
        ("always", [READ, EDIT, SEARCH, RUN]),
        ("on_write", [EDIT, SEARCH, RUN]),
        ("on_request", [SEARCH, RUN]),
        ("never", [SEARCH, RUN]),
    ],
)
def test_each_policy_asks_for_exactly_this(policy: ApprovalPolicy, asks: list[CallFacts]) -> None:
    verdicts = {facts.tool: decide(facts, policy, ()) for facts in (READ, EDIT, SEARCH, RUN)}
    assert {tool for tool, verdict in verdicts.items() if isinstance(verdict, Ask)} == {f.tool for f in asks}
    assert all(verdict.reason for verdict in verdicts.values() if isinstance(verdict, Ask))


@pytest.mark.parametrize("policy", ["always", "on_write", "on_request", "never"])
def test_a_command_that_nothing_confines_asks_under_every_policy(policy: ApprovalPolicy) -> None:
    assert isinstance(decide(RUN, policy, ()), Ask)


def test_a_granted_command_runs_and_any_other_one_asks() -> None:
    """The same words in another folder or with another environment are another command."""
    request = ApprovalRequest(
        call_id="c", tool="t", title="", reason="", arguments_digest="", command="pytest -q", cwd="/w"
    )
    grants = grants_of(request, Allowed(scope="session"))
    granted = replace(RUN, folder="/w")
    assert decide(granted, "on_write", grants) == Allow()
    others = (
        replace(granted, command="pytest -q; rm -rf ~"),
        replace(granted, folder="/elsewhere"),
        replace(granted, details=("Variables: PATH=/tmp/evil",)),
    )
    assert all(isinstance(decide(other, "on_write", grants), Ask) for other in others)


def test_granted_edits_run_but_no_command_does() -> None:
    assert decide(EDIT, "on_write", {EDITS}) == Allow()
    assert isinstance(decide(RUN, "on_write", {EDITS}), Ask)


@pytest.mark.parametrize(
    ("capabilities", "command", "labels"),
    [
        (("read_fs",), None, ["Allow once"]),
        (("write_fs",), None, ["Allow once", "Allow edits in this session"]),
        (("exec_shell",), "ls -l", ["Allow once", "Allow `ls -l` in this session"]),
    ],
)
def test_every_way_to_say_yes_says_what_it_means(
    capabilities: tuple[Capability, ...], command: str | None, labels: list[str]
) -> None:
    facts = CallFacts(tool="t", capabilities=capabilities, command=command)
    assert [offer.label for offer in scope_offers(facts)] == labels


def test_an_edited_command_is_granted_as_it_was_edited() -> None:
    request = ApprovalRequest(call_id="c", tool="t", title="", reason="", arguments_digest="", command="rm x")
    grants = grants_of(request, Allowed(scope="session", edited_command="ls"))
    assert decide(replace(RUN, command="ls"), "on_write", grants) == Allow()
    assert isinstance(decide(replace(RUN, command="rm x"), "on_write", grants), Ask)
    assert grants_of(request, Allowed(scope="once")) == set()
