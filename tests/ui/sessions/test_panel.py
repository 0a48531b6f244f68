from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QAction, QEnterEvent, QGuiApplication
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QListView, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.cli import _followed  # pyright: ignore[reportPrivateUsage] - what a link opens
from desktop_agent.core.protocol.model import AgentSession, Usage
from desktop_agent.ui.sessions.session_list_model import Arrangement
from desktop_agent.ui.sessions.session_panel import SessionPanel
from desktop_agent.ui.theme import Theme
from tests.parts import part
from tests.ui.sessions.conftest import HERE, NOW

if TYPE_CHECKING:
    from tests.ui.sessions.conftest import MakeSession


class Desk:
    def __init__(
        self, app: QApplication, qtbot: QtBot, make_session: "MakeSession", workspace: str | None = HERE
    ) -> None:
        self.panel = SessionPanel(Theme(app), now=lambda: NOW)
        qtbot.addWidget(self.panel)
        self.panel.resize(243, 300)
        rows = part(self.panel, QListView, "sessionList")
        self.rows = rows
        self.chosen: list[str] = []
        self.renamed: list[tuple[str, str]] = []
        self.panel.session_chosen.connect(self.chosen.append)
        self.panel.rename_requested.connect(self._note_title)
        self.panel.set_workspace(workspace)
        self.panel.set_sessions(
            [make_session("a", "Fix it", state="waiting"), make_session("b", "Explain it", ago=timedelta(days=1))]
        )
        self.panel.show()
        qtbot.waitExposed(self.panel)

    def _note_title(self, session_id: str, title: str) -> None:
        self.renamed.append((session_id, title))

    def click(self, row: int) -> None:
        at = self.rows.visualRect(self.rows.model().index(row, 0)).center()
        QTest.mouseClick(self.rows.viewport(), Qt.MouseButton.LeftButton, pos=at)

    def selected(self) -> list[object]:
        return [index.data() for index in self.rows.selectedIndexes()]


@pytest.fixture
def desk(qapp: QApplication, qtbot: QtBot, make_session: "MakeSession") -> Desk:
    return Desk(qapp, qtbot, make_session)


def order(desk: Desk) -> list[object]:
    model = desk.rows.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def test_before_the_sessions_are_read_it_says_so(qapp: QApplication, qtbot: QtBot) -> None:
    panel = SessionPanel(Theme(qapp))
    qtbot.addWidget(panel)
    [said] = [label for label in panel.findChildren(QLabel) if label.text() == "Reading your sessions…"]
    panel.set_workspace("/project")
    assert said.text() == "Reading your sessions…"
    panel.set_sessions([])
    assert said.text() == "No sessions yet. Your first message starts one."


def test_the_next_and_the_previous_session_are_chosen_around_the_ends_of_the_list(desk: Desk) -> None:
    desk.panel.step(1)
    for current, by in (("a", 1), ("b", 1), ("b", -1), ("a", -1)):
        desk.panel.set_current(current)
        desk.panel.step(by)
    assert desk.chosen == ["a", "b", "a", "a", "b"]
    desk.panel.set_sessions([])
    desk.panel.step(1)
    assert len(desk.chosen) == 5


def test_a_click_chooses_and_only_the_window_decides_what_is_shown(desk: Desk) -> None:
    desk.panel.set_current("a")
    desk.click(1)
    assert desk.chosen == ["b"]
    assert desk.selected() == ["Fix it"]
    desk.panel.set_current("b")
    assert desk.selected() == ["Explain it"]
    desk.panel.set_current(None)
    assert desk.selected() == []
    asked = QSignalSpy(desk.panel.new_requested)
    QTest.mouseClick(part(desk.panel, QPushButton, "newSessionButton"), Qt.MouseButton.LeftButton)
    assert asked.count() == 1


def test_arrow_keys_move_and_enter_chooses(desk: Desk) -> None:
    desk.panel.set_current("a")
    QTest.keyClick(desk.rows, Qt.Key.Key_Down)
    assert desk.chosen == []
    assert desk.selected() == ["Fix it"]
    QTest.keyClick(desk.rows, Qt.Key.Key_Return)
    assert desk.chosen == ["b"]


