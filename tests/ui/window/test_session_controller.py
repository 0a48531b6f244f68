"""The session controller: events are drawn, and the user's actions become ops."""

from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication, QComboBox, QDialog, QLabel, QListWidget, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.app import Window, build
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import (
    Allowed,
    ApprovalRequest,
    ChangeSelection,
    Denied,
    FileChange,
    FileImage,
    Job,
    ModelRef,
    Rule,
    ToolCall,
    ToolResult,
    Usage,
)
from desktop_agent.core.transcript import BACKGROUND_KEY, RETRYING, Transcript
from desktop_agent.ui.approvals.approval_dialog import ApprovalDialog
from desktop_agent.ui.chat.checklist import TodoPanel
from desktop_agent.ui.chat.composer.composer import Composer, QueueCard
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.files.file_panel import FileTree
from desktop_agent.ui.jobs_panel import JobsPanel, SubagentJob
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.runtime.pacing import GradualWork
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.conversation_pane import ConversationPane, PlanBar
from desktop_agent.ui.window.main_window import MainWindow
from desktop_agent.ui.window.mode_pickers import ModePickers
from desktop_agent.ui.window.panel_controllers import SessionPanels
from desktop_agent.ui.window.session_controller import SessionController
from desktop_agent.ui.window.session_handle import SessionHandle
from tests.parts import part
from tests.ui.approvals.stage import NOW, WordRules, push
from tests.ui.chat.stage import MODEL, question
from tests.ui.review.stage import Session, Source, Tasks

Dialogs = Callable[[], list[ApprovalDialog]]


class Shown:
    def __init__(self, left: Transcript | None = None, *, read_only: str = "") -> None:
        self.asked: list[ops.Op] = []
        self.handle = SessionHandle(left or Transcript(), self.submit, read_only=read_only)
        if left is None:
            self.happen(
                ev.SessionOpened(session_id="s", workspace="/srv", model=MODEL, approval="on_write", app_version="1")
            )

    def submit(self, op: ops.Op) -> None:
        self.asked.append(op)

    def happen(self, *events: ev.Event) -> None:
        for event in events:
            self.handle.deliver(event)

    def start(self, text: str = "go") -> None:
        self.happen(ev.PromptSubmitted(prompt_id="p1", text=text, turn=1), ev.TurnStarted(turn=1, model=MODEL))

    def ask(self, request: ApprovalRequest | None = None) -> None:
        call = ToolCall(id="c1", name="run_terminal_cmd", arguments={"command": "git push"})
        self.happen(
            ev.ToolCallStarted(
                turn=1,
                call=call,
                title="git push",
                source="workspace",
                capabilities=("exec_shell",),
                is_read_only=False,
            ),
            ev.ApprovalRequested(turn=1, request=request or question()),
        )

    def end(self, reason: ev.TurnEndReason = "completed") -> None:
        self.happen(ev.TurnEnded(turn=1, reason=reason, requests=1, duration_s=0.1))


@pytest.fixture
def window(qtbot: QtBot) -> Generator[Window]:
    window = build(["--demo"])
    window.panels.session.opens_questions = True
    window.main_window.show()
    window.main_window.activateWindow()
    qtbot.waitUntil(window.main_window.isActiveWindow)
    yield window
    window.panels.spawner.cancel_all()  # nothing runs the loop that would start it
    window.main_window.let_close()
    window.main_window.deleteLater()
    window.deleteLater()


@pytest.fixture
def shown(window: Window) -> Shown:
    shown = Shown()
    window.panels.session.show(shown.handle)
    return shown


@pytest.fixture
def dialogs(qtbot: QtBot) -> Dialogs:
    def dialogs() -> list[ApprovalDialog]:
        works = [work for top in QApplication.topLevelWidgets() for work in top.findChildren(GradualWork)]
        qtbot.waitUntil(lambda: all(work.is_done for work in works))
        return [
            dialog
            for dialog in QApplication.topLevelWidgets()
            if isinstance(dialog, ApprovalDialog) and dialog.isVisible()
        ]

    return dialogs


def focused() -> QWidget:
    found = QApplication.focusWidget()
    assert found is not None
    return found


def send(window: Window, text: str) -> None:
    composer = window.panels.composer
    composer.setFocus()
    QTest.keyClicks(focused(), text)
    QTest.keyClick(focused(), Qt.Key.Key_Return)


