"""The panels stand beside the conversation in a wide window, and over it in a narrow one."""

from pathlib import Path
from typing import NamedTuple

import pytest
from PySide6.QtCore import QEvent, QPoint, QSettings, QSize, Qt, QTimer
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication, QDockWidget, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.main_window import NARROW_BELOW, KeptChoice, MainWindow, ShortcutPriority, WindowMemory
from tests.ui.widths import Widths

WIDE, NARROW = QSize(1440, 900), QSize(1024, 700)
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


class Panels(NamedTuple):
    sessions: QWidget
    files: QWidget
    transcript: QWidget
    composer: QWidget
    review: QWidget
    jobs: QWidget


@pytest.fixture
def store(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def panels(theme: Theme) -> Panels:
    return Panels(QWidget(), QLineEdit(), QPlainTextEdit(), Composer(theme), QLineEdit(), QLineEdit())


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, store: QSettings, panels: Panels) -> MainWindow:
    return shown(qtbot, theme, store, panels)


def shown(qtbot: QtBot, theme: Theme, store: QSettings, panels: Panels, size: QSize = WIDE) -> MainWindow:
    window = MainWindow(theme, store)
    window.set_panels(*panels)
    qtbot.addWidget(window, before_close_func=MainWindow.let_close)
    window.resize(size)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.activeWindow() is window)
    return window


def conversation_of(window: MainWindow) -> QWidget:
    area = window.centralWidget()
    assert area is not None
    return area


