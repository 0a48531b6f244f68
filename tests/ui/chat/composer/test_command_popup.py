"""The list of commands follows the field, and never takes a key that is not its own."""

from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from desktop_agent.core.slash.declarations import BUILT_IN, Declaration
from desktop_agent.ui.chat.composer.message_edit import PromptHistory
from desktop_agent.ui.chat.composer.offer_popups import CommandPopup
from desktop_agent.ui.theme import Theme
from tests.ui.chat.composer.desk import ComposerDesk
from tests.ui.chat.stage import record

COMMANDS = (
    Declaration(name="undo", summary="Mine", origin="person", problem="a built-in command has this name"),
    *BUILT_IN,
    Declaration(name="git:message", summary="Write a message", origin="project", asks_model=True),
    Declaration(name="review", arguments="[FILE]", summary="Look it over", origin="person", asks_model=True),
)


class Desk(ComposerDesk):
    def __init__(self, theme: Theme, qtbot: QtBot) -> None:
        super().__init__(theme, qtbot)
        self.composer.commands.wanted.connect(self._on_wanted)
        self.wanted = 0
        self.commands = record(self.composer.command_submitted)

    def _on_wanted(self) -> None:
        self.wanted += 1
        self.composer.commands.show(COMMANDS)

    @property
    def popup(self) -> CommandPopup | None:
        return next((popup for popup in self.window.findChildren(CommandPopup) if popup.isVisible()), None)

    @property
    def shown(self) -> list[str]:
        popup = self.popup
        if popup is None:
            return []
        model = popup.model()
        return [model.index(row, 0).data() for row in range(model.rowCount())]

    @property
    def current(self) -> str:
        popup = self.popup
        return popup.currentIndex().data() if popup is not None else ""


@pytest.fixture
def desk(theme: Theme, qtbot: QtBot) -> Desk:
    return Desk(theme, qtbot)


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["fix it", " /status", "//status", "/status\nmore", "/nothing", "a /status", "/status "], []),
        (["/re"], ["/rewind", "/redo", "/review"]),
        (["/mess"], ["/git:message"]),
        (["/u"], ["/unpin", "/undo", "/undo"]),
        (["/pin add x"], ["/pin"]),
    ],
    ids=["no command", "names that begin so first", "a part of a name", "what cannot be used last", "its arguments"],
)
def test_what_fits_is_offered_the_best_match_first(desk: Desk, texts: list[str], names: list[str]) -> None:
    for text in texts:
        desk.composer.set_text(text)
        assert [shown.split()[0] for shown in desk.shown] == names


class TestTyping:
    def test_a_slash_opens_it_above_the_field_with_every_command(self, desk: Desk) -> None:
        desk.type("/")
        assert desk.wanted == 1
        assert len(desk.shown) == len(COMMANDS)
        assert desk.edit.hasFocus()
        popup = desk.popup
        assert popup is not None
        top = desk.composer.mapTo(desk.window, QPoint(0, 0)).y()
        assert popup.y() >= 0
        assert popup.geometry().bottom() < top + desk.composer.height()
        assert desk.window.rect().contains(popup.geometry())
        desk.type("git")
        assert popup.accessibleName() == "Commands"
        spoken = popup.model().index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
        assert spoken == "/git:message, Write a message, project"

    def test_deleting_the_slash_or_losing_the_focus_closes_it(self, desk: Desk) -> None:
        for close in (partial(desk.key, Qt.Key.Key_Backspace), desk.edit.clearFocus):
            desk.type("/")
            assert desk.popup is not None
            close()
            assert desk.popup is None


class TestKeys:
    def test_tab_completes_and_shows_the_arguments(self, desk: Desk) -> None:
        desk.type("/pi")
        desk.key(Qt.Key.Key_Tab)
        assert desk.composer.text() == "/pin "
        assert desk.edit.hasFocus()
        assert desk.shown == ["/pin add [--ttl=SECONDS] TEXT | remove ID | list"]

    def test_enter_completes_what_is_not_whole(self, desk: Desk) -> None:
        desk.type("/sta")
        desk.key(Qt.Key.Key_Return)
        assert desk.sent == desk.commands == []
        assert desk.composer.text() == "/status"
        desk.key(Qt.Key.Key_Return)
        assert desk.commands == [("/status",)]

    @pytest.mark.parametrize("text", ["/undo", "/pin add x", "/nothing"], ids=["whole", "with arguments", "unknown"])
    def test_enter_sends_a_command(self, desk: Desk, text: str) -> None:
        desk.type(text)
        assert (desk.popup is None) == (text == "/nothing")
        desk.key(Qt.Key.Key_Return)
        assert desk.commands == [(text,)]
        assert desk.popup is None

    def test_arrows_choose_and_go_round_passing_over_what_cannot_be_used(self, desk: Desk) -> None:
        desk.type("/un")
        assert desk.current.startswith("/unpin")
        desk.key(Qt.Key.Key_Down)
        assert desk.current.startswith("/undo [")
        desk.key(Qt.Key.Key_Down)
        assert desk.current.startswith("/unpin")
        desk.key(Qt.Key.Key_Up)
        desk.key(Qt.Key.Key_Return)
        assert desk.composer.text() == "/undo "

    def test_an_arrow_in_the_list_means_that_enter_chooses(self, desk: Desk) -> None:
        desk.type("/undo")
        desk.key(Qt.Key.Key_Down)
        desk.key(Qt.Key.Key_Return)
        assert desk.sent == desk.commands == []

    def test_escape_closes_it_until_the_message_is_another(self, desk: Desk) -> None:
        desk.type("/p")
        desk.key(Qt.Key.Key_Escape)
        assert desk.popup is None
        desk.type("i")
        assert desk.popup is None
        desk.composer.set_text("")
        desk.type("/")
        assert desk.popup is not None

    def test_history_is_not_stopped_by_a_command_in_it(self, desk: Desk) -> None:
        desk.composer.edit.history = PromptHistory(["first", "/status", "/pin add x"])
        desk.key(Qt.Key.Key_Up)
        assert desk.composer.text() == "/pin add x"
        desk.key(Qt.Key.Key_Up)
        assert desk.popup is None
        desk.key(Qt.Key.Key_Up)
        assert desk.composer.text() == "first"


def test_a_click_completes(desk: Desk) -> None:
    desk.type("/mod")
    popup = desk.popup
    assert popup is not None
    at = popup.visualRect(popup.model().index(0, 0)).center()
    QTest.mouseClick(popup.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert desk.composer.text() == "/model "
    assert desk.edit.hasFocus()


def test_a_space_in_front_makes_a_prompt_of_it(desk: Desk) -> None:
    desk.type(" /etc/hosts is odd ")
    desk.key(Qt.Key.Key_Return)
    assert desk.sent == [("/etc/hosts is odd",)]
    assert desk.commands == []
