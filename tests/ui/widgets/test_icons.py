"""Icons in the colours of the theme, read only when the window has been painted."""

import gc
import os
import subprocess
import sys

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QAction, QIcon, QImage
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets import icons as module
from desktop_agent.ui.widgets.icons import ICON_NAMES, IconName, Icons


def colours_in(image: QImage) -> set[str]:
    """The colours of all opaque pixels."""
    pixels = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
    return {colour.name().upper() for colour in pixels if colour.alpha() == 255}


def drawn(icon: QIcon, mode: QIcon.Mode = QIcon.Mode.Normal) -> QImage:
    return icon.pixmap(QSize(32, 32), 1.0, mode).toImage()


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(qapp, "light")


@pytest.fixture
def icons(theme: Theme) -> Icons:
    icons = Icons(theme)
    icons.load()
    return icons


@pytest.mark.parametrize("name", ICON_NAMES)
def test_every_icon_is_drawn(icons: Icons, theme: Theme, name: IconName) -> None:
    assert colours_in(drawn(icons.icon(name, "text", size=32))) == {theme.colours.text.upper()}


def test_an_icon_attached_early_appears_when_icons_are_loaded_and_moves_nothing(theme: Theme, qtbot: QtBot) -> None:
    icons = Icons(theme)
    button = QPushButton("Send")
    qtbot.addWidget(button)
    icons.attach(button, "send", "accent", size=32)
    before = button.sizeHint()
    assert colours_in(drawn(button.icon())) == set()
    icons.load()
    assert colours_in(drawn(button.icon())) == {theme.colours.accent.upper()}
    assert button.sizeHint() == before


def test_an_attached_icon_follows_the_theme(theme: Theme, icons: Icons) -> None:
    action = QAction("Settings")
    icons.attach(action, "gear", "text", size=32)
    light = colours_in(drawn(action.icon()))
    theme.choose("dark")
    assert colours_in(drawn(action.icon())) == {theme.colours.text.upper()} != light


def test_a_disabled_icon_is_faint(theme: Theme, icons: Icons) -> None:
    icon = icons.icon("gear", "text", size=32)
    assert colours_in(drawn(icon, QIcon.Mode.Disabled)) == {theme.colours.faint.upper()}


def test_the_last_icon_attached_stays(theme: Theme, icons: Icons, qtbot: QtBot) -> None:
    button = QPushButton()
    qtbot.addWidget(button)
    icons.attach(button, "send", "accent", size=32)
    icons.attach(button, "stop", "text", size=32)
    theme.choose("dark")
    assert colours_in(drawn(button.icon())) == {theme.colours.text.upper()}


def test_a_button_with_an_icon_is_drawn_again_when_the_theme_changes(theme: Theme, icons: Icons, qtbot: QtBot) -> None:
    button = QPushButton()
    qtbot.addWidget(button)
    icons.attach(button, "stop", "text", size=32)
    button.resize(60, 60)
    button.show()
    qtbot.waitExposed(button)
    theme.choose("dark")
    assert theme.colours.text.upper() in colours_in(button.grab().toImage())


def test_a_button_that_is_gone_is_forgotten(theme: Theme, icons: Icons) -> None:
    button = QPushButton()
    icons.attach(button, "plus")
    del button
    gc.collect()
    icons.loaded.emit()
    theme.changed.emit()


def test_on_a_dense_screen_an_icon_has_as_many_pixels_as_it_is_shown_with() -> None:
    program = (
        "from PySide6.QtCore import QSize; from PySide6.QtWidgets import QApplication; app = QApplication([]);"
        "from desktop_agent.ui.theme import Theme; from desktop_agent.ui.widgets.icons import Icons;"
        "icons = Icons(Theme(app)); icons.load();"
        "print(icons.icon('branch').pixmap(QSize(16, 16), 2.0).width())"
    )
    environment = {**os.environ, "QT_SCALE_FACTOR": "2"}
    assert subprocess.check_output([sys.executable, "-c", program], text=True, env=environment).strip() == "32"


def test_without_the_font_the_window_is_plain_not_broken(
    theme: Theme, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]
) -> None:
    expected_logs.append("the icons could not be read")

    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(module, "find_spec", nothing)
    icons = Icons(theme)
    icons.load()
    assert not icons.is_loaded
    assert not icons.icon("send").isNull()


def test_no_library_is_imported_for_icons() -> None:
    program = (
        "import sys; from PySide6.QtWidgets import QApplication; app = QApplication([]);"
        "from desktop_agent.ui.theme import Theme; from desktop_agent.ui.widgets.icons import Icons;"
        "icons = Icons(Theme(app)); icons.load(); assert icons.is_loaded;"
        "print([name for name in ('qtawesome', 'qtpy') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"
