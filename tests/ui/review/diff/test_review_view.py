"""In a reviewed diff every hunk can be decided and every line commented on, by mouse and by keyboard."""

from typing import Any, cast

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleEvent, QImage, QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot
from pytestqt.wait_signal import SignalBlocker

from desktop_agent.core.diff.rows import RowMode
from desktop_agent.core.protocol.model import LineComment
from desktop_agent.ui.review.diff.comment_overlay import CommentCard, CommentEditor
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.diff.diff_words import HunkDecisions
from desktop_agent.ui.theme import Theme
from tests.core.diff.changes import make_diff
from tests.parts import part
from tests.ui.ink import colours_of
from tests.ui.review.stage import message_of

LINES = "".join(f"line {number}\n" for number in range(1, 61))
EDITED = LINES.replace("line 11\n", "ELEVEN\n").replace("line 41\n", "line forty-one\nand more\n")
BLOCK = "def moved():\n    first()\n    second()\n    third()\n"
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def review(qtbot: QtBot, theme: Theme) -> DiffReview:
    review = DiffReview(theme)
    view = review.view
    view.set_mode("side_by_side")
    qtbot.addWidget(view)
    view.resize(700, 500)
    view.show()
    qtbot.waitExposed(view)
    view.setFocus()
    view.show_diff(make_diff(LINES, EDITED))
    return review


@pytest.fixture
def view(review: DiffReview) -> DiffView:
    return review.view


@pytest.fixture
def keys(view: DiffView) -> list[str]:
    return [view.document.rows.key(row) or "" for row in view.document.rows.changes]


Requests = list[tuple[str, tuple[str, ...]]]


@pytest.fixture
def asked(review: DiffReview) -> Requests:
    found: Requests = []

    def note(choice: str, keys: tuple[str, ...]) -> None:
        found.append((choice, keys))

    review.hunks.requested.connect(note)
    return found


@pytest.fixture
def added(review: DiffReview) -> list[LineComment]:
    found: list[LineComment] = []
    review.comments.added.connect(found.append)
    return found


def picture(view: DiffView) -> QImage:
    return view.viewport().grab().toImage()


def colours(view: DiffView, y: int, left: int, right: int) -> set[str]:
    return colours_of(view.viewport().grab(), QRect(left, y, right - left, 1))


def three_hunks(view: DiffView) -> tuple[str, ...]:
    view.show_diff(make_diff(LINES, EDITED.replace("line 58\n", "fifty-eight\n")))
    return tuple(key for key in map(view.document.rows.key, view.document.rows.changes) if key)


def button(view: DiffView, name: str) -> QPushButton:
    return next(found for found in view.findChildren(QPushButton, name) if found.isVisible())


def carried(blocker: SignalBlocker) -> list[Any]:
    args = cast("list[Any] | None", blocker.args)  # pyright: ignore[reportUnknownMemberType] - pytest-qt leaves it open
    assert args
    return args


def payload(blocker: SignalBlocker) -> Any:
    return carried(blocker)[0]


def place(view: DiffView, row: int, x: int) -> QPoint:
    return QPoint(x, view.scroller.row_rect(row).center().y())


def remark(start: int, end: int, text: str, *, quote: str = "") -> LineComment:
    lines = tuple(EDITED.splitlines(keepends=True))
    quote = quote or "".join(lines[start:end])
    return LineComment(id=f"m-{start}", path="src/app.py", side="new", start=start, end=end, quote=quote, text=text)


# --- deciding -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("choice", "letter"), [("keep", Qt.Key.Key_K), ("undo", Qt.Key.Key_U)])
def test_the_current_hunk_is_decided_by_button_and_by_letter(
    view: DiffView, keys: list[str], choice: str, letter: Qt.Key, asked: Requests
) -> None:
    button(view, f"{choice}HunkButton").click()
    assert asked.pop() == (choice, (keys[0],))
    view.navigation.next_change()
    QTest.keyClick(view, letter)
    assert asked.pop() == (choice, (keys[1],))


@pytest.mark.parametrize("letter", [Qt.Key.Key_K, Qt.Key.Key_U])
def test_a_letter_that_decides_goes_on_to_the_next_undecided_hunk_and_stays_at_the_last(
    review: DiffReview, view: DiffView, asked: Requests, letter: Qt.Key
) -> None:
    keys = three_hunks(view)
    review.hunks.set_decisions(HunkDecisions(frozenset(keys[1:2])))
    places: list[int] = []
    for _ in range(3):
        QTest.keyClick(view, letter)
        places.append(view.navigation.change)
    assert places == [2, 2, 2]
    assert [decided for _, decided in asked] == [(keys[0],), (keys[2],), (keys[2],)]


