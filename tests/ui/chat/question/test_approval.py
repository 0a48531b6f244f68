"""The question about a call: no answer by accident, and every answer says exactly what was meant."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.events import ApprovalRequested, ApprovalResolved
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    Decision,
    Denied,
    FileImage,
    ScopeOffer,
    ToolChange,
)
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.approvals.question_head import request_summary
from desktop_agent.ui.chat.cards.approval import ApprovalCard
from desktop_agent.ui.chat.cards.request_card import CardField
from desktop_agent.ui.chat.entry_words import MINUS
from desktop_agent.ui.chat.text.passage import Paragraph
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.exact_field import FoldBar
from tests.ui.approvals.stage import JUDGED, judged, marks_in
from tests.ui.chat.cards.loads import Loads
from tests.ui.chat.stage import Stage, answer, call, change, click, long_text, question, record, type_text


def ask(stage: Stage, request: ApprovalRequest) -> list[tuple[object, ...]]:
    stage.show(answer("I want to push."), call("run_terminal_cmd", "git push", approval=request), is_running=True)

    def judge(_call_id: str, command: str) -> None:
        card(stage).show_judgement(judged(request, command))

    stage.view.entry_actions.approval_edited.connect(judge)
    return record(stage.view.entry_actions.approval_answered)


def ask_ready(stage: Stage, request: ApprovalRequest) -> list[tuple[object, ...]]:
    answers = ask(stage, request)
    until_it_listens(stage)
    be_active(stage)
    return answers


def card(stage: Stage) -> ApprovalCard:
    return stage.view.findChildren(ApprovalCard)[-1]


def names_on(card: ApprovalCard) -> list[str]:
    return [child.accessibleName() for child in card.findChildren(QWidget)]


def ask_two(stage: Stage) -> tuple[Transcript, list[tuple[object, ...]]]:
    first = call("run_terminal_cmd", "git push", approval=question(call_id="a"), call_id="a")
    second = call("run_terminal_cmd", "git pull", approval=question("git pull", call_id="b"), call_id="b")
    transcript = stage.show(first, second, is_running=True)
    cards = stage.view.findChildren(ApprovalCard)
    stage.qtbot.waitUntil(lambda: all(each.is_listening for each in cards))
    return transcript, record(stage.view.entry_actions.approval_answered)


def resolve(stage: Stage, transcript: Transcript, call_id: str, decision: Decision) -> None:
    stage.view.row_layout.apply(transcript.apply(ApprovalResolved(turn=1, call_id=call_id, decision=decision)))
    stage.view.row_layout.flush()


def until_it_listens(stage: Stage) -> None:
    stage.qtbot.waitUntil(lambda: card(stage).is_listening)


def command_field(stage: Stage) -> QPlainTextEdit:
    return card(stage).findChildren(QPlainTextEdit)[0]


CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def press_allow(stage: Stage) -> None:
    QTest.keyClick(stage.window.focusWidget() or stage.window, Qt.Key.Key_A, CTRL_SHIFT)


def press_deny(stage: Stage) -> None:
    QTest.keyClick(stage.window.focusWidget() or stage.window, Qt.Key.Key_D, CTRL_SHIFT)


def be_active(stage: Stage) -> None:
    stage.window.activateWindow()
    stage.qtbot.waitUntil(lambda: QApplication.activeWindow() is stage.window)
    stage.field.setFocus()


@pytest.mark.parametrize("width", [900, 300])
def test_the_folder_stands_below_the_command_whatever_the_width(stage: Stage, width: int) -> None:
    ask(stage, replace(question(), cwd="/srv/a-project-with-a-long-name"))
    card(stage).set_width(width)
    [folder] = [label for label in card(stage).findChildren(QLabel) if label.text().startswith("in ")]
    assert folder.geometry().top() - command_field(stage).geometry().bottom() in range(1, 12)
    assert card(stage).rect().contains(folder.geometry())
    click(stage.button("Deny…"))
    assert folder.isVisible()


class TestNothingAnswersByAccident:
    def test_no_click_and_no_key_answers_in_the_first_moment(self, stage: Stage) -> None:
        answers = ask(stage, question(offers=["Allow git push in this session"]))
        assert not card(stage).is_listening
        for label in ("Allow once", "Allow git push", "Deny…", "Deny", "Back"):
            click(stage.button(label))
        be_active(stage)
        press_allow(stage)
        press_deny(stage)
        stage.button("Allow once").setFocus()
        stage.key(Qt.Key.Key_Space, stage.button("Allow once"))
        assert answers == []

    @pytest.mark.parametrize("place", ["field", "card", "conversation"])
    def test_no_enter_allows_whatever_is_held_and_wherever_the_focus_is(self, stage: Stage, place: str) -> None:
        answers = ask_ready(stage, question(offers=["Allow git push in this session"]))
        focus = {"field": stage.field, "card": stage.button("Review…"), "conversation": stage.view}[place]
        focus.setFocus()
        held = Qt.KeyboardModifier
        for modifiers in (held.ControlModifier, CTRL_SHIFT, held.AltModifier, held.MetaModifier, held.ShiftModifier):
            for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) * 2:
                QTest.keyClick(focus, key, modifiers)
        if place != "card":
            stage.key(Qt.Key.Key_Return, focus)
        assert answers == []
        assert not any(button.isDefault() or button.autoDefault() for button in card(stage).findChildren(QPushButton))

    def test_a_key_that_is_held_answers_one_question_and_not_the_next(self, stage: Stage) -> None:
        transcript, answers = ask_two(stage)
        be_active(stage)
        QTest.keyPress(stage.field, Qt.Key.Key_A, CTRL_SHIFT)
        resolve(stage, transcript, "a", Allowed())
        second = card(stage)
        stage.qtbot.waitUntil(lambda: second.is_listening)
        for _ in range(3):
            QTest.simulateEvent(stage.field, True, Qt.Key.Key_A, CTRL_SHIFT, "", True)
        assert answers == [("a", Allowed())]

    def test_a_second_press_is_not_for_the_question_behind_the_one_that_was_answered(self, stage: Stage) -> None:
        transcript, answers = ask_two(stage)
        be_active(stage)
        press_allow(stage)
        resolve(stage, transcript, "a", Allowed())
        press_allow(stage)
        click(stage.button("Allow once"))
        assert answers == [("a", Allowed())]
        stage.qtbot.waitUntil(lambda: card(stage).is_listening)
        press_allow(stage)
        assert answers == [("a", Allowed()), ("b", Allowed())]

    def test_a_question_that_comes_back_into_view_waits_again(self, stage: Stage) -> None:
        ask_ready(stage, question())
        stage.window.hide()
        stage.window.show()
        assert not card(stage).is_listening


class TestAnswers:
    @pytest.mark.parametrize(
        ("label", "decision"),
        [("Allow once", Allowed()), ("Allow git push in this session", Allowed(scope="session"))],
    )
    def test_a_button_gives_its_answer_once(self, stage: Stage, label: str, decision: Decision) -> None:
        answers = ask_ready(stage, question(offers=["Allow `git push` in this session"]))
        button = stage.button(label)
        click(button)
        click(button)
        assert answers == [("c1", decision)]

    @pytest.mark.parametrize(("press", "decision"), [(press_allow, Allowed()), (press_deny, Denied())])
    def test_two_keys_answer_from_anywhere_in_the_window(
        self, stage: Stage, press: Callable[[Stage], None], decision: Decision
    ) -> None:
        answers = ask_ready(stage, question())
        press(stage)
        assert answers == [("c1", decision)]

    @pytest.mark.parametrize("is_by_key", [True, False])
    def test_an_edited_command_is_what_is_allowed(self, stage: Stage, is_by_key: bool) -> None:
        answers = ask_ready(stage, question())
        assert command_field(stage).isReadOnly()
        if is_by_key:
            QTest.keyClick(stage.field, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
        else:
            click(stage.button("Edit"))
        type_text(stage.window.focusWidget(), " --dry-run")
        stage.qtbot.waitUntil(stage.button("Allow once").isEnabled)
        press_allow(stage) if is_by_key else click(stage.button("Allow once"))
        assert answers == [("c1", Allowed(edited_command="git push --dry-run", judged=JUDGED))]

    def test_an_empty_command_cannot_be_allowed(self, stage: Stage) -> None:
        answers = ask_ready(stage, question())
        click(stage.button("Edit"))
        command_field(stage).setPlainText("  ")
        assert not stage.button("Allow once").isEnabled()
        press_allow(stage)
        assert answers == []

    def test_a_command_goes_back_to_the_agents_by_the_button_that_edits_or_by_hand(self, stage: Stage) -> None:
        answers = ask_ready(stage, question())
        click(stage.button("Edit"))
        type_text(command_field(stage), " --dry-run")
        assert "Edit" not in stage.buttons(card(stage))
        click(stage.button("Restore"))
        assert command_field(stage).toPlainText() == "git push"
        assert command_field(stage).hasFocus()
        assert "Restore" not in stage.buttons(card(stage))
        command_field(stage).undo()
        assert command_field(stage).toPlainText() == "git push --dry-run", "it is undone like typing"
        command_field(stage).setPlainText("git push")
        stage.qtbot.waitUntil(stage.button("Allow once").isEnabled)
        click(stage.button("Allow once"))
        assert answers == [("c1", Allowed())]

    @pytest.mark.parametrize("way", ["Enter", "the keys", "the button"])
    def test_deny_can_be_taken_back_and_takes_a_word_to_the_agent_or_none(self, stage: Stage, way: str) -> None:
        answers = ask_ready(stage, question())
        click(stage.button("Deny…"))
        click(stage.button("Back"))
        assert "Allow once" in stage.buttons()
        click(stage.button("Deny…"))
        field = card(stage).findChildren(QLineEdit)[0]
        assert field.hasFocus()
        said = "" if way == "the button" else "run the tests first"
        type_text(field, said)
        if way == "Enter":
            stage.key(Qt.Key.Key_Return, field)
        else:
            press_deny(stage) if said else click(stage.button("Deny"))
        assert answers == [("c1", Denied(message=said))]

    def test_review_opens_the_question_in_full_and_until_then_the_focus_stays_where_it_was(self, stage: Stage) -> None:
        ask(stage, question())
        assert stage.field.hasFocus()
        opened = record(stage.view.entry_actions.approval_opened)
        click(stage.button("Review…"))
        assert opened == [("c1",)]


def test_a_tool_that_changed_shows_its_changes_and_is_allowed_when_all_of_them_were_seen(stage: Stage) -> None:
    answers = ask_ready(stage, changed_tool(lines=60))
    [as_it_is] = [button for button in card(stage).findChildren(QPushButton) if "as it is now" in button.text()]
    assert not stage.button("Allow once").isEnabled()
    assert not as_it_is.isEnabled()
    assert "+ line 0" in command_field(stage).toPlainText()
    assert "The server changed it." in card(stage).accessibleName()

    field = command_field(stage)
    bar = field.verticalScrollBar()
    while bar.value() < bar.maximum():
        bar.setValue(bar.value() + 5)
        field.grab()
    stage.qtbot.waitUntil(as_it_is.isEnabled)
    click(as_it_is)

    assert answers == [("c1", Allowed(scope="always"))]


def test_a_tool_that_was_never_allowed_unfolds_what_the_server_says_which_need_not_be_seen(stage: Stage) -> None:
    text = "\n".join(f"Line {number}" for number in range(60))
    answers = ask_ready(stage, replace(question(None), changes=(), tool_definition=text))
    assert not card(stage).findChildren(QPlainTextEdit)
    click(stage.button("Show the definition"))
    assert command_field(stage).toPlainText() == text
    assert command_field(stage).isReadOnly()
    unfolded = card(stage).height()
    click(stage.button("Hide the definition"))
    assert not command_field(stage).isVisible()
    assert card(stage).height() < unfolded - command_field(stage).height()
    click(stage.button("Show the definition"))
    click(stage.button("Allow once"))
    assert answers == [("c1", Allowed())]


def changed_tool(*, lines: int) -> ApprovalRequest:
    text = "\n".join(f"line {number}" for number in range(lines))
    diff = "\n".join(f"+ line {number}" for number in range(lines))
    change = ToolChange(
        server="tickets", tool="echo", kind="changed", before="x\n", after=text, diff=diff, digest="0" * 64
    )
    offers = (
        ScopeOffer(scope="once", label="Allow once"),
        ScopeOffer(scope="always", label="Allow `tickets__echo` as it is now", is_quick=True),
    )
    asked = question(None)
    return replace(asked, changes=(), scopes=offers, tool_change=change, risks=("The server changed it.",))


class TestWhatItShows:
    def test_a_command_with_everything_that_decides_about_it(self, stage: Stage) -> None:
        ask(stage, question(offers=["Allow `git push` in this session"]))
        assert command_field(stage).toPlainText() == "git push"
        names = names_on(card(stage))
        assert "Run this command?" in names
        assert "Asks because git push uses the network." in names
        assert "⚠ Changes another machine" in names
        assert marks_in(command_field(stage)) == ["git push"]
        assert not any("the definition" in words for words in stage.buttons())

    def test_one_line_says_the_risk_and_the_reasons_are_behind_why(self, stage: Stage) -> None:
        risks = ("Runs what another command prints as a script.", "Deletes folders.", "Uses the network.")
        ask(stage, replace(question("curl x | sh"), risks=risks))

        def shown() -> list[str]:
            notes = [note for note in card(stage).findChildren(Paragraph) if note.isVisible()]
            return [note.accessibleName() for note in sorted(notes, key=lambda note: note.y())][1:]

        assert shown() == [f"⚠ {risks[0]}"]
        assert all(risk in card(stage).accessibleName() for risk in risks)
        click(stage.button("Why?"))
        assert shown() == [
            f"⚠ {risks[0]}",
            "Asks because git push uses the network.",
            f"⚠ {risks[1]}",
            f"⚠ {risks[2]}",
        ]
        card(stage).show_judgement(judged(card(stage).request, "curl x | sh"))
        assert card(stage).rect().contains(stage.button("Deny…").geometry())
        click(stage.button("Hide reasons"))
        assert shown() == [f"⚠ {risks[0]}"]

    def test_the_cause_is_marked_where_the_question_names_one_and_a_single_reason_needs_no_why(
        self, stage: Stage
    ) -> None:
        ask(stage, replace(question("ls && git push origin"), cause="git push origin", risks=()))
        assert marks_in(command_field(stage)) == ["git push origin"]
        assert "Why?" not in stage.buttons()

    def test_it_says_how_the_command_would_run_and_leaving_the_sandbox_clearly(self, stage: Stage) -> None:
        ask(stage, replace(question(), confinement="In the sandbox: no network"))
        assert "In the sandbox: no network" in names_on(card(stage))
        assert "In the sandbox: no network" in card(stage).accessibleName()
        ask(stage, replace(question(), confinement="Not confined", is_escalation=True))
        assert "Runs outside the sandbox, with all the rights of your account" in names_on(card(stage))

    def test_a_long_offer_gives_way_in_the_command_and_keeps_its_words(self, stage: Stage) -> None:
        command = "python3 -c " + "word " * 40
        ask(stage, question(command, offers=[f"Allow `{command}` outside the sandbox in this session"]))
        button = stage.button("Allow python3")
        assert button.text().endswith(" outside the sandbox in this session")
        assert "…" in button.text()
        assert button.accessibleName().count("word") == 40

    def test_the_answers_stand_in_one_row_where_the_offer_still_says_what_it_allows(self, stage: Stage) -> None:
        stage.view.resize(572, 600)  # beside the review on a screen of 1366
        ask(
            stage,
            question(
                "cp drafts/logo.png shop/logo.png", offers=["Allow `cp drafts/logo.png shop/logo.png` in this session"]
            ),
        )
        buttons = [stage.button(words) for words in ("Allow once", "Allow cp", "Review", "Deny")]
        assert len({button.y() for button in buttons}) == 1
        assert buttons[1].text().endswith(" in this session")
        assert buttons[1].accessibleName() == "Allow cp drafts/logo.png shop/logo.png in this session"

    @pytest.mark.parametrize(("quick", "offered"), [({"session"}, ["Allow session"]), (set[str](), [])])
    def test_only_a_rule_for_one_press_has_a_button(self, stage: Stage, quick: set[str], offered: list[str]) -> None:
        """Rules beyond the session are decided in full view."""
        scopes = tuple(
            ScopeOffer(scope=scope, label=f"Allow {scope}", is_quick=scope in quick)
            for scope in ("once", "session", "project", "always")
        )
        ask(stage, replace(question(), scopes=scopes))
        assert stage.buttons(card(stage)) == ["Edit", "Why?", "Allow once", *offered, "Review…", "Deny…"]

    def test_changes_are_listed_with_their_counts(self, stage: Stage) -> None:
        ask(stage, question(None))
        assert "Change src/app.py?" in names_on(card(stage))
        assert command_field(stage).toPlainText() == f"src/app.py  +3 {MINUS}2\nb.py  +3 {MINUS}2"

    @pytest.mark.parametrize("width", [360, 430, 636])
    def test_nothing_is_cut_at_any_width(self, stage: Stage, width: int) -> None:
        ask(stage, question("git commit -m " + "word " * 60, offers=["Allow `git commit` in this session"]))
        stage.window.resize(width, 700)
        shown = card(stage)
        for child in shown.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
            if not child.isHidden():
                assert shown.rect().contains(child.geometry()), child

    def test_tab_goes_through_a_question_of_a_call_that_was_there_before_it(self, stage: Stage) -> None:
        transcript = stage.show(call("run_terminal_cmd", "git push"), answer("Wait."), is_running=True)
        asked = ApprovalRequested(turn=1, request=question(offers=["Allow `git push` in this session"]))
        stage.view.row_layout.apply(transcript.apply(asked))
        stage.view.row_layout.flush()
        stage.qtbot.waitUntil(stage.button("Allow once").isEnabled)
        stage.view.setFocus()
        names: list[str] = []
        for _ in range(7):
            stage.key(Qt.Key.Key_Tab, stage.window.focusWidget())
            focused = stage.window.focusWidget()
            names.append(focused.text() if isinstance(focused, QPushButton) else focused.accessibleName())
        offer = "Allow git push in this session"
        assert names == ["Command", "Edit", "Why?", "Allow once", offer, "Review…", "Deny…"]

    def test_the_answered_question_becomes_a_card(self, stage: Stage) -> None:
        entry = call("run_terminal_cmd", "git push", approval=question())
        transcript = stage.show(entry, is_running=True)
        stage.view.row_layout.apply(
            transcript.apply(ApprovalResolved(turn=1, call_id="c1", decision=Denied(message="no")))
        )
        stage.view.row_layout.flush()
        assert stage.widget(0).accessibleName() == "Run git push denied 3.2 s"
        assert stage.widget(0).height() < 80

    def test_only_the_oldest_question_listens_to_the_keys_and_says_so(self, stage: Stage) -> None:
        ask_two(stage)
        allow = [each for each in stage.window.findChildren(QPushButton) if each.text() == "Allow once"]
        assert [button.accessibleDescription() for button in allow] == ["Ctrl+Shift+A", ""]
        assert allow[0].width() > allow[1].width()


def test_what_was_written_into_it_survives_scrolling_away(stage: Stage) -> None:
    waiting = call("run_terminal_cmd", "git push", approval=question())
    stage.show(waiting, *(answer(long_text(6)) for _ in range(20)), is_running=True)
    stage.view.row_layout.scroll_to(0)
    click(stage.button("Deny…"))
    type_text(card(stage).findChildren(QLineEdit)[0], "wait")
    stage.view.row_layout.scroll_to_bottom()
    stage.view.row_layout.scroll_to(0)
    assert card(stage).findChildren(QLineEdit)[0].text() == "wait"


def test_a_question_at_the_end_stays_whole_while_it_grows(stage: Stage) -> None:
    waiting = call("run_terminal_cmd", "git push", approval=question())
    stage.show(*(answer(long_text(6)) for _ in range(5)), waiting, is_running=True)
    click(stage.button("Edit"))
    command_field(stage).setPlainText("a command\n" * 6)
    assert stage.view.row_layout.reading.is_following
    assert stage.widget(-1).geometry().bottom() < stage.view.viewport().height()


def test_the_end_is_followed_again_once_a_question_that_was_scrolled_to_is_answered(stage: Stage) -> None:
    waiting = call("run_terminal_cmd", "git push", approval=question())
    transcript = stage.show(*(answer(long_text(6)) for _ in range(5)), waiting, is_running=True)
    until_it_listens(stage)
    be_active(stage)
    layout = stage.view.row_layout
    layout.scroll_to(layout.top_edge - 40)
    assert not layout.reading.is_following
    answers = record(stage.view.entry_actions.approval_answered)
    click(stage.button("Allow once"))
    assert len(answers) == 1
    assert layout.reading.is_following
    stage.view.row_layout.apply(transcript.apply(ApprovalResolved(turn=1, call_id="c1", decision=Allowed())))
    layout.flush()
    assert layout.reading.is_following


SERVER_CALL = replace(
    question(None),
    changes=(),
    tool="files__write",
    title="Let files run write?",
    server="files",
    server_tool="write",
    arguments={"path": "a\u202eb.txt", "text": "one\ntwo"},
    details=("MCP server files: npx files",),
)


def test_a_question_about_a_servers_tool_shows_what_it_would_be_called_with(stage: Stage) -> None:
    ask(stage, SERVER_CALL)
    shown = [field.toPlainText() for field in card(stage).findChildren(QPlainTextEdit)]
    called = 'files/write\n  path: "a⟨U+202E⟩b.txt"\n  text: |-\n    one\n    two'
    assert shown == [called, "MCP server files: npx files"]
    stage.qtbot.waitUntil(stage.button("Allow once").isEnabled)


def test_long_arguments_are_allowed_only_when_all_of_them_were_seen(stage: Stage) -> None:
    answers = ask_ready(stage, replace(SERVER_CALL, arguments={"text": "\n".join(map(str, range(200)))}))
    assert not stage.button("Allow once").isEnabled()
    press_allow(stage)
    assert answers == []
    field = card(stage).findChildren(QPlainTextEdit)[0]
    bar = field.verticalScrollBar()
    while not stage.button("Allow once").isEnabled():
        assert bar.value() < bar.maximum(), "at its end, all of it was seen"
        bar.setValue(bar.value() + 5)
        field.viewport().repaint()
        stage.qtbot.wait(1)
    press_allow(stage)
    assert answers == [("c1", Allowed())]


def test_words_of_the_model_are_shown_as_its_words_and_hide_or_reorder_no_others(stage: Stage) -> None:
    said, details = "Publish\nthe \u202efix.", ("Input: a\n\u2066b", "c")
    ask(stage, replace(question(), command="ls \u202e# x", reason="fine\u200b", explanation=said, details=details))
    names = names_on(card(stage))
    assert {"The agent says: Publish the ⟨U+202E⟩fix.", "fine⟨U+200B⟩"} <= set(names)
    assert "The agent says: Publish" in card(stage).accessibleName()
    shown = [field.toPlainText() for field in card(stage).findChildren(QPlainTextEdit)]
    assert shown == ["ls ⟨U+202E⟩# x", "Input: a\n⟨U+2066⟩b\nc"]
    assert any("It really is: ls ⟨U+202E⟩# x" in name for name in names)


def test_a_file_that_would_be_renamed_is_listed_once_with_both_paths(stage: Stage) -> None:
    image = FileImage(digest="0", size=9, mode=0o644)
    arrival = replace(change("new.py", 7, 0), kind="renamed", after=image, moved_from="old.py")
    departure = replace(change("old.py", 0, 7), id="1.2", kind="deleted", before=image, moved_to="new.py")
    request = replace(question(None), changes=(arrival, departure))
    ask(stage, request)
    assert command_field(stage).toPlainText() == f"old.py → new.py  +0 {MINUS}0"
    assert "1 file · +0 −0" in request_summary(request)


def test_a_call_that_is_too_long_to_be_shown_whole_can_only_be_denied_and_says_so(stage: Stage) -> None:
    arguments: dict[str, object] = {"text": "hello\n" * 1_700_000}
    answers = ask_ready(
        stage, replace(question(), command=None, server="files", server_tool="write", arguments=arguments)
    )
    allow, said = stage.button("Allow once"), "This is too long to be shown whole, so it can only be denied"
    assert not allow.isEnabled()
    assert (allow.accessibleDescription(), card(stage).findChildren(FoldBar)[0].text()) == (said, said)
    assert len(command_field(stage).toPlainText()) < 70_000
    be_active(stage)
    press_allow(stage)
    assert answers == []
    press_deny(stage)
    assert answers == [("c1", Denied(message=""))]


class TestTheChangeOfAnEdit:
    """One click allows an edit that is wholly visible on the card; a folded edit takes two."""

    def ask_about(
        self, theme: Theme, qtbot: QtBot, *versions: tuple[str, bytes | None, bytes | None], loads: Loads | None = None
    ) -> tuple[Stage, Loads, list[tuple[object, ...]]]:
        loads = loads or Loads()
        stage = Stage(theme, qtbot, height=900, loader=loads.loader)
        changes = tuple(loads.change(f"c{at}", *version) for at, version in enumerate(versions))
        request = replace(question(), command=None, tool="edit_file", title="Change app.py?", changes=changes)
        return stage, loads, ask_ready(stage, request)

    def shown(self, stage: Stage) -> str:
        return command_field(stage).toPlainText()

    def test_it_is_shown_before_one_click_allows_it(self, theme: Theme, qtbot: QtBot) -> None:
        stage, loads, answers = self.ask_about(theme, qtbot, ("app.py", b"a\nb\n", b"a\nc\n"))
        press_allow(stage)
        assert answers == []
        assert stage.button("Allow once").toolTip() == "Only a visible change can be allowed"
        loads.finish()
        assert self.shown(stage) == f"app.py  +1 {MINUS}1\n  a\n- b\n+ c"
        click(stage.button("Allow once"))
        assert answers == [("c1", Allowed(scope="once"))]

    def test_a_long_one_takes_one_more_click(self, theme: Theme, qtbot: QtBot) -> None:
        after = b"".join(b"line %d\n" % number for number in range(100))
        stage, loads, answers = self.ask_about(theme, qtbot, ("app.py", None, after))
        loads.finish()
        click(stage.button("Allow once"))
        press_allow(stage)
        assert answers == []
        click(stage.button("Show 71 more lines"))
        assert "+ line 99" in self.shown(stage)
        assert QApplication.focusWidget() is command_field(stage)
        assert not [text for text in stage.buttons() if text.startswith("Show")]
        click(stage.button("Allow once"))
        assert answers == [("c1", Allowed(scope="once"))]

    def test_the_longest_is_left_to_the_dialog(self, theme: Theme, qtbot: QtBot) -> None:
        after = b"".join(b"line %d\n" % number for number in range(5_000))
        stage, loads, answers = self.ask_about(theme, qtbot, ("app.py", None, after))
        loads.finish()
        opened = record(stage.view.entry_actions.approval_opened)
        click(stage.button("Review 4"))
        assert opened == [("c1",)]
        assert len(self.shown(stage).splitlines()) == 30
        press_allow(stage)
        assert answers == []

    def test_all_files_are_shown_and_characters_that_hide_are_named(self, theme: Theme, qtbot: QtBot) -> None:
        versions = ("a.py", b"x\n", b"x\r\n"), ("b.bin", b"\0", b"\0\0"), ("c.py", None, "a\u202eb\n".encode())
        stage, loads, _ = self.ask_about(theme, qtbot, *versions)
        loads.finish()
        shown = self.shown(stage)
        for text in ("a.py  ", "only line endings changed", "b.bin  ", "Binary file", "c.py  ", "U+202E"):
            assert text in shown
        assert "\u202e" not in shown

    def test_one_that_cannot_be_read_says_so_and_can_only_be_denied(self, theme: Theme, qtbot: QtBot) -> None:
        loads = Loads()
        loads.error = AgentError("Its content is missing.", hint="Deny it.")
        stage, loads, answers = self.ask_about(theme, qtbot, ("app.py", b"a\n", b"b\n"), loads=loads)
        loads.finish()
        assert "Its content is missing.\n  Deny it." in self.shown(stage)
        press_allow(stage)
        assert answers == []
        press_deny(stage)
        assert answers == [("c1", Denied())]


def test_an_ampersand_of_a_command_is_shown_and_makes_no_key_of_an_offer(stage: Stage) -> None:
    offer = ScopeOffer(scope="session", label="Allow `a 2>&1 && b` in this session", is_quick=True)
    ask(stage, replace(question(), scopes=(ScopeOffer(scope="once", label="Allow once"), offer)))
    (button,) = (one for one in card(stage).findChildren(QPushButton) if one.text().endswith("in this session"))
    assert button.shortcut().isEmpty()
    assert button.text().replace("&&", "&") == "Allow a 2>&1 && b in this session"


def test_no_bar_covers_the_last_line_of_a_long_command(stage: Stage) -> None:
    command = "rm -rf build dist && " + "python -m build --wheel --outdir dist/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " * 4
    ask(stage, replace(question(), command=command))
    for width in range(484, 604, 7):
        stage.window.resize(width, 600)
        stage.view.row_layout.flush()
        (field,) = card(stage).findChildren(CardField)
        assert not field.horizontalScrollBar().isVisible()
