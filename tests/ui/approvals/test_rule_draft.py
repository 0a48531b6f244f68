"""What the user chose becomes exactly the rules that were shown, and words that say what they allow."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from desktop_agent.core.protocol.model import RuleKind, RuleScope
from desktop_agent.ui.approvals.rule_editor import Expiry, RuleDraft, allow_words, expiry_moment
from tests.ui.approvals.stage import NOW, WordRules, context, push


def test_every_rule_has_an_id_of_its_own() -> None:
    draft = RuleDraft(push(), "session", ("git push", "git add"))
    first, second = draft.rules(context())
    assert first.id.startswith("r-")
    assert first.id != second.id


@pytest.mark.parametrize("scope", ["session", "always"])
def test_only_a_rule_for_a_project_names_its_folder(scope: RuleScope) -> None:
    (rule,) = RuleDraft(push(), scope, ("git",)).rules(context())
    assert rule.workspace == ""


def test_a_rule_of_a_session_ends_with_it_whatever_was_chosen_before() -> None:
    (rule,) = RuleDraft(push(), "session", ("git",), "hour").rules(context())
    assert rule.expires_at is None


def test_faulty_empty_and_double_patterns_make_no_rule() -> None:
    draft = RuleDraft(push(), "session", ("git && ls", "", "git", "git"))
    assert draft.problems(WordRules()) == ("This rule never matches because && stands between commands.", "", "", "")
    assert [rule.pattern for rule in draft.rules(context())] == ["git"]


def test_a_question_that_no_rule_can_answer_makes_none() -> None:
    assert RuleDraft(replace(push(), rule_kind=None), "session", ("git",)).rules(context()) == ()


@pytest.mark.parametrize(
    ("expiry", "days"),
    [("hour", 1 / 24), ("week", 7), ("month", 30), ("never", None)],
)
def test_an_expiry_counts_from_now(expiry: Expiry, days: float | None) -> None:
    assert expiry_moment(expiry, NOW) == (None if days is None else NOW + timedelta(days=days))


def test_today_is_over_at_the_next_midnight_of_the_person() -> None:
    moment = expiry_moment("today", NOW)
    assert moment is not None
    assert (moment.astimezone().hour, moment.astimezone().minute) == (0, 0)
    assert NOW < moment <= NOW + timedelta(hours=25)


@pytest.mark.parametrize(
    ("patterns", "scope", "kind", "words"),
    [
        (["git push"], "session", "command", "Allow “git push” in this session"),
        (["a", "b"], "project", "command", "Allow “a” and “b” in this folder"),
        (["a", "b", "c"], "always", "command", "Always allow “a” and 2 more"),
        (["src/**"], "session", "edit", "Allow edits of “src/**” in this session"),
        (["**"], "project", "edit", "Allow all edits in this folder"),
    ],
)
def test_the_button_says_what_is_allowed_and_for_how_long(
    patterns: list[str], scope: RuleScope, kind: RuleKind, words: str
) -> None:
    assert allow_words(patterns, scope, kind) == words
