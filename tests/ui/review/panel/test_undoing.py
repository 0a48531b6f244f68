"""The review panel asks for undo and redo, and reports the results; it never acts by itself."""

from typing import Literal

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel, QMessageBox, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import all_keys
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, Clash, FileOutcome, Reverted, ServerQuestion
from desktop_agent.core.protocol.ops import RedoSteps, UndoChanges, WriteFile
from desktop_agent.core.system.files import digest_of
from desktop_agent.ui.review.review_decisions import UndoWithCare
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.theme import Theme
from tests.core.diff.changes import image_of
from tests.parts import part
from tests.ui.chat.stage import question
from tests.ui.review.panel.panel_stage import Asked, button, choose, files, menu_action, shown_diff
from tests.ui.review.stage import Session, Source, Tasks, run_now


def test_a_name_that_looks_like_markup_is_shown_as_it_is(qtbot: QtBot, tasks: Tasks) -> None:
    session = Session()
    name = "<img src=x>.py"
    session.start_turn(1)
    change = session.transcript.changes[session.change(1, "call-1", name, "one\n", "two\n")].change
    session.end_turn(1)
    session.keep(name, *all_keys(diff_change(change, b"one\n", b"two\n")))
    parent = QWidget()
    qtbot.addWidget(parent)
    asked = Asked()
    care = UndoWithCare(session.transcript, Source(session), tasks.spawn, asked.submit, parent)
    care.undo(ChangeSelection(turn=1))
    [box] = parent.findChildren(QMessageBox)
    [shown] = [label for label in box.findChildren(QLabel) if name in label.text()]
    assert shown.textFormat() is Qt.TextFormat.PlainText
    box.reject()
    assert asked == []


def test_the_turn_a_file_or_the_session_is_undone(reviewed: ReviewPanel, asked: Asked) -> None:
    undo = button(reviewed, "undoTurnButton")
    assert undo.text() == "Undo turn"
    undo.click()
    choose(reviewed, "This session")
    assert undo.text() == "Undo session"
    assert undo.toolTip() == "Undo the changes to 2 files. Files that were changed since are left alone and listed."
    undo.click()
    menu_action(reviewed, "Undo this file").trigger()
    selections = [op.selection for op in asked if isinstance(op, UndoChanges)]
    assert selections == [ChangeSelection(turn=2), ChangeSelection(), ChangeSelection(path="src/pages.py")]