def test_a_quotation_stands_behind_what_is_written(window: Window, shown: Shown) -> None:
    shown.start()
    composer = window.panels.composer
    composer.set_text("I mean:")
    window.panels.transcript.entry_actions.quote_requested.emit("one\n\ntwo\n")
    assert composer.text() == "I mean:\n\n> one\n>\n> two\n\n"
    assert composer.isAncestorOf(focused())


def test_who_asks_something_sees_the_end_again(window: Window, shown: Shown) -> None:
    shown.start("Count the pages")
    shown.happen(ev.TextDelta(turn=1, text="word\n\n" * 400))
    shown.end()
    view = window.panels.transcript
    view.row_layout.flush()
    view.verticalScrollBar().setValue(0)
    assert not view.row_layout.reading.is_following
    send(window, "And the rest")
    assert view.row_layout.reading.is_following


def test_the_bar_and_the_actions_follow_the_session(window: Window, shown: Shown) -> None:
    actions, bar = window.main_window.actions_, window.main_window.top_bar
    assert not actions.stop.isEnabled()
    shown.start("Count the pages")
    assert actions.stop.isEnabled()
    assert bar.title_label.text() == "Count the pages"
    assert bar.demo_label.isVisible()
    actions.stop.trigger()
    assert isinstance(shown.asked[-1], ops.Interrupt)
    shown.end("interrupted")
    assert not actions.stop.isEnabled()
    actions.undo_turn.trigger()
    actions.redo_turn.trigger()
    nothing = [ops.UndoChanges(selection=ChangeSelection()), ops.RedoSteps()]
    assert shown.asked[-2:] == nothing, "the session says that there is nothing"


def test_the_cost_follows_the_session_and_starts_anew_with_the_next(window: Window, shown: Shown) -> None:
    label = part(window.panels.composer, QLabel, "costLabel")
    shown.start("Count the pages")
    assert label.isHidden()
    shown.happen(ev.UsageReported(turn=1, usage=Usage(input_tokens=5, cost_usd=0.4), model=MODEL))
    shown.happen(ev.UsageReported(turn=1, usage=Usage(input_tokens=5, cost_usd=0.02), model=MODEL, is_aside=True))
    shown.end()
    assert (label.isVisible(), label.text()) == (True, "$0.42")
    shown.happen(ev.TurnStarted(turn=2, model=MODEL))
    shown.happen(ev.UsageReported(turn=2, usage=Usage(input_tokens=5, cost_usd=0.08), model=MODEL))
    assert label.text() == "$0.50"
    assert "Last turn: $0.08" in label.toolTip()
    window.panels.session.show(Shown().handle)
    assert label.isHidden()


def test_what_is_decided_in_the_review_is_asked_of_the_session(window: Window, shown: Shown) -> None:
    image = FileImage(digest="d", size=2, mode=0o644)
    change = FileChange(id="1.1", path="a.bin", kind="created", author="agent", before=None, after=image)
    shown.start("Make it")
    shown.happen(ev.ChangesRecorded(turn=1, call_id="c1", changes=(change,)))
    actions = window.main_window.actions_
    actions.undo_file.trigger()
    assert shown.asked == []
    shown.end()
    part(window.main_window, QPushButton, "undoTurnButton").click()
    assert shown.asked == [ops.UndoChanges(selection=ChangeSelection(turn=1))]
    actions.undo_file.trigger()
    assert shown.asked[-1] == ops.UndoChanges(selection=ChangeSelection(turn=1, path="a.bin"))
    window.panels.session.show(Shown().handle)  # otherwise it waits for a diff that is not computed here


def test_going_back_asks_how_first(window: Window, shown: Shown) -> None:
    actions = window.main_window.actions_
    assert not actions.rewind.isEnabled()
    shown.start("Count the pages")
    shown.end()
    actions.rewind.trigger()
    dialog = part(window.main_window, QDialog, "rewindDialog")
    assert shown.asked == []
    part(dialog, QPushButton, "rewindButton").click()
    assert shown.asked == [ops.RewindTo(turn=1, scope="conversation")]


def test_a_picked_mode_is_asked_for_and_shown_when_it_holds(window: Window, shown: Shown) -> None:
    pickers = window.main_window.findChildren(QAction)
    always = next(action for action in pickers if action.iconText() == "Asks before every call")
    always.trigger()
    window.panels.pickers.sandbox_chosen.emit("strict")
    assert shown.asked == [ops.SetMode(approval="always", is_planning=False), ops.SetMode(sandbox="strict")]
    model = ModelRef(provider="anthropic", model="m")
    shown.happen(ev.ModeSet(model=model, approval="always", sandbox="strict"))
    assert always.isChecked()
    assert window.panels.pickers.sandbox_button.text() == "Sandbox: read-only ▾"
    assert not window.main_window.top_bar.demo_label.isVisible()


