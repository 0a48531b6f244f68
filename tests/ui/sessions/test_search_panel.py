from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QListView, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import SearchHit, SearchQuery
from desktop_agent.ui.sessions.session_search import SearchPanel
from desktop_agent.ui.theme import Theme
from tests.parts import part
from tests.presses import click_where
from tests.ui.sessions.conftest import HERE, NOW

if TYPE_CHECKING:
    from tests.ui.sessions.conftest import MakeSession


W = TypeVar("W", bound=QWidget)


def hit(session_id: str, snippet: str, **fields: object) -> SearchHit:
    known = {"seq": 1, "turn": 1, "call_id": "", "kind": "prompt", "at": NOW, "marks": ((0, 5),)}
    named = known | fields
    return SearchHit(session_id=session_id, snippet=snippet, **named)  # pyright: ignore[reportArgumentType] - by name


class Desk:
    def __init__(self, app: QApplication, qtbot: QtBot, make_session: "MakeSession") -> None:
        self.window = QWidget()
        self.window.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.below = QLineEdit()
        QVBoxLayout(self.window).addWidget(self.below, 0, Qt.AlignmentFlag.AlignBottom)
        self.panel = SearchPanel(Theme(app), self.window, now=lambda: NOW)
        self.queries: list[SearchQuery] = []
        self.chosen: list[SearchHit] = []
        self.panel.query_changed.connect(self.queries.append)
        self.panel.hit_chosen.connect(self.chosen.append)
        self.panel.set_workspace(HERE)
        self.panel.set_tools(["grep"])
        self.sessions = {"a": make_session("a", "Fix it"), "b": make_session("b", "Explain it")}
        qtbot.addWidget(self.window)
        self.window.resize(900, 700)
        self.window.show()
        qtbot.waitActive(self.window)
        self.panel.open_popup()
        self.field = self.part(QLineEdit, "searchField")
        self.results = self.part(QListView, "searchResults")

    def part(self, kind: type[W], name: str) -> W:
        return part(self.panel, kind, name)

    def type(self, qtbot: QtBot, text: str) -> SearchQuery:
        self.queries.clear()
        QTest.keyClicks(self.field, text)
        qtbot.waitUntil(lambda: bool(self.queries))
        return self.queries[-1]

    def show(self, *hits: SearchHit) -> None:
        assert self.panel.query is not None
        self.panel.show_hits(self.panel.query, hits, self.sessions)

    def rows(self) -> list[str]:
        model = self.results.model()
        return [str(model.index(row, 0).data()) for row in range(model.rowCount())]

    def said(self) -> list[str]:
        return [label.text() for label in self.panel.findChildren(QLabel) if label.isVisible() and label.text()]


@pytest.fixture
def desk(qapp: QApplication, qtbot: QtBot, make_session: "MakeSession") -> Desk:
    return Desk(qapp, qtbot, make_session)


def test_what_is_typed_is_searched_for_when_the_user_rests(desk: Desk, qtbot: QtBot) -> None:
    assert desk.field.hasFocus()
    assert desk.type(qtbot, "apple") == SearchQuery(text="apple")
    assert len(desk.queries) == 1


def test_places_are_listed_below_their_session_where_the_keyboard_goes_from_one_to_the_next(
    desk: Desk, qtbot: QtBot
) -> None:
    desk.type(qtbot, "apple")
    desk.show(hit("b", "apple one"), hit("a", "apple two", kind="output"), hit("b", "apple three"))
    assert desk.rows() == ["Explain it", "apple one", "apple three", "Fix it", "apple two"]
    assert desk.results.currentIndex().row() == 1
    assert "3 places in 2 sessions" in desk.said()
    spoken = str(desk.results.model().index(4, 0).data(Qt.ItemDataRole.AccessibleTextRole))
    assert spoken.startswith("Output, apple two, Fix it"), "who cannot see the mark hears kind, place and session"
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Return):
        QTest.keyClick(desk.field, key)
    assert [one.snippet for one in desk.chosen] == ["apple two"]
    assert not desk.panel.isVisible()


def test_a_click_opens_a_place_and_none_a_heading(desk: Desk, qtbot: QtBot) -> None:
    desk.type(qtbot, "apple")
    desk.show(hit("b", "apple one"))
    for row in (0, 1):
        at = desk.results.visualRect(desk.results.model().index(row, 0)).center()
        QTest.mouseClick(desk.results.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert [one.snippet for one in desk.chosen] == ["apple one"]


def test_an_answer_to_an_earlier_question_is_dropped(desk: Desk, qtbot: QtBot) -> None:
    earlier = desk.type(qtbot, "apple")
    desk.type(qtbot, "s")
    desk.panel.show_hits(earlier, [hit("a", "apple")], desk.sessions)
    assert desk.rows() == []


def test_filters_are_part_of_the_question(desk: Desk, qtbot: QtBot) -> None:
    desk.type(qtbot, "apple")
    for name, row in (("Kind", 3), ("When", 2), ("Folder", 1), ("Tool", 1)):
        desk.part(QComboBox, f"search{name}Picker").setCurrentIndex(row)
    assert desk.queries[-1] == SearchQuery(
        text="apple", kind="command", since=NOW - timedelta(days=7), workspace=HERE, tool="grep"
    )
    desk.queries.clear()
    QTest.keyClicks(desk.part(QLineEdit, "searchFileField"), "app.py")
    qtbot.waitUntil(lambda: bool(desk.queries))
    assert desk.queries[-1].file == "app.py"


def test_it_says_what_it_is_doing(desk: Desk, qtbot: QtBot) -> None:
    assert any("in any order" in text for text in desk.said())
    desk.type(qtbot, "apple")
    assert "Searching…" in desk.said()
    desk.show()
    assert "Nothing found." in desk.said()
    desk.panel.set_reading(is_reading=True)
    assert "Reading what is new…" in desk.said()
    desk.queries.clear()
    desk.panel.set_reading(is_reading=False)
    assert "Reading what is new…" not in desk.said()
    assert [query.text for query in desk.queries] == ["apple"], "what was new may be what is looked for"


def test_without_words_nothing_is_searched_for(desk: Desk, qtbot: QtBot) -> None:
    desk.type(qtbot, "apple")
    desk.show(hit("a", "apple"))
    desk.queries.clear()
    desk.field.clear()
    qtbot.waitUntil(lambda: desk.panel.query is None)
    assert (desk.queries, desk.rows()) == ([], [])


def test_escape_and_a_click_beside_it_close_it(desk: Desk, qtbot: QtBot) -> None:
    QTest.keyClick(desk.field, Qt.Key.Key_Escape)
    assert not desk.panel.isVisible()
    desk.panel.open_popup()
    click_where(desk.panel, QPoint(5, 5))
    assert desk.panel.isVisible()
    click_where(desk.below)
    assert not desk.panel.isVisible()


def test_tab_goes_from_the_field_over_the_filters_to_the_places_and_stays_in_the_panel(
    desk: Desk, qtbot: QtBot
) -> None:
    desk.type(qtbot, "apple")
    desk.show(hit("a", "apple"))
    passed: list[QWidget | None] = []
    while (now := desk.window.focusWidget()) not in passed:
        passed.append(now)
        QTest.keyClick(desk.window.windowHandle(), Qt.Key.Key_Tab)
    assert now is desk.field
    assert desk.results in passed
    assert all(desk.panel.isAncestorOf(one) for one in passed if one is not None)


def test_it_fits_into_a_small_window(desk: Desk, qtbot: QtBot) -> None:
    desk.window.resize(720, 480)
    qtbot.waitUntil(lambda: desk.window.rect().contains(desk.panel.geometry()))
