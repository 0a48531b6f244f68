"""The top bar names the session, and offers its actions."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.core.system.git.repository import RepoStatus
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.widgets.icons import Icons
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.top_bar import TopBar


@pytest.fixture
def parent(qtbot: QtBot) -> QWidget:
    """The test keeps it: a widget without a parent lives as long as its Python object."""
    parent = QWidget()
    qtbot.addWidget(parent)
    return parent


@pytest.fixture
def actions(parent: QWidget) -> Actions:
    return Actions(parent)


@pytest.fixture
def bar(qtbot: QtBot, theme: Theme, actions: Actions) -> TopBar:
    bar = TopBar(theme, actions)
    qtbot.addWidget(bar)
    bar.resize(1400, bar.height())
    bar.show()
    return bar


@pytest.mark.parametrize(("folder", "name"), [("/home/ada/pagination", "pagination"), ("/", "/"), ("/a\nb", "a b")])
def test_a_folder_is_shown_by_its_name_and_told_whole(bar: TopBar, folder: str, name: str) -> None:
    bar.set_workspace(Path(folder))
    assert bar.workspace_button.text() == f"{name} ▾"
    assert folder.splitlines()[0] in bar.workspace_button.toolTip()
    bar.set_workspace(None)
    assert bar.workspace_button.text() == "Choose a folder ▾"


def test_a_branch_is_shown_and_spoken_while_there_is_one(bar: TopBar) -> None:
    button = bar.branch_button
    bar.set_branch(RepoStatus(branch="fix/off-by-one", commit="1234567890"))
    assert (button.isVisible(), button.text()) == (True, "⎇ fix/off-by-one ▾")
    assert button.accessibleName() == "Branch fix/off-by-one"
    assert button.accessibleDescription() == "fix/off-by-one follows no branch of a remote."
    bar.set_branch(RepoStatus(branch="main", upstream="origin/main", ahead=2, behind=1))
    assert (button.text(), button.accessibleDescription()) == (
        "⎇ main ↑2 ↓1 ▾", "main follows origin/main: 2 commits ahead, 1 commit behind"
    )  # fmt: skip
    bar.set_branch(RepoStatus(commit="1234567890"))
    assert button.text() == "⎇ 1234567 ▾"
    bar.set_branch(RepoStatus(branch="long/" * 40))
    assert button.text().count("long/") < 20
    bar.set_branch(None)
    assert not button.isVisible()


@pytest.mark.parametrize(
    ("title", "is_demo", "shown"),
    [
        ("<b>Fix</b> & <img src='x'>", False, "<b>Fix</b> & <img src='x'>"),
        ("", False, "New session"),
        ("One of the tests fails", True, "One of the tests fails"),
    ],
    ids=["as it was written", "of a session without one", "of the demo, which is labelled as such"],
)
def test_the_title_is_shown(bar: TopBar, title: str, is_demo: bool, shown: str) -> None:
    bar.set_title(title, is_demo=is_demo)
    assert bar.title_label.text() == shown
    assert bar.title_label.textFormat() is Qt.TextFormat.PlainText
    assert bar.demo_label.isVisible() is is_demo
    assert "scripted" in bar.demo_label.toolTip()


@pytest.mark.parametrize(
    ("title", "folder", "named"),
    [
        ("Fix login", "/a/shop", "Fix login — shop"),
        ("", "/a/shop", "New session — shop"),
        ("Tick [*]\nand \u202eelse", "/a/b\nc", "Tick [*][*]␊and ⟨U+202E⟩else — b c"),
    ],
)
def test_the_window_is_named_after_session_and_folder(bar: TopBar, title: str, folder: str, named: str) -> None:
    bar.set_title(title, is_demo=False)
    bar.set_workspace(Path(folder))
    assert bar.window().windowTitle() == named
    bar.set_title("Other", is_demo=False)
    assert bar.window().windowTitle().startswith("Other — ")


def test_a_long_title_moves_nothing_out_of_the_bar(bar: TopBar) -> None:
    bar.resize(720, bar.height())
    bar.set_workspace(Path("/a/folder-with-quite-a-long-name"))
    bar.set_narrow(is_narrow=True)  # as every window of this width is
    bar.inbox_button.show_count(300, 3)
    bar.set_title("word " * 500, is_demo=True)
    assert bar.width() == 720
    assert bar.menu_button.geometry().right() <= bar.rect().right()


def test_what_waits_is_counted_and_one_click_away(qtbot: QtBot, bar: TopBar, actions: Actions) -> None:
    assert bar.inbox_button.accessibleName() == "Inbox, nothing waiting"
    bar.inbox_button.show_count(2, 2)
    assert bar.inbox_button.text().endswith("2")
    with qtbot.waitSignal(actions.open_inbox.triggered):
        QTest.mouseClick(bar.inbox_button, Qt.MouseButton.LeftButton)


def test_ways_to_panels_out_of_sight_are_offered(qtbot: QtBot, bar: TopBar, actions: Actions) -> None:
    bar.set_narrow(is_narrow=True)
    bar.review_button.show()
    with qtbot.waitSignal(actions.toggle_side.triggered):
        QTest.mouseClick(bar.side_button, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(actions.toggle_review.triggered):
        QTest.mouseClick(bar.review_button, Qt.MouseButton.LeftButton)
    bar.set_narrow(is_narrow=False)
    bar.review_button.hide()
    assert not bar.side_button.isVisible()
    assert not bar.review_button.isVisible()


def offered(menu: QMenu) -> list[QAction]:
    found: list[QAction] = []
    for action in menu.actions():
        inner = action.menu()
        if isinstance(inner, QMenu):
            found += offered(inner)
        elif not action.isSeparator():
            found.append(action)
    return found


def test_the_menu_has_every_action_of_the_window_once(bar: TopBar, actions: Actions) -> None:
    found = offered(bar.menu_button.menu())
    assert sorted(action.objectName() for action in found) == sorted(action.objectName() for action in actions.all)
    beginnings = [actions.open_folder, actions.new_session, actions.new_window, actions.demo]
    assert offered(bar.workspace_button.menu()) == beginnings


def test_the_folders_used_last_are_offered_by_their_names(bar: TopBar, actions: Actions) -> None:
    chosen: list[str] = []
    bar.folder_menu.folder_chosen.connect(chosen.append)
    for folders in (["/home/ada/old"], ["/srv/R&D", "/home/ada/site\u202e"]):
        bar.folder_menu.show_recent(folders)
    recent = offered(bar.folder_menu)[:2]  # above everything else
    assert [action.text() for action in recent] == ["/srv/R&&D", "/home/ada/site⟨U+202E⟩"]
    recent[0].trigger()
    assert chosen == ["/srv/R&D"]


def test_what_has_only_a_sign_has_a_name(bar: TopBar, theme: Theme) -> None:
    icons = Icons(theme)
    icons.load()
    bar.attach_icons(icons)
    for button in (bar.menu_button, bar.side_button, bar.inbox_button):
        assert (button.text(), button.icon().isNull()) == ("", False)
        assert button.accessibleName()
        assert button.toolTip()


def test_background_commands_are_counted_once_there_is_one(qtbot: QtBot, bar: TopBar, actions: Actions) -> None:
    assert not bar.jobs_button.isVisible()
    bar.set_jobs(running=2, total=3)
    assert bar.jobs_button.isVisible()
    assert bar.jobs_button.text() == "2 jobs"
    assert bar.jobs_button.accessibleName() == "Background work, 2 running"
    with qtbot.waitSignal(actions.toggle_jobs.triggered):
        QTest.mouseClick(bar.jobs_button, Qt.MouseButton.LeftButton)
    bar.set_jobs(running=0, total=3)
    assert bar.jobs_button.text() == "Jobs"
    bar.set_jobs(running=0, total=0)
    assert not bar.jobs_button.isVisible()


def test_the_palette_has_a_button_that_shows_its_keys_where_there_is_room(
    qtbot: QtBot, bar: TopBar, actions: Actions
) -> None:
    assert bar.palette_button.accessibleDescription() == "Ctrl+K"
    with qtbot.waitSignal(actions.command_palette.triggered):
        QTest.mouseClick(bar.palette_button, Qt.MouseButton.LeftButton)
    bar.set_narrow(is_narrow=True)
    assert bar.palette_button.isHidden()
    menu = bar.menu_button.menu()
    assert menu is not None
    assert actions.command_palette in menu.actions()
