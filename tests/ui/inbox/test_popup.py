"""The inbox is used with the mouse and with the keyboard alone, and answers nothing by accident."""

from collections.abc import Generator, Sequence

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.inbox.inbox_items import InboxItem
from desktop_agent.ui.inbox.inbox_popup import InboxPopup, InboxRow
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.focus import FocusKeeper
from desktop_agent.ui.widgets.labels import CodeLabel
from desktop_agent.ui.window.top_bar import InboxButton
from tests.parts import part
from tests.presses import click_where
from tests.ui.inbox.stage import NOW, asking, ended, item


class Stage:
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.over = QWidget()
        qtbot.addWidget(self.over)
        self.over.resize(1024, 700)
        self.field = QLineEdit(self.over)
        self.button = InboxButton(self.over)
        self.button.move(900, 4)
        self.popup = InboxPopup(theme, self.over, self.button, now=lambda: NOW)
        self.wishes: list[tuple[str, InboxItem]] = []
        self.popup.wished.connect(self._note)
        FocusKeeper(QWidget(self.over), self.field, self.over)
        self.over.show()
        self.field.setFocus()
        self.over.activateWindow()
        qtbot.waitUntil(lambda: QApplication.activeWindow() is self.over)

    def _note(self, wish: str, one: InboxItem) -> None:
        self.wishes.append((wish, one))

    def open(self, items: Sequence[InboxItem]) -> None:
        self.show(items)
        self.popup.open_popup()

    def show(self, items: Sequence[InboxItem]) -> None:
        """Show these, until all rows are there: they come a few at a time."""
        self.popup.show_items(items)
        self.qtbot.waitUntil(lambda: len(self._made) == min(len(items), 50))

    @property
    def _made(self) -> list[InboxRow]:
        return [row for row in self.popup.findChildren(InboxRow) if not row.isHidden()]

    @property
    def rows(self) -> list[InboxRow]:
        found = [row for row in self.popup.findChildren(InboxRow) if row.isVisible()]
        return sorted(found, key=lambda row: row.y())

    def press(self, row: InboxRow, name: str) -> None:
        QTest.mouseClick(part(row, QPushButton, name), Qt.MouseButton.LeftButton)

    def key(self, key: Qt.Key) -> None:
        now = QApplication.focusWidget()
        assert now is not None
        QTest.keyClick(now, key)

    def until_it_listens(self) -> None:
        self.qtbot.waitUntil(lambda: all(row.is_listening for row in self.rows if row.item.can_deny))


@pytest.fixture
def stage(theme: Theme, qtbot: QtBot) -> Generator[Stage]:
    stage = Stage(theme, qtbot)
    yield stage
    stage.popup.close_popup()


def test_nothing_that_waits_is_said_in_words(stage: Stage) -> None:
    stage.open([])
    assert stage.rows == []
    assert stage.popup.isVisible()
    stage.key(Qt.Key.Key_Escape)
    assert not stage.popup.isVisible()


def test_a_yes_and_a_no_count_once_the_row_has_been_in_sight_for_a_moment(stage: Stage) -> None:
    first, second = item(asking(), "s1"), item(asking(), "s2")
    stage.open([first, second])
    stage.press(stage.rows[0], "inboxAllowButton")
    assert stage.wishes == []
    stage.until_it_listens()
    stage.press(stage.rows[0], "inboxAllowButton")
    stage.press(stage.rows[0], "inboxDenyButton")
    stage.press(stage.rows[1], "inboxDenyButton")
    assert stage.wishes == [("allow", first), ("deny", second)]


def test_a_row_that_comes_under_the_pointer_does_not_take_the_click_that_was_meant_for_another(stage: Stage) -> None:
    first, second = item(asking(), "s1"), item(asking(), "s2")
    stage.open([first, second])
    stage.until_it_listens()
    stage.show([second])
    stage.press(stage.rows[0], "inboxAllowButton")
    assert stage.wishes == []
    stage.until_it_listens()
    stage.press(stage.rows[0], "inboxAllowButton")
    assert stage.wishes == [("allow", second)]


def test_a_row_that_stays_as_it_was_goes_on_listening_and_a_click_on_another_below_it_shows_that(stage: Stage) -> None:
    first, second = item(asking(), "s1"), ended("s2")
    stage.open([first])
    stage.until_it_listens()
    stage.show([first, second])
    assert stage.rows[0].is_listening
    QTest.mouseClick(stage.rows[1], Qt.MouseButton.LeftButton)
    assert stage.wishes == [("show", second)]


def test_the_keyboard_goes_through_the_rows_and_shows_one(stage: Stage) -> None:
    items = [item(asking(), "s1"), item(asking(), "s2"), ended("s3")]
    stage.open(items)
    assert stage.rows[0].hasFocus()
    stage.key(Qt.Key.Key_Up)
    stage.key(Qt.Key.Key_Down)
    stage.key(Qt.Key.Key_Down)
    assert stage.rows[2].hasFocus()
    stage.key(Qt.Key.Key_Down)
    stage.key(Qt.Key.Key_Return)
    assert stage.wishes == [("show", items[2])]
    assert not stage.popup.isVisible()


def test_tab_stays_inside_and_reaches_every_answer(stage: Stage) -> None:
    stage.open([item(asking(), "s1")])
    reached = [QApplication.focusWidget()]
    for _ in range(4):
        stage.key(Qt.Key.Key_Tab)
        reached.append(QApplication.focusWidget())
    names = [one.objectName() for one in reached if one is not None]
    assert names == ["inboxRow", "inboxAllowButton", "inboxDenyButton", "inboxShowButton", "inboxRow"]
    stage.key(Qt.Key.Key_Backtab)
    stage.until_it_listens()
    stage.key(Qt.Key.Key_Backtab)
    stage.key(Qt.Key.Key_Space)
    assert [wish for wish, _ in stage.wishes] == ["deny"]


