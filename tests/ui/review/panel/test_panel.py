"""The review panel shows what changed and asks for undo and redo; it never acts by itself."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QListView,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import AgentError, StorageError
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    ChangeSelection,
    Clash,
    FileChange,
    FileDiff,
    FileImage,
    FileOutcome,
    Job,
    Reverted,
    Uncaptured,
)
from desktop_agent.core.protocol.ops import (
    LookAtChanges,
    MarkReviewed,
    Op,
    RedoChanges,
    RedoSteps,
    RemoveComment,
    SendComments,
    UndoChanges,
    WriteFile,
)
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.transcript import JournalPage
from desktop_agent.ui.review.changes.change_model import ChangeModel
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.panel.diff_pane import DiffPane
from desktop_agent.ui.review.panel.file_editor import FileEditor
from desktop_agent.ui.review.panel.panel import ReviewPanel
from desktop_agent.ui.review.source import GitRevert, GitState
from desktop_agent.ui.theme import Theme
from tests.ui.review.stage import Hold, Session, Source, Tasks, change_of

_Widget = TypeVar("_Widget", bound=QWidget)


class Widths(QObject):
    """Notes every width that a widget is given."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self._widths = widths

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if isinstance(event, QResizeEvent):
            self._widths.append(event.size().width())
        return super().eventFilter(watched, event)


class Asked(list[Op]):
    """What the review asks of the session, in this order; `hear` hears each of it as well."""

    hear: Callable[[Op], None] | None = None

    def submit(self, op: Op) -> None:
        self.append(op)
        if self.hear is not None:
            self.hear(op)


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def panel(qtbot: QtBot, theme: Theme, source: Source, tasks: Tasks) -> ReviewPanel:
    panel = ReviewPanel(theme, source, tasks.spawn)
    qtbot.addWidget(panel)
    panel.resize(560, 800)
    panel.show()
    qtbot.waitExposed(panel)
    return panel


@pytest.fixture
def reviewed(panel: ReviewPanel, session: Session, asked: Asked) -> ReviewPanel:
    """Two turns: the first changed two files, the second one of them again."""
    session.start_turn(1, "Fix the page count\nand more")
    session.change(1, "call-1", "src/pages.py", "one\ntwo\n", "one\nTWO\n")
    session.change(1, "call-2", "README.md", None, "hello\n", author="shell")
    session.end_turn(1)
    session.start_turn(2, "Louder")
    session.change(2, "call-3", "src/pages.py", "one\nTWO\n", "one\nTWO!\n")
    session.end_turn(2)
    panel.set_transcript(session.transcript, asked.submit)
    return panel


def child(panel: ReviewPanel, kind: type[_Widget], name: str) -> _Widget:
    found = panel.findChild(kind, name)
    assert found
    return found


def files(panel: ReviewPanel) -> list[str]:
    model = child(panel, QListView, "changeList").model()
    return [model.data(model.index(row, 0)) for row in range(model.rowCount())]


def diff_view(panel: ReviewPanel) -> DiffView:
    return child(panel, DiffView, "diffView")


def button(panel: ReviewPanel, name: str) -> QPushButton:
    return child(panel, QPushButton, name)


def choose(panel: ReviewPanel, label: str) -> None:
    picker = child(panel, QComboBox, "baselinePicker")
    index = next(index for index in range(picker.count()) if picker.itemText(index).startswith(label))
    picker.setCurrentIndex(index)
    picker.activated.emit(index)


def show_call(panel: ReviewPanel, call_id: str) -> bool:
    return panel.content is not None and panel.content.show_call(call_id)


def go_on(panel: ReviewPanel) -> None:
    assert panel.content
    panel.content.go_to_undecided()


def go_back(panel: ReviewPanel) -> None:
    assert panel.content
    panel.content.go_to_undecided(backwards=True)


def texts(panel: ReviewPanel) -> set[str]:
    return {label.text() for label in panel.findChildren(QLabel) if label.isVisible()}


# --- what is shown ------------------------------------------------------------------------------------------------


def test_before_anything_changed_it_says_what_will_be_here(panel: ReviewPanel, session: Session, asked: Asked) -> None:
    assert "No changes yet" not in texts(panel), "no session was read yet"
    panel.set_transcript(session.transcript, asked.submit)
    assert "No changes yet" in texts(panel)
    assert panel.findChild(QPushButton, "undoTurnButton") is None
    assert panel.accessibleName() == "Review"