def test_a_letter_that_is_held_down_decides_once(view: DiffView, asked: Requests) -> None:
    keys = three_hunks(view)
    for kind, is_repeated in ((QEvent.Type.KeyPress, False), (QEvent.Type.KeyPress, True)):
        letter = QKeyEvent(kind, Qt.Key.Key_U, Qt.KeyboardModifier.NoModifier, "u", is_repeated)
        QApplication.sendEvent(view, letter)
    assert asked == [("undo", (keys[0],))]
    assert view.navigation.change == 1


def test_a_second_undo_against_git_waits_for_the_first(review: DiffReview, view: DiffView, asked: Requests) -> None:
    keys = three_hunks(view)
    in_git = HunkDecisions(is_git=True)
    for _ in range(2):
        review.hunks.set_decisions(in_git)
        QTest.keyClick(view, Qt.Key.Key_U)
        QTest.keyClick(view, Qt.Key.Key_U)
    assert asked == [("undo", (keys[0],)), ("undo", (keys[1],))]
    assert view.navigation.change == 2


def test_a_second_click_waits_for_the_first_undo_against_git(
    review: DiffReview, view: DiffView, asked: Requests
) -> None:
    keys = three_hunks(view)
    in_git = HunkDecisions(is_git=True)
    review.hunks.set_decisions(in_git)
    button(view, "undoHunkButton").click()
    view.navigation.next_change()
    button(view, "undoHunkButton").click()
    button(view, "keepHunkButton").click()
    button(view, "undoHunkButton").click()
    assert asked == [("undo", (keys[0],)), ("keep", (keys[1],))]
    review.hunks.set_decisions(in_git)
    button(view, "undoHunkButton").click()
    assert asked[2:] == [("undo", (keys[1],))]


