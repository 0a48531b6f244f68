"""The window as `build` makes it: all object names exist, and have texts for screen readers."""

import subprocess
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDockWidget,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from desktop_agent.app import Window, build
from desktop_agent.app.startup.arguments import parse_arguments
from desktop_agent.app.startup.preloading import CORE_USED_SOON, LOADED_LAST, WIDGETS_USED_SOON
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.ui.runtime.painting import show_painted
from desktop_agent.ui.window.main_window import MainWindow

NAMES = (
    *("mainWindow", "workspaceButton", "sessionList", "newSessionButton", "fileTree", "fileFilter"),
    *("transcript", "composer", "sendButton", "stopButton", "modelPicker", "approvalPicker", "contextMeter"),
    "reviewPanel",
)


"""The promised object names of a window without a change, a question or a dialog."""


@pytest.fixture
def window(qtbot: QtBot) -> Generator[Window]:
    window = build(["--demo"])
    window.main_window.show()
    yield window
    window.main_window.let_close()
    window.main_window.deleteLater()
    window.deleteLater()


def widgets(window: Window) -> list[QWidget]:
    return [window.main_window, *window.main_window.findChildren(QWidget)]


@pytest.mark.parametrize("width", [1440, 1024])
def test_what_is_painted_first_is_filled_and_neither_moves_nor_is_replaced(
    qtbot: QtBot, qapp: QApplication, width: int
) -> None:
    window = Window(qapp, parse_arguments([]), AppPaths.from_environment())
    main = window.main_window
    main.resize(width, 900)
    show_painted(qapp, main, main.top_bar)
    before, frame = main.grab().toImage(), places(main)
    window.add_panels()
    window.panels.icons.load()
    window.panels.composer.setFocus()
    qtbot.waitUntil(window.panels.composer.isVisible)
    after, filled = main.grab().toImage(), places(main)
    assert {widget: filled.get(widget) for widget in frame} == frame
    bar = main.top_bar
    for button in (bar.workspace_button, bar.search_button, bar.review_button, bar.palette_button):
        if button.isVisible():
            assert before.copy(frame[button]) == after.copy(frame[button]), button.text()
    icons = [bar.inbox_button, bar.menu_button]
    assert all(before.copy(frame[button]) != after.copy(frame[button]) for button in icons), "the icons came"
    main.let_close()
    main.deleteLater()
    window.deleteLater()


def places(main: MainWindow) -> dict[QWidget, QRect]:
    """Where each visible widget of the bar is, each dock, and what is between them."""
    parts: list[QWidget] = [main.top_bar, *main.top_bar.findChildren(QWidget), *main.findChildren(QDockWidget)]
    parts.append(cast("QWidget", main.centralWidget()))
    return {part: QRect(part.mapTo(main, QPoint(0, 0)), part.size()) for part in parts if part.isVisible()}


def test_the_promised_names_are_there_once_and_every_control_says_what_it_is(window: Window) -> None:
    for name in NAMES:
        (widget,) = [widget for widget in widgets(window) if widget.objectName() == name]
        spoken = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
        assert spoken not in ("", name)
    kinds = (QAbstractButton, QLineEdit, QPlainTextEdit, QComboBox)
    silent = [
        f"{type(widget).__name__} {widget.objectName()}"
        for widget in widgets(window)
        if isinstance(widget, kinds)
        and not widget.isHidden()
        and not widget.objectName().startswith("qt_")
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and any(letter.isalpha() for letter in widget.text()))
    ]
    assert silent == []


