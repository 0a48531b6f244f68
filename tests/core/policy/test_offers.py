"""The offered answers, and the rules that they make."""

import pytest
from msgspec.structs import replace

from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.policy.engine import CONFINEMENT_WORDS, FORMER_UNCONFINED, Allow, Ask, decide
from desktop_agent.core.policy.offers import EDITS, rules_of, scope_offers
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, ApprovalScope, FileChange
from tests.core.policy.lines import HERE, NOW, WORK, bare, rule, run, sandboxed

EDIT = CallFacts(tool="edit_file", capabilities=("write_fs",), paths=("a.py",))
CHANGE = FileChange(id="1.1", path="a.py", kind="created", author="agent", before=None, after=None)


def _request(call: CallFacts, question: Ask | None = None) -> ApprovalRequest:
    """The request as recorded; without a question, in the format from before rules."""
    plain = ApprovalRequest(
        call_id="c",
        tool=call.tool,
        title="",
        reason="",
        arguments_digest="",
        command=call.command,
        cwd=call.folder,
        details=call.details,
        changes=(CHANGE,) if call.command is None else (),
    )
    if question is None:
        return plain
    return replace(
        plain,
        confinement=question.confinement_words,
        is_escalation=question.is_escalation,
        rule_kind=question.rule_kind,
        rule_patterns=question.rule_patterns,
        repository=call.repository,
        repository_mark=call.repository_mark,
    )


def _asked(call: CallFacts, policy: str = "on_write") -> Ask:
    question = decide(call, sandboxed(policy))
    assert isinstance(question, Ask)
    return question


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (run("git push origin main"), "`git push origin main` outside the sandbox"),
        (run("pytest -q"), "`pytest -q`"),
        (run("make && pytest"), "`make && pytest`"),  # two rules are hard to read: offer the line itself
        (run("pytest " + "x" * 100), "exactly this command"),
        (run("make $X"), "`make $X`"),
        (CallFacts(tool="web_search", capabilities=("network",)), "`web_search`"),
    ],
)
def test_every_way_to_say_yes_says_what_it_means(call: CallFacts, what: str) -> None:
    labels = [offer.label for offer in scope_offers(call, _asked(call))]
    everywhere = [] if "outside" in what else [f"Always allow {what}"]  # such a rule counts in its repository
    assert labels == ["Allow once", f"Allow {what} in this session", f"Allow {what} in this folder", *everywhere]


def test_all_edits_are_offered_for_a_session_or_a_project() -> None:
    labels = [offer.label for offer in scope_offers(EDIT, _asked(EDIT))]
    assert labels == ["Allow once", "Allow edits in this session", "Allow edits in this folder"]


def test_the_persons_own_word_is_given_once() -> None:
    call = CallFacts(tool="request_approval", capabilities=(), asks="May I?")
    assert [offer.label for offer in scope_offers(call, _asked(call))] == ["Allow once"]


def test_what_no_rule_would_answer_is_offered_once() -> None:
    question = decide(run("eval $X"), sandboxed("on_request", blocked_commands=("rm",)))
    assert isinstance(question, Ask)
    assert [offer.label for offer in scope_offers(run("eval $X"), question)] == ["Allow once"]


@pytest.mark.parametrize("scope", ["session", "project", "always"])
@pytest.mark.parametrize(
    "call", [run("git push origin main"), run("pytest -q"), run("make && pytest"), run("make $X"), EDIT,
             run("make", details=("Variables: A=1",))]
)  # fmt: skip
def test_after_a_yes_for_longer_the_same_call_is_not_asked_again(call: CallFacts, scope: ApprovalScope) -> None:
    question = _asked(call)
    rules = rules_of(_request(call, question), Allowed(scope=scope), now=NOW, workspace=WORK)
    assert {made.scope for made in rules} == {scope}
    assert decide(call, sandboxed("on_write", *rules)) == Allow(question.confinement, rules[0])


def test_once_makes_no_rule_and_own_rules_are_kept() -> None:
    request = _request(run("make"))
    own = rule("make", scope="always")
    assert rules_of(request, Allowed(scope="once"), now=NOW, workspace="") == ()
    assert rules_of(request, Allowed(scope="always", rules=(own,)), now=NOW, workspace="") == (own,)


def test_an_old_answer_means_the_exact_command_inside_the_sandbox_and_nothing_outside() -> None:
    """Journals from before rules named their repository: the answer allows nothing outside."""
    call = run("pytest -q", details=("Variables: A=1",))
    grants = rules_of(_request(call), Allowed(scope="session"), now=NOW, workspace="")
    assert isinstance(decide(call, sandboxed("on_write", *grants)), Allow)
    again = decide(call, bare("on_write", *grants))
    assert isinstance(again, Ask)
    assert "does not say in which repository it was made" in again.risks[0]
    for other in (run("pytest -q; rm -rf ~", details=call.details), run("pytest -q"), run("pytest -q", folder="/x")):
        assert isinstance(decide(other, bare("on_write", *grants)), Ask)


@pytest.mark.parametrize("words", ["", CONFINEMENT_WORDS["none"], FORMER_UNCONFINED])
def test_a_command_that_ran_open_is_known_by_the_words_of_its_time(words: str) -> None:
    request = replace(_request(run("make")), confinement=words)
    (made,) = rules_of(request, Allowed(scope="session"), now=NOW, workspace=WORK)
    assert made.is_unconfined
    (inside,) = rules_of(
        replace(request, confinement=CONFINEMENT_WORDS["strict"]), Allowed(scope="session"), now=NOW, workspace=WORK
    )
    assert not inside.is_unconfined


def test_an_old_answer_to_an_edit_means_all_edits_and_no_command() -> None:
    (made,) = rules_of(_request(EDIT), Allowed(scope="session"), now=NOW, workspace="")
    assert (made.kind, made.pattern) == ("edit", EDITS)
    assert isinstance(decide(EDIT, bare("on_write", made)), Allow)
    assert isinstance(decide(run("make"), bare("on_write", made)), Ask)


def test_an_edited_command_is_allowed_as_it_was_edited() -> None:
    request = _request(run("rm x"), _asked(run("rm x")))
    rules = rules_of(request, Allowed(scope="session", edited_command="make"), now=NOW, workspace="")
    context = sandboxed("on_write", *rules)
    assert isinstance(decide(run("make"), context), Allow)
    assert isinstance(decide(run("rm x"), context), Ask)


@pytest.mark.parametrize(
    "line", ["git push origin main", "curl https://x", "git add . && git commit -m x", "sudo make"]
)
def test_outside_the_sandbox_the_exact_line_is_offered_first(line: str) -> None:
    for question in (_asked(run(line)), decide(run(line), bare("on_write"))):
        assert isinstance(question, Ask)
        assert question.rule_patterns[0][0] == line
        assert scope_offers(run(line), question)[1].label.startswith(f"Allow `{line}`")
        (made,) = rules_of(_request(run(line), question), Allowed(scope="session"), now=NOW, workspace=WORK)
        assert (made.is_exact, made.pattern, made.folder) == (True, line, WORK)
        assert (made.repository, made.repository_mark) == (HERE["repository"], HERE["repository_mark"])


def test_a_rule_that_is_made_counts_where_the_question_was_asked_whatever_its_maker_says() -> None:
    request = _request(run("git push"), _asked(run("git push")))
    own = rule("git push", is_unconfined=True, repository="/elsewhere", repository_mark="x")
    (made,) = rules_of(request, Allowed(scope="session", rules=(own,)), now=NOW, workspace=WORK)
    assert (made.repository, made.repository_mark) == (HERE["repository"], HERE["repository_mark"])
