from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QListView, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import Job, Uncaptured
from desktop_agent.core.protocol.ops import LookAtChanges
from desktop_agent.core.transcript import JournalPage, Transcript
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.theme import Theme
from tests.parts import part
from tests.ui.review.panel.panel_stage import (
    Asked,
    button,
    choose,
    diff_view,
    files,
    menu_action,
    show_call,
    shown_diff,
    texts,
)
from tests.ui.review.stage import Session, Source, Tasks, message_of
from tests.ui.widths import Widths


def test_before_anything_changed_it_says_what_will_be_here(panel: ReviewPanel, session: Session, asked: Asked) -> None:
    assert "No changes yet" not in texts(panel), "no session was read yet"
    panel.set_transcript(session.transcript, asked.submit)
    assert "No changes yet" in texts(panel)
    assert panel.findChild(QPushButton, "undoTurnButton") is None
    assert panel.accessibleName() == "Review"


def test_before_all_of_the_journal_is_read_it_claims_nothing(
    panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    unread = JournalPage(start=0, end=9_000)
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
    session.change_once()
    panel.set_transcript(session.transcript, asked.submit)
    assert diff_view(panel) is prepared
    assert prepared.isVisible()
    assert prepared.document.wanted_mode == prepared.document.mode == "unified"


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
    widths = Widths(conversation)
    panel.prepare()
    qtbot.waitUntil(lambda: panel.is_prepared)
    assert widths.given == []


def test_what_is_half_prepared_is_finished_when_a_change_needs_it_and_followed_all_the_same(
    qtbot: QtBot, panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    followed: list[str] = []
    panel.prepare(lambda: followed.append("once"))
    session.change_once()
    while panel.findChild(DiffView) is None:  # a step at a time: to wait would be to let it finish
        QCoreApplication.processEvents()
    assert not panel.is_prepared
    panel.set_transcript(session.transcript, asked.submit)
    assert diff_view(panel).isVisible()
    assert files(panel) == ["src/pages.py"]
    assert followed == []
    qtbot.waitUntil(lambda: followed == ["once"])
    panel.prepare()
    assert len(panel.findChildren(DiffView)) == len(panel.findChildren(DiffPane)) == 1


def test_what_is_to_follow_the_preparation_follows_it(
    qtbot: QtBot, panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    followed: list[bool] = []
    panel.prepare(lambda: followed.append(panel.is_prepared))
    assert followed == []
    qtbot.waitUntil(lambda: bool(followed))
    panel.prepare(lambda: followed.append(panel.is_prepared))
    session.change_once()
    panel.set_transcript(session.transcript, asked.submit)
    assert followed == [True, True]


def test_the_baselines_are_the_last_turn_the_session_and_every_turn(reviewed: ReviewPanel) -> None:
    picker = part(reviewed, QComboBox, "baselinePicker")
    assert [picker.itemText(index) for index in range(picker.count())] == [
        *("Last turn (2)", "This session", "", "Uncommitted", "Against a branch", "", "Turn 2: Louder"),
        *("Turn 1: Fix the page count", "", "Since message 2: Louder", "Since message 1: Fix the page count"),
    ]


def test_the_last_turn_is_shown_first_and_several_changes_of_one_file_are_one(
    reviewed: ReviewPanel, source: Source
) -> None:
    assert files(reviewed) == ["src/pages.py"]
    diff = shown_diff(reviewed)
    assert (diff.path, diff.old_lines, diff.new_lines) == ("src/pages.py", ("one\n", "TWO\n"), ("one\n", "TWO!\n"))
    choose(reviewed, "This session")
    assert files(reviewed) == ["src/pages.py", "README.md"]
    assert source.asked[-1] == ["1.1", "2.3"]
    assert shown_diff(reviewed).new_lines == ("one\n", "TWO!\n")
    assert {"+2", "−1"} <= texts(reviewed), "lines that were changed twice count once"
    QTest.keyClick(part(reviewed, QListView, "changeList"), Qt.Key.Key_Down)
    assert shown_diff(reviewed).path == "README.md"


def test_a_change_while_the_turn_runs_appears_and_moves_nothing(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session
) -> None:
    choose(reviewed, "This session")
    session.start_turn(3)
    session.change(3, "call-4", "new.py", None, "x\n")
    reviewed.refresh()
    qtbot.waitUntil(lambda: files(reviewed) == ["src/pages.py", "README.md", "new.py"])
    assert shown_diff(reviewed).path == "src/pages.py"


def test_what_was_not_recorded_is_said_before_the_user_relies_on_it(
    panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    session.start_turn(1)
    skipped = (Uncaptured(path="big.iso", reason="larger than 50 MB"),)
    session.change(1, "call-1", "a.py", "1\n", "2\n", uncaptured=skipped)
    panel.set_transcript(session.transcript, asked.submit)
    note = part(panel, QLabel, "uncapturedNote")
    assert note.text() == "big.iso was changed but not recorded: it cannot be undone."
    assert note.toolTip() == "big.iso: larger than 50 MB"
    assert note.isVisible()


def test_the_call_behind_a_change_is_shown_in_its_turn(reviewed: ReviewPanel) -> None:
    assert show_call(reviewed, "call-1")
    assert files(reviewed) == ["src/pages.py", "README.md"]
    assert part(reviewed, QComboBox, "baselinePicker").currentText() == "Turn 1: Fix the page count"
    choose(reviewed, "This session")
    assert show_call(reviewed, "call-2")
    assert shown_diff(reviewed).path == "README.md"
    assert not show_call(reviewed, "call-9")


def test_another_session_is_shown_even_if_everything_has_the_same_name(
    reviewed: ReviewPanel, source: Source, asked: Asked
) -> None:
    other = Session()
    other.blobs = source.blobs
    other.change(1, "call-1", "README.md", "x\n", "y\n")
    other.change(1, "call-1", "README.md", "y\n", "z\n")
    other.change(2, "call-3", "src/pages.py", "other\n", "session\n")
    reviewed.set_transcript(other.transcript, asked.submit)
    assert shown_diff(reviewed).new_lines == ("session\n",)


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
    assert shown_diff(reviewed).path == "fast.py"


def test_only_a_slow_answer_is_announced(qtbot: QtBot, reviewed: ReviewPanel, source: Source, tasks: Tasks) -> None:
    source.is_held = True
    choose(reviewed, "Turn 1")
    assert message_of(diff_view(reviewed)) == ""
    qtbot.waitUntil(lambda: message_of(diff_view(reviewed)) == "Loading…")
    tasks.let_go()
    assert message_of(diff_view(reviewed)) == ""


def test_a_slow_answer_about_the_same_file_leaves_the_mark_where_it_was(
    qtbot: QtBot, panel: ReviewPanel, session: Session, source: Source, tasks: Tasks, asked: Asked
) -> None:
    versions = [[f"line {number}\n" for number in range(90)]]
    for changed in ((10,), (40,), (70,)):
        versions.append([f"{line[:-1]}!\n" if at in changed else line for at, line in enumerate(versions[-1])])
    before, _, two, three = map("".join, versions)
    session.start_turn(1, "Louder")
    session.change(1, "call-1", "a.py", before, two)
    panel.set_transcript(session.transcript, asked.submit)
    view = diff_view(panel)
    view.navigation.next_change()
    assert view.navigation.change == 1
    source.is_held = True
    session.change(1, "call-2", "a.py", two, three)
    panel.refresh()
    qtbot.waitUntil(lambda: message_of(view) == "Loading…")
    tasks.let_go()
    assert len(view.document.rows.changes) == 3
    assert view.navigation.change == 1


def test_a_file_that_cannot_be_read_says_why_and_can_be_tried_again(reviewed: ReviewPanel, source: Source) -> None:
    source.error = StorageError("The content is gone", hint="Its blob is missing.")
    choose(reviewed, "Turn 1")
    assert message_of(diff_view(reviewed)) == "The content is gone Its blob is missing."
    asked = len(source.asked)
    reviewed.refresh()
    assert len(source.asked) == asked
    source.error = None
    QTest.mouseClick(part(reviewed, QListView, "changeList").viewport(), Qt.MouseButton.LeftButton, pos=QPoint(40, 15))
    assert message_of(diff_view(reviewed)) == ""


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


def test_a_refresh_without_news_compares_and_touches_nothing(reviewed: ReviewPanel, source: Source) -> None:
    changed, asked = QSignalSpy(part(reviewed, QListView, "changeList").model().dataChanged), len(source.asked)
    reviewed.refresh()
    assert (changed.count(), len(source.asked)) == (0, asked)


def test_files_and_calls_are_opened_from_the_list(reviewed: ReviewPanel) -> None:
    opened, calls = QSignalSpy(reviewed.file_open_requested), QSignalSpy(reviewed.call_requested)
    menu_action(reviewed, "Open file").trigger()
    menu_action(reviewed, "Show the call").trigger()
    button(reviewed, "showCallButton").click()
    assert [opened.at(0), calls.at(0), calls.at(1)] == [["src/pages.py"], ["call-3"], ["call-3"]]


def test_the_mode_is_switched_remembered_and_announced(reviewed: ReviewPanel) -> None:
    announced = QSignalSpy(reviewed.diff_mode_changed)
    mode = button(reviewed, "diffModeButton")
    assert (mode.text(), mode.isChecked(), diff_view(reviewed).document.mode) == ("Side by side", False, "unified")
    mode.click()
    assert (mode.isChecked(), diff_view(reviewed).document.mode) == (True, "side_by_side")
    choose(reviewed, "This session")
    assert diff_view(reviewed).document.mode == "side_by_side"
    mode.click()
    assert (mode.isChecked(), diff_view(reviewed).document.mode) == (False, "unified")
    assert [announced.at(0), announced.at(1)] == [["side_by_side"], ["unified"]]


def test_toggles_name_what_they_show_and_say_whether_they_do(qtbot: QtBot, reviewed: ReviewPanel) -> None:
    told = QSignalSpy(reviewed.wrapping_changed)
    wrap, enlarge = button(reviewed, "wrapLinesButton"), button(reviewed, "enlargeReviewButton")
    assert (wrap.text(), wrap.isChecked(), enlarge.text(), enlarge.isChecked()) == (
        *("Wrap lines", False),
        *("Whole window", False),
    )
    wrap.click()
    QTest.keyClick(diff_view(reviewed), Qt.Key.Key_W)
    reviewed.set_wrapped(is_wrapped=True)
    assert (wrap.isChecked(), diff_view(reviewed).scroller.wraps) == (True, True)
    assert [told.at(0), told.at(1), told.count()] == [[True], [False], 2]
    with qtbot.waitSignal(reviewed.enlarge_clicked):
        enlarge.click()
    reviewed.set_enlarged(True)
    assert enlarge.isChecked()
    with qtbot.waitSignal(reviewed.enlarge_clicked):  # otherwise the button would be gone
        reviewed.set_transcript(Transcript(), lambda _: None)


def test_a_panel_too_narrow_for_two_sides_says_so(qtbot: QtBot, reviewed: ReviewPanel) -> None:
    mode = button(reviewed, "diffModeButton")
    reviewed.resize(380, 800)
    qtbot.waitUntil(lambda: not mode.isEnabled())
    assert mode.toolTip() == "Too narrow for two columns"


def test_f7_goes_through_the_changes_from_anywhere_in_the_panel(
    panel: ReviewPanel, session: Session, asked: Asked
) -> None:
    lines = "".join(f"{number}\n" for number in range(60))
    session.start_turn(1)
    session.change(1, "call-1", "a.py", lines, lines.replace("10\n", "ten\n").replace("40\n", "forty\n"))
    panel.set_transcript(session.transcript, asked.submit)
    part(panel, QListView, "changeList").setFocus()
    before = diff_view(panel).navigation.change
    QTest.keyClick(part(panel, QListView, "changeList"), Qt.Key.Key_F7)
    assert diff_view(panel).navigation.change == before + 1


def test_changes_that_wait_for_the_panel_are_not_denied(panel: ReviewPanel, session: Session, asked: Asked) -> None:
    session.change_once()
    panel.wait_for_preparation()
    panel.set_transcript(session.transcript, asked.submit)
    assert "Reading the changes…" in texts(panel)
    assert "No changes yet" not in texts(panel)


def test_looking_at_the_review_has_it_captured_what_background_commands_did(
    reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    reviewed.hide()
    reviewed.show()
    assert not asked, "nothing runs"
    started = datetime(2026, 11, 21, tzinfo=UTC)
    job = Job(id="job-1", command="make", cwd=Path("/w"), pid=1, log=Path("/w/log"), started_at=started)
    session.transcript.apply(ev.JobsReported(jobs=(job,)))
    reviewed.hide()
    reviewed.show()
    assert asked[0] == LookAtChanges()