def test_a_question_opens_its_dialog_and_an_answer_elsewhere_closes_it(
    window: Window, shown: Shown, dialogs: Dialogs
) -> None:
    shown.start()
    shown.ask()
    assert len(dialogs()) == 1
    shown.happen(ev.ApprovalResolved(turn=1, call_id="c1", decision=Denied()))
    assert dialogs() == []


def test_a_question_that_is_answered_while_its_dialog_is_made_gets_none(
    window: Window, shown: Shown, dialogs: Dialogs
) -> None:
    shown.start()
    shown.ask()
    shown.happen(ev.ApprovalResolved(turn=1, call_id="c1", decision=Denied()))
    assert dialogs() == []
    shown.ask()
    assert len(dialogs()) == 1
    dialogs()[0].close()


def test_a_question_does_not_take_the_keys_of_somebody_who_writes(
    window: Window, shown: Shown, dialogs: Dialogs
) -> None:
    shown.start()
    window.panels.composer.setFocus()
    QTest.keyClicks(focused(), "wait, also")
    shown.ask()
    assert dialogs() == []
    window.panels.transcript.entry_actions.approval_opened.emit("c1")
    assert len(dialogs()) == 1
    dialogs()[0].close()


def test_another_session_takes_the_place_and_the_first_is_heard_no_more(
    window: Window, shown: Shown, dialogs: Dialogs
) -> None:
    shown.start("First")
    shown.ask()
    other = Shown()
    window.panels.session.show(other.handle)
    assert dialogs() == [], "its question waits with it"
    shown.happen(ev.SessionRenamed(title="Renamed"))
    assert window.main_window.top_bar.title_label.text() == "New session"
    send(window, "For the second")
    assert shown.asked == []
    assert len(other.asked) == 1
    window.panels.session.show(shown.handle)
    assert window.main_window.top_bar.title_label.text() == "Renamed"
    assert len(dialogs()) == 1, "its question is asked again"
    dialogs()[0].close()


def test_prompts_come_back_when_the_session_refused_them_or_the_turn_was_stopped(window: Window, shown: Shown) -> None:
    composer = window.panels.composer
    send(window, "my long question")
    assert composer.text() == ""
    shown.happen(ev.PromptRejected(text="my long question"))
    assert composer.text() == "my long question"
    shown.start()
    shown.happen(ev.Queued(prompt_id="q1", text="then this"), ev.Queued(prompt_id="q2", text="and that"))
    composer.set_text("a draft")
    shown.end("interrupted")
    assert composer.text() == "then this\n\nand that\n\na draft"
    assert [op.prompt_id for op in shown.asked if isinstance(op, ops.Unqueue)] == ["q1", "q2"]


def test_a_session_that_is_only_read_asks_nothing_and_is_asked_nothing(
    window: Window, shown: Shown, dialogs: Dialogs
) -> None:
    read = Shown(read_only="It is open in another window.")
    actions = window.panels.window.actions_
    window.panels.composer.set_text("a draft")
    window.panels.session.show(read.handle)
    read.start()
    read.ask()
    read.happen(ev.Queued(prompt_id="q1", text="then this"))
    assert dialogs() == []
    assert not actions.stop.isEnabled()
    read.end("interrupted")
    assert not actions.rewind.isEnabled()
    assert window.panels.composer.text() == "a draft", "what waits there stays there"
    assert read.asked == []
    window.panels.session.show(shown.handle)
    shown.start()
    assert actions.stop.isEnabled()


def test_prompts_that_a_crash_left_waiting_stay_and_can_be_sent(window: Window) -> None:
    left = Shown()
    left.start()
    left.happen(ev.Queued(prompt_id="q1", text="then this"))
    reopened = Shown(left.handle.transcript)
    window.panels.session.show(reopened.handle)
    [send_now] = window.panels.composer.findChildren(QPushButton, "sendQueuedButton")
    assert not send_now.isVisible(), "a turn runs"
    reopened.end("interrupted")
    assert window.panels.composer.text() == ""
    assert reopened.asked == []
    send_now.click()
    assert reopened.asked == [ops.SendQueued(prompt_id="q1")]


