"""The keyboard focus stays where the user works, whatever happens to the focused widget."""

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.ui.widgets.focus import FocusKeeper


class Stage:
    def __init__(self, qtbot: QtBot, *, is_active: bool = True) -> None:
        self._qtbot = qtbot
        self.window = QWidget()
        self.folder = QPushButton("folder")
        self.conversation = QWidget()
        self.card = QWidget()
        self.allow = QPushButton("Allow", self.card)
        self.panel = QWidget()
        self.filter = QLineEdit(self.panel)
        self.list = QLineEdit()
        self.composer = QLineEdit()
        QVBoxLayout(self.conversation).addWidget(self.card)
        layout = QVBoxLayout(self.window)
        for widget in (self.folder, self.conversation, self.panel, self.list, self.composer):
            layout.addWidget(widget)
        qtbot.addWidget(self.window)
        self.keeper = FocusKeeper(self.conversation, self.composer, self.window)
        if not is_active:
            self.window.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.window.show()
        if is_active:
            self.activate(self.window)

    def activate(self, window: QWidget) -> None:
        window.activateWindow()
        self._qtbot.waitUntil(window.isActiveWindow)

    def dialog(self) -> QDialog:
        dialog = QDialog(self.window)
        self._qtbot.addWidget(dialog)
        QVBoxLayout(dialog)
        return dialog


@pytest.fixture
def stage(qtbot: QtBot) -> Stage:
    return Stage(qtbot)


def test_a_window_that_nobody_worked_in_yet_starts_with_the_composer(stage: Stage) -> None:
    assert stage.composer.hasFocus()


def test_a_first_click_that_activates_the_window_is_a_click(qtbot: QtBot) -> None:
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow)
    stage = Stage(qtbot, is_active=False)
    clicks: list[bool] = []
    stage.folder.clicked.connect(lambda: clicks.append(True))
    handle, place = stage.window.windowHandle(), stage.folder.geometry().center()
    assert handle is not None
    QTest.mousePress(handle, Qt.MouseButton.LeftButton, pos=place)
    stage.activate(stage.window)
    QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=place)
    assert clicks == [True]


def test_what_is_disabled_or_in_a_closed_drawer_gives_the_keyboard_back(stage: Stage) -> None:
    stage.list.setFocus()
    for go_away, come_back in (
        (stage.panel.hide, stage.panel.show),
        (lambda: stage.panel.setEnabled(False), lambda: stage.panel.setEnabled(True)),
        (lambda: stage.filter.setEnabled(False), lambda: None),
    ):
        stage.filter.setFocus()
        go_away()
        assert stage.list.hasFocus()
        come_back()
    stage.list.setEnabled(False)
    assert stage.composer.hasFocus()


def test_a_deleted_widget_gives_the_keyboard_back(stage: Stage) -> None:
    stage.list.setFocus()
    stage.filter.setFocus()
    stage.filter.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert stage.list.hasFocus()
    stage.allow.setFocus()
    stage.card.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert stage.composer.hasFocus()


def test_what_went_while_a_dialog_was_open_does_not_have_the_keyboard_after_it(stage: Stage) -> None:
    stage.allow.setFocus()
    dialog = stage.dialog()
    dialog.open()
    stage.activate(dialog)
    stage.card.hide()
    dialog.close()
    stage.activate(stage.window)
    assert stage.composer.hasFocus()


def test_a_closed_dialog_gives_the_keyboard_back(stage: Stage) -> None:
    stage.list.setFocus()
    dialog = stage.dialog()
    dialog.open()
    stage.activate(dialog)
    dialog.close()
    stage.activate(stage.window)
    assert stage.list.hasFocus()


def test_a_button_of_a_dialog_that_is_disabled_gives_the_keyboard_back(stage: Stage) -> None:
    dialog = stage.dialog()
    field, check, longest = QLineEdit(dialog), QPushButton("Check", dialog), QLineEdit(dialog)
    dialog.open()
    stage.activate(dialog)
    field.setFocus()
    check.setFocus()
    check.setEnabled(False)
    assert field.hasFocus()
    assert not longest.hasFocus()


def test_tab_goes_on_as_ever(stage: Stage) -> None:
    stage.filter.setFocus()
    QTest.keyClick(stage.filter, Qt.Key.Key_Tab)
    assert stage.list.hasFocus()
    stage.filter.setFocus()
    stage.panel.hide()
    stage.folder.setFocus()
    assert stage.folder.hasFocus()
