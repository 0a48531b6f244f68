import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.ui.models.model_offers import ModelKey
from desktop_agent.ui.models.model_popup import star_area
from desktop_agent.ui.theme import Theme
from tests.presses import click_where
from tests.ui.models.stage import ALL, ANTHROPIC, NO_KEY, OPUS, QWEN, ROUTER, SONNET, WORK, WORK_OPUS, Desk

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def desk(theme: Theme, qtbot: QtBot) -> Desk:
    return Desk(theme, qtbot)


def click_row(desk: Desk, text: str, *, at_star: bool = False) -> None:
    index = desk.rows.model().index(desk.texts.index(text), 0)
    rect = desk.rows.visualRect(index)
    where = star_area(rect).center() if at_star else QPoint(rect.left() + 40, rect.center().y())
    QTest.mouseClick(desk.rows.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_it_opens_at_the_model_that_answers_with_the_keyboard_in_the_search(desk: Desk) -> None:
    opened = QSignalSpy(desk.picker.opened)
    desk.open()
    assert desk.is_open
    assert opened.count() == 1
    assert desk.window.focusWidget() is desk.field
    assert desk.current.startswith("Claude Sonnet 5, Anthropic")
    assert "In use" in desk.current
    assert desk.field.accessibleDescription() == desk.current, "what a reader of the screen hears"
    desk.type("qwen")
    desk.press(Qt.Key.Key_Escape)
    desk.open()
    assert desk.field.text() == "", "opened again, it begins anew"
    assert desk.current.startswith("Claude Sonnet 5")
    assert desk.picker.favourites == ()
    assert SONNET not in desk.picker.recent


def test_typing_and_enter_choose_a_model_and_the_keyboard_is_back_in_the_message(desk: Desk) -> None:
    chosen = QSignalSpy(desk.picker.chosen)
    desk.open()
    desk.type("work op")
    desk.press(Qt.Key.Key_Return)
    assert chosen.at(0) == [WORK_OPUS, None]
    assert not desk.is_open
    assert desk.window.focusWidget() is desk.message


def test_arrows_go_from_one_choice_to_the_next_and_around_the_ends(desk: Desk) -> None:
    desk.open()
    for words in ("Claude Opus 5, Anthropic,", "Claude Opus 5, Anthropic (work)", "qwen/qwen3-coder, OpenRouter"):
        desk.press(Qt.Key.Key_Down)
        assert desk.current.startswith(words.rstrip(","))
    desk.press(Qt.Key.Key_PageDown)
    assert desk.current == "Connect OpenAI…"
    desk.press(Qt.Key.Key_Down)
    assert desk.current.startswith("Claude Sonnet 5")
    desk.press(Qt.Key.Key_Up)
    assert desk.current == "Connect OpenAI…"


@pytest.mark.parametrize("way", ["escape", "button", "elsewhere"])
def test_it_goes_away_without_a_choice(desk: Desk, way: str) -> None:
    chosen = QSignalSpy(desk.picker.chosen)
    desk.open()
    match way:
        case "escape":
            desk.press(Qt.Key.Key_Escape)
        case "button":
            click_where(desk.button)
        case _:
            click_where(desk.message.viewport(), QPoint(680, 20))
    assert not desk.is_open
    assert chosen.count() == 0
    assert desk.window.focusWidget() is desk.message


def test_a_click_chooses(desk: Desk) -> None:
    chosen = QSignalSpy(desk.picker.chosen)
    desk.open()
    click_row(desk, "Anthropic")
    assert (desk.is_open, chosen.count()) == (True, 0), "a heading is none"
    click_row(desk, "qwen/qwen3-coder")
    assert (desk.is_open, chosen.at(0)) == (False, [QWEN, None])


def test_a_star_by_key_or_mouse_makes_a_favourite_that_is_kept_and_taken_back(desk: Desk) -> None:
    desk.open()
    desk.press(Qt.Key.Key_Down)
    desk.press(Qt.Key.Key_D, CTRL)
    assert desk.texts[:2] == ["Favourites", "Claude Opus 5"]
    assert "Favourite" in desk.current
    click_row(desk, "qwen/qwen3-coder", at_star=True)
    assert desk.is_open
    assert desk.picker.favourites == (OPUS, QWEN)
    assert desk.memory.kept["favourite_models"] == [("anthropic", "", "opus-5"), ("openrouter", "", QWEN.model)]
    click_row(desk, "Claude Opus 5", at_star=True)
    assert desk.picker.favourites == (QWEN,)


def test_what_was_used_comes_back_as_recent_and_the_last_comes_first(desk: Desk) -> None:
    desk.picker.note_use()
    desk.picker.show_model(ModelRef(provider="openrouter", model=QWEN.model))
    desk.picker.note_use()
    desk.picker.note_use()
    desk.picker.show_model(ModelRef(provider="demo", model="demo"))
    desk.picker.note_use()
    desk.open()
    assert desk.texts[:3] == ["Recent", "qwen/qwen3-coder", "Claude Sonnet 5"]
    assert desk.memory.kept["recent_models"] == [("openrouter", "", QWEN.model), ("anthropic", "", "sonnet-5")]


def test_a_name_that_is_not_listed_is_used(desk: Desk) -> None:
    chosen = QSignalSpy(desk.picker.chosen)
    desk.open()
    desk.type("sonnet-6")
    assert desk.texts[0] == "Use “sonnet-6” of Anthropic"
    desk.press(Qt.Key.Key_Return)
    assert chosen.at(0) == [ModelKey("anthropic", "", "sonnet-6"), None]


def test_nothing_that_fits_is_nothing_to_choose(desk: Desk) -> None:
    chosen = QSignalSpy(desk.picker.chosen)
    desk.open()
    desk.type("no such model")
    assert desk.texts == ["No model has this name"]
    desk.press(Qt.Key.Key_Return)
    desk.press(Qt.Key.Key_D, CTRL)
    desk.press(Qt.Key.Key_Down)
    assert (desk.is_open, chosen.count()) == (True, 0)


def test_an_account_without_a_credential_leads_to_where_it_is_entered(desk: Desk) -> None:
    wanted = QSignalSpy(desk.picker.connect_requested)
    desk.open()
    click_row(desk, "Connect OpenAI…")
    assert wanted.at(0) == [NO_KEY]
    assert not desk.is_open


def test_the_list_says_how_old_it_is_and_is_asked_for_again(desk: Desk) -> None:
    asked = QSignalSpy(desk.picker.refresh_requested)
    desk.open()
    assert desk.age == "Anthropic: list from 3 days ago"
    QTest.mouseClick(desk.refresh, Qt.MouseButton.LeftButton)
    assert asked.count() == 1
    desk.picker.show_accounts([replace(ANTHROPIC, is_refreshing=True), WORK])
    assert (desk.age, desk.refresh.text(), desk.refresh.isEnabled()) == (
        "Asking Anthropic…",
        "Refreshing… 1 of 2",
        False,
    )
    desk.picker.show_accounts([ANTHROPIC, replace(ROUTER, problem="OpenRouter does not answer.")])
    assert desk.refresh.isEnabled()
    assert "OpenRouter does not answer." in desk.texts


def test_what_is_typed_and_highlighted_stays_while_accounts_come(desk: Desk) -> None:
    desk.picker.show_accounts([ANTHROPIC])
    desk.open()
    desk.press(Qt.Key.Key_Down)
    desk.picker.show_accounts(ALL)
    assert desk.current.startswith("Claude Opus 5, Anthropic")
    desk.type("qwen")
    desk.picker.show_accounts([ROUTER, ANTHROPIC])
    assert desk.field.text() == "qwen"
    assert desk.texts[0] == "qwen/qwen3-coder"


def test_tab_stays_inside(desk: Desk) -> None:
    desk.open()
    QTest.keyClick(desk.field, Qt.Key.Key_Tab)
    assert desk.window.focusWidget() is desk.refresh
    QTest.keyClick(desk.refresh, Qt.Key.Key_Tab)
    assert desk.window.focusWidget() is desk.field
    QTest.keyClick(desk.field, Qt.Key.Key_Backtab)
    assert desk.window.focusWidget() is desk.refresh
    desk.press(Qt.Key.Key_Escape)
    assert not desk.is_open


def test_it_stays_in_a_small_window(desk: Desk) -> None:
    desk.window.resize(420, 700)
    desk.open()
    popup = desk.popup
    assert popup is not None
    assert desk.window.rect().contains(popup.geometry())
    desk.window.resize(700, 700)
    assert popup.geometry().bottom() < desk.button.y()


def test_without_a_mode_to_choose_for_it_stays_closed(desk: Desk) -> None:
    desk.button.setEnabled(False)
    desk.picker.open()
    assert desk.window.findChild(QLineEdit, "modelSearch") is None