def test_f2_lets_one_type_another_title_and_no_update_ends_that(
    desk: Desk, make_session: "MakeSession", qtbot: QtBot
) -> None:
    desk.panel.set_current("b")
    QTest.keyClick(desk.rows, Qt.Key.Key_F2)
    editor = part(desk.rows, QLineEdit)
    assert editor.text() == "Explain it"
    desk.panel.set_sessions([make_session("a", "Fix it", state="working"), make_session("b", "Explain it")])
    assert editor.isVisible()
    editor.clear()
    QTest.keyClicks(editor, "Explain it well")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: desk.renamed == [("b", "Explain it well")])
    assert desk.chosen == []


def test_the_round_mark_has_the_colour_of_the_state(desk: Desk, qapp: QApplication) -> None:
    colours = Theme(qapp).colours
    picture = desk.rows.viewport().grab().toImage()

    def mark_of(row: int) -> str:
        rect = desk.rows.visualRect(desk.rows.model().index(row, 0))
        return picture.pixelColor(rect.left() + 11, rect.center().y()).name().upper()

    assert mark_of(0) == colours.warning_text
    assert mark_of(1) not in (colours.warning_text, colours.accent)


def test_what_is_wanted_of_a_session_in_its_menu_comes_with_its_id(desk: Desk) -> None:
    wished = QSignalSpy(desk.panel.action_requested)
    desk.rows.setCurrentIndex(desk.rows.model().index(1, 0))
    desk.rows.customContextMenuRequested.emit(desk.rows.visualRect(desk.rows.currentIndex()).center())
    menu = part(desk.panel, QMenu, "sessionMenu")
    actions = {action.text(): action for action in menu.actions() if not action.isSeparator()}
    assert list(actions) == [
        "Open", "Open in a new window", "Rename", "Pin to the top", "Make a copy", "Select", "Export…",
        "Show in folder", "Copy link", "Archive", "Delete…",
    ]  # fmt: skip
    for text, action in actions.items():
        if text not in ("Rename", "Select", "Copy link"):
            action.trigger()
    wishes = ("window", "pin", "copy", "export", "folder", "archive", "delete")
    assert [wished.at(at) for at in range(wished.count())] == [[wish, ("b",)] for wish in wishes]
    assert desk.chosen == ["b"]
    actions["Copy link"].trigger()
    assert _followed(QGuiApplication.clipboard().text()) == ["--resume", "b"]
    assert desk.rows.findChild(QLineEdit) is None
    actions["Rename"].trigger()
    assert desk.rows.findChild(QLineEdit) is not None
    menu.close()


def test_the_command_that_continues_a_session_elsewhere_is_copied_and_its_agent_is_let_go(
    desk: Desk, make_session: "MakeSession"
) -> None:
    wished = QSignalSpy(desk.panel.action_requested)
    there = AgentSession(agent="my agent", id="7c1b-1", kind="claude", through_turn=2)
    desk.panel.set_sessions([replace(make_session("a", "Fix it"), agent_sessions=(there,))])
    desk.rows.setCurrentIndex(desk.rows.model().index(0, 0))
    desk.rows.customContextMenuRequested.emit(desk.rows.visualRect(desk.rows.currentIndex()).center())
    action = part(part(desk.panel, QMenu, "sessionMenu"), QAction, "handOverAction")
    assert action.text() == "Copy the command that continues it in Claude Code"
    action.trigger()
    assert QGuiApplication.clipboard().text() == f"cd {HERE} && claude --resume 7c1b-1"
    assert wished.at(0) == ["release", ("a",)]


def test_the_delete_key_wishes_the_session_away_but_not_while_its_title_is_typed(desk: Desk) -> None:
    wished = QSignalSpy(desk.panel.action_requested)
    desk.rows.setCurrentIndex(desk.rows.model().index(0, 0))
    QTest.keyClick(desk.rows, Qt.Key.Key_Delete)
    QTest.keyClick(desk.rows, Qt.Key.Key_F2)
    QTest.keyClick(part(desk.rows, QLineEdit), Qt.Key.Key_Delete)
    assert (wished.count(), wished.at(0)) == (1, ["delete", ("a",)])


