"""Git's differences are reviewed like the session's changes."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QComboBox, QLabel, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.diff.hunks import review_hunks
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, Share
from desktop_agent.core.protocol.ops import UndoDifferences
from desktop_agent.core.system.files import digest_of
from desktop_agent.ui.review.diff_source import GitState
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.theme import Theme
from tests.parts import part
from tests.ui.review.panel.panel_stage import (
    Asked,
    Git,
    button,
    carry_out,
    choose,
    files,
    marks,
    pane,
    show_call,
    shown_diff,
)
from tests.ui.review.stage import Session, Source, Tasks


@pytest.fixture
def uncommitted(in_git: ReviewPanel) -> ReviewPanel:
    button(in_git, "reviewUncommittedButton").click()
    return in_git


@pytest.fixture
def made_by_agent(in_git: ReviewPanel, session: Session) -> ReviewPanel:
    session.change(1, "call-1", "a.py", "1\n", "2\n")
    in_git.refresh()
    choose(in_git, "Uncommitted")
    return in_git


def test_what_is_not_committed_can_be_reviewed_before_anything_changed(uncommitted: ReviewPanel) -> None:
    assert files(uncommitted) == ["a.py"]
    diff = shown_diff(uncommitted)
    assert (diff.old_lines, diff.new_lines) == (("1\n",), ("2\n",))


def question(panel: ReviewPanel) -> QMessageBox:
    (box,) = [box for box in panel.findChildren(QMessageBox, "undoOthersDialog") if box.isVisible()]
    return box


def asked_undos(asked: Asked) -> list[tuple[list[str], bool]]:
    return [([file.path for file in op.files], op.includes_others) for op in asked if isinstance(op, UndoDifferences)]


def test_an_undo_against_git_of_what_the_session_did_not_change_asks_first(
    uncommitted: ReviewPanel, asked: Asked
) -> None:
    button(uncommitted, "undoTurnButton").click()
    assert asked_undos(asked) == []
    box = question(uncommitted)
    assert "The agent made none of these changes." in box.text()
    assert "Yours: 1 file, +1 −1 (a.py)" in box.informativeText()
    assert box.findChild(QPushButton, "undoAgentsButton") is None
    box.reject()
    assert asked_undos(asked) == []
    button(uncommitted, "undoTurnButton").click()
    part(question(uncommitted), QPushButton, "undoEverybodysButton").click()
    assert asked_undos(asked) == [(["a.py"], True)]


def test_what_another_session_left_is_told_as_perhaps_its(
    in_git: ReviewPanel, git: Git, source: Source, asked: Asked
) -> None:
    source.by_others = {"a.py": {digest_of(git.contents["two"])}}
    button(in_git, "reviewUncommittedButton").click()
    button(in_git, "undoTurnButton").click()
    assert "Perhaps another session's: 1 file, +1 −1 (a.py)" in question(in_git).informativeText()


def test_an_undo_against_git_of_what_is_all_the_agents_asks_nothing(made_by_agent: ReviewPanel, asked: Asked) -> None:
    button(made_by_agent, "undoTurnButton").click()
    assert asked_undos(asked) == [(["a.py"], False)]


@pytest.mark.parametrize("is_slow", [False, True], ids=["", "before the first is looked into"])
def test_a_second_undo_against_git_is_ignored_until_git_is_listed_after_the_first(
    made_by_agent: ReviewPanel, session: Session, tasks: Tasks, git: Git, asked: Asked, is_slow: bool
) -> None:
    git.is_slow = is_slow
    for _ in range(3):
        button(made_by_agent, "undoTurnButton").click()
    while tasks.waiting:
        tasks.let_go()
    assert asked_undos(asked) == [(["a.py"], False)]
    git.is_slow = False
    git.contents["two"] = b"3\n"
    choose(made_by_agent, "Against other")
    button(made_by_agent, "undoTurnButton").click()
    assert len(asked_undos(asked)) == 2


@pytest.mark.parametrize("is_changed", [False, True], ids=["", "and is nothing any more"])
def test_an_undo_against_git_that_is_wanted_while_git_is_listed_again_is_of_the_new_list(
    qtbot: QtBot,
    made_by_agent: ReviewPanel,
    session: Session,
    tasks: Tasks,
    git: Git,
    asked: Asked,
    *,
    is_changed: bool,
) -> None:
    button(made_by_agent, "undoTurnButton").click()
    git.is_slow = True
    session.transcript.apply(ev.ChangesUndone(selection=ChangeSelection(), change_ids=(), outcomes=(), changes=()))
    session.change(2, "call-2", "a.py", "2\n", "1\n")
    made_by_agent.refresh()
    button(made_by_agent, "undoTurnButton").click()
    button(made_by_agent, "undoTurnButton").click()
    assert len(asked_undos(asked)) == 1
    if is_changed:
        git.contents["two"] = git.contents["one"]
    git.is_slow = False
    while tasks.waiting:
        tasks.let_go()
    if is_changed:
        qtbot.waitUntil(lambda: files(made_by_agent) == [])
        assert len(asked_undos(asked)) == 1
    else:
        qtbot.waitUntil(lambda: len(asked_undos(asked)) == 2)


def test_of_identical_changes_the_kept_one_stays_kept_when_another_is_undone(
    qtbot: QtBot, uncommitted: ReviewPanel, session: Session, git: Git, asked: Asked
) -> None:
    def lines(*done: int) -> bytes:
        return b"".join(b"done\n" if at in done else b"line %d\n" % (0 if at % 30 == 0 else at) for at in range(90))

    def decided() -> dict[int, str]:
        overlay, diff = pane(uncommitted).review.hunks, shown_diff(uncommitted)
        starts = {named.key: named.hunk.edits[0].old_start for named in review_hunks(diff)}
        return {starts[key]: overlay.decisions.state(key) for key in overlay.keys}

    carry_out(uncommitted, session, asked)
    git.contents = {"one": lines(), "two": lines(0, 30, 60)}
    choose(uncommitted, "Against other")
    _, second, _ = pane(uncommitted).review.hunks.keys
    pane(uncommitted).review.hunks.requested.emit("keep", (second,))
    qtbot.waitUntil(lambda: decided() == {0: "undecided", 30: "kept", 60: "undecided"})
    git.contents["two"] = lines(30, 60)
    choose(uncommitted, "Uncommitted")
    qtbot.waitUntil(lambda: decided() == {30: "kept", 60: "undecided"})
    git.contents["two"] = lines(30)
    choose(uncommitted, "Against other")
    qtbot.waitUntil(lambda: decided() == {30: "kept"})
    git.contents["two"] = lines(0, 60)
    choose(uncommitted, "Uncommitted")
    qtbot.waitUntil(lambda: decided() == {0: "undecided", 60: "undecided"})


def test_what_an_undo_against_git_left_alone_can_be_undone_at_once(
    made_by_agent: ReviewPanel, session: Session, asked: Asked
) -> None:
    button(made_by_agent, "undoTurnButton").click()
    session.transcript.apply(ev.ChangesUndone(selection=ChangeSelection(), change_ids=(), outcomes=(), changes=()))
    made_by_agent.refresh()
    button(made_by_agent, "undoTurnButton").click()
    assert len(asked_undos(asked)) == 2


@pytest.mark.parametrize(("name", "is_all"), [("undoAgentsButton", False), ("undoEverybodysButton", True)])
def test_what_is_partly_the_agents_can_be_undone_without_the_rest(
    in_git: ReviewPanel, session: Session, source: Source, asked: Asked, name: str, is_all: bool
) -> None:
    session.change(1, "call-1", "a.py", "1\n", "2\n")
    source.owners = Share("agent", 3, 1), Share("person", 0, 2), Share("unknown", 1), Share("other_session", 5)
    in_git.refresh()
    choose(in_git, "Uncommitted")
    button(in_git, "undoTurnButton").click()
    box = question(in_git)
    assert box.defaultButton().objectName() == "undoAgentsButton"
    assert box.informativeText().splitlines()[:4] == [
        "The agent's: 1 file, +3 −1 (a.py)",
        "Yours: 1 file, −2 (a.py)",
        "A running server's, or yours: 1 file, +1 (a.py)",
        "Perhaps another session's: 1 file, +5 (a.py)",
    ]
    part(box, QPushButton, name).click()
    assert asked_undos(asked) == [(["a.py"], is_all)]


def test_an_undo_against_git_is_asked_of_the_session_in_which_the_user_pressed_it(
    made_by_agent: ReviewPanel, session: Session, tasks: Tasks, git: Git, asked: Asked
) -> None:
    git.is_slow = True
    button(made_by_agent, "undoTurnButton").click()
    other, asked_there = Session(), Asked()
    other.transcript.session.workspace = "/other"
    made_by_agent.set_transcript(other.transcript, asked_there.submit)
    tasks.let_go()
    assert (asked_undos(asked), asked_undos(asked_there)) == ([(["a.py"], False)], [])


def test_what_git_cannot_put_back_is_said(uncommitted: ReviewPanel, git: Git) -> None:
    git.error = AgentError("It changed a moment ago.")
    button(uncommitted, "undoTurnButton").click()
    assert part(uncommitted, QLabel, "reviewProblem").text() == "a.py: It changed a moment ago."


def test_branches_are_offered_and_hunks_kept_against_them(
    qtbot: QtBot, uncommitted: ReviewPanel, session: Session, git: Git, asked: Asked
) -> None:
    carry_out(uncommitted, session, asked)
    choose(uncommitted, "Against other")
    assert git.branches_asked[-1] == "other"
    button(uncommitted, "keepAllButton").click()
    qtbot.waitUntil(lambda: marks(uncommitted) == ["kept"])


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
    assert part(in_git, QComboBox, "baselinePicker").currentText() == "Uncommitted"


def test_without_a_repository_what_git_would_show_is_closed_and_says_why(
    in_git: ReviewPanel, session: Session, git: Git, asked: Asked
) -> None:
    git.state = GitState("not_a_repository")
    session.change(1, "call-1", "a.py", "1\n", "2\n")
    in_git.set_transcript(session.transcript, asked.submit)
    picker = part(in_git, QComboBox, "baselinePicker")
    index = picker.findText("Uncommitted", Qt.MatchFlag.MatchStartsWith)
    assert not picker.model().flags(picker.model().index(index, 0)) & Qt.ItemFlag.ItemIsEnabled
    for role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
        assert picker.itemData(index, role) == "No git repository"


def test_git_is_not_asked_before_the_panel_is_prepared(
    qtbot: QtBot, theme: Theme, session: Session, source: Source, tasks: Tasks, git: Git, asked: Asked
) -> None:
    """Its result is not needed for the first sight, and its processes would slow that down."""
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
