"""Which calls a rule means, when it counts, and what a user is offered."""

from datetime import timedelta

import pytest

from desktop_agent.core.policy.call import CallFacts, PolicyContext
from desktop_agent.core.policy.engine import Allow, Ask, Forbid, decide
from desktop_agent.core.policy.rules import in_force, matching_rule, patterns_for, validate_pattern
from desktop_agent.core.protocol.model import Rule
from tests.core.policy.lines import NOW, WORK, bare, rule, run, sandboxed, verdict


def would_match(one: Rule, command: str, *, folder: str, workspace: str = WORK) -> bool:
    """Whether `one` alone decides a command line."""
    call = CallFacts(tool="run_terminal_cmd", capabilities=("exec_shell",), command=command, folder=folder)
    context = PolicyContext(policy="always", now=NOW, rules=(one,), workspace=workspace)
    return matching_rule(call, context) is not None


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push", "git push"), ("git push", "git push origin main"), ("git push", "git status && git push"),
        ("git push", "FORCE_COLOR=1 git push"), ("git push", "timeout 9 git push | tail -3"), ("git push",
        "'git' pu\"sh\""),
        ("git push", "bash -c 'git push'"), ("pytest", "cd src && pytest -q"), ("pytest", "pytest > out.txt 2>&1"),
        ("git push", "/usr/bin/git push"), ("ssh host", "ssh host rm x"),
    ],
)  # fmt: skip
def test_an_allow_rule_means_a_line_whose_every_command_it_names_or_only_reads(pattern: str, command: str) -> None:
    assert would_match(rule(pattern), command, folder=WORK, workspace=WORK)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push", "git pushx"), ("git push", "git"), ("git push", "git push; rm x"), ("git push", "git push && $X"),
        ("git push", "git push $X"), ("git push", "git push $(rm x)"), ("git push", "sudo git push"), ("git",
        "PATH=x git a"),
        ("git push", "GIT_SSH_COMMAND=./x git push"), ("git push", "./git push"), ("git push", "/tmp/git push"),
        ("git push", "xargs git push"), ("git push", "eval $X git push"), ("git push", "git push 'x"),
        ("pytest", "pytest > /x"),
        ("pytest", "pytest > ../x"), ("pytest", "pytest > .git/config"), ("pytest", "pytest > .env"),
        ("pytest", "pytest > $X"),
        ("pytest", "cd .. && pytest"), ("pytest", "cd $X && pytest"), ("pytest", "cd .git && pytest > config"),
        ("pytest", "cd a && pytest > ../../x"), ("pytest", "pytest() { rm x; }; pytest"), ("find",
        "find . -exec rm {} +"),
        ("git push", "git push *"), ("pytest", "pytest | tee x"), ("pytest", "{ pytest; } > x"), ("pytest", ""),
        ("git push", "GIT PUSH"), ("git push", "git -C x push"), ("sudo make", "sudo make"), ("git push", "git status"),
    ],
)  # fmt: skip
def test_an_allow_rule_means_nothing_else(pattern: str, command: str) -> None:
    assert not would_match(rule(pattern), command, folder=WORK, workspace=WORK)


def test_forbid_beats_ask_and_ask_beats_allow() -> None:
    allow, ask, forbid = (rule("git push", effect=effect, is_unconfined=True) for effect in ("allow", "ask", "forbid"))
    assert isinstance(verdict("git push", sandboxed("on_write", allow)), Allow)
    asked = verdict("git push", sandboxed("on_request", allow, ask))
    assert isinstance(asked, Ask)
    assert "rule of yours" in asked.reason
    assert isinstance(verdict("git push", sandboxed("on_request", allow, ask, forbid)), Forbid)


def test_an_asking_rule_asks_for_what_would_be_free() -> None:
    assert isinstance(verdict("git status", sandboxed("on_request", rule("git", effect="ask"))), Ask)
    assert isinstance(verdict("git status", sandboxed("never", rule("git", effect="ask"))), Forbid)


def test_rules_for_several_commands_work_together() -> None:
    both = (rule("make", is_unconfined=True), rule("pytest"))
    assert isinstance(verdict("make && pytest", sandboxed("on_write", both[0])), Ask)
    assert verdict("make && pytest", sandboxed("on_write", *both)) == Allow("restricted", both[1])  # the least of them


def test_a_rule_made_in_the_sandbox_does_not_run_anything_open() -> None:
    """Never silently run open: without the sandbox only a rule that says so counts."""
    assert isinstance(verdict("make", bare("on_write", rule("make"))), Ask)
    assert verdict("make", bare("on_write", rule("make", is_unconfined=True))).__class__ is Allow
    assert isinstance(verdict("git push", sandboxed("on_request", rule("git push"))), Ask)
    assert verdict("git push", sandboxed("on_request", free := rule("git push", is_unconfined=True))) == Allow(
        "none", free
    )
    wants = run("make", wants_unconfined=True)
    assert isinstance(decide(wants, sandboxed("on_request", rule("make"))), Ask)
    assert isinstance(decide(wants, sandboxed("on_request", rule("make", is_unconfined=True))), Allow)


def test_an_expired_rule_does_not_count() -> None:
    ending = rule("make", expires_at=NOW)
    assert not in_force(ending, NOW, WORK)
    assert in_force(ending, NOW - timedelta(seconds=1), WORK)
    assert isinstance(verdict("make", sandboxed("on_write", ending)), Ask)