def test_a_screen_reader_hears_once_where_a_letter_went(
    review: DiffReview, view: DiffView, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = three_hunks(view)
    heard: list[str] = []

    def hear(event: QAccessibleEvent) -> None:
        if isinstance(event, QAccessibleAnnouncementEvent):
            heard.append(event.message())

    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    monkeypatch.setattr(QAccessible, "updateAccessibility", hear)
    QTest.keyClick(view, Qt.Key.Key_K)
    review.hunks.set_decisions(HunkDecisions(frozenset(keys[:1])))
    assert heard == ["Change 2 of 3: lines 41–42, not decided"]


@pytest.mark.parametrize("mode", ["unified", "side_by_side"])
@pytest.mark.parametrize("gone", [0, 1])
def test_the_marked_hunk_stays_marked_and_in_place_when_another_one_disappears(
    view: DiffView, mode: RowMode, gone: int
) -> None:
    view.set_mode(mode)
    same = ["same\n" if at in (10, 40, 70) else f"line {at}\n" for at in range(100)]
    edited = [f"{line}more\n" * 5 if line == "same\n" else line for line in same]
    view.show_diff(make_diff("".join(same), "".join(edited)))
    view.navigation.go_to_change(gone)
    view.navigation.next_change()
    top = view.scroller.row_rect(view.navigation.row).top()
    at = (10, 40)[gone]
    view.show_diff(make_diff("".join(same), "".join([*edited[:at], same[at], *edited[at + 1 :]])), keep_place=True)
    rows = view.document.rows
    assert rows.first_line(view.navigation.change) == (41, 71)[gone]
    assert view.navigation.row == rows.changes[gone]
    assert 0 < view.scroller.row_rect(view.navigation.row).top() <= top, "no lower, if the lines above are too few"


def test_the_next_hunk_takes_the_place_of_the_marked_one_that_disappears(view: DiffView) -> None:
    begun = EDITED.replace("line 1\n", "one\n")
    view.show_diff(make_diff(LINES, begun))
    view.show_diff(make_diff(LINES, EDITED), keep_place=True)
    assert view.navigation.row == view.document.rows.changes[0]


def test_going_to_a_hunk_shows_all_of_it(view: DiffView) -> None:
    view.show_diff(make_diff(LINES, LINES.replace("line 6\n", "six\n").replace("line 41\n", "more\n" * 12)))
    view.navigation.next_change()
    rows = view.document.rows.rows_of(1)
    assert len(rows) > 15
    assert all(view.viewport().rect().contains(view.scroller.row_rect(row)) for row in (rows[0], rows[-1]))


def test_a_letter_that_leaves_a_hunk_undecided_stays_there(
    review: DiffReview, view: DiffView, keys: list[str], asked: Requests
) -> None:
    review.hunks.set_decisions(HunkDecisions(frozenset(keys[:1])))
    QTest.keyClick(view, Qt.Key.Key_K)
    assert asked.pop() == ("undecide", (keys[0],))
    assert view.navigation.change == 0


def test_bringing_an_offered_hunk_back_goes_on_to_the_next_that_is_offered(
    review: DiffReview, view: DiffView, asked: Requests
) -> None:
    keys = three_hunks(view)
    review.hunks.set_decisions(HunkDecisions(frozenset(keys[1:2]), frozenset({keys[0], keys[2]}), is_offered=True))
    QTest.keyClick(view, Qt.Key.Key_R)
    assert asked.pop() == ("redo", (keys[0],))
    assert view.navigation.change == 2


def test_an_undone_hunk_can_only_be_made_again(
    review: DiffReview, view: DiffView, keys: list[str], asked: Requests
) -> None:
    review.hunks.set_decisions(HunkDecisions(frozenset(), frozenset(keys[:1])))
    QTest.keyClick(view, Qt.Key.Key_K)
    QTest.keyClick(view, Qt.Key.Key_U)
    assert asked == []
    QTest.keyClick(view, Qt.Key.Key_R)
    assert asked.pop() == ("redo", (keys[0],))
    view.navigation.previous_change()
    button(view, "redoHunkButton").click()
    assert asked.pop()[0] == "redo"
    assert not any(found.isVisible() for found in view.findChildren(QPushButton, "keepHunkButton"))


def test_what_the_diff_knows_to_be_undone_is_undone(review: DiffReview, view: DiffView, keys: list[str]) -> None:
    assert view.document.diff
    view.show_diff(replace(view.document.diff, undone=frozenset(keys[:1])))
    assert view.accessibleDescription().endswith("undone")
    assert review.hunks.counts() == (0, 1, 0)


def test_a_kept_hunk_can_be_left_undecided_again(
    review: DiffReview, view: DiffView, keys: list[str], asked: Requests
) -> None:
    review.hunks.set_decisions(HunkDecisions(frozenset(keys)))
    QTest.keyClick(view, Qt.Key.Key_K)
    assert asked.pop() == ("undecide", (keys[0],))
    assert button(view, "keepHunkButton").text() == "✓ Kept"


def test_what_cannot_be_undone_now_says_why(review: DiffReview, view: DiffView, asked: Requests) -> None:
    why = "Wait until the turn has ended"
    review.hunks.set_decisions(HunkDecisions(obstacle=why))
    undo = button(view, "undoHunkButton")
    assert (undo.isEnabled(), undo.toolTip()) == (False, why)
    QTest.keyClick(view, Qt.Key.Key_U)
    assert asked == []


def test_a_click_on_the_buttons_of_another_hunk_is_for_that_hunk(
    view: DiffView, keys: list[str], asked: Requests
) -> None:
    at = button(view, "undoHunkButton").mapTo(view.viewport(), QPoint(5, 5))
    point = place(view, view.document.rows.changes[1], at.x())
    QTest.mouseClick(view.viewport(), LEFT, pos=point)
    assert asked.pop() == ("undo", (keys[1],))
    assert view.navigation.change == 1


def test_painted_buttons_look_as_the_real_ones(view: DiffView) -> None:
    first, second = (place(view, row, 650).y() for row in view.document.rows.changes)
    real, painted = (colours(view, y, 480, 690) for y in (first, second))
    view.navigation.next_change()
    assert real == painted == colours(view, first, 480, 690) == colours(view, second, 480, 690)


def test_states_are_drawn_differently(review: DiffReview, view: DiffView, keys: list[str]) -> None:
    pictures = [picture(view)]
    review.hunks.set_decisions(HunkDecisions(frozenset(keys[1:])))
    pictures.append(picture(view))
    review.hunks.set_decisions(HunkDecisions(frozenset(), frozenset(keys[1:])))
    pictures.append(picture(view))
    assert all(one != other for number, one in enumerate(pictures) for other in pictures[:number])


def test_states_are_read_out_with_the_row(review: DiffReview, view: DiffView, keys: list[str]) -> None:
    review.hunks.set_decisions(HunkDecisions(frozenset(keys[:1]), frozenset(keys[1:])))
    assert view.accessibleDescription() == "Change 1 of 2: line 11, kept"
    view.navigation.next_change()
    QTest.keyClick(view, Qt.Key.Key_Down, delay=-1)
    assert view.accessibleDescription() == "Line 38: line 38"
    for _ in range(3):
        QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.accessibleDescription().endswith("(undone)")


def test_going_to_the_next_undecided_hunk_passes_the_decided_ones(review: DiffReview, keys: list[str]) -> None:
    assert review.hunks.go_to_undecided(from_edge=True)
    assert review.hunks.current_key == keys[0]
    review.hunks.set_decisions(HunkDecisions(frozenset(keys[:1])))
    assert review.hunks.go_to_undecided()
    assert review.hunks.current_key == keys[1]
    assert not review.hunks.go_to_undecided()
    review.hunks.set_decisions(HunkDecisions(frozenset(keys[:1]), frozenset(keys[1:])))
    assert not review.hunks.go_to_undecided(from_edge=True)


def test_tab_goes_to_the_buttons_of_the_current_hunk(view: DiffView, asked: Requests) -> None:
    QTest.keyClick(view, Qt.Key.Key_Tab)
    assert button(view, "commentHunkButton").hasFocus()
    QTest.keyClick(button(view, "commentHunkButton"), Qt.Key.Key_Tab)
    QTest.keyClick(button(view, "undoHunkButton"), Qt.Key.Key_Space)
    assert asked.pop()[0] == "undo"


def test_mode_and_endings_and_whole_files_are_decided_like_hunks(view: DiffView, asked: Requests) -> None:
    changed = make_diff("a\nb\nc\n", "a\r\nb\r\nc\r\n", mode=0o755)
    for diff, key in ((changed, "endings"), (make_diff(b"\0a", b"\0b"), "file")):
        view.show_diff(diff)
        button(view, "keepHunkButton").click()
        assert asked.pop() == ("keep", (key,))
        assert not picture(view).isNull()
    assert message_of(view) == "Binary file 2 bytes → 2 bytes"


def test_a_diff_that_is_only_read_has_no_buttons_and_no_letters(qtbot: QtBot, theme: Theme) -> None:
    view = DiffView(theme)
    qtbot.addWidget(view)
    view.show()
    view.show_diff(make_diff(LINES, EDITED))
    assert not any(found.isVisible() for found in view.findChildren(QPushButton))
    for letter in (Qt.Key.Key_K, Qt.Key.Key_U, Qt.Key.Key_C):
        before = view.navigation.row, view.accessibleDescription()
        QTest.keyClick(view, letter)
        assert (view.navigation.row, view.accessibleDescription()) == before
    assert view.findChild(CommentEditor) is None


# --- comments -----------------------------------------------------------------------------------------------------


def field(view: DiffView) -> QPlainTextEdit:
    return part(view, QPlainTextEdit, "commentEdit")


def test_a_comment_on_the_marked_line_says_where_it_is(view: DiffView, added: list[LineComment]) -> None:
    view.navigation.go_to(view.document.rows.find("new", 10))
    QTest.keyClick(view, Qt.Key.Key_C)
    assert field(view).hasFocus()
    QTest.keyClicks(field(view), "Why?")
    QTest.keyClick(field(view), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    comment = added.pop()
    assert (comment.path, comment.side, comment.start, comment.end) == ("src/app.py", "new", 10, 11)
    assert (comment.quote, comment.text) == ("ELEVEN\n", "Why?")
    assert view.hasFocus()


def test_a_comment_on_selected_lines_has_all_of_them(view: DiffView, added: list[LineComment]) -> None:
    view.navigation.go_to(view.document.rows.find("new", 8))
    QTest.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(view, Qt.Key.Key_C)
    QTest.keyClicks(field(view), "Both")
    button(view, "saveCommentButton").click()
    comment = added.pop()
    assert (comment.start, comment.end, comment.quote) == (8, 10, "line 9\nline 10\n")


def test_the_comment_button_is_for_the_lines_of_its_hunk(view: DiffView, added: list[LineComment]) -> None:
    view.navigation.next_change()
    button(view, "commentHunkButton").click()
    QTest.keyClicks(field(view), "Hm")
    button(view, "saveCommentButton").click()
    assert added.pop().quote == "line forty-one\nand more\n"


@pytest.mark.parametrize(("last", "lines"), [(8, "line 9"), (10, "lines 9–11")])
def test_a_click_in_the_gutter_comments_on_a_line_and_dragging_on_several(
    view: DiffView, last: int, lines: str
) -> None:
    start, end = (place(view, view.document.rows.find("old", line), 10) for line in (8, last))
    QTest.mousePress(view.viewport(), LEFT, pos=start)
    QTest.mouseMove(view.viewport(), end)
    QTest.mouseRelease(view.viewport(), LEFT, pos=end)
    assert part(view, CommentEditor).isVisible()
    assert field(view).accessibleName() == f"You, on old {lines}"


def test_a_plus_shows_where_a_comment_can_be_started(view: DiffView, theme: Theme) -> None:
    row = view.document.rows.find("new", 10)
    QTest.mouseMove(view.viewport(), place(view, row, 500))
    assert theme.colours.accent in colours(view, place(view, row, 500).y() - 6, 352, 420)


def test_escape_keeps_what_was_written_for_the_next_time(view: DiffView) -> None:
    view.navigation.go_to(view.document.rows.find("new", 10))
    QTest.keyClick(view, Qt.Key.Key_C)
    QTest.keyClicks(field(view), "Not yet")
    QTest.keyClick(field(view), Qt.Key.Key_Escape)
    assert not part(view, CommentEditor).isVisible()
    QTest.keyClick(view, Qt.Key.Key_C)
    assert field(view).toPlainText() == "Not yet"


def test_saved_comments_stand_below_their_lines(review: DiffReview, view: DiffView) -> None:
    below = view.document.rows.find("new", 11)
    before = view.scroller.row_rect(below).top()
    review.comments.set_comments((remark(10, 11, "Why?"), remark(50, 51, "In a fold")))
    card = part(view, CommentCard)
    assert card.accessibleName() == "You, on line 11: Why?"
    view.navigation.go_to(below - 1)
    assert view.accessibleDescription().endswith("You, on line 11: Why?"), "it is read out with its row"
    assert view.scroller.row_rect(below).top() >= before + card.height()
    assert view.scroller.row_rect(below - 1).bottom() < card.y() < view.scroller.row_rect(below).top() - card.height()


@pytest.mark.parametrize("is_wrapped", [False, True])
@pytest.mark.parametrize("line", [0, 59])
def test_an_added_comment_stays_in_view(
    review: DiffReview, view: DiffView, added: list[LineComment], line: int, is_wrapped: bool
) -> None:
    view.resize(700, 340)
    text = "Why\n" * 12 + "is that?"  # so that the card is higher than its editor
    long = "".join(f"{number} {'words ' * 100}\n" for number in range(60))
    view.show_diff(make_diff(None, long))
    view.set_wrapped(is_wrapped=is_wrapped)
    review.comments.set_comments((remark(line, line + 1, "Before\n" * 12, quote=long.splitlines(True)[line]),))
    view.navigation.go_to(view.document.rows.find("new", line))
    QTest.keyClick(view, Qt.Key.Key_C)
    field(view).setPlainText(text)
    button(view, "saveCommentButton").click()
    for kept in (False, True):
        if kept:  # the session has it
            review.comments.set_comments((*review.comments.comments[:-1], added[0]))
        shown = [card.geometry() for card in view.findChildren(CommentCard) if card.comment.text == text]
        assert list(map(view.viewport().rect().contains, shown)) == [True]


def test_only_comments_in_view_are_widgets(qtbot: QtBot, review: DiffReview, view: DiffView) -> None:
    view.show_diff(make_diff(None, "x\n" * 5_000))
    review.comments.set_comments(tuple(remark(start, start + 1, "Why?", quote="x\n") for start in range(0, 5_000, 20)))
    assert 0 < len(view.findChildren(CommentCard)) < 10
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    qtbot.waitUntil(lambda: 0 < len(view.findChildren(CommentCard)) < 10)


def test_a_comment_follows_its_lines(review: DiffReview, view: DiffView) -> None:
    moved = "new\n" * 5 + EDITED
    review.comments.set_comments((remark(10, 11, "Why?"),))
    view.show_diff(make_diff(LINES, moved), keep_place=True)
    card = part(view, CommentCard)
    assert card.y() > view.scroller.row_rect(view.document.rows.find("new", 15)).bottom() > card.y() - 20


def test_a_comment_can_be_edited_and_removed(
    qtbot: QtBot, review: DiffReview, view: DiffView, added: list[LineComment]
) -> None:
    comment = remark(10, 11, "Why?")
    review.comments.set_comments((comment,))
    button(view, "editCommentButton").click()
    assert field(view).toPlainText() == "Why?"
    field(view).setPlainText("How?")
    button(view, "saveCommentButton").click()
    assert added.pop() == replace(comment, text="How?")
    with qtbot.waitSignal(review.comments.removed) as removed:
        button(view, "removeCommentButton").click()
    assert payload(removed) == comment.id


def test_the_draft_of_another_file_is_not_taken_for_one_of_this(review: DiffReview, view: DiffView) -> None:
    view.navigation.go_to(view.document.rows.find("new", 10))
    QTest.keyClick(view, Qt.Key.Key_C)
    QTest.keyClicks(field(view), "Not yet")
    view.show_diff(make_diff(LINES, EDITED, path="other.py"))
    assert not field(view).isVisible()
    review.comments.set_comments((remark(10, 11, "Elsewhere"),))
    assert view.findChild(CommentCard) is None


# --- moved lines --------------------------------------------------------------------------------------------------


def show_moved(qtbot: QtBot, review: DiffReview, block: str = BLOCK) -> int:
    """Show lines that a block was moved past, and return the first row of where it was."""
    review.view.show_diff(make_diff(block + LINES, LINES + block))
    row = review.view.document.rows.find("old", 0)
    qtbot.waitUntil(lambda: review.moved.block_at(row) is not None)
    return row


def test_moved_lines_say_where_they_went_and_enter_or_a_click_on_their_label_goes_there(
    qtbot: QtBot, review: DiffReview, view: DiffView
) -> None:
    QTest.mouseClick(view.viewport(), LEFT, pos=place(view, show_moved(qtbot, review), 330))
    assert view.navigation.row == view.document.rows.find("new", 60)
    view.set_mode("unified")
    row = view.document.rows.find("old", 0)
    view.navigation.go_to(row)
    assert view.accessibleDescription().endswith("moved to line 61")
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert view.navigation.row == view.document.rows.find("new", 60)
    assert view.accessibleDescription().endswith("moved from line 1")
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert view.navigation.row == row


def test_the_label_of_moved_lines_covers_no_wrapped_text(qtbot: QtBot, review: DiffReview, view: DiffView) -> None:
    block = BLOCK.replace("moved()", f"moved({'argument, ' * 40})")
    view.set_wrapped(is_wrapped=True)
    row, height = show_moved(qtbot, review, block), view.scroller.geometry.row_height
    parts = view.scroller.geometry.row_height_at(row) // height
    view.scroller.show_part(row, parts - 1)
    bottom = view.scroller.row_rect(row).bottom()
    pane = view.scroller.panes[0]
    labels = [part for part in range(parts) if view.moved_at(QPoint(pane.right - 10, bottom - height * part - 9))]
    assert labels == [0], "of fourteen parts, only the last has room"


def test_moved_lines_have_their_own_colour(qtbot: QtBot, review: DiffReview, view: DiffView, theme: Theme) -> None:
    y = place(view, show_moved(qtbot, review) + 1, 5).y()
    assert colours(view, y, 1, 2) == {theme.colours.syntax_keyword}
    assert theme.colours.removed_line not in colours(view, y, 10, 300)


def test_the_keyboard_stays_at_a_hunk_whose_buttons_change(review: DiffReview, view: DiffView, keys: list[str]) -> None:
    button(view, "undoHunkButton").setFocus()
    review.hunks.set_decisions(HunkDecisions(frozenset(), frozenset(keys[:1])))
    assert button(view, "redoHunkButton").hasFocus()
    review.hunks.set_decisions(HunkDecisions())
    assert button(view, "undoHunkButton").hasFocus()


def test_a_comment_on_folded_lines_unfolds_them(view: DiffView) -> None:
    view.navigation.go_to(0)
    assert view.document.rows.gap(0)
    QTest.keyClick(view, Qt.Key.Key_C)
    assert view.document.rows.gap(0) is None
    assert field(view).accessibleName() == "You, on line 1"
