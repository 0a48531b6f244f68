"""Icons in the theme's colours, loaded only after the window was painted."""

import gc
import os
import subprocess
import sys
from typing import get_args

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QIcon, QImage
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets import icons as module
from desktop_agent.ui.widgets.icons import IconName, Icons


def ink(icon: QIcon, mode: QIcon.Mode = QIcon.Mode.Normal) -> QColor | None:
    return strongest(icon.pixmap(QSize(16, 16), 1.0, mode).toImage())


def strongest(image: QImage) -> QColor | None:
    """The colour of the pixel with the most ink: lines of a small icon fill no pixel wholly."""
    pixels = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
    found = max(pixels, key=QColor.alpha)
    return found if found.alpha() else None


def is_colour(found: QColor | None, wanted: QColor) -> bool:
    """Whether it is this colour, up to rounding in partly covered pixels."""
    if found is None:
        return False
    distances = (found.red() - wanted.red(), found.green() - wanted.green(), found.blue() - wanted.blue())
    return all(abs(distance) <= 2 for distance in distances)


@pytest.fixture
def icons(theme: Theme) -> Icons:
    icons = Icons(theme)
    icons.load()
    return icons


@pytest.mark.parametrize("name", get_args(IconName))
def test_every_icon_is_drawn(icons: Icons, theme: Theme, name: IconName) -> None:
    assert is_colour(ink(icons.icon(name)), theme.colour("muted"))


def test_an_icon_attached_early_appears_when_icons_are_loaded_and_moves_nothing(theme: Theme, qtbot: QtBot) -> None:
    icons = Icons(theme)
    button = QPushButton("Settings")
    qtbot.addWidget(button)
    icons.attach(button, "gear")
    before = button.sizeHint()
    assert ink(button.icon()) is None
    icons.load()
    assert is_colour(ink(button.icon()), theme.colour("muted"))
    assert button.sizeHint() == before


def test_a_disabled_icon_is_faint(theme: Theme, icons: Icons) -> None:
    assert is_colour(ink(icons.icon("side"), QIcon.Mode.Disabled), theme.colour("faint"))


def test_a_button_with_an_icon_is_drawn_again_when_the_theme_changes(theme: Theme, icons: Icons, qtbot: QtBot) -> None:
    button = QPushButton()
    qtbot.addWidget(button)
    icons.attach(button, "side")
    button.resize(60, 60)
    button.show()
    qtbot.waitExposed(button)
    before = button.grab().toImage()
    theme.choose("dark")
    assert button.grab().toImage() != before


def test_a_button_that_is_gone_is_forgotten(theme: Theme, icons: Icons) -> None:
    button = QPushButton()
    icons.attach(button, "gear")
    del button
    gc.collect()
    icons.loaded.emit()
    theme.changed.emit()


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
    assert not icons.icon("gear").isNull()


def test_a_dense_screen_shows_as_many_pixels_and_no_library_is_imported() -> None:
    program = (
        "import sys; from PySide6.QtCore import QSize; from PySide6.QtWidgets import QApplication;"
        "app = QApplication([]);"
        "from desktop_agent.ui.theme import Theme; from desktop_agent.ui.widgets.icons import Icons;"
        "icons = Icons(Theme(app)); icons.load(); print(icons.icon('gear').pixmap(QSize(16, 16), 2.0).width(),"
        "[name for name in ('qtawesome', 'qtpy') if name in sys.modules])"
    )
    environment = {**os.environ, "QT_SCALE_FACTOR": "2"}
    assert subprocess.check_output([sys.executable, "-c", program], text=True, env=environment).strip() == "32 []"
