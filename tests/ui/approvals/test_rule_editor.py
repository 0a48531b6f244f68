"""Rules are made in the dialog, and only for more than this once."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QComboBox, QLabel, QListWidget, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, Rule, RuleKind
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from desktop_agent.ui.approvals.question_head import IconNote
from desktop_agent.ui.approvals.rule_editor import RuleEditor
from desktop_agent.ui.approvals.rule_judging import PastCalls
from tests.parts import part
from tests.ui.approvals.conftest import Ask
from tests.ui.approvals.stage import JUDGED, NOT_CONFINED, SCOPES, WordRules, push
from tests.ui.review.stage import Session

ONCE, SESSION, PROJECT, ALWAYS = range(4)
PUSH = push()


def picker(dialog: QWidget, name: str = "approvalScopePicker") -> QComboBox:
    return part(dialog, QComboBox, name)


def patterns(dialog: QWidget) -> list[QComboBox]:
    return dialog.findChildren(QComboBox, "rulePatternEdit")


def allow_button(dialog: QWidget) -> QPushButton:
    return part(dialog, QPushButton, "approveButton")


def label(dialog: QWidget, name: str) -> QLabel:
    return part(dialog, QLabel, name)


def listed(dialog: QWidget, name: str) -> list[str]:
    box = part(dialog, QListWidget, name)
    return [box.item(row).text() for row in range(box.count())]


def ask_for(ask: Ask, scope: int, request: ApprovalRequest = PUSH) -> ApprovalDialog:
    dialog = ask(request)
    picker(dialog).setCurrentIndex(scope)
    return dialog


def answered(dialog: ApprovalDialog) -> Allowed:
    decided = QSignalSpy(dialog.decided)
    allow_button(dialog).click()
    assert decided.count() == 1
    answer = decided.at(0)[1]
    assert isinstance(answer, Allowed)
    return answer


def summary(rules: tuple[Rule, ...]) -> list[tuple[str, str]]:
    return [(rule.pattern, rule.scope) for rule in rules]


def test_the_editor_is_folded_until_more_than_this_once_is_wanted(ask: Ask) -> None:
    dialog = ask(push())
    assert dialog.findChild(RuleEditor, "ruleEditor") is None
    assert allow_button(dialog).text() == "Allow once"
    height = dialog.height()
    picker(dialog).setCurrentIndex(SESSION)
    editor = part(dialog, RuleEditor, "ruleEditor")
    assert editor.isVisible()
    assert dialog.height() > height
    picker(dialog).setCurrentIndex(ONCE)
    assert not editor.isVisible()
    assert answered(dialog) == Allowed()


def test_what_unfolds_does_not_push_the_answers_off_the_screen(ask: Ask) -> None:
    dialog = ask(push())
    screen = dialog.screen().availableGeometry()
    dialog.move(screen.left(), screen.bottom() - dialog.height())
    height = dialog.height()
    picker(dialog).setCurrentIndex(ALWAYS)
    assert dialog.height() > height
    assert dialog.geometry().bottom() <= screen.bottom()


def test_the_narrowest_pattern_comes_first_any_can_be_typed_and_the_button_says_what_is_allowed(ask: Ask) -> None:
    dialog = ask_for(ask, SESSION)
    (field,) = patterns(dialog)
    assert [field.itemText(index) for index in range(field.count())] == ["git push origin", "git push", "git"]
    assert field.currentText() == "git push origin"
    assert field.isEditable()
    edit = field.lineEdit()
    assert edit is not None
    assert field.accessibleName() == edit.accessibleName() == "Commands that begin with"
    assert allow_button(dialog).text() == "Allow “git push origin” in this session"
    field.setCurrentIndex(1)
    picker(dialog).setCurrentIndex(ALWAYS)
    assert allow_button(dialog).text() == allow_button(dialog).accessibleName() == "Always allow “git push”"


def test_the_rules_go_with_the_answer_and_only_those_of_a_session_have_no_end_to_choose(ask: Ask) -> None:
    dialog = ask_for(ask, SESSION)
    expiry = picker(dialog, "ruleExpiryPicker")
    assert not expiry.isVisible()
    picker(dialog).setCurrentIndex(PROJECT)
    assert expiry.isVisible()
    patterns(dialog)[0].setEditText("git push upstream")
    expiry.setCurrentIndex(1)
    answer = answered(dialog)
    assert answer.scope == "project"
    assert summary(answer.rules) == [("git push upstream", "project")]
    assert answer.rules[0].workspace == "/srv/project"
    assert answer.rules[0].expires_at is not None


def test_the_preview_follows_what_is_typed_and_says_how_often_the_person_was_asked(qtbot: QtBot, ask: Ask) -> None:
    dialog = ask_for(ask, SESSION)
    command, line = push().command, label(dialog, "ruleAskedLine")
    qtbot.waitUntil(lambda: listed(dialog, "ruleAllowedList") == [command, "git push origin"])
    assert listed(dialog, "ruleAskingList") == ["git push --force", "git status", "ls"]
    assert line.text() == "You were asked 2 times for commands like this."
    patterns(dialog)[0].setEditText("git push")
    qtbot.waitUntil(lambda: listed(dialog, "ruleAllowedList") == [command, "git push --force", "git push origin"])
    assert line.text() == "You were asked 3 times for commands like this."
    assert line.isVisible()
    patterns(dialog)[0].setEditText("ls")
    qtbot.waitUntil(lambda: listed(dialog, "ruleAllowedList") == ["ls"])
    assert command in listed(dialog, "ruleAskingList"), "the rule would not have answered the question itself"


def test_a_pattern_that_never_matches_says_why_and_makes_no_rule(ask: Ask) -> None:
    dialog = ask_for(ask, SESSION)
    patterns(dialog)[0].setEditText("git push && ls")
    problem = label(dialog, "ruleProblem")
    assert problem.isVisible()
    assert problem.text() == "This rule never matches because && stands between commands."
    assert patterns(dialog)[0].accessibleDescription() == problem.text()
    assert not allow_button(dialog).isEnabled()
    assert not dialog.can_allow
    patterns(dialog)[0].setEditText("git push")
    assert not problem.isVisible()
    assert dialog.can_allow


def test_of_several_parts_each_has_its_pattern_and_a_faulty_one_is_left_out(ask: Ask) -> None:
    request = replace(push(), rule_patterns=(("npm ci", "npm"), ("git push origin", "git push")))
    dialog = ask(request)
    picker(dialog).setCurrentIndex(SESSION)
    assert allow_button(dialog).accessibleName() == "Allow “npm ci” and “git push origin” in this session"
    patterns(dialog)[0].setEditText("a && b")
    assert allow_button(dialog).text() == "Allow “git push origin” in this session"
    assert summary(answered(dialog).rules) == [("git push origin", "session")]


def test_an_edited_command_makes_no_rules(qtbot: QtBot, ask: Ask) -> None:
    dialog = ask_for(ask, ALWAYS)
    part(dialog, QPlainTextEdit, "approvalCommandEdit").setPlainText("git push --dry-run")
    assert not picker(dialog).isEnabled()
    assert not patterns(dialog)[0].isVisible()
    qtbot.waitUntil(lambda: dialog.can_allow)
    assert answered(dialog) == Allowed(edited_command="git push --dry-run", judged=JUDGED)


def test_of_the_first_question_ever_nothing_is_claimed(qtbot: QtBot, ask: Ask) -> None:
    dialog = ask(push(), PastCalls())
    picker(dialog).setCurrentIndex(SESSION)
    editor = part(dialog, RuleEditor)
    qtbot.waitUntil(lambda: editor.preview.work.is_done and bool(editor.preview.verdicts))
    assert not editor.preview.isVisible()
    assert not label(dialog, "ruleAskedLine").isVisible()
    patterns(dialog)[0].setEditText("git pull")
    line = label(dialog, "ruleAskedLine")
    qtbot.waitUntil(line.isVisible)
    assert line.text() == "This rule does not match this request: you would be asked again."


def test_edits_are_allowed_by_path(qtbot: QtBot, ask: Ask, session: Session) -> None:
    session.change(1, "c2", "src/pages.py", "one\n", "two\n")
    request = ApprovalRequest(
        call_id="c2",
        tool="edit_file",
        title="Change src/pages.py?",
        reason="Writing asks.",
        arguments_digest="0",
        changes=session.recorded(),
        scopes=SCOPES,
        rule_kind="edit",
        rule_patterns=(("src/pages.py", "src/**", "**"),),
    )
    dialog = ask(request, PastCalls(("src/a.py", "README.md"), ()))
    picker(dialog).setCurrentIndex(SESSION)
    patterns(dialog)[0].setCurrentIndex(1)
    qtbot.waitUntil(lambda: listed(dialog, "ruleAllowedList") == ["src/pages.py", "src/a.py"])
    assert patterns(dialog)[0].accessibleName() == "Edits of"
    (rule,) = answered(dialog).rules
    assert (rule.kind, rule.pattern) == ("edit", "src/**")


@pytest.mark.parametrize(
    "request_",
    [replace(push(), rule_patterns=(), rule_kind=None), replace(push(), details=("TOKEN=…",))],
    ids=["no pattern", "variables or input, which a pattern never matches"],
)
def test_without_patterns_the_policys_own_words_are_offered(ask: Ask, request_: ApprovalRequest) -> None:
    dialog = ask(request_)
    assert dialog.findChild(RuleEditor) is None
    scopes = picker(dialog)
    assert scopes.itemText(SESSION) == "the policy's words for session"
    scopes.setCurrentIndex(SESSION)
    assert answered(dialog) == Allowed(scope="session")


def test_what_is_not_confined_is_said_with_a_warning_and_on_the_button(ask: Ask) -> None:
    dialog = ask(push(confinement=NOT_CONFINED))
    note = part(dialog, IconNote, "approvalConfinement")
    assert note.text() == NOT_CONFINED
    assert note.findChildren(QLabel)[0].property("role") == "warning"
    picker(dialog).setCurrentIndex(SESSION)
    assert allow_button(dialog).accessibleName() == "Allow “git push origin” outside the sandbox in this session"
    assert answered(dialog).rules[0].is_unconfined


def test_a_long_rule_is_cut_on_the_button_and_whole_for_screen_readers(ask: Ask) -> None:
    dialog = ask_for(ask, ALWAYS)
    patterns(dialog)[0].setEditText("git push " + "a-long-word " * 30)
    button = allow_button(dialog)
    assert button.text().startswith("Always allow “git push a")
    assert button.text().endswith("a-long-word”"), "the words around what is cut stay whole"
    assert "…" in button.text()
    assert button.accessibleName().count("a-long-word") == 30
    assert button.width() < dialog.width() * 0.6


def test_only_what_the_rule_itself_changes_is_counted_and_listed(
    qtbot: QtBot, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls that another rule or the policy allows do not count for the new rule."""
    judge = WordRules.would_allow

    def with_free_commands(maths: WordRules, kind: RuleKind, rules: Sequence[Rule], subject: str) -> bool:
        return subject in ("ls", "git status") or judge(maths, kind, rules, subject)

    monkeypatch.setattr(WordRules, "would_allow", with_free_commands)
    dialog = ask_for(ask, SESSION)
    assert push().command is not None
    qtbot.waitUntil(lambda: listed(dialog, "ruleAllowedList") == [push().command, "git push origin"])
    assert listed(dialog, "ruleAskingList") == ["git push --force"]
    assert label(dialog, "ruleAskedLine").text() == "You were asked 2 times for commands like this."


def test_outside_the_sandbox_the_exact_line_comes_first_and_is_named_as_that(ask: Ask) -> None:
    line = "git push origin main"
    request = replace(push(confinement=NOT_CONFINED), command=line, rule_patterns=((line, "git push origin"),))
    dialog = ask(request)
    picker(dialog).setCurrentIndex(SESSION)
    (field,) = patterns(dialog)
    assert field.currentText() == line
    assert field.accessibleName() == "Exactly this command"
    field.setCurrentIndex(1)
    assert field.accessibleName() == "Commands that begin with"
    field.setCurrentIndex(0)
    (rule,) = answered(dialog).rules
    assert (rule.is_exact, rule.pattern, rule.folder) == (True, line, "/srv/project")


def test_the_exact_line_of_several_commands_is_a_rule_outside_the_sandbox(ask: Ask) -> None:
    line = PUSH.command or ""
    request = replace(push(confinement=NOT_CONFINED), rule_patterns=((line,),))
    (rule,) = answered(ask_for(ask, SESSION, request)).rules
    assert (rule.is_exact, rule.is_unconfined, rule.pattern) == (True, True, line)