def test_the_theme_is_switched_while_everything_is_shown(window: Window) -> None:
    def ground() -> str:
        picture = window.main_window.grab().toImage()
        return picture.pixelColor(picture.width() // 2, picture.height() // 3).name().upper()

    for choice in ("dark", "light", "dark"):
        window.theme.choose(choice)
        assert ground() == window.theme.colours.surface
    assert window.theme.colours.is_dark


def test_the_size_of_the_interface_is_that_of_the_settings(qtbot: QtBot, isolated_home: Path) -> None:
    config = isolated_home / "desktop-agent" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[ui]\ninterface_font_px = 17\n")
    window = build(["--demo"])
    qtbot.addWidget(window.main_window, before_close_func=lambda main: main.let_close())
    bar, panels = window.main_window.top_bar, window.panels
    assert bar.workspace_button.font().pixelSize() == 17
    assert panels.composer.edit.font().pixelSize() == 13
    window.theme.choose_interface_size(13)


def test_without_a_display_it_says_so_and_qt_does_not_abort(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(UsageError, match="no display"):
        build([])


def test_a_command_line_it_does_not_understand_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        build(["--nonsense"])
    assert end.value.code == 2
    assert "usage: desktop-agent" in capsys.readouterr().err


def printed(code: str, *arguments: str) -> str:
    argv = [sys.executable, "-c", code, *arguments]
    return subprocess.check_output(argv, text=True, timeout=120)


NOTING = """
import sys
from desktop_agent.app.startup import window

class Noting(window.Window):
    def add_panels(self):
        super().add_panels()
        review = self.panels.review
        prepare = review.prepare
        def noted(then):
            shown = ("review.diff.diff_review", "chat.transcript.factory")
            loaded = [name in sys.modules for name in ("pygit2", *(f"desktop_agent.ui.{name}" for name in shown))]
            print("anthropic" in sys.modules, *loaded, flush=True)
            prepare(then)
            self.request_quit()
        review.prepare = noted

window.Window = Noting
from desktop_agent.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_what_shows_a_session_is_loaded_before_what_only_the_first_answer_needs(tmp_path: Path) -> None:
    """A chosen session has entries and changes; the window's thread does not import their views."""
    noted = printed(NOTING, str(tmp_path))
    assert noted.split() == ["False", "True", "True", "True"]


FRAME = """
import os, sys
from desktop_agent.app.startup import window

def noted(*_arguments):
    slow = ("asyncio", "qasync", "concurrent.futures", "pydantic", "ctypes")
    later = ("core.agents", "core.diff", "core.protocol.events", "ui.sessions", "ui.widgets.rows")
    names = (*slow, *(f"desktop_agent.{name}" for name in later))
    print([name for name in names if name in sys.modules], flush=True)
    os._exit(0)

window.show_painted = noted
window.main([])
"""


def test_the_frame_is_painted_before_what_it_does_not_show_is_imported() -> None:
    noted = printed(FRAME)
    assert noted.strip() == "[]"


PANELS = """
import sys
from PySide6.QtWidgets import QApplication
from desktop_agent.app.startup.window import build
window = build([])
print(*(name for name in sys.argv[1:] if f"desktop_agent.{name}" in sys.modules))
"""


def test_the_panels_are_built_without_what_the_first_sight_does_not_show() -> None:
    """Each is imported on first use, or in a thread behind the first sight."""
    late = ("review.review_content", "review.diff.diff_view", "review.media_view", "chat.composer.offer_popups")
    questions = (
        "chat.cards.approval",
        "approvals.approval_dialog",
        "settings.extensions_page",
        "settings.settings_dialog",
    )
    others = ("app.git_review", "core.agents", "core.usage.report", "ui.usage.usage_window")
    names = (*others, *(f"ui.{name}" for name in (*late, *questions)))
    assert all(find_spec(f"desktop_agent.{name}") for name in names)
    built = printed(PANELS, *names)
    assert built.split() == []


CLASSES = """
import os, sys
from PySide6 import QtWidgets
from desktop_agent.ui.runtime import painting

def are_all_made():
    return "QWizard" in vars(QtWidgets)  # which no window of ours has

make = painting.make_widget_classes
def noted():
    print(are_all_made(), end=" ")
    make()
    print(are_all_made(), flush=True)
    os._exit(0)
painting.make_widget_classes = noted
from desktop_agent.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_no_class_of_qt_that_nothing_uses_is_made_until_the_first_sight_is_shown(tmp_path: Path) -> None:
    """Qt's binding makes all classes when it is asked for an unknown widget, such as a viewport made by Qt."""
    noted = printed(CLASSES, str(tmp_path))
    assert noted.split() == ["False", "True"]


_STEPS = """
import sys
from importlib import import_module
import desktop_agent.app.window_panels
import desktop_agent.ui.chat.transcript.factory
import desktop_agent.ui.review.review_content
from desktop_agent.app.startup.preloading import WIDGETS_USED_SOON

def loaded():
    return {name for name, module in sys.modules.items()
            if name.startswith("desktop_agent.ui.") and not hasattr(module, "__path__")}

for name in WIDGETS_USED_SOON:
    before = loaded()
    import_module(f"desktop_agent.{name}")
    print(name, *loaded() - before)
"""


def test_no_step_imports_more_than_two_modules_of_widgets() -> None:
    told = subprocess.run(  # noqa: TID251 - a fresh interpreter is the point
        [sys.executable, "-c", _STEPS], stdout=subprocess.PIPE, check=True, text=True, timeout=120
    ).stdout
    steps = [line.split() for line in told.splitlines()]
    assert len(steps) > 20
    assert [step for step in steps if len(step) > 3] == []


def test_every_module_that_is_named_is_there() -> None:
    names = (*CORE_USED_SOON, *WIDGETS_USED_SOON, *LOADED_LAST)
    assert [name for name in names if find_spec(f"desktop_agent.{name}") is None] == []