def test_before_all_of_the_journal_is_read_it_claims_nothing(
    panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    unread = JournalPage(start=0, end=9_000, first_seq=1, first_turn=0, entries=0, characters=0)
    end = session.transcript.copy()
    end.paged.add_page(unread)
    panel.set_transcript(end, asked.submit)
    assert "No changes yet" not in texts(panel)
    assert "Reading the changes…" in texts(panel)
    panel.say_unreadable()
    assert "The changes could not be read" in texts(panel)
    panel.set_transcript(session.transcript, asked.submit)
    assert "No changes yet" in texts(panel)


def test_what_was_prepared_is_what_the_first_change_is_shown_in(
    qtbot: QtBot, panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    panel.set_diff_mode("unified")
    panel.prepare()
    qtbot.waitUntil(lambda: panel.is_prepared)
    prepared = diff_view(panel)
    assert not prepared.isVisible()
    session.start_turn(1)
    session.change(1, "call-1", "src/pages.py", "one\n", "two\n")
    panel.set_transcript(session.transcript, asked.submit)
    assert diff_view(panel) is prepared
    assert prepared.isVisible()
    assert prepared.document.wanted_mode == "unified"


def test_preparing_a_review_that_is_closed_moves_nothing_else(
    qtbot: QtBot, theme: Theme, source: Source, tasks: Tasks
) -> None:
    window, conversation = QWidget(), QWidget()
    panel = ReviewPanel(theme, source, tasks.spawn)
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    row.addWidget(conversation)
    row.addWidget(panel)
    panel.hide()
    window.resize(700, 500)
    window.show()
    qtbot.waitExposed(window)
    widths: list[int] = []
    watch = Widths(widths)
    conversation.installEventFilter(watch)
    panel.prepare()
    qtbot.waitUntil(lambda: panel.is_prepared)
    assert widths == []


def test_what_is_half_prepared_is_finished_when_a_change_needs_it(
    qtbot: QtBot, panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    panel.prepare()
    session.start_turn(1)
    session.change(1, "call-1", "src/pages.py", "one\n", "two\n")
    qtbot.waitUntil(lambda: panel.findChild(DiffView) is not None)
    assert not panel.is_prepared
    panel.set_transcript(session.transcript, asked.submit)
    assert diff_view(panel).isVisible()
    assert files(panel) == ["src/pages.py"]
    assert len(panel.findChildren(DiffView)) == len(panel.findChildren(DiffPane)) == 1


def test_a_change_does_not_wait_for_what_is_not_prepared_yet(
    panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    panel.prepare()
    session.start_turn(1)
    session.change(1, "call-1", "src/pages.py", "one\n", "two\n")
    panel.set_transcript(session.transcript, asked.submit)
    assert diff_view(panel).isVisible()
    panel.prepare()
    assert len(panel.findChildren(DiffView)) == 1


def test_the_last_turn_is_shown_first(reviewed: ReviewPanel) -> None:
    assert files(reviewed) == ["src/pages.py"]
    diff = diff_view(reviewed).document.diff
    assert diff
    assert (diff.path, diff.old_lines, diff.new_lines) == ("src/pages.py", ("one\n", "TWO\n"), ("one\n", "TWO!\n"))


def test_the_baselines_are_the_last_turn_the_session_and_every_turn(reviewed: ReviewPanel) -> None:
    picker = child(reviewed, QComboBox, "baselinePicker")
    assert [picker.itemText(index) for index in range(picker.count())] == [
        "Last turn (2)",
        "This session",
        "",
        "Uncommitted",
        "Against a branch",
        "",
        "Turn 2: Louder",
        "Turn 1: Fix the page count",
        "",
        "Since message 2: Louder",
        "Since message 1: Fix the page count",
    ]


def test_several_changes_of_one_file_are_shown_as_one(reviewed: ReviewPanel, source: Source) -> None:
    choose(reviewed, "This session")
    assert files(reviewed) == ["src/pages.py", "README.md"]
    assert source.asked[-1] == ["1.1", "2.3"]
    diff = diff_view(reviewed).document.diff
    assert diff
    assert diff.new_lines == ("one\n", "TWO!\n")


def test_totals_are_net_of_lines_changed_twice(reviewed: ReviewPanel) -> None:
    choose(reviewed, "This session")
    assert {"+2", "−1"} <= texts(reviewed)


def test_picking_another_file_shows_its_diff(reviewed: ReviewPanel) -> None:
    choose(reviewed, "This session")
    QTest.keyClick(child(reviewed, QListView, "changeList"), Qt.Key.Key_Down)
    diff = diff_view(reviewed).document.diff
    assert diff
    assert diff.path == "README.md"


def test_a_change_while_the_turn_runs_appears_and_moves_nothing(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session
) -> None:
    choose(reviewed, "This session")
    session.start_turn(3)
    session.change(3, "call-4", "new.py", None, "x\n")
    reviewed.refresh()
    qtbot.waitUntil(lambda: files(reviewed) == ["src/pages.py", "README.md", "new.py"])
    diff = diff_view(reviewed).document.diff
    assert diff
    assert diff.path == "src/pages.py"


def test_what_was_not_recorded_is_said_before_anybody_relies_on_it(
    panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    session.start_turn(1)
    skipped = (Uncaptured(path="big.iso", reason="larger than 50 MB"),)
    session.change(1, "call-1", "a.py", "1\n", "2\n", uncaptured=skipped)
    panel.set_transcript(session.transcript, asked.submit)
    note = child(panel, QLabel, "uncapturedNote")
    assert note.text() == "big.iso was changed but not recorded: it cannot be undone."
    assert note.toolTip() == "big.iso: larger than 50 MB"
    assert note.isVisible()


def test_the_call_behind_a_change_is_shown(reviewed: ReviewPanel) -> None:
    choose(reviewed, "This session")
    assert show_call(reviewed, "call-2")
    diff = diff_view(reviewed).document.diff
    assert diff
    assert diff.path == "README.md"
    assert not show_call(reviewed, "call-9")


def test_showing_a_call_of_another_turn_goes_to_that_turn(reviewed: ReviewPanel) -> None:
    assert show_call(reviewed, "call-1")
    assert files(reviewed) == ["src/pages.py", "README.md"]
    assert child(reviewed, QComboBox, "baselinePicker").currentText() == "Turn 1: Fix the page count"


def test_another_session_is_shown_even_if_everything_has_the_same_name(
    reviewed: ReviewPanel, source: Source, asked: Asked
) -> None:
    other = Session()
    other.blobs = source.blobs
    other.change(1, "call-1", "README.md", "x\n", "y\n")
    other.change(1, "call-1", "README.md", "y\n", "z\n")
    other.change(2, "call-3", "src/pages.py", "other\n", "session\n")
    reviewed.set_transcript(other.transcript, asked.submit)
    diff = diff_view(reviewed).document.diff
    assert diff
    assert diff.new_lines == ("session\n",)


# --- loading ------------------------------------------------------------------------------------------------------


def test_an_answer_for_a_file_left_behind_is_dropped(
    reviewed: ReviewPanel, source: Source, tasks: Tasks, session: Session
) -> None:
    session.start_turn(3)
    session.change(3, "call-4", "slow.py", None, "slow\n")
    session.change(3, "call-5", "fast.py", None, "fast\n")
    source.is_held = True
    reviewed.refresh()
    show_call(reviewed, "call-5")
    assert len(tasks.waiting) == 2
    tasks.let_go(1)
    tasks.let_go(0)
    diff = diff_view(reviewed).document.diff
    assert diff
    assert diff.path == "fast.py"


def test_only_a_slow_answer_is_announced(qtbot: QtBot, reviewed: ReviewPanel, source: Source, tasks: Tasks) -> None:
    source.is_held = True
    choose(reviewed, "Turn 1")
    assert diff_view(reviewed).document.message == ""
    qtbot.waitUntil(lambda: diff_view(reviewed).document.message == "Loading…")
    tasks.let_go()
    assert diff_view(reviewed).document.message == ""


def test_a_refresh_does_not_compare_again(reviewed: ReviewPanel, source: Source) -> None:
    asked = len(source.asked)
    reviewed.refresh()
    assert len(source.asked) == asked


def test_a_file_that_cannot_be_read_says_why_and_can_be_tried_again(reviewed: ReviewPanel, source: Source) -> None:
    source.error = StorageError("The content is gone", hint="Its blob is missing.")
    choose(reviewed, "Turn 1")
    assert diff_view(reviewed).document.message == "The content is gone Its blob is missing."
    asked = len(source.asked)
    reviewed.refresh()
    assert len(source.asked) == asked
    source.error = None
    changes = child(reviewed, QListView, "changeList")
    QTest.mouseClick(changes.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(40, 15))
    assert diff_view(reviewed).document.message == ""


def test_an_answer_after_the_panel_is_gone_harms_nothing(
    qtbot: QtBot, theme: Theme, session: Session, source: Source, tasks: Tasks, asked: Asked
) -> None:
    panel = ReviewPanel(theme, source, tasks.spawn)
    session.change(1, "call-1", "a.py", "1\n", "2\n")
    source.is_held = True
    panel.set_transcript(session.transcript, asked.submit)
    with qtbot.waitSignal(panel.destroyed):
        panel.deleteLater()
    tasks.let_go()


def test_a_refresh_without_news_touches_nothing(reviewed: ReviewPanel) -> None:
    changed = QSignalSpy(child(reviewed, QListView, "changeList").model().dataChanged)
    reviewed.refresh()
    assert changed.count() == 0


# --- undo and redo ------------------------------------------------------------------------------------------------


def test_undoing_the_last_turn_asks_for_that_turn(reviewed: ReviewPanel, asked: Asked) -> None:
    asked.clear()
    undo = button(reviewed, "undoTurnButton")
    assert undo.text() == "Undo turn"
    undo.click()
    assert asked[0] == UndoChanges(selection=ChangeSelection(turn=2))


def test_undoing_the_session_says_so_and_asks_for_everything(reviewed: ReviewPanel, asked: Asked) -> None:
    asked.clear()
    choose(reviewed, "This session")
    undo = button(reviewed, "undoTurnButton")
    assert undo.text() == "Undo session"
    assert undo.toolTip() == "Put 2 files back. Files that were changed since are left alone and listed."
    undo.click()
    assert asked[0] == UndoChanges(selection=ChangeSelection())


def test_what_is_undone_can_be_redone_and_nothing_else(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    redo, undo = button(reviewed, "redoButton"), button(reviewed, "undoTurnButton")
    assert not redo.isVisible()
    session.undo("2.3")
    reviewed.refresh()
    assert redo.isVisible()
    assert not undo.isEnabled()
    asked.clear()
    redo.click()
    assert asked[0] == RedoSteps(steps=(0,))
    session.redo("2.3")
    reviewed.refresh()
    qtbot.waitUntil(redo.isHidden)


def test_an_undone_change_is_still_shown(reviewed: ReviewPanel, session: Session) -> None:
    session.undo("2.3")
    reviewed.refresh()
    diff = diff_view(reviewed).document.diff
    assert diff
    assert diff.new_lines == ("one\n", "TWO!\n")


def test_of_a_file_undone_in_part_all_is_shown_and_what_is_not_in_force_is_named(
    reviewed: ReviewPanel, session: Session, source: Source
) -> None:
    choose(reviewed, "This session")
    session.undo("2.3")
    reviewed.refresh()
    assert source.asked[-1] == ["1.1", "2.3"]
    diff = diff_view(reviewed).document.diff
    assert diff
    assert diff.new_lines == ("one\n", "TWO!\n")


def test_while_a_turn_runs_nothing_can_be_undone(qtbot: QtBot, reviewed: ReviewPanel, session: Session) -> None:
    session.start_turn(3)
    reviewed.refresh()
    undo = button(reviewed, "undoTurnButton")
    assert not undo.isEnabled()
    assert undo.toolTip() == "Wait until the turn has ended, or stop it"
    session.end_turn(3)
    reviewed.refresh()
    qtbot.waitUntil(undo.isEnabled)


def test_one_file_can_be_undone_from_its_menu(reviewed: ReviewPanel, asked: Asked) -> None:
    choose(reviewed, "This session")
    asked.clear()
    menu_action(reviewed, "Undo this file").trigger()
    assert asked[0] == UndoChanges(selection=ChangeSelection(path="src/pages.py"))


def test_files_and_calls_are_opened_from_the_list(reviewed: ReviewPanel) -> None:
    opened, calls = QSignalSpy(reviewed.file_open_requested), QSignalSpy(reviewed.call_requested)
    menu_action(reviewed, "Open file").trigger()
    menu_action(reviewed, "Show the call").trigger()
    button(reviewed, "showCallButton").click()
    assert [opened.at(0), calls.at(0), calls.at(1)] == [["src/pages.py"], ["call-3"], ["call-3"]]


def menu_action(panel: ReviewPanel, text: str) -> QAction:
    changes = child(panel, QListView, "changeList")
    changes.customContextMenuRequested.emit(QPoint(20, 10))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    action = next(action for action in menu.actions() if action.text() == text)
    menu.close()
    return action


# --- conflicts ----------------------------------------------------------------------------------------------------

LEFT_ALONE = FileOutcome(path="src/pages.py", state="conflict", change_ids=("2.3",), reason="You changed it since.")
RESTORED = FileOutcome(path="README.md", state="restored", change_ids=("1.2",))


def test_files_that_an_undo_left_alone_are_listed_with_the_reason(reviewed: ReviewPanel, session: Session) -> None:
    session.undo("1.2", outcomes=(LEFT_ALONE, RESTORED))
    reviewed.refresh()
    dialog = child(reviewed, QDialog, "undoConflictDialog")
    words = [label.text() for label in dialog.findChildren(QLabel)]
    assert words == [
        "1 file was not undone",
        "These files were not written. 1 other file was undone.",
        "src/pages.py",
        "You changed it since.",
    ]
    assert dialog.isModal()
    dialog.close()


def test_an_undo_without_conflicts_opens_nothing(reviewed: ReviewPanel, session: Session) -> None:
    session.undo("1.2", outcomes=(RESTORED,))
    reviewed.refresh()
    assert reviewed.findChild(QDialog, "undoConflictDialog") is None


def test_conflicts_of_a_session_that_is_opened_again_are_no_news(
    reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    session.undo("1.2", outcomes=(LEFT_ALONE,))
    reviewed.set_transcript(session.transcript, asked.submit)
    reviewed.refresh()
    assert reviewed.findChild(QDialog, "undoConflictDialog") is None


def clash_of(session: Session, *change_ids: str, hunks: tuple[str, ...] = ()) -> FileOutcome:
    """The user wrote over what the agent wrote in the second line of `src/pages.py`."""
    images: list[FileImage] = []
    for content in (b"one\nTWO!\n", b"one\nTWO\n", b"one\nmine\n"):
        session.blobs[digest_of(content)] = content
        images.append(FileImage(digest=digest_of(content), size=len(content), mode=0o644))
    clash = Clash(base=images[0], wanted=images[1], yours=images[2])
    return FileOutcome(path="src/pages.py", state="conflict", change_ids=change_ids, hunks=hunks, clash=clash)


@pytest.fixture
def awaited(
    qtbot: QtBot, theme: Theme, source: Source, reviewed: ReviewPanel, session: Session, asked: Asked
) -> ReviewPanel:
    """The same review, whose tasks may wait for threads."""

    def run(task: Coroutine[object, object, None]) -> None:
        with asyncio.Runner() as runner:
            runner.run(task)

    panel = ReviewPanel(theme, source, run)
    qtbot.addWidget(panel)
    panel.resize(560, 800)
    panel.show()
    panel.set_transcript(session.transcript, asked.submit)
    return panel


def test_what_clashed_is_decided_in_a_dialog_and_written_as_the_undo_it_completes(
    awaited: ReviewPanel, session: Session, asked: Asked
) -> None:
    asked.clear()
    session.undo(outcomes=(clash_of(session, "2.3"),))
    awaited.refresh()
    dialog = child(awaited, QDialog, "undoConflictDialog")
    child_of(dialog, "useWantedButton").click()
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
    asked.clear()
    outcomes = (clash_of(session, "2.3", hunks=("b",)),)
    kind = ev.ChangesUndone if purpose == "undo" else ev.ChangesRedone
    session.transcript.apply(kind(selection=ChangeSelection(), change_ids=(), outcomes=outcomes))
    awaited.refresh()
    child_of(child(awaited, QDialog, "undoConflictDialog"), "useWantedButton").click()
    op = asked[0]
    assert isinstance(op, WriteFile)
    assert (op.purpose, op.reverts) == (purpose, (Reverted(change_id="2.3", hunks=after),))


# --- modes --------------------------------------------------------------------------------------------------------


def test_the_mode_is_switched_remembered_and_told(reviewed: ReviewPanel) -> None:
    told = QSignalSpy(reviewed.diff_mode_changed)
    mode = button(reviewed, "diffModeButton")
    assert (mode.text(), diff_view(reviewed).document.mode) == ("Unified", "unified")  # it is 560 wide
    mode.click()
    assert (mode.text(), diff_view(reviewed).document.mode, told.at(0)) == (
        "Side by side",
        "side_by_side",
        ["side_by_side"],
    )
    choose(reviewed, "This session")
    assert diff_view(reviewed).document.mode == "side_by_side"
    mode.click()
    assert (mode.text(), diff_view(reviewed).document.mode, told.at(1)) == ("Unified", "unified", ["unified"])


def test_a_panel_too_narrow_for_two_sides_says_so(qtbot: QtBot, reviewed: ReviewPanel) -> None:
    mode = button(reviewed, "diffModeButton")
    reviewed.resize(380, 800)
    qtbot.waitUntil(lambda: mode.text() == "Unified")
    assert not mode.isEnabled()
    assert mode.toolTip() == "Too narrow for two sides"


def test_a_chosen_mode_holds_before_anything_is_shown(panel: ReviewPanel, session: Session, asked: Asked) -> None:
    panel.set_diff_mode("unified")
    session.start_turn(1)
    session.change(1, "call-1", "a.py", "1\n", "2\n")
    panel.set_transcript(session.transcript, asked.submit)
    assert diff_view(panel).document.mode == "unified"


def test_f7_goes_through_the_changes_from_anywhere_in_the_panel(
    panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    lines = "".join(f"{number}\n" for number in range(60))
    session.start_turn(1)
    session.change(1, "call-1", "a.py", lines, lines.replace("10\n", "ten\n").replace("40\n", "forty\n"))
    panel.set_transcript(session.transcript, asked.submit)
    child(panel, QListView, "changeList").setFocus()
    before = diff_view(panel).navigation.change
    QTest.keyClick(child(panel, QListView, "changeList"), Qt.Key.Key_F7)
    assert diff_view(panel).navigation.change == before + 1


# --- states, filters and decisions --------------------------------------------------------------------------------


class Git:
    """A repository with one changed file, in memory."""

    def __init__(self) -> None:
        self.state = GitState("", "main", ("other",))
        self.contents = {"one": b"1\n", "two": b"2\n"}
        self.branches_asked: list[str] = []
        self.error: AgentError | None = None
        self.is_slow = False

    async def look(self, folder: str) -> GitState:
        return self.state

    async def changes(self, folder: str, branch: str) -> tuple[FileChange, ...]:
        self.branches_asked.append(branch)
        change = change_of("git:a.py", "a.py", self.contents["one"], self.contents["two"], author="person")
        return () if self.contents["one"] == self.contents["two"] else (change,)

    async def diff(self, folder: str, change: FileChange) -> FileDiff:
        return diff_change(change, self.contents["one"], self.contents["two"])

    async def versions(self, folder: str, change: FileChange) -> tuple[bytes | None, bytes | None]:
        return self.contents["one"], self.contents["two"]

    async def revert(self, folder: str, change: FileChange, keys: Sequence[str]) -> GitRevert:
        if self.error:
            raise self.error
        if self.is_slow:
            await Hold()
        one, two = self.contents["one"], self.contents["two"]
        undo = WriteFile(path="a.py", expected=digest_of(two), content=one, purpose="undo")
        redo = WriteFile(path="a.py", expected=digest_of(one), content=two, purpose="redo")
        return GitRevert((undo,), (redo,))


@pytest.fixture
def git() -> Git:
    return Git()


@pytest.fixture
def in_git(
    qtbot: QtBot, theme: Theme, session: Session, source: Source, tasks: Tasks, git: Git, asked: Asked
) -> ReviewPanel:
    """A panel on a session that changed nothing yet, in a repository."""
    panel = ReviewPanel(theme, source, tasks.spawn, git=git)
    qtbot.addWidget(panel)
    panel.resize(560, 800)
    panel.show()
    qtbot.waitExposed(panel)
    session.transcript.session.workspace = "/repo"
    panel.set_transcript(session.transcript, asked.submit)
    return panel


def pane(panel: ReviewPanel) -> DiffPane:
    found = panel.findChild(DiffPane)
    assert found
    return found


def marks(panel: ReviewPanel) -> list[str]:
    model = child(panel, QListView, "changeList").model()
    assert isinstance(model, ChangeModel)
    return [file.mark for file in model.files]


def summary(panel: ReviewPanel) -> str:
    return child(panel, QLabel, "reviewSummary").text()


def carry_out(panel: ReviewPanel, session: Session, asked: Asked) -> None:
    """Let what is kept be kept, as the session would."""

    def hear(op: Op) -> None:
        if isinstance(op, MarkReviewed):
            session.transcript.apply(ev.ReviewMarked(path=op.path, hunks=op.hunks, state=op.state))
            panel.refresh()

    asked.hear = hear
    asked.clear()


def test_keeping_all_keeps_every_file_and_says_how_far_the_review_is(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    choose(reviewed, "This session")
    carry_out(reviewed, session, asked)
    assert summary(reviewed) == "0 of 2 decided"
    button(reviewed, "keepAllButton").click()
    qtbot.waitUntil(lambda: summary(reviewed) == "2 of 2 decided")
    assert marks(reviewed) == ["kept", "kept"]
    assert [op.path for op in asked if isinstance(op, MarkReviewed)] == ["src/pages.py", "README.md"]
    assert not button(reviewed, "keepAllButton").isEnabled()
    assert not button(reviewed, "nextUndecidedButton").isEnabled()


def test_a_kept_file_is_undecided_again_when_its_lines_change(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    carry_out(reviewed, session, asked)
    menu_action(reviewed, "Keep this file").trigger()
    qtbot.waitUntil(lambda: marks(reviewed) == ["kept"])
    session.change(2, "call-3", "src/pages.py", "one\nTWO!\n", "one\nother\n")
    reviewed.refresh()
    qtbot.waitUntil(lambda: marks(reviewed) == ["pending"])


def test_a_decision_can_be_taken_back(qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked) -> None:
    carry_out(reviewed, session, asked)
    menu_action(reviewed, "Keep this file").trigger()
    qtbot.waitUntil(lambda: marks(reviewed) == ["kept"])
    menu_action(reviewed, "Decide again").trigger()
    qtbot.waitUntil(lambda: marks(reviewed) == ["pending"])


def test_the_next_undecided_file_is_found_round_the_end(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    choose(reviewed, "This session")
    carry_out(reviewed, session, asked)
    button(reviewed, "nextUndecidedButton").click()
    button(reviewed, "nextUndecidedButton").click()
    menu_action(reviewed, "Keep this file").trigger()
    qtbot.waitUntil(lambda: marks(reviewed) == ["pending", "kept"])
    button(reviewed, "nextUndecidedButton").click()
    diff = diff_view(reviewed).document.diff
    assert diff
    assert diff.path == "src/pages.py"


def test_going_to_what_is_undecided_takes_the_keyboard_along(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    choose(reviewed, "This session")
    carry_out(reviewed, session, asked)
    view = diff_view(reviewed)
    child(reviewed, QListView, "changeList").setFocus()
    go_on(reviewed)  # the marked hunk was not known before: it is the first
    assert view.hasFocus()
    QTest.keyClick(view, Qt.Key.Key_K)
    qtbot.waitUntil(lambda: marks(reviewed) == ["kept", "pending"])
    go_on(reviewed)
    QTest.keyClick(view, Qt.Key.Key_K)
    qtbot.waitUntil(lambda: marks(reviewed) == ["kept", "kept"])


def test_going_back_to_what_is_undecided_takes_the_keyboard_along(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    choose(reviewed, "This session")
    carry_out(reviewed, session, asked)
    view = diff_view(reviewed)
    view.setFocus()
    go_back(reviewed)  # round the start
    assert view.document.diff is not None
    assert view.document.diff.path == "README.md"
    QTest.keyClick(view, Qt.Key.Key_K)
    qtbot.waitUntil(lambda: marks(reviewed) == ["pending", "kept"])
    go_back(reviewed)
    assert view.hasFocus()
    assert view.document.diff.path == "src/pages.py"


def test_going_on_starts_over_in_the_only_undecided_file(reviewed: ReviewPanel, session: Session) -> None:
    lines = [f"line {number}\n" for number in range(60)]
    edited = ["first\n", *lines[1:40], "forty\n", *lines[41:]]
    session.start_turn(3, "Two places")
    session.change(3, "call-9", "long.txt", "".join(lines), "".join(edited))
    session.end_turn(3)
    reviewed.refresh()
    choose(reviewed, "Last turn")
    view = diff_view(reviewed)
    view.setFocus()
    places: list[int] = []
    for _ in range(4):
        go_on(reviewed)
        places.append(view.navigation.change)
    assert places == [1, 0, 1, 0]


def test_hunks_are_decided_within_the_baseline(reviewed: ReviewPanel, session: Session, asked: Asked) -> None:
    carry_out(reviewed, session, asked)
    choose(reviewed, "Since message 1")
    pane(reviewed).review.hunks.requested.emit("keep", ("h1",))
    pane(reviewed).review.hunks.requested.emit("undo", ("h2",))
    pane(reviewed).review.hunks.requested.emit("redo", ("h2",))
    pane(reviewed).review.hunks.requested.emit("keep", ("h1",))
    selection = ChangeSelection(since_turn=1, path="src/pages.py", hunks=("h2",))
    assert asked == [
        MarkReviewed(path="src/pages.py", hunks=("h1",), state="kept"),
        UndoChanges(selection=selection),
        RedoChanges(selection=selection),
        MarkReviewed(path="src/pages.py", hunks=("h1",), state="pending"),
    ]


def test_a_click_while_the_next_file_is_loading_means_nothing(
    reviewed: ReviewPanel, session: Session, source: Source, tasks: Tasks, asked: Asked
) -> None:
    choose(reviewed, "This session")
    carry_out(reviewed, session, asked)
    view = diff_view(reviewed)
    source.is_held = True
    QTest.keyClick(child(reviewed, QListView, "changeList"), Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_U)
    QTest.keyClick(view, Qt.Key.Key_K)
    QTest.keyClick(view, Qt.Key.Key_E)
    assert asked == []
    assert not any(editor.isVisible() for editor in reviewed.findChildren(FileEditor))
    tasks.let_go()
    QTest.keyClick(view, Qt.Key.Key_K)
    (op,) = asked
    assert isinstance(op, MarkReviewed)
    assert op.path == "README.md"


def test_a_picture_is_kept_undone_and_redone_as_a_whole(reviewed: ReviewPanel, session: Session, asked: Asked) -> None:
    carry_out(reviewed, session, asked)
    pane(reviewed).bar.decided.emit("undo")
    pane(reviewed).bar.decided.emit("redo")
    keys = pane(reviewed).review.hunks.keys
    selection = ChangeSelection(turn=2, path="src/pages.py", hunks=keys)
    assert asked == [UndoChanges(selection=selection), RedoChanges(selection=selection)]


def test_an_edit_in_the_diff_is_written_onto_what_was_last_known(
    reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    carry_out(reviewed, session, asked)
    pane(reviewed).editing.saved.emit(b"mine\n")
    assert asked == [WriteFile(path="src/pages.py", expected=digest_of(b"one\nTWO!\n"), content=b"mine\n")]


def edit(panel: ReviewPanel, words: str) -> FileEditor:
    """Write something at the beginning of the current file, and save it."""
    button(panel, "editFileButton").click()
    editor = next(editor for editor in panel.findChildren(FileEditor) if editor.isVisible())
    QTest.keyClicks(editor, words)
    button(panel, "saveEditButton").click()
    assert editor.isReadOnly()
    return editor


def test_an_edit_is_over_when_its_record_arrives(reviewed: ReviewPanel, session: Session) -> None:
    editor = edit(reviewed, "zero ")
    change = change_of("2.9", "src/pages.py", b"one\nTWO!\n", b"zero one\nTWO!\n", author="person")
    session.transcript.apply(ev.ChangesRecorded(turn=2, call_id="", changes=(change,)))
    reviewed.refresh()
    assert not editor.isVisible()


def test_an_edit_that_was_not_written_says_why_and_can_be_saved_again(reviewed: ReviewPanel, session: Session) -> None:
    old = ev.Notice(level="error", code="not_written", title="Something older was not written.")
    session.transcript.apply(old)
    editor = edit(reviewed, "zero ")
    reviewed.refresh()
    assert editor.isReadOnly()
    session.transcript.apply(ev.Notice(level="error", code="not_written", title="src/pages.py was not written."))
    reviewed.refresh()
    assert (editor.isVisible(), editor.isReadOnly()) == (True, False)
    assert "src/pages.py was not written." in texts(reviewed)
    button(reviewed, "saveEditButton").click()
    assert editor.isReadOnly()


def test_only_what_is_on_disk_as_shown_can_be_edited(qtbot: QtBot, reviewed: ReviewPanel, session: Session) -> None:
    offer = button(reviewed, "editFileButton")
    assert offer.isEnabled()
    choose(reviewed, "Turn 1")
    assert "has changed since" in offer.toolTip()
    choose(reviewed, "This session")
    assert offer.isEnabled()
    session.undo("2.3")
    reviewed.refresh()
    qtbot.waitUntil(lambda: "is undone" in offer.toolTip())
    session.redo("2.3")
    session.start_turn(3)
    reviewed.refresh()
    qtbot.waitUntil(lambda: "Wait until the turn has ended" in offer.toolTip())
    session.end_turn(3)
    reviewed.refresh()
    qtbot.waitUntil(offer.isEnabled)


def test_a_filter_narrows_the_list_and_what_the_buttons_mean(reviewed: ReviewPanel, asked: Asked) -> None:
    choose(reviewed, "This session")
    asked.clear()
    pick_filter(reviewed, "Shell")
    assert files(reviewed) == ["README.md"]
    assert button(reviewed, "reviewFilterButton").text() == "Shell ▾"
    undo = button(reviewed, "undoTurnButton")
    assert (undo.text(), button(reviewed, "keepAllButton").text()) == ("Undo 1 file", "Keep 1 file")
    undo.click()
    assert asked[0] == UndoChanges(selection=ChangeSelection(change_ids=("1.2",)))


def test_a_filter_that_nothing_passes_says_so_and_lets_go(reviewed: ReviewPanel) -> None:
    pick_filter(reviewed, "Kept")
    note = child(reviewed, QLabel, "reviewNote")
    assert note.isVisible()
    note.linkActivated.emit("#all")
    assert files(reviewed) == ["src/pages.py"]
    assert not note.isVisible()


def test_a_filter_gives_way_to_the_call_that_is_to_be_shown(reviewed: ReviewPanel) -> None:
    choose(reviewed, "This session")
    pick_filter(reviewed, "Agent")
    assert show_call(reviewed, "call-2")
    assert files(reviewed) == ["src/pages.py", "README.md"]


def pick_filter(panel: ReviewPanel, text: str) -> None:
    menu = button(panel, "reviewFilterButton").menu()
    next(action for action in menu.actions() if action.text() == text).trigger()


def test_an_undo_is_told_and_redone_as_it_was_made(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    choose(reviewed, "This session")
    asked.clear()
    session.undo("1.2", outcomes=(RESTORED,))
    reviewed.refresh()
    qtbot.waitUntil(lambda: child(reviewed, QLabel, "undoNotice").text() == "The last undo changed 1 file.")
    button(reviewed, "redoButton").click()
    assert asked[0] == RedoSteps(steps=(0,))


def test_a_word_goes_with_the_undo(reviewed: ReviewPanel, asked: Asked) -> None:
    asked.clear()
    menu_action(reviewed, "Undo this file with a message to the agent…").trigger()
    dialog = child(reviewed, QDialog, "undoWordDialog")
    field = dialog.findChild(QPlainTextEdit, "undoWordEdit")
    assert field
    field.setPlainText("Too clever\n")
    child_of(dialog, "undoWithWordButton").click()
    selection = ChangeSelection(turn=2, path="src/pages.py")
    assert asked[0] == UndoChanges(selection=selection, reason="Too clever")


def test_comments_are_collected_taken_back_and_sent(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    send = button(reviewed, "sendCommentsButton")
    assert not send.isVisible()
    asked.clear()
    session.comment("c1", "src/pages.py", "Why?")
    session.comment("c2", "README.md", "Typo")
    reviewed.refresh()
    qtbot.waitUntil(lambda: send.text() == "Send 2 comments…")
    send.click()
    dialog = child(reviewed, QDialog, "commentsDialog")
    remove = next(b for b in dialog.findChildren(QPushButton) if b.property("comment") == "c2")
    remove.click()
    assert asked[0] == RemoveComment(comment_id="c2")
    session.transcript.apply(ev.CommentsRemoved(comment_ids=("c2",)))
    reviewed.refresh()
    qtbot.waitUntil(lambda: send.text() == "Send 1 comment…")
    field = dialog.findChild(QPlainTextEdit, "commentsIntroEdit")
    assert field
    field.setPlainText("Please look")
    child_of(dialog, "sendAllCommentsButton").click()
    assert asked[1] == SendComments(text="Please look")


def child_of(dialog: QDialog, name: str) -> QPushButton:
    found = dialog.findChild(QPushButton, name)
    assert found
    return found


def test_a_renamed_file_is_one_row_and_undone_at_both_paths(panel: ReviewPanel, session: Session, asked: Asked) -> None:
    session.start_turn(1)
    session.rename(1, "call-1", "old.py", "new.py", "x\n")
    session.end_turn(1)
    panel.set_transcript(session.transcript, asked.submit)
    asked.clear()
    assert files(panel) == ["new.py"]
    menu_action(panel, "Undo this file").trigger()
    assert asked[0] == UndoChanges(selection=ChangeSelection(turn=1, change_ids=("1.1", "1.2")))


# --- against git --------------------------------------------------------------------------------------------------


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


def test_changes_that_wait_for_the_panel_are_not_denied(panel: ReviewPanel, session: Session, asked: Asked) -> None:
    session.start_turn(1)
    session.change(1, "call-1", "src/pages.py", "one\n", "two\n")
    panel.wait_for_preparation()
    panel.set_transcript(session.transcript, asked.submit)
    assert "Reading the changes…" in texts(panel)
    assert "No changes yet" not in texts(panel)


def test_looking_at_the_review_has_it_captured_what_background_commands_did(
    reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    asked.clear()
    reviewed.hide()
    reviewed.show()
    assert not asked, "nothing runs"
    started = datetime(2026, 11, 21, tzinfo=UTC)
    job = Job(id="job-1", command="make", cwd=Path("/w"), pid=1, log=Path("/w/log"), started_at=started)
    session.transcript.apply(ev.JobsReported(jobs=(job,)))
    reviewed.hide()
    reviewed.show()
    assert asked[0] == LookAtChanges()
