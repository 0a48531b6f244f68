"""The first window on a small screen: all of it is on the screen, the composer too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.screens import offscreen

_LOOK = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from tests.e2e.driver import drive

async def look(person):
    window = person.window.main_window
    await person.until_true(window.isVisible, "the window is visible")
    await person.pause()
    composer = person.window.desk.composer
    corner = composer.mapTo(window, composer.rect().bottomRight())
    room = window.screen().availableGeometry()
    print(room.width() - window.frameGeometry().width(), room.height() - window.frameGeometry().height())
    print(window.width() - corner.x(), window.height() - corner.y())
    person.window.request_quit()
    await person.until_true(lambda: not window.isVisible(), "the window has closed")

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
def test_the_first_window_fits_on_its_screen(tmp_path: Path, screen: str, scale: str) -> None:
    environ = {**os.environ, "QT_QPA_PLATFORM": offscreen(screen), "QT_SCALE_FACTOR": scale}
    argv = [sys.executable, "-c", _LOOK, str(tmp_path)]
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, text=True) as window:
        out, _ = window.communicate()
    assert window.returncode == 0
    *_, room, rest = out.splitlines()
    assert min(map(int, room.split())) >= 0, "the window is larger than its screen"
    assert min(map(int, rest.split())) >= 0, "the composer is not in the window"
