"""The user's choice becomes exactly the displayed rules and words."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import ApprovalRequest, RuleKind, RuleScope
from desktop_agent.ui.approvals.rule_editor import Expiry, RuleEditor, allow_words, expiry_moment
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.buttons import Picker
from tests.parts import part
from tests.ui.approvals.stage import NOW, context, push

Make = Callable[..., RuleEditor]


@pytest.fixture
def make(qtbot: QtBot, theme: Theme) -> Make:
    def make(request: ApprovalRequest, scope: RuleScope, *typed: str) -> RuleEditor:
        asked = replace(request, rule_patterns=tuple((pattern,) for pattern in typed))
        editor = RuleEditor(theme, asked, context(), lambda: None)
        qtbot.addWidget(editor)
        editor.set_scope(scope)
        return editor

    return make


def test_each_sound_pattern_makes_a_rule_with_an_id_of_its_own(make: Make) -> None:
    editor = make(push(), "session", "git && ls", "", "git", "git", "ls")
    assert editor.problems() == ("This rule never matches because && stands between commands.", "", "", "", "")
    first, second = editor.rules()
    assert (first.pattern, second.pattern) == ("git", "ls")
    assert first.id.startswith("r-")
    assert first.id != second.id
    assert make(replace(push(), rule_kind=None), "session", "git").rules() == (), "no rule can answer that question"


def test_only_a_project_is_named_and_a_rule_of_a_session_ends_with_it_whatever_was_chosen_before(make: Make) -> None:
    editor = make(push(), "always", "git")
    part(editor, Picker, "ruleExpiryPicker").setCurrentIndex(1)
    (rule,) = editor.rules()
    assert (rule.workspace, rule.expires_at) == ("", NOW + timedelta(hours=1))
    editor.set_scope("session")
    (rule,) = editor.rules()
    assert (rule.workspace, rule.expires_at) == ("", None)


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
