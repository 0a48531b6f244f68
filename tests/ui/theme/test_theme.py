"""The theme in use: the user's choice, and the desktop's."""

import subprocess
import sys
from os import environ
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from desktop_agent.core.settings.sections import UiSettings
from desktop_agent.ui.theme import Theme, ThemeChoice, last_interface_size, last_theme
from desktop_agent.ui.theme.tokens import DARK, HIGH_CONTRAST_DARK, HIGH_CONTRAST_LIGHT, LIGHT, Palette
from tests.desktop_settings import desktop_settings
from tests.session_bus import session_bus

FORCED: dict[ThemeChoice, Palette] = {
    "light": LIGHT,
    "dark": DARK,
    "high-contrast-light": HIGH_CONTRAST_LIGHT,
    "high-contrast-dark": HIGH_CONTRAST_DARK,
}


@pytest.mark.parametrize("choice", get_args(ThemeChoice))
def test_the_window_opens_in_the_theme_of_the_last_time(choice: ThemeChoice, tmp_path: Path) -> None:
    store = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    store.setValue("theme", choice)
    assert last_theme(store) == choice


@pytest.mark.parametrize("choice", FORCED)
def test_a_choice_is_shown_whatever_the_system_wants(theme: Theme, choice: ThemeChoice) -> None:
    theme.choose(choice)
    try:
        assert theme.colours == FORCED[choice]
    finally:
        theme.choose("light")


def test_the_settings_offer_the_themes_that_there_are() -> None:
    assert get_args(get_type_hints(UiSettings)["theme"]) == get_args(ThemeChoice)


def test_the_interface_grows_and_text_with_a_size_of_its_own_does_not(theme: Theme) -> None:
    theme.choose_interface_size(18)
    try:
        grown = (theme.text_font(13), theme.text_font(11), theme.code_font(12), theme.strong_font(16))
        assert [font.pixelSize() for font in grown] == [18, 15, 17, 22]
        assert theme.text_font(13, grows=False).pixelSize() == 13
    finally:
        theme.choose_interface_size(13)


@pytest.mark.parametrize(("kept", "size"), [("16", 16), ("", 13), ("huge", 13), (None, 13)])
def test_the_window_opens_in_the_size_of_the_last_time(tmp_path: Path, kept: str | None, size: float) -> None:
    store = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    if kept is not None:
        store.setValue("interface_px", kept)
    assert last_interface_size(store) == size


WATCH = """
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from desktop_agent.ui.theme import Theme
app = QApplication(["window"])
theme = Theme(app)
show = lambda: print("high" if theme.colours.is_high_contrast else "usual", flush=True)
show()
theme.changed.connect(show)
QTimer.singleShot(60_000, app.quit)
app.exec()
"""


@pytest.mark.realwindow
def test_the_theme_follows_the_contrast_that_the_desktop_asks_for() -> None:
    # Qt listens to the desktop only on a real display.
    contrast = {"org.freedesktop.appearance": {"contrast": 1}}
    with session_bus() as bus, desktop_settings(bus, contrast) as desktop:
        env = environ | {"DBUS_SESSION_BUS_ADDRESS": bus, "XDG_CURRENT_DESKTOP": "GNOME"}
        with subprocess.Popen([sys.executable, "-c", WATCH], stdout=subprocess.PIPE, text=True, env=env) as window:
            assert window.stdout is not None
            try:
                seen = [window.stdout.readline().strip()]
                while seen[-1] != "high":  # Qt learns it from the bus after the start
                    seen.append(window.stdout.readline().strip())
                assert seen in (["high"], ["usual", "high"])
                desktop.change({"org.freedesktop.appearance": {"contrast": 0}})
                assert window.stdout.readline().strip() == "usual"
            finally:
                window.kill()


@pytest.mark.parametrize("choice", ["light", "dark"])
def test_the_tick_of_a_menu_entry_is_drawn_smoothly_on_both_grounds(
    qtbot: QtBot, theme: Theme, choice: ThemeChoice
) -> None:
    theme.choose(choice)
    theme.install()
    menu = QMenu()
    qtbot.addWidget(menu)
    action = menu.addAction("")
    action.setCheckable(True)
    action.setChecked(True)
    image = menu.grab(menu.actionGeometry(action)).toImage()
    ground = image.pixelColor(1, 1).lightness()
    shades = {image.pixelColor(x, y).lightness() for x in range(image.width()) for y in range(image.height())}
    assert len(shades) > 4, "edges between the tick and its ground"
    assert max(abs(shade - ground) for shade in shades) > 120