def test_a_message_written_while_a_question_waits_denies_it_or_goes_into_the_turn(
    window: Window, shown: Shown, qtbot: QtBot
) -> None:
    composer = window.panels.composer
    shown.start()
    shown.ask(push())
    for _ in range(2):  # by the second time the field is empty
        QTest.keyClicks(composer.edit, "careful" if not shown.asked else "")
        QTest.keyClick(composer.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert shown.asked == [ops.Steer(text="careful")]

    def is_answered() -> bool:
        QTest.keyClick(composer.edit, Qt.Key.Key_Return)
        return not composer.text()

    QTest.keyClicks(composer.edit, "not to main")
    qtbot.waitUntil(is_answered)
    denied = Denied(message="not to main")
    assert shown.asked[1:] == [ops.AnswerApproval(call_id="c1", decision=denied)]
    shown.happen(ev.ApprovalResolved(turn=1, call_id="c1", decision=denied))
    QTest.keyClicks(composer.edit, "then this")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert shown.asked[2:] == [ops.SubmitPrompt(text="then this")]


def test_a_waiting_prompt_is_sent_into_the_turn_and_shown_where_it_reached_the_agent(
    window: Window, shown: Shown, qtbot: QtBot
) -> None:
    composer, view = window.panels.composer, window.panels.transcript
    shown.start()
    QTest.keyClicks(composer.edit, "and this")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    shown.happen(ev.Queued(prompt_id="q1", text="then this"))
    [into_turn] = composer.findChildren(QPushButton, "steerQueuedButton")
    assert into_turn.isVisible()
    into_turn.click()
    assert shown.asked == [ops.Steer(text="and this"), ops.SteerQueued(prompt_id="q1")]
    shown.happen(ev.Queued(prompt_id="q1", text="then this", is_steering=True))
    [card] = [card for card in composer.findChildren(QueueCard) if not card.isHidden()]
    assert card.accessibleName() == "Reaches the agent at the next step: then this"
    assert not any(button.isVisible() for button in card.findChildren(QPushButton, "steerQueuedButton"))
    shown.happen(ev.Steered(turn=1, prompt_id="q1", text="then this"))
    assert all(card.isHidden() for card in composer.findChildren(QueueCard))
    said = "You, while the agent worked: then this"
    qtbot.waitUntil(lambda: any(row.widget and row.widget.accessibleName() == said for row in view.row_layout.rows))


def test_the_wait_before_a_try_is_skipped_in_the_session_that_is_shown(
    window: Window, shown: Shown, qtbot: QtBot
) -> None:
    def offer() -> QPushButton | None:
        buttons = window.panels.transcript.findChildren(QPushButton, "tryNowButton")
        return next((button for button in buttons if button.isVisible()), None)

    shown.start()
    shown.happen(ev.Notice(level="warning", code=RETRYING, title="Overloaded.", hint="Trying again in 60 s."))
    shown.happen(ev.RetryWaitReported(turn=1, is_waiting=True))
    qtbot.waitUntil(lambda: offer() is not None)
    button = offer()
    assert button is not None
    button.click()
    assert shown.asked == [ops.TryNow()]
    shown.happen(ev.RetryWaitReported(turn=1, is_waiting=False))
    qtbot.waitUntil(lambda: offer() is None)


def test_background_commands_are_shown_and_stopped_in_the_session_that_is_shown(window: Window, shown: Shown) -> None:
    job = Job(id="job-1", command="npm run dev", cwd=Path("/srv"), pid=1, log=Path("/srv/l"), started_at=NOW)
    button = window.main_window.top_bar.jobs_button
    shown.happen(ev.JobsReported(jobs=(job, replace(job, id="job-2", state="exited", exit_code=0))))
    assert button.text() == "1 job"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    panel = part(window.main_window, JobsPanel, "jobsPanel")
    assert panel.isVisible()
    QTest.mouseClick(part(panel.rows[0], QPushButton, "jobStopButton"), Qt.MouseButton.LeftButton)
    assert shown.asked == [ops.StopJob(job_id="job-1")]
    window.panels.session.show(Shown().handle)
    assert panel.rows == []
    assert not button.isVisible()


def test_sub_agents_in_the_background_are_among_the_commands_there(window: Window, shown: Shown) -> None:
    call = ToolCall(id="c1", name="task", arguments={"description": "Look", "prompt": "Look.", "role": "explore"})
    begun = ToolResult(content="It works.", metadata={BACKGROUND_KEY: True})
    shown.start()
    shown.happen(
        ev.ToolCallStarted(
            turn=1, call=call, title="explore: Look", source="workspace", capabilities=(), is_read_only=True
        ),
        ev.ToolCallFinished(turn=1, call_id="c1", state="completed", result=begun, duration_s=0.0),
        ev.SubagentStarted(turn=1, call_id="c1", session_id="s2", role="explore", model=MODEL),
    )
    button = window.main_window.top_bar.jobs_button
    assert button.text() == "1 job"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    (row,) = part(window.main_window, JobsPanel, "jobsPanel").rows
    assert (row.job.command, row.job.last_line) == ("explore: Look", "Thinks")
    shown.happen(ev.ToolProgress(turn=1, call_id="c1", name="task", message="grep  round"))
    assert row.job.last_line == "grep  round"
    show = part(row, QPushButton, "jobOutputButton")
    assert (show.text(), show.accessibleName()) == (
        "Show its conversation",
        "Show the conversation of explore: Look",
    )
    assert isinstance(row.job, SubagentJob)
    assert row.job.session_id == "s2"
    QTest.mouseClick(part(row, QPushButton, "jobStopButton"), Qt.MouseButton.LeftButton)
    assert shown.asked == [ops.StopSubagent(call_id="c1")]
    shown.happen(ev.SubagentEnded(turn=1, call_id="c1", state="failed", result=ToolResult(content="No."), duration_s=1))
    assert not button.isVisible()


def test_the_rules_of_the_shown_session_are_told(window: Window, shown: Shown) -> None:
    rule = Rule(id="r-1", effect="allow", kind="command", pattern="ls", scope="session", created_at=NOW)
    told = QSignalSpy(window.panels.session.rules_changed)
    shown.happen(ev.RulesReported(rules=(rule,)))
    shown.start()
    assert [told.at(index) for index in range(told.count())] == [[(rule,)]], "only when they changed"
    window.panels.session.show(Shown().handle)
    assert told.at(told.count() - 1) == [()]


def test_a_question_that_a_rule_can_answer_offers_to_make_one(qtbot: QtBot, theme: Theme, dialogs: Dialogs) -> None:
    frame = MainWindow(theme, QSettings())
    qtbot.addWidget(frame, before_close_func=MainWindow.let_close)
    transcript, composer = TranscriptView(theme), Composer(theme)
    review, jobs = ReviewPanel(theme, Source(Session()), Tasks().spawn), JobsPanel(theme, lambda: NOW)
    files, pickers = FileTree(theme, Tasks().spawn), ModePickers(composer)
    todos, plan = TodoPanel(theme), PlanBar()
    frame.set_panels(QWidget(), files, ConversationPane(transcript, plan, todos), composer, review, jobs)
    panels = SessionPanels(frame, theme, transcript, composer, pickers, review, files, jobs, todos, plan)
    session = SessionController(
        panels,
        Source(Session()),
        Tasks().spawn,
        lambda: NOW,
        rule_maths=lambda _transcript: WordRules(),
    )
    frame.show()
    shown = Shown()
    session.show(shown.handle)
    shown.start()
    earlier = ToolCall(id="c0", name="run_terminal_cmd", arguments={"command": "git push --force"})
    begin = partial(ev.ToolCallStarted, turn=1, source="workspace", capabilities=("exec_shell",), is_read_only=False)
    shown.happen(
        begin(call=earlier, title="git push --force"),
        ev.ApprovalRequested(turn=1, request=replace(push(), call_id="c0", command="git push --force")),
        ev.ApprovalResolved(turn=1, call_id="c0", decision=Denied()),
    )
    session.opens_questions = True
    shown.happen(
        begin(call=ToolCall(id="c1", name="run_terminal_cmd", arguments={}), title="git push"),
        ev.ApprovalRequested(turn=1, request=push()),
    )
    (dialog,) = dialogs()
    part(dialog, QComboBox, "approvalScopePicker").setCurrentIndex(2)
    allowed = part(dialog, QListWidget, "ruleAskingList")
    qtbot.waitUntil(lambda: [allowed.item(row).text() for row in range(allowed.count())] == ["git push --force"])
    qtbot.waitUntil(lambda: dialog.can_allow)
    dialog.allow()
    (answer,) = shown.asked
    assert isinstance(answer, ops.AnswerApproval)
    assert isinstance(answer.decision, Allowed)
    (rule,) = answer.decision.rules
    assert (rule.pattern, rule.scope, rule.workspace, rule.created_at) == ("git push origin", "project", "/srv", NOW)


def test_recover_on_a_card_asks_the_session_to_put_back_what_the_call_destroyed(window: Window, shown: Shown) -> None:
    part(window.main_window, TranscriptView).entry_actions.recover_requested.emit("c1")
    assert shown.asked == [ops.UndoChanges(selection=ChangeSelection(call_id="c1"), is_recovery=True)]
