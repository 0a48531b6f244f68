"""The banner shows faults, never gets in the way, and can be closed."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from desktop_agent.core.base.errors import AgentError, StorageError, WorkspaceError
from desktop_agent.ui.widgets.banner import Banner
from tests.parts import visible_texts


@pytest.fixture
def banner(qtbot: QtBot) -> Banner:
    banner = Banner()
    qtbot.addWidget(banner)
    return banner


def test_it_says_what_happened_last_and_what_to_do_until_it_is_dismissed(banner: Banner) -> None:
    assert banner.isHidden()
    banner.show_error(StorageError("The disk is full.", hint="Free some space.", detail="ENOSPC at /data"))
    assert visible_texts(banner) == ["The disk is full.", "Free some space."]
    assert banner.accessibleName() == "The disk is full. Free some space."
    assert "ENOSPC" in banner.toolTip()
    banner.show_error(AgentError("It failed."))
    assert visible_texts(banner) == ["It failed."], "there is no empty line"
    assert (banner.accessibleName(), banner.toolTip()) == ("It failed.", "")
    (button,) = [button for button in banner.findChildren(QPushButton) if button.isVisible()]
    assert button.text() == "Dismiss"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert banner.isHidden()


def test_what_a_file_or_a_server_said_is_shown_and_not_interpreted(banner: Banner) -> None:
    banner.show_error(AgentError("<b>x</b>", hint="<img src='http://example.invalid/x.png'>"))
    assert visible_texts(banner) == ["<b>x</b>", "<img src='http://example.invalid/x.png'>"]
    assert all(label.textFormat() is Qt.TextFormat.PlainText for label in banner.findChildren(QLabel))


def test_a_folder_that_cannot_be_used_can_be_replaced_by_another(banner: Banner, qtbot: QtBot) -> None:
    banner.show_error(WorkspaceError("The folder is gone.", hint="Choose another."))
    (button,) = [button for button in banner.findChildren(QPushButton) if button.objectName() == "bannerFolderButton"]
    with qtbot.waitSignal(banner.folder_requested):
        button.click()
    banner.show_error(AgentError("The disk is full."))
    assert not button.isVisible()


def test_a_problem_that_is_over_is_withdrawn_and_another_stays(banner: Banner) -> None:
    waiting, failed = AgentError("It waits."), AgentError("It failed.")
    banner.withdraw(waiting)
    banner.show_error(waiting)
    assert banner.shows(waiting)
    banner.withdraw(waiting)
    assert banner.isHidden()
    assert not banner.shows(waiting)
    banner.show_error(waiting)
    banner.show_error(failed)
    banner.withdraw(waiting)
    assert visible_texts(banner) == ["It failed."]