def test_what_is_undone_can_be_redone_and_nothing_else(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    redo, undo = button(reviewed, "redoButton"), button(reviewed, "undoTurnButton")
    assert not redo.isVisible()
    session.undo("2.3")
    reviewed.refresh()
    assert redo.isVisible()
    assert not undo.isEnabled()
    redo.click()
    assert asked[0] == RedoSteps(steps=(0,))
    session.redo("2.3")
    reviewed.refresh()
    qtbot.waitUntil(redo.isHidden)


def test_of_a_file_undone_in_part_all_is_shown_and_what_is_not_in_force_is_named(
    reviewed: ReviewPanel, session: Session, source: Source
) -> None:
    choose(reviewed, "This session")
    session.undo("2.3")
    reviewed.refresh()
    assert source.asked[-1] == ["1.1", "2.3"]
    assert shown_diff(reviewed).new_lines == ("one\n", "TWO!\n")


def test_while_a_turn_runs_nothing_can_be_undone_unless_it_waits_for_the_user(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session
) -> None:
    session.start_turn(3)
    reviewed.refresh()
    undo, waiting = button(reviewed, "undoTurnButton"), session.transcript.turns.waiting
    assert not undo.isEnabled()
    assert undo.toolTip() == "Wait until the turn has ended, or stop it"
    of_a_server = replace(question(), question=ServerQuestion(server="docs", message="Which?"))
    for asks, can_undo in ((question(), True), (of_a_server, False)):
        waiting["c1"] = asks
        reviewed.refresh()
        qtbot.waitUntil(lambda can_undo=can_undo: undo.isEnabled() == can_undo)
    waiting.clear()
    session.end_turn(3)
    reviewed.refresh()
    qtbot.waitUntil(undo.isEnabled)


LEFT_ALONE = FileOutcome(path="src/pages.py", state="conflict", change_ids=("2.3",), reason="You changed it since.")


RESTORED = FileOutcome(path="README.md", state="restored", change_ids=("1.2",))


def test_files_that_an_undo_left_alone_are_listed_with_the_reason(reviewed: ReviewPanel, session: Session) -> None:
    session.undo("1.2", outcomes=(LEFT_ALONE, RESTORED))
    reviewed.refresh()
    dialog = part(reviewed, QDialog, "undoConflictDialog")
    words = [label.text() for label in dialog.findChildren(QLabel)]
    told = (
        "Not undone",
        "These files were not written. 1 other file is done.",
        "src/pages.py",
        "You changed it since.",
    )
    assert set(told) <= set(words)
    assert dialog.isModal()
    dialog.close()


def test_conflicts_of_a_session_that_is_opened_again_are_no_news(
    reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    session.undo("1.2", outcomes=(LEFT_ALONE,))
    reviewed.set_transcript(session.transcript, asked.submit)
    reviewed.refresh()
    assert reviewed.findChild(QDialog, "undoConflictDialog") is None


def clash_of(session: Session, *change_ids: str, hunks: tuple[str, ...] = ()) -> FileOutcome:
    contents = (b"one\nTWO!\n", b"one\nTWO\n", b"one\nmine\n")
    session.blobs |= {digest_of(content): content for content in contents}
    base, wanted, yours = map(image_of, contents)
    clash = Clash(base=base, wanted=wanted, yours=yours)
    return FileOutcome(path="src/pages.py", state="conflict", change_ids=change_ids, hunks=hunks, clash=clash)


@pytest.fixture
def awaited(
    qtbot: QtBot, theme: Theme, source: Source, reviewed: ReviewPanel, session: Session, asked: Asked
) -> ReviewPanel:
    panel = ReviewPanel(theme, source, run_now)
    qtbot.addWidget(panel)
    panel.resize(560, 800)
    panel.show()
    panel.set_transcript(session.transcript, asked.submit)
    asked.clear()
    return panel


def test_what_clashed_is_decided_in_a_dialog_and_written_as_the_undo_it_completes(
    awaited: ReviewPanel, session: Session, asked: Asked
) -> None:
    session.undo(outcomes=(clash_of(session, "2.3"),))
    awaited.refresh()
    part(part(awaited, QDialog, "undoConflictDialog"), QPushButton, "useWantedButton").click()
    assert asked[0] == WriteFile(
        path="src/pages.py",
        expected=digest_of(b"one\nmine\n"),
        content=b"one\nTWO\n",
        purpose="undo",
        reverts=(Reverted(change_id="2.3"),),
    )


@pytest.mark.parametrize(
    ("purpose", "before", "after"),
    [("undo", {"a"}, ("a", "b")), ("redo", {"a", "b"}, ("a",)), ("redo", {"b"}, ())],
)
def test_a_hunk_that_clashed_counts_with_those_undone_before(
    awaited: ReviewPanel,
    session: Session,
    purpose: Literal["undo", "redo"],
    before: set[str],
    after: tuple[str, ...],
    asked: Asked,
) -> None:
    session.transcript.changes["2.3"].undone_hunks = frozenset(before)
    outcomes = (clash_of(session, "2.3", hunks=("b",)),)
    kind = ev.ChangesUndone if purpose == "undo" else ev.ChangesRedone
    session.transcript.apply(kind(selection=ChangeSelection(), change_ids=(), outcomes=outcomes))
    awaited.refresh()
    part(part(awaited, QDialog, "undoConflictDialog"), QPushButton, "useWantedButton").click()
    op = asked[0]
    assert isinstance(op, WriteFile)
    assert (op.purpose, op.reverts) == (purpose, (Reverted(change_id="2.3", hunks=after),))


def test_an_undo_is_noted_and_redone_as_it_was_made(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    choose(reviewed, "This session")
    session.undo("1.2", outcomes=(RESTORED,))
    reviewed.refresh()
    qtbot.waitUntil(lambda: part(reviewed, QLabel, "undoNotice").text() == "The last undo changed 1 file.")
    assert reviewed.findChild(QDialog, "undoConflictDialog") is None
    button(reviewed, "redoButton").click()
    assert asked[0] == RedoSteps(steps=(0,))


def test_a_word_goes_with_the_undo(reviewed: ReviewPanel, asked: Asked) -> None:
    menu_action(reviewed, "Undo this file with a message to the agent…").trigger()
    dialog = part(reviewed, QDialog, "undoWordDialog")
    field = dialog.findChild(QPlainTextEdit, "undoWordEdit")
    assert field
    field.setPlainText("Too clever\n")
    part(dialog, QPushButton, "undoWithWordButton").click()
    selection = ChangeSelection(turn=2, path="src/pages.py")
    assert asked[0] == UndoChanges(selection=selection, reason="Too clever")


def test_a_renamed_file_is_one_row_and_undone_at_both_paths(panel: ReviewPanel, session: Session, asked: Asked) -> None:
    session.start_turn(1)
    session.rename(1, "call-1", "old.py", "new.py", "x\n")
    session.end_turn(1)
    panel.set_transcript(session.transcript, asked.submit)
    asked.clear()
    assert files(panel) == ["new.py"]
    menu_action(panel, "Undo this file").trigger()
    assert asked[0] == UndoChanges(selection=ChangeSelection(turn=1, change_ids=("1.1", "1.2")))
