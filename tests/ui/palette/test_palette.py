import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QLineEdit, QListView, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.palette import (
    CommandPalette,
    PaletteEntry,
    PaletteQuery,
    PaletteSources,
    place_key_entries,
    rows_for,
)
from desktop_agent.ui.theme import Theme
from tests.parts import part
from tests.presses import click_where

ACTIONS = tuple(
    PaletteEntry(kind="action", key=title.lower(), title=title, keys=keys)
    for title, keys in (("New session", "Ctrl+N"), ("Open folder…", "Ctrl+O"), ("Stop the agent", ""), ("Quit", ""))
)


class Desk:
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        self.window = QWidget()
        self.window.resize(900, 700)
        qtbot.addWidget(self.window)
        self.message = QPlainTextEdit(self.window)
        self.message.setGeometry(20, 600, 700, 60)
        self.palette = CommandPalette(theme, self.window)
        self.sources = PaletteSources(actions=ACTIONS, keys=place_key_entries({}), has_folder=False)
        self.answers_at_once = True
        self.palette.wanted.connect(self._on_wanted)
        self.chosen = QSignalSpy(self.palette.chosen)
        self.window.show()
        self.window.activateWindow()
        qtbot.waitUntil(self.window.isActiveWindow)
        self.message.setFocus()

    def _on_wanted(self, query: PaletteQuery) -> None:
        if self.answers_at_once:
            self.answer(query)

    def answer(self, query: PaletteQuery) -> None:
        self.palette.show_rows(query, rows_for(query, self.sources))

    @property
    def field(self) -> QLineEdit:
        return part(self.palette, QLineEdit, "paletteField")

    @property
    def rows(self) -> QListView:
        return part(self.palette, QListView, "paletteList")

    @property
    def current(self) -> str:
        return str(self.rows.currentIndex().data(Qt.ItemDataRole.AccessibleTextRole))

    def press(self, key: Qt.Key) -> None:
        QTest.keyClick(self.window.focusWidget(), key)


@pytest.fixture
def desk(theme: Theme, qtbot: QtBot) -> Desk:
    return Desk(theme, qtbot)


def test_it_opens_with_the_keyboard_in_the_field_and_the_first_row_marked(desk: Desk) -> None:
    desk.palette.open_palette("all")
    assert desk.window.focusWidget() is desk.field
    assert desk.current == "New session, Ctrl+N"
    assert desk.field.accessibleDescription() == desk.current, "what a reader of the screen hears"
    assert desk.palette.geometry().top() > 0


class Appearance(QObject):
    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.palette)
        self._desk = desk
        self.rows = 0
        self.height = 0
        desk.palette.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() == QEvent.Type.Show:
            self.rows, self.height = self._desk.rows.model().rowCount(), self._desk.palette.height()
        return False


def test_it_appears_with_its_rows_and_as_high_as_they_are(desk: Desk) -> None:
    appearance = Appearance(desk)
    desk.palette.open_palette("all")
    assert appearance.rows == len(ACTIONS)
    assert appearance.height == desk.palette.height()


def test_the_same_answer_again_lists_nothing_anew(desk: Desk) -> None:
    desk.palette.open_palette("all")
    resets = QSignalSpy(desk.rows.model().modelReset)
    desk.answer(desk.palette.query)
    assert resets.count() == 0
    desk.sources = PaletteSources(actions=ACTIONS[:2])
    desk.answer(desk.palette.query)
    assert resets.count() == 1


def test_one_that_is_made_ready_is_not_to_be_seen_and_opens_as_any(desk: Desk) -> None:
    for _ in desk.palette.made_ready():
        assert desk.palette.isHidden()
    desk.palette.open_palette("all")
    assert desk.window.focusWidget() is desk.field
    assert desk.current == "New session, Ctrl+N"


def test_typing_and_enter_choose_and_the_keyboard_is_back_by_then(desk: Desk) -> None:
    had_keyboard: list[bool] = []
    desk.palette.chosen.connect(lambda: had_keyboard.append(desk.message.hasFocus()))
    desk.palette.open_palette("all")
    QTest.keyClicks(desk.field, "fold")
    desk.press(Qt.Key.Key_Return)
    assert desk.chosen.at(0) == [ACTIONS[1]]
    assert had_keyboard == [True]
    assert desk.palette.isHidden()


def test_arrows_and_pages_go_through_the_choices_and_around_the_ends(desk: Desk) -> None:
    desk.palette.open_palette("all")
    for key, title in (
        (Qt.Key.Key_Down, "Open folder…"),
        (Qt.Key.Key_PageDown, "Quit"),
        (Qt.Key.Key_Down, "New session"),
        (Qt.Key.Key_Up, "Quit"),
        (Qt.Key.Key_PageUp, "New session"),
    ):
        desk.press(key)
        assert desk.current.split(",")[0] == title


def test_a_click_chooses(desk: Desk) -> None:
    desk.palette.open_palette("all")
    where = desk.rows.visualRect(desk.rows.model().index(2, 0)).center()
    QTest.mouseClick(desk.rows.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert desk.chosen.at(0) == [ACTIONS[2]]


@pytest.mark.parametrize("way", ["escape", "elsewhere", "again"])
def test_it_goes_away_without_a_choice_and_the_keyboard_is_where_it_was(desk: Desk, way: str) -> None:
    desk.palette.open_palette("all")
    match way:
        case "escape":
            desk.press(Qt.Key.Key_Escape)
        case "again":
            desk.palette.open_palette("all")
        case _:
            click_where(desk.message.viewport(), QPoint(680, 20))
    assert desk.palette.isHidden()
    assert desk.chosen.count() == 0
    assert desk.window.focusWidget() is desk.message


def test_other_keys_turn_it_to_something_else_and_it_still_leads_back(desk: Desk) -> None:
    desk.palette.open_palette("all")
    desk.palette.open_palette("file")
    assert not desk.palette.isHidden()
    assert desk.rows.model().index(0, 0).data() == "Open a folder to go to one of its files."
    desk.palette.open_palette("all")
    QTest.keyClicks(desk.field, "?rename")
    assert desk.rows.model().index(0, 0).data() == "Rename the file"
    desk.press(Qt.Key.Key_Return)
    assert desk.chosen.count() == 0, "a key of one place is only read"
    desk.press(Qt.Key.Key_Escape)
    assert desk.window.focusWidget() is desk.message


def test_enter_waits_for_the_answer_to_what_was_typed_last(desk: Desk) -> None:
    desk.palette.open_palette("all")
    desk.answers_at_once = False
    QTest.keyClicks(desk.field, "st")
    desk.press(Qt.Key.Key_Return)
    desk.answer(PaletteQuery("all", "s"))
    assert desk.chosen.count() == 0, "that answer is stale"
    desk.answer(PaletteQuery("all", "st"))
    assert desk.chosen.at(0) == [ACTIONS[2]]


def test_an_answer_with_more_keeps_the_row_that_was_chosen(desk: Desk) -> None:
    desk.palette.open_palette("all")
    desk.press(Qt.Key.Key_Down)
    desk.sources = PaletteSources(actions=(ACTIONS[3], *ACTIONS[:3]))
    desk.answer(PaletteQuery("all", ""))
    assert desk.current.startswith("Open folder…")


def test_tab_stays_in_it_and_a_small_window_holds_it(desk: Desk) -> None:
    desk.palette.open_palette("all")
    QTest.keyClicks(desk.field, "?")
    desk.press(Qt.Key.Key_Tab)
    assert desk.window.focusWidget() is desk.field
    desk.window.resize(400, 300)
    assert desk.window.rect().contains(desk.palette.geometry())
