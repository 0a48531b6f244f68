"""Nothing is animated once the user or the desktop forbids it."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QLineEdit,
    QListWidget,
    QMainWindow,
    QScrollArea,
    QWidget,
)
from pytestqt.qtbot import QtBot

from desktop_agent.ui.runtime import painting
from desktop_agent.ui.runtime.painting import Movement, give_viewport
from desktop_agent.ui.theme import Theme, Wishes

EFFECTS = (Qt.UIEffect.UI_General, Qt.UIEffect.UI_AnimateCombo, Qt.UIEffect.UI_AnimateMenu, Qt.UIEffect.UI_FadeTooltip)


@pytest.fixture
def window(qtbot: QtBot) -> Iterator[QMainWindow]:
    window = QMainWindow()
    qtbot.addWidget(window)
    field = QLineEdit()
    window.setCentralWidget(field)
    window.show()
    qtbot.waitActive(window)
    field.setFocus()
    yield window
    window.close()


@pytest.fixture
def effects(qapp: QApplication) -> Iterator[None]:
    before = {effect: qapp.isEffectEnabled(effect) for effect in EFFECTS}
    for effect in EFFECTS:
        qapp.setEffectEnabled(effect, True)
    yield
    for effect, was in before.items():
        qapp.setEffectEnabled(effect, was)


@pytest.fixture
def movement(qapp: QApplication, window: QMainWindow, theme: Theme, effects: None) -> Iterator[Movement]:
    movement = Movement(qapp, window, theme)
    yield movement
    movement.stop()
    movement.deleteLater()


def what_moves(app: QApplication, window: QMainWindow) -> list[str]:
    moving = [effect.name for effect in EFFECTS if app.isEffectEnabled(effect)]
    moving += ["caret"] if app.styleHints().cursorFlashTime() > 0 else []
    return moving + (["docks"] if window.isAnimated() else [])


EVERYTHING = [*(effect.name for effect in EFFECTS), "caret", "docks"]


@pytest.mark.usefixtures("movement")
def test_everything_moves_until_the_user_wants_it_not_to(qapp: QApplication, window: QMainWindow, theme: Theme) -> None:
    assert what_moves(qapp, window) == EVERYTHING
    theme.choose_motion("reduced")
    assert what_moves(qapp, window) == []
    field = window.centralWidget()
    assert field is not None
    QTest.keyClick(field, Qt.Key.Key_A)
    assert what_moves(qapp, window) == []
    theme.choose_motion("full")
    assert what_moves(qapp, window) == EVERYTHING


@pytest.mark.usefixtures("movement")
def test_what_the_desktop_wants_holds_as_long_as_the_user_leaves_it_to_the_system(
    qapp: QApplication, window: QMainWindow, theme: Theme
) -> None:
    theme.follow_wishes(Wishes(less_motion=True))
    assert what_moves(qapp, window) == []
    theme.choose_motion("full")
    assert what_moves(qapp, window) == EVERYTHING
    theme.choose_motion("system")
    assert what_moves(qapp, window) == []
    theme.follow_wishes(Wishes())
    assert what_moves(qapp, window) == EVERYTHING


@pytest.mark.usefixtures("effects")
def test_the_application_is_left_as_it_was_found(qapp: QApplication, window: QMainWindow, theme: Theme) -> None:
    movement = Movement(qapp, window, theme)
    theme.choose_motion("reduced")
    movement.stop()
    assert what_moves(qapp, window) == EVERYTHING
    theme.choose_motion("full")
    theme.choose_motion("reduced")
    assert what_moves(qapp, window) == EVERYTHING


def test_a_caret_rests_when_nobody_types_and_blinks_with_the_next_key_and_in_the_next_field(
    qapp: QApplication, window: QMainWindow, theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(painting, "REST_MS", 50)
    movement = Movement(qapp, window, theme)
    field = window.centralWidget()
    assert field is not None
    qtbot.waitUntil(lambda: "caret" not in what_moves(qapp, window))
    with qtbot.waitSignal(qapp.styleHints().cursorFlashTimeChanged):
        QTest.keyClick(field, Qt.Key.Key_A)
    qtbot.waitUntil(lambda: "caret" not in what_moves(qapp, window))
    other = QLineEdit(window)
    other.show()
    with qtbot.waitSignal(qapp.styleHints().cursorFlashTimeChanged):
        other.setFocus()
    movement.stop()
    assert "caret" in what_moves(qapp, window)


@pytest.mark.parametrize("kind", [QListWidget, QScrollArea, QAbstractScrollArea])
def test_it_is_as_the_one_that_qt_makes(qtbot: QtBot, kind: type[QAbstractScrollArea]) -> None:
    plain, ours = kind(), kind()
    qtbot.addWidget(plain)
    qtbot.addWidget(ours)
    given = give_viewport(ours)
    assert ours.viewport() is given
    assert given.parent() is ours
    for property_ in (QWidget.backgroundRole, QWidget.autoFillBackground, QWidget.focusProxy):
        of_qt, of_us = property_(plain.viewport()), property_(given)
        assert of_us == of_qt or (of_qt is plain and of_us is ours), property_