def test_a_projects_rule_counts_in_its_folder_only() -> None:
    ours, theirs = (rule("make", scope="project", workspace=folder) for folder in (WORK, "/home/me/other"))
    assert isinstance(verdict("make", sandboxed("on_write", ours)), Allow)
    assert isinstance(verdict("make", sandboxed("on_write", theirs)), Ask)
    assert not in_force(rule("make", scope="project"), NOW, "")


def test_an_exact_rule_means_the_line_its_folder_and_its_details() -> None:
    exact = rule("make $X", is_exact=True, folder=WORK, details=("Variables: A=1",))
    context = sandboxed("on_write", exact)
    call = run("make $X", details=("Variables: A=1",))
    assert isinstance(decide(call, context), Allow)
    for other in (
        run("make $X"),
        run("make  $X", details=call.details),
        run("make $X", details=call.details, folder="/elsewhere"),
        run("make $X", details=("Variables: PATH=/tmp/evil",)),
    ):
        assert isinstance(decide(other, context), Ask)


def test_a_call_with_details_is_no_plain_call() -> None:
    """The same words with other variables or another shell are another command."""
    assert isinstance(decide(run("make", details=("Shell: fish",)), sandboxed("on_write", rule("make"))), Ask)
    assert isinstance(decide(run("git status", details=("Variables: PATH=x",)), sandboxed("on_write")), Ask)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git push origin main", (("git push origin main", "git push", "git"),)),
        ("ls && pytest -q tests", (("pytest -q tests", "pytest"),)),
        ("make && pytest", (("make",), ("pytest",))),
        ("make; make", (("make",),)),
        ("python x.py -v", (("python x.py -v", "python x.py"),)),
        ("python -m pytest -q", (("python -m pytest -q", "python -m pytest"),)),
        ("rm -rf build", (("rm -rf build",),)),
        ("npm run test -- x", (("npm run test -- x", "npm run test", "npm"),)),
        ("git commit -m 'a b'", (("git commit -m 'a b'", "git commit", "git"),)),
        ("bash x.sh a", (("bash x.sh a", "bash x.sh"),)),
        ("timeout 5 make", (("make",),)),
        ("ls", ()), ("sudo make", ()), ("$X", ()), ("make $X", ()), ("echo 'x", ()), ("PATH=x make", ()),
        ("xargs make", ()),
    ],
)  # fmt: skip
def test_patterns_go_from_the_narrowest_to_the_widest_that_is_sensible(
    command: str, expected: tuple[tuple[str, ...], ...]
) -> None:
    assert patterns_for(command) == expected
    for patterns in expected:
        for pattern in patterns:
            assert validate_pattern("command", pattern) is None
    if len(expected) == 1:
        assert all(would_match(rule(pattern), command, folder=WORK) for pattern in expected[0])


@pytest.mark.parametrize(
    ("kind", "pattern", "word"),
    [
        ("command", "", "empty"), ("command", "a | b", "several"), ("command", "a && b", "several"),
        ("command", "sudo make", "sudo"),
        ("command", "env", "env"), ("command", "A=1 make", "variables"), ("command", "python", "runs any program"),
        ("command", "bash", "runs any program"), ("command", "rm -rf", "works on"), ("command", "make $X",
        "as they are"),
        ("command", "make 'x", "quotes"), ("command", "make > x", "redirections"), ("command", "ls", "only reads"),
        ("command", "bash -c 'make'", "looked through"), ("command", "node", "runs any program"), ("command",
        "make *", "wildcards"),
        ("edit", "/etc/x", "outside"), ("edit", "../x", "outside"), ("edit", "~/x", "outside"), ("edit",
        ".git/**", "git"),
        ("edit", "a\\b", "/"), ("tool", "a b", "name"),
    ],
)  # fmt: skip
def test_a_pattern_that_cannot_work_says_why(kind: str, pattern: str, word: str) -> None:
    said = validate_pattern(kind, pattern)  # pyright: ignore[reportArgumentType]  # a table's text
    assert said is not None
    assert word in said


def test_a_pattern_that_works_says_nothing() -> None:
    assert validate_pattern("edit", "src/**") is None
    assert validate_pattern("tool", "web_*") is None


@pytest.mark.parametrize("effect", ["forbid", "ask"])
def test_a_line_that_names_a_program_thousands_of_times_is_not_looked_through_for_ever(effect: str) -> None:
    """Every word of `git git git …` may be a command of its own; ten rules then took half a minute."""
    rules = [rule("git push", effect=effect), rule("git -x foo", effect=effect)] * 10
    found = verdict("git " * 2_900, sandboxed("on_request", *rules, blocked_commands=("git push",)))
    assert isinstance(found, Ask)
    assert "not fully understood" in found.reason


def test_outside_the_sandbox_no_rule_is_a_program_that_runs_any_other() -> None:
    """`git -c alias.x='!sh'` is git, too."""
    evil = run("git -c alias.x='!sh -c evil' x")
    wide, narrow = rule("git", is_unconfined=True), rule("git push", is_unconfined=True)
    assert isinstance(decide(evil, bare("on_write", wide)), Ask)
    assert isinstance(decide(run("git push"), bare("on_write", wide)), Ask)
    assert isinstance(decide(run("git push"), bare("on_write", narrow)), Allow)
    question = verdict("git push origin", bare("on_write"))
    assert isinstance(question, Ask)
    assert question.rule_patterns == (("git push origin", "git push"),)


def test_a_rule_that_asks_keeps_what_the_question_says_of_leaving_the_sandbox() -> None:
    question = verdict("git push", sandboxed("on_request", rule("git push", effect="ask")))
    assert isinstance(question, Ask)
    assert question.is_escalation
    assert "A rule of yours asks" in question.reason