def test_pinned_sessions_come_first_and_archived_ones_only_when_asked_for(
    desk: Desk, make_session: "MakeSession"
) -> None:
    pinned = replace(make_session("p", "Pinned", ago=timedelta(days=9), workspace="/elsewhere"), is_pinned=True)
    archived = replace(make_session("z", "Put away"), is_archived=True)
    assert not part(desk.panel, QPushButton, "archivedButton").isVisible(), "there are none"
    desk.panel.set_sessions([make_session("a", "Here"), make_session("b", "There", workspace="/b"), pinned, archived])

    button = part(desk.panel, QPushButton, "archivedButton")
    listed = ["Pinned", "Pinned", "This folder", "Here", "Other folders", "There"]
    assert order(desk) == listed
    assert button.text() == "Show archived (1)"
    button.click()
    assert order(desk) == [*listed, "Archived", "Put away"]
    button.click()
    assert order(desk) == listed


def point(desk: Desk, *, is_over: bool) -> None:
    viewport = desk.rows.viewport()
    at = QPointF(viewport.rect().center())
    event = QEnterEvent(at, at, at) if is_over else QEvent(QEvent.Type.Leave)
    QApplication.sendEvent(viewport, event)


def test_rows_stay_where_they_are_while_the_pointer_is_over_them(desk: Desk, make_session: "MakeSession") -> None:
    point(desk, is_over=True)
    desk.panel.set_sessions(
        [
            make_session("a", "Fix it", ago=timedelta(days=2)),
            make_session("b", "Explain it", state="working"),
            make_session("c", "Another"),
        ]
    )
    desk.panel.set_workspace("/elsewhere")
    assert order(desk) == ["Fix it", "Explain it"]
    index = desk.rows.model().index(1, 0)
    assert "is working" in str(index.data(Qt.ItemDataRole.AccessibleTextRole))
    point(desk, is_over=False)
    assert order(desk) == ["Other folders", "Explain it", "Another", "Fix it"]


def test_the_sessions_of_the_folder_that_is_opened_first_stand_under_it_wherever_the_pointer_is(
    qapp: QApplication, qtbot: QtBot, make_session: "MakeSession"
) -> None:
    desk = Desk(qapp, qtbot, make_session, workspace=None)
    assert order(desk) == ["Other folders", "Fix it", "Explain it"]
    point(desk, is_over=True)
    desk.panel.set_workspace(HERE)
    assert order(desk) == ["Fix it", "Explain it"]


def test_what_the_user_asked_for_moves_rows_at_once(desk: Desk, make_session: "MakeSession") -> None:
    point(desk, is_over=True)
    desk.rows.setFocus()
    desk.rows.setCurrentIndex(desk.rows.model().index(0, 0))
    QTest.keyClick(desk.rows, Qt.Key.Key_Delete)
    desk.panel.set_sessions([make_session("b", "Explain it")])
    assert order(desk) == ["Explain it"]


def test_a_menu_acts_on_the_session_it_was_opened_for(desk: Desk, make_session: "MakeSession", qtbot: QtBot) -> None:
    wished = QSignalSpy(desk.panel.action_requested)
    at = desk.rows.visualRect(desk.rows.model().index(1, 0)).center()
    desk.rows.customContextMenuRequested.emit(at)
    menu = part(desk.panel, QMenu, "sessionMenu")
    desk.panel.set_sessions([make_session("c", "Another"), make_session("b", "Explain it", ago=timedelta(days=9))])
    desk.rows.setCurrentIndex(desk.rows.model().index(0, 0))
    delete = next(action for action in menu.actions() if action.text() == "Delete…")
    delete.trigger()
    assert wished.at(0) == ["delete", ("b",)]
    menu.close()
    qtbot.waitUntil(lambda: order(desk) == ["Another", "Explain it"])


def press(desk: Desk, key: Qt.Key, *keys: Qt.KeyboardModifier) -> None:
    modifiers = Qt.KeyboardModifier.NoModifier
    for one in keys:
        modifiers |= one
    QTest.keyClick(desk.rows, key, modifiers)


