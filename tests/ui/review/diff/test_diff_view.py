"""The diff view shows the whole diff, and everything can be reached, selected and copied."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication, QPixmap
from PySide6.QtTest import QSignalSpy, QTest
from pytestqt.qtbot import QtBot

from desktop_agent.core.diff.rows import LineSide, RowMode
from desktop_agent.ui.review.diff.diff_document import MIN_SIDE_BY_SIDE_WIDTH, NARROW_SIDE_BY_SIDE_WIDTH
from desktop_agent.ui.review.diff.diff_layout import BAR_HEIGHT, ROW_HEIGHT
from desktop_agent.ui.review.diff.diff_navigation import MAX_MATCHES
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.theme import TextSizes, Theme, ThemeChoice
from tests.core.diff.changes import make_diff
from tests.ui.ink import colours_of
from tests.ui.review.stage import message_of

LINES = "".join(f"line {number}\n" for number in range(1, 61))
EDITED = LINES.replace("line 11\n", "ELEVEN\n").replace("line 41\n", "line forty-one\nand more\n")


@pytest.fixture
def view(qtbot: QtBot, theme: Theme) -> DiffView:
    view = DiffView(theme)
    view.set_mode("side_by_side")
    qtbot.addWidget(view)
    view.resize(700, 400)
    view.show()
    qtbot.waitExposed(view)
    view.setFocus()
    view.show_diff(make_diff(LINES, EDITED))
    return view


def kinds(view: DiffView) -> list[str]:
    return [view.document.rows[index].kind for index in range(len(view.document.rows))]


def row_of(view: DiffView, kind: str, number: int = 0) -> int:
    return [index for index, found in enumerate(kinds(view)) if found == kind][number]


def y_of(view: DiffView, row: int) -> int:
    above = sum(BAR_HEIGHT if kind in ("hunk", "gap") else ROW_HEIGHT for kind in kinds(view)[:row])
    return above + ROW_HEIGHT // 2 - view.verticalScrollBar().value()


def picture(view: DiffView) -> QPixmap:
    return view.viewport().grab()


def colours_in(image: QPixmap, y: int, left: int, right: int) -> set[str]:
    return colours_of(image, QRect(left, y, right - left, 1))


# --- showing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["light", "dark"])
def test_changed_lines_stand_side_by_side_on_their_colours(view: DiffView, theme: Theme, choice: ThemeChoice) -> None:
    theme.choose(choice)
    y = y_of(view, row_of(view, "changed"))
    image = picture(view)
    assert theme.colours.removed_line in colours_in(image, y, 0, 340)
    assert theme.colours.added_line in colours_in(image, y, 352, 690)
    assert theme.colours.added_line not in colours_in(image, y, 0, 340)


def test_a_side_without_a_line_is_striped(view: DiffView, theme: Theme) -> None:
    row = row_of(view, "added")
    view.scroller.ensure_visible(row)
    colours = colours_in(picture(view), y_of(view, row), 0, 340)
    assert {theme.colours.surface, theme.colours.border} <= colours


@pytest.mark.parametrize("mode", ["side_by_side", "unified"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "new file\n"),
        ("old file", None),
        ("", "was empty\n"),
        ("name = '🎉'\n\tx\n", "name = '🎉🎉'\n\ty\x07\u202e\n"),
        ("مرحبا = 1\n", "مرحبا = 2\n"),
        ("x" * 100_000 + "\n", "x" * 100_000 + "y\n"),
        (b"\xff\xfe\n", b"\xff\xfd\n"),
        ("a\r\nb\r\nc\r\n", "a\nB\nc\n"),
        ("\ufeffa\n".encode(), b"a\n"),
    ],
)
def test_anything_can_be_shown(
    view: DiffView, mode: RowMode, before: str | bytes | None, after: str | bytes | None
) -> None:
    view.set_mode(mode)
    view.show_diff(make_diff(before, after))
    view.navigation.select_all()
    assert not picture(view).isNull()


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (b"\0old", b"\0newer", "Binary file 4 bytes → 6 bytes"),
        (None, b"", "Empty file created, 0 bytes"),
        (b"", None, "Empty file deleted, was 0 bytes"),
        (None, b"\0" * 2_500, "Binary file created, 2.5 kB"),
    ],
)
def test_a_file_without_lines_is_summed_up(
    view: DiffView, before: bytes | None, after: bytes | None, words: str
) -> None:
    view.show_diff(make_diff(before, after))
    assert message_of(view) == words
    assert len(view.document.rows) == 0


def test_notes_stand_above_the_lines_and_are_part_of_the_name(view: DiffView, theme: Theme) -> None:
    view.show_diff(make_diff(LINES, LINES, mode=0o755))
    gap_in_picture = colours_in(picture(view), BAR_HEIGHT + 4, 300, 320)
    assert gap_in_picture == {theme.colours.sunken}
    assert kinds(view) == ["gap"]
    assert view.accessibleName() == "Changes in src/app.py: 0 lines added, 0 lines removed. mode 644 → 755"


def test_colours_of_the_language_come_after_the_first_paint(qtbot: QtBot, view: DiffView) -> None:
    # In the first line a changed word has no syntax colour.
    view.show_diff(make_diff("def f():\n    x = 1\n", "def f():\n    x = 'text'\n"))
    first = picture(view).toImage()
    qtbot.waitUntil(lambda: picture(view).toImage() != first)


# --- modes --------------------------------------------------------------------------------------------------------


def test_a_narrow_view_is_unified_and_wide_again_side_by_side(qtbot: QtBot, view: DiffView) -> None:
    assert view.document.mode == "side_by_side"
    with qtbot.waitSignal(view.mode_changed):
        view.resize(MIN_SIDE_BY_SIDE_WIDTH - 50, 400)
    assert (view.document.mode, view.document.wanted_mode) == ("unified", "side_by_side")
    with qtbot.waitSignal(view.mode_changed):
        view.resize(700, 400)
    assert view.document.mode == "side_by_side"


def test_two_columns_that_show_little_code_are_only_for_those_who_chose_them(qtbot: QtBot, theme: Theme) -> None:
    view = DiffView(theme)
    qtbot.addWidget(view)
    view.show_diff(make_diff(LINES, EDITED))
    view.resize(NARROW_SIDE_BY_SIDE_WIDTH - 1, 400)
    view.show()
    qtbot.waitExposed(view)
    assert view.document.mode == "unified"
    view.resize(NARROW_SIDE_BY_SIDE_WIDTH + 40, 400)
    assert view.document.mode == "side_by_side"
    view.resize(NARROW_SIDE_BY_SIDE_WIDTH - 1, 400)
    view.set_mode("side_by_side")
    assert view.document.mode == "side_by_side"


def test_a_new_file_has_one_side_and_is_shown_on_it(view: DiffView) -> None:
    view.show_diff(make_diff(None, LINES))
    assert (view.document.mode, view.document.mode_obstacle()) == ("unified", "The file has only one version to show")


def test_the_line_on_top_stays_on_top_in_the_other_mode(view: DiffView) -> None:
    view.show_diff(make_diff("".join(f"old {n}\n" for n in range(300)), "".join(f"new {n}\n" for n in range(300))))
    row = view.document.rows.find("new", 200)
    view.verticalScrollBar().setValue(BAR_HEIGHT + (row - 1) * ROW_HEIGHT)
    view.set_mode("unified")
    assert view.verticalScrollBar().value() == BAR_HEIGHT + (view.document.rows.find("new", 200) - 1) * ROW_HEIGHT


def test_another_state_of_the_same_file_keeps_the_place(view: DiffView) -> None:
    long = LINES * 20
    view.show_diff(make_diff(long, long.replace("line 41\n", "x\n")))
    view.open_gap(row_of(view, "gap"))
    view.verticalScrollBar().setValue(333)
    opened = kinds(view)[:20]
    view.show_diff(make_diff(long, long.replace("line 41\n", "y\n")), keep_place=True)
    assert (view.verticalScrollBar().value(), kinds(view)[:20]) == (333, opened)


# --- folded lines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_a_click_or_a_key_on_folded_lines_shows_them(view: DiffView, key: Qt.Key | None) -> None:
    gap = view.document.rows.gap(0)
    assert gap
    if key is None:
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(100, y_of(view, 0)))
    else:
        QTest.keyClick(view, Qt.Key.Key_Home)
        QTest.keyClick(view, key)
    assert kinds(view)[: gap.size + 1] == ["context"] * gap.size + ["hunk"]


# --- moving about -------------------------------------------------------------------------------------------------


PLAIN, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.mark.parametrize(
    ("key", "back", "held"), [(Qt.Key.Key_F7, Qt.Key.Key_F7, SHIFT), (Qt.Key.Key_N, Qt.Key.Key_P, PLAIN)]
)
def test_a_key_goes_to_the_next_change_and_another_to_the_one_before(
    qtbot: QtBot, view: DiffView, key: Qt.Key, back: Qt.Key, held: Qt.KeyboardModifier
) -> None:
    assert view.navigation.change == 0
    with qtbot.waitSignal(view.navigation.moved):
        QTest.keyClick(view, key)
    assert view.navigation.change == 1
    assert not view.navigation.next_change()
    QTest.keyClick(view, back, held)
    assert view.navigation.change == 0


def test_going_to_a_change_brings_it_into_view(view: DiffView) -> None:
    lines = "".join(f"{number}\n" for number in range(400))
    spread = "".join(f"{number}{'!' if number % 40 == 20 else ''}\n" for number in range(400))
    view.show_diff(make_diff(lines, spread))
    while view.navigation.next_change():
        y = y_of(view, view.document.rows.changes[view.navigation.change])
        assert 0 <= y < view.viewport().height()


def test_the_marked_row_is_described_to_a_screen_reader(view: DiffView) -> None:
    assert view.accessibleDescription() == "Change 1 of 2: line 11"
    QTest.keyClick(view, Qt.Key.Key_Home)
    assert view.accessibleDescription() == "7 unchanged lines, folded. Press Enter to show them"
    for _ in range(5):
        QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.accessibleDescription() == "Line 11: line 11. Changed to line 11: ELEVEN"


def test_page_keys_move_by_what_is_visible(view: DiffView) -> None:
    view.show_diff(make_diff(None, LINES * 10))
    QTest.keyClick(view, Qt.Key.Key_PageDown)
    QTest.keyClick(view, Qt.Key.Key_PageDown)
    assert view.verticalScrollBar().value() > 0
    QTest.keyClick(view, Qt.Key.Key_Home)
    assert view.verticalScrollBar().value() == 0


def test_both_sides_scroll_sideways_together(view: DiffView) -> None:
    view.show_diff(make_diff("a" * 300 + "\n", "a" * 300 + "b\n"))
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert view.horizontalScrollBar().value() > 0
    QTest.keyClick(view, Qt.Key.Key_Left)
    assert view.horizontalScrollBar().value() == 0


def test_the_end_of_an_endless_line_can_be_reached_and_selected(view: DiffView) -> None:
    line = "".join(f"{number:05} " for number in range(900))
    view.show_diff(make_diff("", line + "\n"))
    view.finder.find("00700")
    bar = view.horizontalScrollBar()
    bar.setValue(bar.maximum() // 2)
    QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(300, y_of(view, 1)))
    word = view.navigation.selected_text()
    assert abs(line.index(word) - 300 / 7.2 - bar.value() / 7.2) < 12


# --- wrapping -----------------------------------------------------------------------------------------------------

WORDS = "".join(f"word{number:04} " for number in range(400))
LONG = LINES.replace("line 12\n", f"{WORDS}\n").replace("line 41\n", "x" * 100_000 + "\n")


@pytest.fixture
def wrapped(view: DiffView) -> DiffView:
    view.show_diff(make_diff(LINES, LONG))
    QTest.keyClick(view, Qt.Key.Key_W)
    return view


def part_of_view(view: DiffView, side: LineSide, line: int, offset: int) -> QPoint:
    row = view.document.rows.find(side, line)
    pane = next(pane for pane in view.scroller.panes if pane.side in (None, side))
    laid = view.lay_line(pane, side, line)
    top = view.scroller.row_rect(row).top() + laid.part_of(offset) * view.scroller.geometry.row_height
    return QPoint(pane.text_left + round(laid.x(offset)), top + ROW_HEIGHT // 2)


@pytest.mark.parametrize("mode", ["side_by_side", "unified"])
def test_wrapped_lines_are_all_in_view_and_nothing_scrolls_sideways(wrapped: DiffView, mode: RowMode) -> None:
    wrapped.set_mode(mode)
    geometry, rows = wrapped.scroller.geometry, wrapped.document.rows
    height = geometry.row_height_at(rows.find("new", 11))
    assert height > 30 * ROW_HEIGHT
    assert height % ROW_HEIGHT == 0
    assert wrapped.horizontalScrollBar().maximum() == 0
    assert geometry.row_height_at(rows.find("new", 40)) < 250 * ROW_HEIGHT, "of an endless line only a part is drawn"
    picture(wrapped)
    QTest.keyClick(wrapped, Qt.Key.Key_W)
    assert wrapped.scroller.geometry.row_height_at(rows.find("new", 11)) == ROW_HEIGHT
    assert wrapped.horizontalScrollBar().maximum() > 0


def test_a_match_far_into_a_wrapped_line_is_scrolled_to(wrapped: DiffView) -> None:
    wrapped.finder.find("word0390")
    assert wrapped.navigation.selected_text() == "word0390"
    assert wrapped.viewport().rect().contains(part_of_view(wrapped, "new", 11, WORDS.index("word0390")))


def test_dragging_selects_across_the_parts_of_a_wrapped_line(wrapped: DiffView) -> None:
    wrapped.scroller.show_part(wrapped.document.rows.find("new", 11), 0)
    start, end = (part_of_view(wrapped, "new", 11, WORDS.index(word)) for word in ("word0001", "word0020"))
    before = wrapped.verticalScrollBar().value()
    QTest.mousePress(wrapped.viewport(), Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(wrapped.viewport(), end)
    assert wrapped.navigation.selected_text() == WORDS[WORDS.index("word0001") : WORDS.index("word0020")]
    assert wrapped.verticalScrollBar().value() == before


def test_the_keyboard_reads_a_line_that_is_taller_than_the_view_before_it_goes_on(wrapped: DiffView) -> None:
    row = wrapped.document.rows.find("new", 11)
    wrapped.navigation.go_to(row)
    seen = {wrapped.verticalScrollBar().value()}
    while wrapped.navigation.row == row:
        QTest.keyClick(wrapped, Qt.Key.Key_PageDown)
        seen.add(wrapped.verticalScrollBar().value())
    assert len(seen) > wrapped.scroller.geometry.row_height_at(row) // wrapped.viewport().height()
    assert wrapped.navigation.row == row + 1 or wrapped.navigation.row > row


def test_lines_stay_wrapped_in_folds_other_sizes_and_other_states_of_the_file(qtbot: QtBot, wrapped: DiffView) -> None:
    def is_whole() -> bool:
        rows, geometry = wrapped.document.rows, wrapped.scroller.geometry
        tops = [geometry.top(row) for row in range(len(rows))]
        return tops == sorted(tops) and geometry.row_height_at(rows.find("new", 11)) > ROW_HEIGHT

    wrapped.open_gap(row_of(wrapped, "gap"))
    assert is_whole()
    wrapped.resize(900, 300)
    qtbot.waitUntil(is_whole)
    wrapped.show_diff(make_diff(LINES, LONG + "more\n"), keep_place=True)
    assert is_whole()


def test_a_diff_that_is_too_large_is_not_wrapped_and_says_so(view: DiffView) -> None:
    QTest.keyClick(view, Qt.Key.Key_W)
    told = QSignalSpy(view.mode_changed)
    view.show_diff(make_diff(None, f"{WORDS}\n" * 12_000))
    assert (view.scroller.is_too_large, told.count()) == (True, 1 + 1)
    assert view.scroller.geometry.row_height_at(1) == ROW_HEIGHT
    view.show_diff(make_diff(None, f"{WORDS}\n"))
    assert not view.scroller.is_too_large


# --- selecting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "before", "after", "copied"),
    [
        ("side_by_side", "\tone\r\ntwo\r\n", "\tone\r\n2️⃣ zwei\u200b\r\nthree", "\tone\r\n2️⃣ zwei\u200b\r\nthree"),
        ("unified", "same\nold\n", "same\nnew\n", "same\nold\nnew"),
        ("unified", LINES, LINES + "more\n", "line 58\nline 59\nline 60\nmore"),
    ],
    ids=["one side", "removed and added lines", "no folded lines"],
)
def test_ctrl_a_and_ctrl_c_copy_exactly_what_is_shown(
    view: DiffView, mode: RowMode, before: str, after: str, copied: str
) -> None:
    view.set_mode(mode)
    view.show_diff(make_diff(before, after))
    QTest.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == copied


def test_dragging_selects_on_the_side_where_it_began(view: DiffView) -> None:
    first = y_of(view, row_of(view, "context"))
    port = view.viewport()
    QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=QPoint(50, first))
    QTest.mouseMove(port, QPoint(600, first + 3 * ROW_HEIGHT))
    assert view.navigation.selected_text() == "line 8\nline 9\nline 10\nline 11"
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=QPoint(600, first + 3 * ROW_HEIGHT))
    QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=QPoint(600, first + 3 * ROW_HEIGHT))
    QTest.mouseMove(port, QPoint(5, first + 2 * ROW_HEIGHT))
    assert view.navigation.selected_text() == "line 10\nELEVEN"


def test_a_double_click_selects_a_word(view: DiffView) -> None:
    QTest.mouseDClick(
        view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(352 + 60, y_of(view, row_of(view, "changed")))
    )
    assert view.navigation.selected_text() == "ELEVEN"


def test_shift_and_arrows_select_whole_lines(view: DiffView) -> None:
    QTest.keyClick(view, Qt.Key.Key_Down)
    for _ in range(3):
        QTest.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert view.navigation.selected_text() == "line 8\nline 9\nline 10\nELEVEN"
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert view.navigation.selected_text() == ""


def test_selected_text_is_marked(view: DiffView) -> None:
    y = y_of(view, row_of(view, "context"))
    before = picture(view)
    view.navigation.select_all()
    after = picture(view)
    assert colours_in(before, y, 400, 690) != colours_in(after, y, 400, 690)
    assert colours_in(before, y, 0, 340) == colours_in(after, y, 0, 340)


# --- finding ------------------------------------------------------------------------------------------------------


def test_what_is_found_is_selected_and_unfolded(view: DiffView) -> None:
    view.finder.find("LINE 25")
    assert view.navigation.selected_text() == "line 25"
    assert view.document.rows[view.document.rows.find("new", 25)].kind == "context"


@pytest.mark.parametrize(
    ("before", "after", "needle", "found"),
    [
        (LINES, EDITED, "Line 11", ["line 11"]),
        (LINES, EDITED, "and more", ["and more"]),
        ("one 1\n", "One 2\n", "one", ["one", "One"]),
        ("", "İİİ x\n", "X", ["x"]),
        (LINES, EDITED, "", []),
        (LINES, EDITED, "\n", []),
    ],
    ids=["removed", "added", "removed before added", "longer in lower case", "no text", "a line's end"],
)
def test_both_sides_are_searched_from_the_first_change_on(
    view: DiffView, before: str, after: str, needle: str, found: list[str]
) -> None:
    view.show_diff(make_diff(before, after))
    told = QSignalSpy(view.finder.found)
    view.finder.find(needle)
    selected: list[str] = []
    for _ in range(told.at(0)[1]):
        selected.append(view.navigation.selected_text())
        view.finder.step(1)
    assert selected == found


@pytest.mark.parametrize(("count", "has_unread"), [(60, False), (MAX_MATCHES + 9, True)])
def test_unchanged_lines_are_found_once_and_not_more_matches_than_can_be_shown(
    view: DiffView, count: int, has_unread: bool
) -> None:
    view.show_diff(make_diff("x\n" * count, "x\n" * count + "y\n"))
    told = QSignalSpy(view.finder.found)
    view.finder.find("X")
    assert (told.at(0)[1], view.finder.has_unread) == (min(count, MAX_MATCHES), has_unread)


def test_finding_again_goes_on(view: DiffView) -> None:
    view.show_diff(make_diff("", "one\ntwo one\nthree\n"))
    found = QSignalSpy(view.finder.found)
    view.finder.find("one")
    picked = [view.navigation.row]
    for by in (1, 1, -1):
        view.finder.step(by)
        picked.append(view.navigation.row)
    assert picked == [1, 2, 1, 2]
    view.finder.find("four")
    assert [found.at(at) for at in range(found.count())] == [[1, 2], [2, 2], [1, 2], [2, 2], [0, 0]]


def test_a_view_without_a_diff_takes_every_key(view: DiffView) -> None:
    view.show_diff(None)
    for key in (Qt.Key.Key_F7, Qt.Key.Key_N, Qt.Key.Key_Down, Qt.Key.Key_End, Qt.Key.Key_Return):
        QTest.keyClick(view, key)
    view.navigation.select_all()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton)
    assert view.navigation.selected_text() == ""
    view.finder.find("x")
    assert view.navigation.selected_text() == ""


def test_lines_are_as_high_as_the_chosen_size_needs(view: DiffView, theme: Theme) -> None:
    before = view.verticalScrollBar().maximum()
    theme.choose_sizes(TextSizes(diff=24))
    try:
        assert view.verticalScrollBar().maximum() > before
    finally:
        theme.choose_sizes(TextSizes())
    assert view.verticalScrollBar().maximum() == before
