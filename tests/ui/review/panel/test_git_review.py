"""What git finds different is reviewed like what the session changed."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
)
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.ops import (
    WriteFile,
)
from desktop_agent.ui.review.panel.panel import ReviewPanel
from desktop_agent.ui.review.source import GitState
from desktop_agent.ui.theme import Theme
from tests.ui.review.panel.panel_stage import (
    Asked,
    Git,
    button,
    carry_out,
    child,
    choose,
    diff_view,
    files,
    marks,
    show_call,
)
from tests.ui.review.stage import Session, Source, Tasks


def test_what_is_not_committed_can_be_reviewed_before_anything_changed(in_git: ReviewPanel) -> None:
    button(in_git, "reviewUncommittedButton").click()
    assert files(in_git) == ["a.py"]
    diff = diff_view(in_git).document.diff
    assert diff
    assert (diff.old_lines, diff.new_lines) == (("1\n",), ("2\n",))


def test_an_undo_against_git_writes_the_file_and_can_be_redone(
    in_git: ReviewPanel, session: Session, git: Git, asked: Asked
) -> None:
    carry_out(in_git, session, asked)
    button(in_git, "reviewUncommittedButton").click()
    button(in_git, "undoTurnButton").click()
    button(in_git, "redoButton").click()
    assert [(op.content, op.purpose) for op in asked if isinstance(op, WriteFile)] == [
        (b"1\n", "undo"),
        (b"2\n", "redo"),
    ]


def test_an_undo_against_git_is_asked_of_the_session_in_which_the_user_pressed_it(
    in_git: ReviewPanel, session: Session, tasks: Tasks, git: Git, asked: Asked
) -> None:
    button(in_git, "reviewUncommittedButton").click()
    git.is_slow = True
    button(in_git, "undoTurnButton").click()
    other, asked_there = Session(), Asked()
    other.transcript.session.workspace = "/other"
    in_git.set_transcript(other.transcript, asked_there.submit)
    tasks.let_go()
    button(in_git, "redoButton").click()
    assert [op.path for op in asked if isinstance(op, WriteFile)] == ["a.py"]
    assert [op for op in asked_there if isinstance(op, WriteFile)] == []


def test_what_git_cannot_put_back_is_said(in_git: ReviewPanel, git: Git) -> None:
    button(in_git, "reviewUncommittedButton").click()
    git.error = AgentError("It changed a moment ago.")
    button(in_git, "undoTurnButton").click()
    assert child(in_git, QLabel, "reviewProblem").text() == "a.py: It changed a moment ago."


def test_branches_are_offered_and_hunks_kept_against_them(
    qtbot: QtBot, in_git: ReviewPanel, session: Session, git: Git, asked: Asked
) -> None:
    button(in_git, "reviewUncommittedButton").click()
    carry_out(in_git, session, asked)
    choose(in_git, "Against other")
    assert git.branches_asked[-1] == "other"
    button(in_git, "keepAllButton").click()
    qtbot.waitUntil(lambda: marks(in_git) == ["kept"])


def test_a_call_is_found_from_what_git_lists_and_back(in_git: ReviewPanel, session: Session, git: Git) -> None:
    session.start_turn(1)
    session.change(1, "call-1", "a.py", "1\n", "2\n")
    session.end_turn(1)
    in_git.refresh()
    choose(in_git, "Uncommitted")
    calls = QSignalSpy(in_git.call_requested)
    button(in_git, "showCallButton").click()
    assert calls.at(0) == ["call-1"]
    assert show_call(in_git, "call-1")
    assert child(in_git, QComboBox, "baselinePicker").currentText() == "Uncommitted"


def test_without_a_repository_what_git_would_show_is_closed_and_says_why(
    in_git: ReviewPanel, session: Session, git: Git, asked: Asked
) -> None:
    git.state = GitState("not_a_repository")
    session.change(1, "call-1", "a.py", "1\n", "2\n")
    in_git.set_transcript(session.transcript, asked.submit)
    picker = child(in_git, QComboBox, "baselinePicker")
    index = picker.findText("Uncommitted", Qt.MatchFlag.MatchStartsWith)
    assert not picker.model().flags(picker.model().index(index, 0)) & Qt.ItemFlag.ItemIsEnabled
    assert picker.itemData(index, Qt.ItemDataRole.ToolTipRole) == "No git repository"


def test_git_is_not_asked_before_the_panel_is_prepared(
    qtbot: QtBot, theme: Theme, session: Session, source: Source, tasks: Tasks, git: Git, asked: Asked
) -> None:
    """What it finds is behind the first sight of the window, and its processes would take time from that."""
    made: list[Git] = []

    def make_git() -> Git:
        made.append(git)
        return git

    panel = ReviewPanel(theme, source, tasks.spawn, make_git=make_git)
    qtbot.addWidget(panel)
    panel.wait_for_preparation()
    session.transcript.session.workspace = "/repo"
    panel.set_transcript(session.transcript, asked.submit)
    assert (made, git.folders_asked) == ([], [])
    panel.prepare()
    qtbot.waitUntil(lambda: git.folders_asked == ["/repo"])
    assert made == [git]