def press(window: MainWindow, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(QApplication.focusWidget() or window, key, modifiers)


def test_in_a_wide_window_all_panels_stand_side_by_side(window: MainWindow, panels: Panels) -> None:
    places = [widget.mapTo(window, QPoint(0, 0)).x() for widget in (panels.sessions, panels.transcript, panels.review)]
    assert all(widget.isVisible() for widget in (panels.sessions, panels.files, panels.transcript, panels.review))
    assert places == sorted(set(places))
    assert not window.top_bar.side_button.isVisible()
    assert not window.top_bar.review_button.isVisible()


def test_in_a_narrow_window_the_conversation_has_all_the_room(qtbot: QtBot, window: MainWindow, panels: Panels) -> None:
    window.resize(NARROW)
    assert not panels.sessions.isVisible()
    assert not panels.review.isVisible()
    qtbot.waitUntil(lambda: panels.transcript.width() == NARROW.width())
    assert window.top_bar.side_button.isVisible()
    assert window.top_bar.review_button.isVisible()


def test_the_conversation_is_laid_out_once_for_a_new_size_however_many_panels_come_or_go(
    qtbot: QtBot, window: MainWindow, panels: Panels
) -> None:
    wide = panels.transcript.width()
    seen = Widths(panels.transcript)
    for size, width in ((NARROW, NARROW.width()), (WIDE, wide)):
        window.resize(size)
        qtbot.waitUntil(lambda width=width: panels.transcript.width() == width)
    qtbot.waitUntil(panels.review.isVisible)
    for size in (NARROW, WIDE, NARROW):  # in one turn
        window.resize(size)
    qtbot.waitUntil(lambda: panels.transcript.width() == NARROW.width())
    window.resize(WIDE)
    qtbot.waitUntil(panels.review.isVisible)
    assert seen.given == [NARROW.width(), wide] * 2


def test_the_panels_go_at_one_width(window: MainWindow, panels: Panels) -> None:
    for width, is_narrow in ((NARROW_BELOW, False), (NARROW_BELOW - 1, True)):
        window.resize(width, 800)
        assert panels.review.isVisible() is not is_narrow


@pytest.mark.parametrize("side", ["side", "review"])
def test_a_panel_opens_over_the_conversation_and_goes_back(
    qtbot: QtBot, window: MainWindow, panels: Panels, side: str
) -> None:
    window.resize(NARROW)
    panel, drawer, button = {
        "side": (panels.sessions, window.side.drawer, window.top_bar.side_button),
        "review": (panels.review, window.review.drawer, window.top_bar.review_button),
    }[side]
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert panel.isVisible()
    assert drawer.isAncestorOf(panel)
    assert drawer.width() < window.width(), "the conversation can be seen beside it"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not panel.isVisible()
    window.resize(WIDE)
    qtbot.waitUntil(panel.isVisible)
    assert not drawer.isAncestorOf(panel)


def test_only_one_drawer_is_open(window: MainWindow, panels: Panels) -> None:
    window.resize(NARROW)
    window.side.show()
    window.review.show()
    assert (panels.sessions.isVisible(), panels.review.isVisible()) == (False, True)
    window.side.show()
    assert (panels.sessions.isVisible(), panels.review.isVisible()) == (True, False)


def test_escape_and_a_click_beside_a_drawer_close_it_and_one_inside_does_not(
    window: MainWindow, panels: Panels
) -> None:
    window.resize(NARROW)
    window.review.show()
    assert QApplication.focusWidget() is panels.review
    QTest.mouseClick(panels.review, Qt.MouseButton.LeftButton)
    assert window.review.drawer.isVisible()
    conversation = conversation_of(window)
    QTest.mouseClick(conversation, Qt.MouseButton.LeftButton, pos=QPoint(4, conversation.height() // 2))
    assert not window.review.drawer.isVisible()
    window.review.show()
    press(window, Qt.Key.Key_Escape)
    assert not window.review.drawer.isVisible()


def test_a_window_that_is_widened_while_it_is_hidden_takes_its_panels_back(
    qtbot: QtBot, window: MainWindow, panels: Panels
) -> None:
    window.resize(NARROW)
    window.side.show()
    window.hide()
    window.resize(WIDE)
    window.show()
    qtbot.waitUntil(panels.sessions.isVisible)
    assert not window.side.drawer.isVisible()
    assert window.side.dock.isAncestorOf(panels.sessions)


@pytest.mark.parametrize("name", ["sessions", "review"])
def test_a_panel_that_comes_back_has_its_room_at_once_and_is_there_in_the_next_turn(
    qtbot: QtBot, window: MainWindow, panels: Panels, name: str
) -> None:
    panel: QWidget = getattr(panels, name)
    before, place = panel.size(), panels.transcript.geometry()
    window.resize(NARROW)
    window.resize(WIDE)
    assert panels.transcript.geometry() == place
    qtbot.waitUntil(panel.isVisible)
    assert panel.size() == before
    assert panels.transcript.geometry() == place


@pytest.mark.parametrize(
    ("key", "modifiers", "name"), [(Qt.Key.Key_B, CTRL, "sessions"), (Qt.Key.Key_R, CTRL | SHIFT, "review")]
)
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_key_shows_and_hides_each_panel(
    window: MainWindow, panels: Panels, size: QSize, key: Qt.Key, modifiers: Qt.KeyboardModifier, name: str
) -> None:
    window.resize(size)
    panel: QWidget = getattr(panels, name)
    before = panel.isVisible()
    press(window, key, modifiers)
    assert panel.isVisible() is not before
    press(window, key, modifiers)
    assert panel.isVisible() is before


def test_a_hidden_review_can_be_found_again(window: MainWindow, panels: Panels) -> None:
    press(window, Qt.Key.Key_R, CTRL | SHIFT)
    assert window.top_bar.review_button.isVisible()
    QTest.mouseClick(window.top_bar.review_button, Qt.MouseButton.LeftButton)
    assert panels.review.isVisible()
    assert not window.top_bar.review_button.isVisible()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("leaving", ["enlarge_review", "toggle_review", "focus_composer", "escape", "other size"])
def test_the_review_takes_the_whole_window_and_all_is_as_before_afterwards(
    window: MainWindow, panels: Panels, size: QSize, leaving: str
) -> None:
    window.resize(size)
    window.review.show()
    panels.review.setFocus()
    QApplication.processEvents()
    before = [(each.isVisible(), each.width()) for each in (panels.sessions, panels.transcript, panels.review)]
    told = QSignalSpy(window.review_enlarged)
    window.actions_.enlarge_review.trigger()
    QApplication.processEvents()
    assert (panels.review.isVisible(), panels.sessions.isVisible(), panels.transcript.isVisible()) == (
        True,
        False,
        False,
    )
    assert panels.review.width() == window.width()
    assert panels.review.hasFocus() or size == NARROW
    if leaving == "other size":
        window.resize(NARROW if size == WIDE else WIDE)
        QApplication.processEvents()
        assert panels.review.width() == window.width()
        assert not panels.transcript.isVisible()
        window.resize(size)
        before = before if size == WIDE else before[:2]  # in between it was beside the conversation, not in a drawer
        leaving = "escape"
    if leaving == "escape":
        press(window, Qt.Key.Key_Escape)
    else:
        getattr(window.actions_, leaving).trigger()
    QApplication.processEvents()
    after = [(each.isVisible(), each.width()) for each in (panels.sessions, panels.transcript, panels.review)]
    assert after[: len(before)] == before
    assert told.at(told.count() - 1) == [False]


def test_an_enlarged_review_has_the_focus_and_nothing_is_beside_it(window: MainWindow, panels: Panels) -> None:
    terminal = QDockWidget("Terminal", window)
    terminal.setObjectName("terminalDock")
    window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, terminal)
    terminal.show()
    window.top_bar.inbox_button.setFocus()  # which stays visible, so that nothing else moves the focus
    window.actions_.enlarge_review.trigger()
    assert (panels.review.hasFocus(), terminal.isVisible()) == (True, False)
    window.actions_.enlarge_review.trigger()
    assert terminal.isVisible()


def test_the_key_of_background_commands_shows_them_though_the_enlarged_review_hid_them(
    window: MainWindow, panels: Panels
) -> None:
    panels.jobs.show()
    window.actions_.enlarge_review.trigger()
    assert not panels.jobs.isVisible()
    window.actions_.toggle_jobs.trigger()
    assert (panels.jobs.isVisible(), panels.transcript.isVisible()) == (True, True)


def test_an_enlarged_file_stays_in_front_when_the_window_becomes_narrow(window: MainWindow) -> None:
    window.actions_.enlarge_review.trigger()
    wanted = QSignalSpy(window.review_wanted)
    window.resize(NARROW)
    QApplication.processEvents()
    assert wanted.count() == 0, "the review does not go in front of it"


def test_an_enlarged_review_is_not_what_the_next_start_shows(
    qtbot: QtBot, window: MainWindow, theme: Theme, store: QSettings
) -> None:
    window.actions_.enlarge_review.trigger()
    window.save_layout()
    again = restarted(qtbot, theme, store)
    assert again.side.dock.isVisible()
    assert conversation_of(again).isVisible()


def test_every_action_has_words_and_a_key_of_its_own(window: MainWindow) -> None:
    keys = [action.shortcut().toString() for action in window.actions_.all if not action.shortcut().isEmpty()]
    assert len(keys) == len(set(keys)) >= 12
    assert all(action.text() for action in window.actions_.all)


def test_the_shortcuts_work_while_one_writes(qtbot: QtBot, window: MainWindow, panels: Panels) -> None:
    for key, modifiers, name in (
        (Qt.Key.Key_N, CTRL, "new_session"),
        (Qt.Key.Key_PageDown, CTRL, "next_session"),
        (Qt.Key.Key_PageUp, CTRL, "previous_session"),
        (Qt.Key.Key_O, CTRL, "open_folder"),
        (Qt.Key.Key_L, CTRL, "focus_composer"),
        (Qt.Key.Key_Period, CTRL, "stop"),
        (Qt.Key.Key_F, CTRL, "find"),
        (Qt.Key.Key_K, CTRL, "command_palette"),
        (Qt.Key.Key_P, CTRL, "go_to_file"),
        (Qt.Key.Key_E, CTRL | SHIFT, "filter_files"),
        (Qt.Key.Key_Z, CTRL | SHIFT, "undo_turn"),
        (Qt.Key.Key_Y, CTRL | SHIFT, "redo_turn"),
        (Qt.Key.Key_Comma, CTRL, "settings"),
        (Qt.Key.Key_Q, CTRL, "quit"),
    ):
        panels.composer.setFocus()
        with qtbot.waitSignal(getattr(window.actions_, name).triggered):
            press(window, key, modifiers)


def test_the_window_asks_before_it_closes(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.close_requested):
        window.close()
    assert window.isVisible()
    window.let_close()
    assert not window.isVisible()


def restarted(qtbot: QtBot, theme: Theme, store: QSettings) -> MainWindow:
    window = MainWindow(theme, store)
    qtbot.addWidget(window, before_close_func=MainWindow.let_close)
    window.show()
    return window


def test_the_size_and_what_was_chosen_for_diffs_come_back(
    qtbot: QtBot, window: MainWindow, theme: Theme, store: QSettings
) -> None:
    assert window.memory.diff_mode is None
    assert not window.memory.wraps_lines
    window.memory.remember_diff_mode("unified")
    window.memory.remember_wrapping(True)
    window.resize(777, 555)  # within the screen: Qt keeps restored windows inside of it
    window.save_layout()
    again = restarted(qtbot, theme, store)
    assert (again.size(), again.memory.diff_mode, again.memory.wraps_lines) == (QSize(777, 555), "unified", True)


def test_a_panel_hidden_by_choice_stays_hidden_at_the_next_start(
    qtbot: QtBot, window: MainWindow, theme: Theme, store: QSettings
) -> None:
    press(window, Qt.Key.Key_B, CTRL)
    window.save_layout()
    store.remove("geometry")  # as on a screen that is too small for a wide window
    again = restarted(qtbot, theme, store)
    assert not again.side.dock.isVisible()
    assert again.review.dock.isVisible()


def test_a_panel_hidden_by_choice_stays_hidden_when_the_window_was_narrow_for_a_while(
    qtbot: QtBot, window: MainWindow, panels: Panels
) -> None:
    press(window, Qt.Key.Key_B, CTRL)
    window.resize(NARROW)
    window.resize(WIDE)
    qtbot.waitUntil(panels.review.isVisible)
    assert not panels.sessions.isVisible()


def test_a_narrow_window_does_not_forget_how_the_wide_one_was(
    qtbot: QtBot, theme: Theme, store: QSettings, panels: Panels
) -> None:
    first = shown(qtbot, theme, store, panels)
    first.resize(NARROW)
    first.save_layout()
    again = restarted(qtbot, theme, store)
    again.resize(WIDE)
    assert again.side.dock.isVisible()
    assert again.review.dock.isVisible()
    qtbot.waitUntil(lambda: not any(timer.isActive() for timer in again.findChildren(QTimer)))


@pytest.mark.parametrize("rubbish", ["", "x", 3, ["a"]])
def test_a_damaged_layout_is_the_usual_one(
    qtbot: QtBot, theme: Theme, store: QSettings, panels: Panels, rubbish: object
) -> None:
    for key in ("geometry", "state", "diff_mode", "theme"):
        store.setValue(key, rubbish)
    window = MainWindow(theme, store)
    window.set_panels(*panels)
    qtbot.addWidget(window, before_close_func=MainWindow.let_close)
    window.show()
    share = int(window.screen().availableGeometry().width() * 0.85)
    assert window.width() == pytest.approx(max(1440, min(1920, share)), abs=20)
    assert window.memory.diff_mode is None
    assert panels.review.isVisible()


# --- background commands ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_key_shows_the_jobs_above_the_composer_and_hides_them(
    window: MainWindow, panels: Panels, size: QSize
) -> None:
    panels.jobs.hide()
    window.resize(size)
    press(window, Qt.Key.Key_J, CTRL)
    assert panels.jobs.isVisible()
    assert panels.transcript.geometry().bottom() < panels.jobs.y() < panels.composer.y()
    panels.jobs.setFocus()
    press(window, Qt.Key.Key_J, CTRL)
    assert not panels.jobs.isVisible()
    assert panels.composer.isAncestorOf(QApplication.focusWidget() or window), "the user goes on writing"


def test_hiding_the_jobs_leaves_the_focus_of_others_alone(window: MainWindow, panels: Panels) -> None:
    panels.jobs.show()
    panels.review.setFocus()
    window.hide_jobs()
    assert panels.review.hasFocus()


MODELS = [("anthropic", "", "opus-5"), ("openrouter", "wörk", 'qwen/"x", [y]')]


def memory(path: Path) -> tuple[WindowMemory, QSettings]:
    store = QSettings(str(path), QSettings.Format.IniFormat)
    return WindowMemory(store), store


def test_models_and_choices_come_back_in_their_order(tmp_path: Path) -> None:
    kept, store = memory(tmp_path / "window.ini")
    kept.remember_models("favourite_models", MODELS)
    kept.remember_models("recent_models", MODELS[:1])
    choices: list[KeptChoice] = [("file", 'a "b".py'), ("action", "quit")]
    kept.remember_choices(choices)
    store.sync()
    again, _ = memory(tmp_path / "window.ini")
    assert list(again.models("favourite_models")) == MODELS
    assert list(again.models("recent_models")) == MODELS[:1]
    assert list(again.choices) == choices


@pytest.mark.parametrize("damage", ["", "[", "[[1, 2, 3]]", '{"a": 1}', '[["a", "b"]]'])
def test_what_is_damaged_is_not_kept(tmp_path: Path, damage: str) -> None:
    kept, store = memory(tmp_path / "window.ini")
    store.setValue("favourite_models", damage)
    store.setValue("recent_choices", damage)
    assert list(kept.models("favourite_models")) == []
    assert list(kept.choices) == []


class TakesAllKeys(QLineEdit):
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            event.accept()
            return True
        return super().event(event)


def test_the_keys_of_the_action_work_in_a_field_and_others_are_the_fields(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    field = TakesAllKeys(window)
    actions = {key: QAction(window) for key in ("Ctrl+K", "Ctrl+J")}
    for key, action in actions.items():
        action.setShortcut(QKeySequence(key))
        window.addAction(action)
    ShortcutPriority([actions["Ctrl+K"]], window)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    field.setFocus()
    triggered = {key: QSignalSpy(action.triggered) for key, action in actions.items()}
    QTest.keyClick(field, Qt.Key.Key_K, CTRL)
    QTest.keyClick(field, Qt.Key.Key_J, CTRL)
    assert {key: spy.count() for key, spy in triggered.items()} == {"Ctrl+K": 1, "Ctrl+J": 0}