def test_several_are_selected_by_keys_and_clicks_and_act_together(desk: Desk, make_session: "MakeSession") -> None:
    wished = QSignalSpy(desk.panel.action_requested)
    desk.panel.set_sessions([make_session(name, name, ago=timedelta(hours=at)) for at, name in enumerate("abcd")])
    bar = part(desk.panel, QWidget, "selectionBar")
    assert not bar.isVisible()
    desk.rows.setFocus()
    desk.rows.setCurrentIndex(desk.rows.model().index(0, 0))
    press(desk, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    press(desk, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    at = desk.rows.visualRect(desk.rows.model().index(3, 0)).center()
    QTest.mouseClick(desk.rows.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, at)
    assert "3 selected" in [label.text() for label in bar.findChildren(QLabel)]
    assert "selected" in str(desk.rows.model().index(3, 0).data(Qt.ItemDataRole.AccessibleTextRole))
    assert desk.chosen == []
    archive = part(bar, QPushButton, "archiveSelectedButton")
    archive.click()
    press(desk, Qt.Key.Key_Delete)
    assert [wished.at(number) for number in range(2)] == [[what, ("a", "b", "d")] for what in ("archive", "delete")]
    desk.panel.set_sessions([make_session("d", "d"), make_session("c", "c")])
    assert "1 selected" in [label.text() for label in bar.findChildren(QLabel)]
    press(desk, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert "2 selected" in [label.text() for label in bar.findChildren(QLabel)]
    press(desk, Qt.Key.Key_Escape)
    assert not bar.isVisible()


def test_a_menu_on_one_of_several_selected_is_about_all_of_them(desk: Desk) -> None:
    wished = QSignalSpy(desk.panel.action_requested)
    press(desk, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    desk.rows.customContextMenuRequested.emit(desk.rows.visualRect(desk.rows.model().index(0, 0)).center())
    menu = part(desk.panel, QMenu, "selectionMenu")
    assert [action.text() for action in menu.actions()] == ["Pin to the top", "Archive", "Delete…"]
    menu.actions()[0].trigger()
    assert wished.at(0) == ["pin", ("a", "b")]


def test_a_heading_folds_its_group_and_the_choice_is_told(desk: Desk, make_session: "MakeSession") -> None:
    told: list[Arrangement] = []
    desk.panel.arranged.connect(told.append)
    desk.panel.set_sessions([make_session("a", "Here"), make_session("b", "There", workspace="/b")])
    desk.click(1)
    assert order(desk) == ["Here", "Other folders (1)"]
    assert told == [Arrangement(folded=frozenset({"elsewhere"}))]
    press(desk, Qt.Key.Key_Return)  # the heading is still the current row
    assert order(desk) == ["Here", "Other folders", "There"]
    assert desk.chosen == []


def test_the_view_button_groups_otherwise_and_shows_turns_and_cost(desk: Desk, make_session: "MakeSession") -> None:
    told: list[Arrangement] = []
    desk.panel.arranged.connect(told.append)
    paid = replace(make_session("a", "Here"), usage=Usage(cost_usd=0.42))
    desk.panel.set_sessions([paid, make_session("b", "There", ago=timedelta(days=1), workspace="/b")])
    menu = part(desk.panel, QMenu, "arrangeSessionsMenu")
    words = {action.text(): action for action in menu.actions()}
    assert [label.text() for label in menu.findChildren(QLabel)] == ["Group by"], "a style sheet hides a section"
    height = desk.rows.sizeHintForRow(0)
    words["Time"].trigger()
    words["Show turns and cost"].trigger()
    assert order(desk) == ["Today", "Here", "Yesterday", "There"]
    assert told[-1] == Arrangement(grouping="day", is_detailed=True)
    assert desk.rows.sizeHintForRow(1) > height
    heard = [str(desk.rows.model().index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)) for row in (1, 3)]
    assert "3 turns · $0.42" in heard[0]
    assert "b · 3 turns" in heard[1]
