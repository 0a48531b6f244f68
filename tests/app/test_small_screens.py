"""On a small screen the whole first window, with the composer, and each dialog fits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.screens import offscreen

_LOOK = """
import sys
from datetime import UTC, datetime
from msgspec.structs import fields
from pathlib import Path
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from desktop_agent.ui.context_inspector import ContextInspector
from desktop_agent.ui.onboarding.welcome_dialog import OnboardingDialog
from desktop_agent.ui.onboarding.welcome_steps import WelcomeActions
from desktop_agent.ui.settings.settings_view import SettingsActions
from desktop_agent.ui.settings.settings_dialog import SettingsDialog
from desktop_agent.ui.widgets.picture_canvas import PictureWindow
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture
from tests.e2e.driver import drive

def nothing(actions):
    return actions(**dict.fromkeys((field.name for field in fields(actions)), lambda *_: None))

async def spare(user, room):
    window, theme = user.window.main_window, user.window.theme
    picture = QImage(4000, 3000, QImage.Format.Format_RGB32)
    dialogs = [
        SettingsDialog(theme, lambda: datetime.now(UTC), nothing(SettingsActions), window),
        ContextInspector(theme, window),
        PictureWindow(theme, "photo.png", DecodedPicture(picture, picture, picture.size(), "", 0), window),
        OnboardingDialog(theme, nothing(WelcomeActions), window),
    ]
    for dialog in dialogs:
        dialog.setModal(False)
        dialog.show()
    await user.pause()
    sizes = [dialog.frameGeometry() for dialog in dialogs]
    for dialog in dialogs:
        dialog.close()
    return [min(room.width() - size.width(), room.height() - size.height()) for size in sizes]

async def look(user):
    window = user.window.main_window
    await user.until_true(window.isVisible, "the window is visible")
    await user.pause()
    composer = user.composer
    corner = composer.mapTo(window, composer.rect().bottomRight())
    room = window.screen().availableGeometry()
    print(room.width() - window.frameGeometry().width(), room.height() - window.frameGeometry().height())
    print(window.width() - corner.x(), window.height() - corner.y())
    print(*await spare(user, room))
    user.window.request_quit()
    await user.until_true(lambda: not window.isVisible(), "the window has closed")

drive([], Path(sys.argv[1]), look)
"""


@pytest.mark.parametrize(
    ("screen", "scale"),
    [
        pytest.param("1280x720", "1", marks=pytest.mark.nightly),
        ("1366x768", "1"),
        ("1440x900", "2"),
        pytest.param("1920x1080", "1", marks=pytest.mark.nightly),
    ],
)
def test_the_first_window_and_dialogs_fit_on_their_screen(tmp_path: Path, screen: str, scale: str) -> None:
    environ = {**os.environ, "QT_QPA_PLATFORM": offscreen(screen), "QT_SCALE_FACTOR": scale, "PYTHONFAULTHANDLER": "1"}
    argv = [sys.executable, "-c", _LOOK, str(tmp_path)]
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, text=True) as window:
        out, _ = window.communicate()
    assert window.returncode == 0
    *_, room, rest, dialogs = out.splitlines()
    assert min(map(int, room.split())) >= 0, "the window is larger than its screen"
    assert min(map(int, rest.split())) >= 0, "the composer is not in the window"
    assert min(map(int, dialogs.split())) >= 0, f"a dialog is larger than its screen: {dialogs}"
