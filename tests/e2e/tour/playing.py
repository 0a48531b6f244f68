"""Plays a scene of the tour in a home of its own."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import keyring
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QApplication

from desktop_agent.core.sandbox.find import find_sandbox
from tests.e2e import orders
from tests.e2e.driver import Driver, drive
from tests.e2e.tour.camera import StillStyle
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.scenes.every import SCENES
from tests.e2e.tour.stopped_time import StoppedTime
from tests.e2e.tour.tourist import SIZE, Tourist
from tests.memory_keyring import MemoryKeyring
from tests.screens import offscreen
from tests.servers.threaded import serve

LEFT_OUT = 3
"""The exit status of a scene that needs a missing sandbox or typeface: pictures show both."""


def play_apart(name: str, album: Path) -> bool:
    """Play a scene in a process of its own. Whether the machine has what `LEFT_OUT` names."""
    scene = SCENES[name]
    screen = offscreen("1920x1080" if scene.scale == 1 else "2880x1800")
    environment = os.environ | {
        "QT_QPA_PLATFORM": screen,
        "QT_SCALE_FACTOR": str(scene.scale),
        "LANGUAGE": "C",
        "QT_LOGGING_RULES": "qt.qpa.*=false",
    }
    done = subprocess.run(  # noqa: TID251 - no loop runs here
        [sys.executable, "-m", "tests.e2e.tour.one_scene", str(album.resolve()), name], env=environment, check=False
    )
    assert done.returncode in (0, LEFT_OUT), f"the scene {name} failed"
    return done.returncode == 0


def play(name: str, album: Path) -> None:
    """Play a scene in this process, which must not be used afterwards, and write its pictures."""
    scene = SCENES[name]
    album = album.resolve()
    album.mkdir(parents=True, exist_ok=True)
    app = QApplication([])
    app.setStyle(StillStyle())
    app.setCursorFlashTime(0)
    if find_sandbox(os.environ).sandbox is None or not _is_readable(scene.needs_script):
        sys.exit(LEFT_OUT)
    with _home() as home:
        _play_at_home(scene, home, album)


@contextmanager
def _home() -> Generator[Path]:
    """A home with a fixed path, since commands print it. A lock admits one tour at a time."""
    home = Path("/tmp/tour")
    with Path("/tmp/tour.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(mode=0o700)
        yield home
        shutil.rmtree(home, ignore_errors=True)


def _play_at_home(scene: Scene, home: Path, album: Path) -> None:
    folder = home / "code" / "shop"
    orders.make_shop(folder)
    _move_in(scene, home, folder)
    scene.prepare(folder)
    time = StoppedTime()

    async def live(user: Driver) -> None:
        user.window.main_window.resize(*SIZE)
        await user.see_ready()
        tourist = Tourist(user, time, server, folder, album)
        await scene.play(tourist)
        assert tuple(tourist.taken) == scene.states
        await tourist.quit()

    with serve(*scene.answers) as server:
        argv = ["--demo"] if scene.is_demo else [str(folder), "--base-url", server.url] if scene.opens_folder else []
        drive(argv, home, live, opens_questions=scene.opens_questions)


def _move_in(scene: Scene, home: Path, folder: Path) -> None:
    for name in [*os.environ]:
        if name.startswith(("ANTHROPIC_", "OPENAI_", "OPENROUTER_", "XAI_", "DESKTOP_AGENT_")):
            del os.environ[name]
    keyring.set_keyring(MemoryKeyring())
    config = home / "desktop-agent" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f"[model]\ngenerates_titles = false\n{scene.settings}")
    os.environ |= {"HOME": str(home), "DESKTOP_AGENT_HOME": str(config.parent), "SHELL": "/bin/sh"}
    os.environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={home / 'no bus'}"
    if not scene.is_demo and scene.opens_folder:
        os.environ["ANTHROPIC_API_KEY"] = "sk-ant-test-000000000000"
    os.chdir(folder)


def _is_readable(letters: str) -> bool:
    return all(QFontMetrics(QFont()).inFontUcs4(ord(letter)) for letter in letters)
