"""The user keeps, edits, filters and comments in the review panel."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QLabel, QListView, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.protocol.ops import (
    MarkReviewed,
    RedoChanges,
    RemoveComment,
    SendComments,
    UndoChanges,
    WriteFile,
)
from desktop_agent.core.system.files import digest_of
from desktop_agent.ui.review.file_editing import FileEditor
from desktop_agent.ui.review.review_bars import BarState, UndoBar
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.theme import Theme
from tests.core.diff.changes import change_of
from tests.parts import part
from tests.ui.review.panel.panel_stage import (
    Asked,
    button,
    carry_out,
    choose,
    diff_view,
    files,
    go_on,
    marks,
    menu_action,
    pane,
    show_call,
    shown_diff,
    summary,
    texts,
)
from tests.ui.review.stage import Session, Source, Tasks


def test_the_count_of_decisions_is_shortened_and_never_cut(qtbot: QtBot, theme: Theme) -> None:
    bar = UndoBar(theme)
    qtbot.addWidget(bar)
    bar.show()
    bar.set_state(BarState(decided=3, total=12, standing=9, scope="session"))
    count = part(bar, QLabel, "reviewSummary")
    seen = dict[str, int]()
    for width in range(800, 380, -10):
        bar.resize(width, bar.sizeHint().height())
        qtbot.waitUntil(lambda: count.fontMetrics().horizontalAdvance(count.text()) <= count.width())
        seen[count.text()] = width
    assert list(seen) == ["3 of 12 decided", "3/12"]
    assert count.accessibleName() == "3 of 12 decided"


def test_keeping_all_keeps_every_file_and_says_how_far_the_review_is(
    qtbot: QtBot, deciding: ReviewPanel, asked: Asked
) -> None:
    assert summary(deciding) == "0 of 2 decided"
    button(deciding, "keepAllButton").click()
    qtbot.waitUntil(lambda: summary(deciding) == "2 of 2 decided")
    assert marks(deciding) == ["kept", "kept"]
    assert [op.path for op in asked if isinstance(op, MarkReviewed)] == ["src/pages.py", "README.md"]
    assert not button(deciding, "keepAllButton").isEnabled()
    assert not button(deciding, "nextUndecidedButton").isEnabled()


def test_a_kept_file_is_undecided_again_when_the_user_says_so_or_its_lines_change(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    carry_out(reviewed, session, asked)
    menu_action(reviewed, "Keep this file").trigger()
    qtbot.waitUntil(lambda: marks(reviewed) == ["kept"])
    menu_action(reviewed, "Decide again").trigger()
    qtbot.waitUntil(lambda: marks(reviewed) == ["pending"])
    menu_action(reviewed, "Keep this file").trigger()
    qtbot.waitUntil(lambda: marks(reviewed) == ["kept"])
    session.change(2, "call-3", "src/pages.py", "one\nTWO!\n", "one\nother\n")
    reviewed.refresh()
    qtbot.waitUntil(lambda: marks(reviewed) == ["pending"])


def test_the_next_undecided_file_is_found_round_the_end(qtbot: QtBot, deciding: ReviewPanel) -> None:
    button(deciding, "nextUndecidedButton").click()
    button(deciding, "nextUndecidedButton").click()
    menu_action(deciding, "Keep this file").trigger()
    qtbot.waitUntil(lambda: marks(deciding) == ["pending", "kept"])
    button(deciding, "nextUndecidedButton").click()
    assert shown_diff(deciding).path == "src/pages.py"


def test_going_to_what_is_undecided_takes_the_keyboard_along(qtbot: QtBot, deciding: ReviewPanel) -> None:
    view = diff_view(deciding)
    part(deciding, QListView, "changeList").setFocus()
    go_on(deciding)  # the marked hunk was not known before: it is the first
    assert view.hasFocus()
    QTest.keyClick(view, Qt.Key.Key_K)
    qtbot.waitUntil(lambda: marks(deciding) == ["kept", "pending"])
    go_on(deciding)
    QTest.keyClick(view, Qt.Key.Key_K)
    qtbot.waitUntil(lambda: marks(deciding) == ["kept", "kept"])


def test_going_back_to_what_is_undecided_takes_the_keyboard_along(qtbot: QtBot, deciding: ReviewPanel) -> None:
    view = diff_view(deciding)
    view.setFocus()
    go_on(deciding, backwards=True)  # wraps around
    assert view.document.diff is not None
    assert view.document.diff.path == "README.md"
    QTest.keyClick(view, Qt.Key.Key_K)
    qtbot.waitUntil(lambda: marks(deciding) == ["pending", "kept"])
    go_on(deciding, backwards=True)
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
    deciding: ReviewPanel, source: Source, tasks: Tasks, asked: Asked
) -> None:
    view = diff_view(deciding)
    source.is_held = True
    QTest.keyClick(part(deciding, QListView, "changeList"), Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_U)
    QTest.keyClick(view, Qt.Key.Key_K)
    QTest.keyClick(view, Qt.Key.Key_E)
    assert asked == []
    assert not any(editor.isVisible() for editor in deciding.findChildren(FileEditor))
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


def edit(panel: ReviewPanel, words: str) -> FileEditor:
    button(panel, "editFileButton").click()
    editor = next(editor for editor in panel.findChildren(FileEditor) if editor.isVisible())
    QTest.keyClicks(editor, words)
    button(panel, "saveEditButton").click()
    assert editor.isReadOnly()
    return editor


def test_an_edit_is_written_onto_what_was_last_known_and_over_when_its_record_arrives(
    reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    editor = edit(reviewed, "zero ")
    content = b"one\nzero TWO!\n"
    assert asked == [WriteFile(path="src/pages.py", expected=digest_of(b"one\nTWO!\n"), content=content)]
    change = change_of("2.9", "src/pages.py", b"one\nTWO!\n", content, author="person")
    session.transcript.apply(ev.ChangesRecorded(turn=2, call_id="", changes=(change,)))
    reviewed.refresh()
    assert not editor.isVisible()


def test_the_users_own_file_is_kept_in_the_list_and_hunk_by_hunk(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    session.change(2, "", "notes.txt", "one\n", "two\n", author="person")
    choose(reviewed, "This session")
    reviewed.refresh()
    rows = part(reviewed, QListView, "changeList")
    rows.setCurrentIndex(rows.model().index(marks(reviewed).index("kept"), 0))
    hunks = pane(reviewed).review.hunks
    qtbot.waitUntil(lambda: pane(reviewed).shown_path == "notes.txt" and bool(hunks.keys))
    assert {hunks.decisions.state(key) for key in hunks.keys} == {"kept"}
    hunks.requested.emit("keep", hunks.keys)
    assert not any(isinstance(op, MarkReviewed) for op in asked)


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
    assert editor.content() == "one\nzero TWO!\n"
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
    qtbot.waitUntil(lambda: "are undone" in offer.toolTip())
    session.redo("2.3")
    session.start_turn(3)
    reviewed.refresh()
    qtbot.waitUntil(lambda: "Wait until the turn has ended" in offer.toolTip())
    session.end_turn(3)
    reviewed.refresh()
    qtbot.waitUntil(offer.isEnabled)


def test_a_filter_narrows_the_list_and_what_the_buttons_mean(reviewed: ReviewPanel, asked: Asked) -> None:
    choose(reviewed, "This session")
    pick_filter(reviewed, "Shell")
    assert files(reviewed) == ["README.md"]
    assert button(reviewed, "reviewFilterButton").text() == "Shell ▾"
    undo = button(reviewed, "undoTurnButton")
    assert (undo.text(), button(reviewed, "keepAllButton").text()) == ("Undo 1 file", "Keep 1 file")
    undo.click()
    assert asked[0] == UndoChanges(selection=ChangeSelection(change_ids=("1.2",)))
    pick_filter(reviewed, "Agent")
    assert show_call(reviewed, "call-2")
    assert files(reviewed) == ["src/pages.py", "README.md"], "it gives way to the call that is to be shown"


def test_a_filter_that_nothing_passes_says_so_and_lets_go(reviewed: ReviewPanel) -> None:
    pick_filter(reviewed, "Kept")
    note = part(reviewed, QLabel, "reviewNote")
    assert note.isVisible()
    note.linkActivated.emit("#all")
    assert files(reviewed) == ["src/pages.py"]
    assert not note.isVisible()


def pick_filter(panel: ReviewPanel, text: str) -> None:
    menu = button(panel, "reviewFilterButton").menu()
    next(action for action in menu.actions() if action.text() == text).trigger()


def test_comments_are_collected_taken_back_and_sent(
    qtbot: QtBot, reviewed: ReviewPanel, session: Session, asked: Asked
) -> None:
    send = button(reviewed, "sendCommentsButton")
    assert not send.isVisible()
    session.comment("c1", "src/pages.py", "Why?")
    session.comment("c2", "README.md", "Typo")
    reviewed.refresh()
    qtbot.waitUntil(lambda: send.text() == "Send 2 comments…")
    send.click()
    dialog = part(reviewed, QDialog, "commentsDialog")
    remove = next(b for b in dialog.findChildren(QPushButton) if b.property("comment") == "c2")
    remove.click()
    assert asked[0] == RemoveComment(comment_id="c2")
    session.transcript.apply(ev.CommentsRemoved(comment_ids=("c2",)))
    reviewed.refresh()
    qtbot.waitUntil(lambda: send.text() == "Send 1 comment…")
    field = dialog.findChild(QPlainTextEdit, "commentsIntroEdit")
    assert field
    field.setPlainText("Please look")
    part(dialog, QPushButton, "sendAllCommentsButton").click()
    assert asked[1] == SendComments(text="Please look")
