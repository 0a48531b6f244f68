"""With texts two fifths longer, nothing in the window is cut, and nothing is left in English."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QTranslator
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.app import Window, build
from desktop_agent.ui.settings.settings_view import SECTIONS
from tests.translation.cut_texts import cut_texts
from tests.translation.pseudo import compile_pseudo
from tests.ui.settings.desk import Desk
from translations import catalog

SMALLEST = (1024, 700)
_ROUNDS = 5
"""Of the loop, until the layout is done."""
_WORD = re.compile(r"[A-Za-z]{2}")
_THE_SAME = re.compile(r"(Ctrl|Alt|Shift)\+|https?://|F\d|[a-z_]+\.[a-z_.]+$")
"""Keys, addresses, and names of settings."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_pseudo(catalog("de"), tmp_path_factory.mktemp("pseudo"))


@pytest.fixture
def _pseudo(qapp: QApplication, compiled: Path) -> Iterator[None]:
    translator = QTranslator()
    assert translator.load(str(compiled))
    qapp.installTranslator(translator)
    yield
    qapp.removeTranslator(translator)


def _settle() -> None:
    for _ in range(_ROUNDS):
        QApplication.processEvents()


def _in_english(window: QWidget) -> list[str]:
    """The texts, shown or read aloud, that were not translated."""
    found: list[str] = []
    for part in window.findChildren(QWidget):
        if part.objectName().startswith("qt_"):
            continue  # Qt's own, which Qt translates
        found += [part.toolTip(), part.accessibleName(), part.accessibleDescription()]
        if isinstance(part, QLabel | QAbstractButton):
            found.append(part.text())
        if isinstance(part, QLineEdit):
            found.append(part.placeholderText())
    return [text for text in found if _WORD.search(text) and "[" not in text and not _THE_SAME.match(text)]


@pytest.fixture
def window(qtbot: QtBot, _pseudo: None) -> Iterator[Window]:
    window = build(["--demo"])
    window.main_window.resize(*SMALLEST)
    window.main_window.show()
    qtbot.waitExposed(window.main_window)
    yield window
    window.main_window.let_close()
    window.main_window.deleteLater()
    window.deleteLater()


def test_in_the_first_window(window: Window) -> None:
    main = window.main_window
    for panel in (main, main.review):
        panel.show()
        _settle()
        assert cut_texts(main) == []
    assert _in_english(main) == []


@pytest.mark.usefixtures("_pseudo")
def test_in_the_settings(qapp: QApplication, qtbot: QtBot) -> None:
    desk = Desk(qapp, qtbot, "model")
    problems: dict[str, list[str]] = {}
    for section in SECTIONS:
        desk.dialog.show_section(section)
        desk.settle()
        _settle()
        problems[section] = cut_texts(desk.dialog)
    assert {section: found for section, found in problems.items() if found} == {}
    assert _in_english(desk.dialog) == []


@pytest.mark.nightly
@pytest.mark.parametrize("argument", ["welcome", "demo"])
def test_through_a_turn_of_the_demo(compiled: Path, tmp_path: Path, argument: str) -> None:
    assert _cut_in(argument, str(tmp_path), str(compiled)) == ""


@pytest.mark.nightly
@pytest.mark.parametrize("argument", ["welcome", "demo"])
def test_through_a_turn_of_the_demo_with_the_largest_interface(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str
) -> None:
    config = tmp_path / "agent" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[ui]\ninterface_font_px = 18\n")
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(tmp_path / "agent"))
    assert _cut_in(argument, str(tmp_path)) == ""


def _cut_in(*arguments: str) -> str:
    argv = [sys.executable, "-m", "tests.translation.cut_lab", *arguments]
    done = subprocess.run(argv, env=os.environ, capture_output=True, text=True, check=False)  # noqa: TID251
    assert done.returncode == 0, done.stderr
    return done.stdout
