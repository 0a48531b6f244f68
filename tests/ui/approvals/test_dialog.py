"""The approval dialog shows exactly what would happen, and nothing is allowed by accident."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QWidget,
)
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.model import Allowed, ApprovalRequest, Decision, Denied, ScopeOffer
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from desktop_agent.ui.approvals.question_head import IconNote
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.buttons import ARMING_DELAY_MS
from tests.parts import part
from tests.ui.approvals.conftest import Ask
from tests.ui.approvals.stage import JUDGED, context, make, marks_in
from tests.ui.review.stage import Session, Source, Tasks, message_of

COMMAND = ApprovalRequest(
    call_id="call-1",
    tool="run_command",
    title="Run this command?",
    reason="git push uses the network.",
    arguments_digest="0" * 64,
    command="git add -A && git push",
    cwd="~/code/pagination",
    risks=("Uses the network", "Changes another machine"),
    scopes=(ScopeOffer(scope="session", label="git push in this session"),),
)


@pytest.fixture
def edit_request(session: Session) -> ApprovalRequest:
    session.change(1, "call-2", "src/pages.py", "one\ntwo\n", "one\nTWO\n")
    session.change(1, "call-2", "src/new.py", None, "new\n")
    return ApprovalRequest(
        call_id="call-2",
        tool="apply_patch",
        title="Change 2 files?",
        reason="Writing asks first.",
        arguments_digest="0" * 64,
        changes=session.recorded(),
    )


PLAIN, CTRL = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
CTRL_SHIFT = CTRL | Qt.KeyboardModifier.ShiftModifier


def press(key: Qt.Key, modifier: Qt.KeyboardModifier = PLAIN) -> None:
    focused = QApplication.focusWidget()
    assert focused
    QTest.keyClick(focused, key, modifier)


# --- what it shows ------------------------------------------------------------------------------------------------


def test_a_command_is_shown_with_its_folder_its_reason_its_risks_and_how_it_would_run(ask: Ask) -> None:
    confinement = "In the sandbox: may write this folder, no network"
    dialog = ask(replace(COMMAND, reason="`git push` uses the network.", confinement=confinement))
    assert dialog.windowModality() == Qt.WindowModality.WindowModal
    assert part(dialog, QPlainTextEdit, "approvalCommandEdit").toPlainText() == COMMAND.command
    assert part(dialog, QLabel, "approvalSummary").text() == "run_command · in ~/code/pagination"
    assert part(dialog, QLabel, "approvalReason").text() == "“git push” uses the network.", "as people quote"
    risks, note = part(dialog, IconNote, "approvalRiskNote"), part(dialog, IconNote, "approvalConfinement")
    assert risks.isVisible()
    assert note.isVisible()
    assert (risks.text(), note.text()) == ("Uses the network\nChanges another machine", confinement)
    note = part(ask(replace(COMMAND, confinement="Not confined", is_escalation=True)), IconNote, "approvalConfinement")
    assert note.text() == "Runs outside the sandbox, with all the rights of your account"
    assert note.accessibleDescription() == note.text()


def test_the_part_that_asks_is_marked_in_the_command_and_said_in_words(ask: Ask) -> None:
    dialog = ask(replace(COMMAND, command="echo 😀 && git push\n# git push", cause="git push"))
    field = part(dialog, QPlainTextEdit, "approvalCommandEdit")
    assert marks_in(field) == ["git push"]
    assert field.accessibleDescription() == "Reason for the question: git push"
    field.setPlainText("git pull")
    assert marks_in(field) == []
    part(dialog, QPushButton, "restoreCommandButton").click()
    assert marks_in(field) == ["git push"]


def test_a_long_command_is_shown_whole_up_to_a_limit(ask: Ask) -> None:
    short = ask(COMMAND)
    one = part(short, QPlainTextEdit, "approvalCommandEdit")
    dialog = ask(replace(COMMAND, command="npm install some-package && " * 20))
    field = part(dialog, QPlainTextEdit, "approvalCommandEdit")
    assert not field.verticalScrollBar().isVisible()
    assert not field.horizontalScrollBar().isVisible()
    endless = ask(replace(COMMAND, command="npm install some-package && " * 2000), is_ready=False)
    high = part(endless, QPlainTextEdit, "approvalCommandEdit")
    assert one.height() < field.height() < high.height() < endless.height() / 2
    assert high.verticalScrollBar().isVisible()


def test_in_a_small_window_it_is_no_higher_than_that_and_nothing_is_out_of_reach(
    qtbot: QtBot, theme: Theme, source: Source, tasks: Tasks
) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1024, 500)
    request = replace(COMMAND, risks=("Deletes",) * 12, details=("A=1",) * 8)
    dialog = make(ApprovalDialog(theme, request, source, tasks.spawn, window, rules=context(), arming_delay_ms=0))
    dialog.show()
    assert dialog.height() <= window.height()
    scroll = part(dialog, QScrollArea, "")
    qtbot.waitUntil(lambda: scroll.verticalScrollBar().isVisible())
    assert dialog.rect().contains(part(dialog, QPushButton, "approveButton").geometry())
    qtbot.waitUntil(lambda: dialog.can_allow)


def test_a_change_is_shown_file_by_file(ask: Ask, edit_request: ApprovalRequest) -> None:
    dialog = ask(edit_request)
    view = part(dialog, DiffView, "approvalDiffView")
    assert part(dialog, QLabel, "approvalSummary").text() == "apply_patch · inside the workspace · 2 files · +2 −1"
    assert view.document.diff
    assert view.document.diff.path == "src/pages.py"
    QTest.keyClick(part(dialog, QListView, "approvalFileList"), Qt.Key.Key_Down)
    assert view.document.diff.path == "src/new.py"
    assert not part(dialog, IconNote, "approvalRiskNote").isVisible()
    assert dialog.findChild(QPlainTextEdit, "approvalCommandEdit") is None
    assert not part(dialog, QComboBox, "approvalScopePicker").isVisible(), "nothing is offered"


def test_what_the_model_wrote_is_shown_as_it_is_and_hides_or_reorders_nothing(ask: Ask) -> None:
    request = replace(
        COMMAND,
        title="<b>Do</b> \u202eti",
        reason="<i>fine</i>\u200b",
        risks=("<i>a</i>\u2066b",),
        details=("A=\u202e1", "x"),
    )
    dialog = ask(replace(request, command="ls \u202e# mr\u200b"))
    shown = {label.text(): label.textFormat() for label in dialog.findChildren(QLabel)}
    hidden = "The command contains invisible characters. It really is: ls ⟨U+202E⟩# mr⟨U+200B⟩"
    for text in ("<b>Do</b> ⟨U+202E⟩ti", "<i>fine</i>⟨U+200B⟩", "<i>a</i>⟨U+2066⟩b", hidden):
        assert shown[text] == Qt.TextFormat.PlainText
    assert part(dialog, QPlainTextEdit, "approvalDetails").toPlainText() == "A=⟨U+202E⟩1\nx"


def test_details_without_any_blank_are_wrapped_and_stay_in_sight(ask: Ask) -> None:
    dialog = ask(replace(COMMAND, details=("Variables: A=" + "x" * 4_000,)), is_ready=False)
    details = part(dialog, QPlainTextEdit, "approvalDetails")
    assert details.width() <= dialog.width()
    assert details.height() < dialog.height() / 2
    assert details.verticalScrollBar().maximum() > 0


SERVER_CALL = replace(
    COMMAND,
    command=None,
    tool="files__write",
    server="files",
    server_tool="write",
    arguments={"path": "a\u202eb.txt"},
    explanation="Keep the \u202enotes.",
)


def test_a_servers_tool_is_shown_with_what_it_would_be_called_with(ask: Ask) -> None:
    dialog = ask(SERVER_CALL)
    field = part(dialog, QPlainTextEdit, "approvalCall")
    assert field.toPlainText() == 'files/write\n  path: "a⟨U+202E⟩b.txt"'
    assert field.isReadOnly()
    assert part(dialog, QLabel, "approvalExplanation").text() == "The agent says: Keep the ⟨U+202E⟩notes."


def test_long_arguments_must_be_seen_to_their_end(qtbot: QtBot, ask: Ask) -> None:
    dialog = ask(replace(SERVER_CALL, arguments={"text": "\n".join(map(str, range(300)))}), is_ready=False)
    qtbot.wait(ARMING_DELAY_MS + 50)
    assert not dialog.can_allow
    bar = part(dialog, QPlainTextEdit, "approvalCall").verticalScrollBar()
    while bar.value() < bar.maximum():
        bar.setValue(bar.value() + 3)
        dialog.repaint()
        qtbot.wait(1)
    qtbot.waitUntil(lambda: dialog.can_allow)


def test_what_a_server_says_of_a_tool_that_was_never_allowed_is_there_and_need_not_be_seen(
    qtbot: QtBot, ask: Ask
) -> None:
    text = "\n".join(f"Line {number}" for number in range(200))
    dialog = ask(replace(COMMAND, command=None, tool_definition=text))
    field = part(dialog, QPlainTextEdit, "approvalToolDefinition")
    assert field.toPlainText() == text
    assert field.isReadOnly()
    assert field.verticalScrollBar().maximum() > 0


def test_a_path_outside_the_workspace_is_said_to_be_there(ask: Ask, session: Session) -> None:
    session.change(1, "c", "../other/a.py", "1\n", "2\n")
    request = ApprovalRequest(
        call_id="c", tool="edit_file", title="Change?", reason="", arguments_digest="0", changes=session.recorded()
    )
    assert "outside the workspace" in part(ask(request), QLabel, "approvalSummary").text()


# --- allowing -----------------------------------------------------------------------------------------------------


def test_allowing_answers_once_with_the_call(qtbot: QtBot, ask: Ask) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    part(dialog, QPushButton, "approveButton").click()
    dialog.deny()
    assert [decided.at(index) for index in range(decided.count())] == [["call-1", Allowed()]]
    assert not dialog.isVisible()


@pytest.mark.parametrize(("key", "decision"), [(Qt.Key.Key_A, Allowed()), (Qt.Key.Key_D, Denied())])
def test_two_keys_answer_from_anywhere(qtbot: QtBot, ask: Ask, key: Qt.Key, decision: Decision) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    part(dialog, QPlainTextEdit, "approvalCommandEdit").setFocus()
    qtbot.waitUntil(lambda: dialog.can_allow)
    press(key, CTRL_SHIFT)
    assert decided.at(0) == ["call-1", decision]


def test_a_key_that_sends_into_the_turn_never_allows(ask: Ask) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    for place in ("approvalCommandEdit", "denyMessageEdit", "approveButton"):
        part(dialog, QWidget, place).setFocus()
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) * 2:
            press(key, CTRL)
    assert decided.count() == 0


def test_a_key_meant_for_something_else_does_not_allow(ask: Ask) -> None:
    dialog = ask(COMMAND, is_ready=False, arming_delay_ms=600_000)
    decided = QSignalSpy(dialog.decided)
    press(Qt.Key.Key_A, CTRL_SHIFT)
    press(Qt.Key.Key_Return)
    part(dialog, QPushButton, "approveButton").click()
    assert decided.count() == 0
    assert dialog.isVisible()


def test_enter_alone_never_allows_unless_the_button_has_the_focus(qtbot: QtBot, ask: Ask) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    press(Qt.Key.Key_Return)
    part(dialog, QLineEdit, "denyMessageEdit").setFocus()
    press(Qt.Key.Key_Return)
    assert decided.count() == 0
    part(dialog, QPushButton, "approveButton").setFocus()
    press(Qt.Key.Key_Return)
    assert decided.at(0) == ["call-1", Allowed()]


def test_no_key_does_harm_where_the_focus_starts_and_enter_presses_no_button(
    ask: Ask, edit_request: ApprovalRequest
) -> None:
    command, edit = ask(COMMAND), ask(edit_request)
    assert isinstance(edit.focusWidget(), DiffView)
    focused = command.focusWidget()
    assert isinstance(focused, QLabel)
    assert focused.text() == "Run this command?"
    buttons = [*command.findChildren(QPushButton), *edit.findChildren(QPushButton)]
    assert not [button for button in buttons if button.isDefault() or button.autoDefault()]


def test_an_offered_scope_goes_with_the_answer(ask: Ask) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    scopes = part(dialog, QComboBox, "approvalScopePicker")
    assert [scopes.itemText(at) for at in range(scopes.count())] == ["Only this once", "git push in this session"]
    scopes.setCurrentIndex(1)
    dialog.allow()
    assert decided.at(0) == ["call-1", Allowed(scope="session")]


# --- editing the command ------------------------------------------------------------------------------------------


def test_an_edited_command_is_marked_and_goes_with_the_answer(qtbot: QtBot, ask: Ask) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    mark = part(dialog, QLabel, "commandModifiedMark")
    assert not mark.isVisible()
    scopes = part(dialog, QComboBox, "approvalScopePicker")
    scopes.setCurrentIndex(1)
    part(dialog, QPlainTextEdit, "approvalCommandEdit").setPlainText("git add -A\ngit status")
    assert mark.isVisible()
    assert not scopes.isEnabled(), "it is allowed only once"
    qtbot.waitUntil(lambda: dialog.can_allow)
    dialog.allow()
    assert decided.at(0) == ["call-1", Allowed(edited_command="git add -A\ngit status", judged=JUDGED)]


def test_restoring_brings_the_agents_command_back(qtbot: QtBot, ask: Ask) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    edit = part(dialog, QPlainTextEdit, "approvalCommandEdit")
    edit.setPlainText("something else")
    part(dialog, QPushButton, "restoreCommandButton").click()
    assert edit.toPlainText() == COMMAND.command
    assert part(dialog, QComboBox, "approvalScopePicker").isEnabled()
    qtbot.waitUntil(lambda: dialog.can_allow)
    dialog.allow()
    assert decided.at(0) == ["call-1", Allowed()]


def test_an_empty_command_cannot_be_allowed(ask: Ask) -> None:
    dialog = ask(COMMAND)
    edit = part(dialog, QPlainTextEdit, "approvalCommandEdit")
    edit.setFocus()
    edit.moveCursor(QTextCursor.MoveOperation.End)
    press(Qt.Key.Key_Backspace, CTRL)
    assert edit.toPlainText() == "git add -A && git ", "the key that denies in other places deletes a word"
    edit.setPlainText("  ")
    approve = part(dialog, QAbstractButton, "approveButton")
    assert not approve.isEnabled()
    assert approve.toolTip() == "There is no command to run"


# --- denying and closing ------------------------------------------------------------------------------------------


def test_denying_needs_no_wait_and_takes_a_word_along(ask: Ask) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    part(dialog, QLineEdit, "denyMessageEdit").setText("  Do not push. ")
    part(dialog, QPushButton, "denyButton").click()
    assert decided.at(0) == ["call-1", Denied(message="Do not push.")]


@pytest.mark.parametrize(("key", "modifier"), [(Qt.Key.Key_D, CTRL_SHIFT), (Qt.Key.Key_Return, PLAIN)])
def test_a_key_denies_with_the_word_from_the_field_where_it_is_typed(
    ask: Ask, key: Qt.Key, modifier: Qt.KeyboardModifier
) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    message = part(dialog, QLineEdit, "denyMessageEdit")
    message.setFocus()
    press(Qt.Key.Key_Return)
    message.setText("two words")
    press(Qt.Key.Key_Backspace, CTRL)
    assert (message.text(), decided.count()) == ("two ", 0)
    press(key, modifier)
    assert decided.at(0) == ["call-1", Denied(message="two")]


@pytest.mark.parametrize("way", ["Escape", "its button", "an answer elsewhere"])
def test_closing_decides_nothing_and_says_so(ask: Ask, way: str) -> None:
    dialog = ask(COMMAND)
    decided = QSignalSpy(dialog.decided)
    quiet = part(dialog, QLabel, "approvalQuietLine")
    assert quiet.text() == "Closing this leaves the question open in the conversation."
    dialog.close_if("call-9")
    assert dialog.isVisible()
    match way:
        case "Escape":
            press(Qt.Key.Key_Escape)
        case "its button":
            dialog.close()
        case _:
            dialog.close_if("call-1")
    assert (dialog.isVisible(), decided.count()) == (False, 0)


# --- what cannot be seen cannot be allowed ------------------------------------------------------------------------


def test_a_change_cannot_be_allowed_before_it_is_shown(
    qtbot: QtBot, ask: Ask, edit_request: ApprovalRequest, source: Source, tasks: Tasks
) -> None:
    source.is_held = True
    dialog = ask(edit_request, is_ready=False)
    approve = part(dialog, QPushButton, "approveButton")
    view = part(dialog, DiffView, "approvalDiffView")
    qtbot.waitUntil(lambda: message_of(view) == "Loading…")
    assert not approve.isEnabled()
    assert approve.toolTip() == "Only a visible change can be allowed"
    assert part(dialog, QPushButton, "denyButton").isEnabled()
    tasks.let_go()
    assert approve.isEnabled()
    assert view.document.diff


def test_a_change_that_cannot_be_shown_cannot_be_allowed(
    ask: Ask, edit_request: ApprovalRequest, source: Source
) -> None:
    source.error = StorageError("The content is gone")
    dialog = ask(edit_request, is_ready=False)
    assert message_of(part(dialog, DiffView, "approvalDiffView")) == "The content is gone"
    assert not part(dialog, QPushButton, "approveButton").isEnabled()


def test_a_diff_has_the_toggles_that_do_something_here_and_names_its_encoding(
    ask: Ask, session: Session, edit_request: ApprovalRequest
) -> None:
    old, new = (text.encode("cp1252") for text in ("Straße schön\n", "Straße schöner\n"))
    session.change(1, "call-2", "alt.txt", old, new)
    dialog = ask(replace(edit_request, changes=session.recorded()[-1:]))
    shown = {button.objectName() for button in dialog.findChildren(QPushButton) if button.isVisibleTo(dialog)}
    assert {"diffModeButton", "wrapLinesButton", "enlargeReviewButton"} & shown == {"diffModeButton", "wrapLinesButton"}
    assert "CP1252" in {label.text() for label in dialog.findChildren(QLabel) if label.isVisibleTo(dialog)}


def test_a_preview_that_comes_after_the_dialog_is_gone_harms_nothing(
    qtbot: QtBot, theme: Theme, edit_request: ApprovalRequest, source: Source, tasks: Tasks
) -> None:
    source.is_held = True
    dialog = make(ApprovalDialog(theme, edit_request, source, tasks.spawn, rules=context()))
    with qtbot.waitSignal(dialog.destroyed):
        dialog.deleteLater()
    tasks.let_go()


def test_what_is_copied_before_a_command_that_destroys_is_said_and_what_is_not(ask: Ask) -> None:
    assert not part(ask(COMMAND), IconNote, "approvalSafetyNote").isVisible(), "it destroys nothing"
    safety = ("A safety copy is made first: .cache.", "Not in the safety copy: node_modules. It is too much.")
    note = part(ask(replace(COMMAND, safety=safety)), IconNote, "approvalSafetyNote")
    assert note.isVisible()
    assert note.text() == "\n".join(safety)
    assert note.accessibleDescription() == note.text()