def test_the_keyboard_stays_in_the_inbox_while_rows_go_and_come(stage: Stage) -> None:
    stage.open([item(asking(), "s1")])
    stage.until_it_listens()
    stage.press(stage.rows[0], "inboxAllowButton")
    stage.show([])
    stage.show([ended("s1")])
    assert stage.rows[0].hasFocus()


def test_a_click_beside_it_closes_it_and_reaches_what_was_clicked(stage: Stage) -> None:
    stage.open([ended()])
    click_where(stage.field, QPoint(130, 5))  # right of what stands for the conversation
    assert not stage.popup.isVisible()
    assert stage.field.hasFocus()


def test_all_ends_are_seen_at_once_and_questions_are_not(stage: Stage, qtbot: QtBot) -> None:
    stage.open([item(asking(), "s1"), ended("s2")])
    button = part(stage.popup, QPushButton, "inboxAllSeenButton")
    with qtbot.waitSignal(stage.popup.all_seen):
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    stage.show([item(asking(), "s1")])
    assert not button.isVisible()


def test_hundreds_of_rows_are_cut_in_words(stage: Stage) -> None:
    stage.open([ended(f"s{number}") for number in range(120)])
    assert len(stage.rows) == 50
    assert stage.over.rect().contains(stage.popup.geometry())


def test_it_is_as_high_as_its_rows_and_shows_each_whole(stage: Stage) -> None:
    stage.open([item(asking(), "s1"), item(asking("git push " + "x" * 300), "s2"), ended("s3")])
    shown = stage.popup.rect()
    for row in stage.rows:
        assert shown.contains(row.rect().translated(row.mapTo(stage.popup, QPoint(0, 0))))
        assert row.height() >= row.minimumSizeHint().height()
    assert part(stage.popup, QScrollArea, "inboxList").verticalScrollBar().maximum() == 0


def test_a_row_says_all_of_it_to_a_screen_reader(stage: Stage) -> None:
    stage.open([item(asking(), "s1")])
    name = stage.rows[0].accessibleName()
    assert all(part in name for part in ("Make a file", "Wants to run a command", "touch made.txt", "In the sandbox"))
    names = [button.accessibleName() for button in stage.rows[0].buttons]
    assert names == ["Allow once: Make a file", "Deny: Make a file", "Show: Make a file"]


def test_the_button_shows_a_number_with_a_sign_until_it_has_an_icon(stage: Stage) -> None:
    stage.button.show_count(120, 1)
    assert (stage.button.text(), stage.button.property("variant")) == ("⚑ 99+", "warning")
    stage.button.note_icon()
    stage.button.show_count(2, 0)
    assert (stage.button.text(), stage.button.property("variant")) == ("2", "flat")
    assert stage.button.accessibleName() == "Inbox, 2 new"


@pytest.mark.parametrize(
    ("items", "waiting", "said"),
    [
        (0, 0, "Inbox, nothing waits"),
        (2, 0, "Inbox, 2 new"),
        (2, 2, "Inbox, 2 waiting for you"),
        (3, 1, "Inbox, 1 waiting for you, 2 new"),
    ],
)
def test_the_button_says_how_much_there_is(stage: Stage, items: int, waiting: int, said: str) -> None:
    stage.button.show_count(items, waiting)
    assert stage.button.accessibleName() == said


@pytest.mark.parametrize("pixels", [13, 28])
@pytest.mark.parametrize(
    "command",
    [f"curl http://example.com/{'a' * 100};rm -r build", "x" * 150, "a/" * 75, f"echo {'字' * 60}", "W" * 150],
)
def test_all_of_a_command_that_can_be_allowed_is_drawn(stage: Stage, theme: Theme, command: str, pixels: int) -> None:
    one = item(asking(command))
    assert one.can_allow
    stage.open([one])
    (label,) = (label for label in stage.rows[0].findChildren(CodeLabel))
    font = theme.code_font()
    font.setPixelSize(pixels)
    label.setFont(font)
    stage.qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()))
    layout = label.laid_out(label.width())
    lines = [layout.lineAt(at) for at in range(layout.lineCount())]
    assert sum(line.textLength() for line in lines) == len(command)
    assert all(line.x() + line.naturalTextWidth() <= label.contentsRect().right() + 1 for line in lines)
    assert layout.boundingRect().bottom() <= label.height()


def test_a_yes_counts_only_while_all_of_the_row_is_in_sight(stage: Stage) -> None:
    items = [item(asking(f"touch {'long ' * 25}"), f"s{number}") for number in range(12)]
    stage.open(items)
    scroll = part(stage.popup, QScrollArea, "inboxList")
    row = stage.rows[0]
    stage.qtbot.waitUntil(lambda: row.is_listening)
    bar = scroll.verticalScrollBar()
    bar.setValue(row.y() + row.height() - 20)  # its buttons are in sight, what they are for is not
    stage.press(row, "inboxAllowButton")
    assert stage.wishes == []
    assert row.visibleRegion().boundingRect() == row.rect()  # the press has brought all of it into sight
    stage.qtbot.waitUntil(lambda: row.is_listening)
    bar.setValue(row.y() + row.height() - 20)
    stage.key(Qt.Key.Key_Backtab)
    stage.key(Qt.Key.Key_Tab)  # so do keys
    stage.key(Qt.Key.Key_Space)
    assert stage.wishes == [("allow", items[0])]
