"""Files in the real window open in place of the review."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QPushButton, QWidget

from desktop_agent.ui.files.viewer.file_pane import FilePane
from desktop_agent.ui.review.changed_file_list import FileList
from desktop_agent.ui.review.file_editing import FileEditor
from tests.app.conftest import Go
from tests.e2e.driver import Driver
from tests.parts import part

pytestmark = pytest.mark.usefixtures("qapp")

CTRL = Qt.KeyboardModifier.ControlModifier
CTRL_SHIFT = CTRL | Qt.KeyboardModifier.ShiftModifier
ARGUMENTS = ("--provider", "demo")


async def opened(user: Driver, path: str) -> FileEditor:
    await user.activate()
    user.window.panels.files.file_actions.file_activated.emit(path)
    text = await user.until(
        lambda: next((each for each in editors(user) if each.accessibleName().endswith(path)), None), "it is shown"
    )
    await user.until_true(lambda: text.is_ready and text.hasFocus(), "the file is read and has the focus")
    return text


def editors(user: Driver) -> list[FileEditor]:
    found = user.window.main_window.findChildren(FileEditor, "viewerText")
    return [each for each in found if each.isVisible()]


def is_shown(user: Driver, name: str) -> bool:
    return user.find(QWidget, name) is not None


def test_a_file_takes_the_place_of_the_review_in_a_wide_window_and_of_its_drawer_in_a_narrow_one(
    go: Go, project: Path
) -> None:
    (project / "more.txt").write_text("more\n")

    async def journey(user: Driver) -> None:
        window, composer = user.window.main_window, user.composer
        await opened(user, "notes.txt")
        assert not is_shown(user, "reviewPanel")
        assert window.isAncestorOf(editors(user)[0])
        await user.press(Qt.Key.Key_R, CTRL_SHIFT)
        assert is_shown(user, "reviewPanel"), "the key for the review goes to it, as its tab does"
        assert not is_shown(user, "reviewTitle"), "the tab says it"
        await opened(user, "notes.txt")
        assert len(part(window, FilePane, "viewerWindow").tabs.pages) == 1
        await user.press(Qt.Key.Key_Escape)
        assert (composer.edit.hasFocus(), len(editors(user))) == (True, 1)
        text = await opened(user, "notes.txt")
        await opened(user, "more.txt")
        await user.press(Qt.Key.Key_W, CTRL)
        assert text.hasFocus()
        await user.press(Qt.Key.Key_W, CTRL)
        assert (composer.edit.hasFocus(), is_shown(user, "reviewPanel"), is_shown(user, "reviewTitle")) == (True,) * 3

        await user.press(Qt.Key.Key_R, CTRL_SHIFT)
        await opened(user, "notes.txt")
        tabs = part(window, FilePane, "viewerWindow").tabs
        tabs.show_page(None)
        tabs.close_page(tabs.pages[0])
        assert is_shown(user, "reviewPanel"), "the user has chosen its tab meanwhile"

        await user.press(Qt.Key.Key_R, CTRL_SHIFT)
        assert not window.review.is_open
        await opened(user, "notes.txt")
        await user.press(Qt.Key.Key_W, CTRL)
        assert not window.review.is_open, "what the user had hidden is hidden again"

        window.resize(1024, 700)
        text = await opened(user, "notes.txt")
        assert window.review.drawer.isAncestorOf(text)
        await user.press(Qt.Key.Key_Escape)
        assert (composer.edit.hasFocus(), window.review.drawer.isVisible()) == (True, False)
        await opened(user, "notes.txt")
        await user.press(Qt.Key.Key_W, CTRL)
        assert (composer.edit.hasFocus(), window.review.drawer.isVisible()) == (True, False)

    go([str(project), *ARGUMENTS], journey)


def test_a_review_that_is_hidden_and_was_opened_for_a_file_is_hidden_at_the_next_start(go: Go, project: Path) -> None:
    async def first(user: Driver) -> None:
        await user.press(Qt.Key.Key_R, CTRL_SHIFT)
        await opened(user, "notes.txt")

    async def second(user: Driver) -> None:
        assert not user.window.main_window.review.is_open

    go([str(project), *ARGUMENTS], first)
    go([str(project), *ARGUMENTS], second)


def test_an_edit_is_saved_and_listed_as_the_users_and_none_is_lost_unasked(go: Go, project: Path) -> None:
    async def journey(user: Driver) -> None:
        window = user.window.main_window
        QTest.keyClicks(await opened(user, "notes.txt"), "all ")
        await user.press(Qt.Key.Key_S, CTRL)
        await user.until_true(lambda: (project / "notes.txt").read_text() == "all mine\n", "it is saved")
        await user.until_true(lambda: part(window, QLabel, "viewerFacts").text().endswith("9 bytes"), "so it says")
        await user.until_true(lambda: bool(user.transcript.changes), "the change is recorded")
        await user.press(Qt.Key.Key_R, CTRL_SHIFT)

        def is_kept() -> bool:
            return any(button.text() == "✓ Kept" for button in window.findChildren(QPushButton, "keepHunkButton"))

        await user.until_true(is_kept, "the hunk has the full mark")
        assert [file.mark for file in (await user.see(FileList, "changeList")).files] == ["kept"], "so has the file"

        user.actions.enlarge_review.trigger()
        text = await opened(user, "notes.txt")
        assert text.width() > window.width() * 0.9, "it has the whole window, as the review has"
        await user.press(Qt.Key.Key_W, CTRL)
        assert (user.composer.isVisible(), is_shown(user, "reviewPanel")) == (False, True)
        await opened(user, "notes.txt")
        await user.press(Qt.Key.Key_Escape)
        assert user.composer.edit.hasFocus()

        QTest.keyClicks(await opened(user, "notes.txt"), "not ")
        await user.press(Qt.Key.Key_R, CTRL_SHIFT)
        user.window.request_quit()
        await user.click("viewerGoOnButton")
        assert window.isVisible()
        user.window.request_quit()
        await user.click("viewerDiscardButton")
        assert (project / "notes.txt").read_text() == "all mine\n"

    go([str(project), *ARGUMENTS], journey)


def test_another_folder_has_its_own_tabs(go: Go, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    async def go_to(user: Driver, folder: Path) -> None:
        user.actions.open_folder.trigger()
        dialog = await user.see(QFileDialog, "folderDialog")
        dialog.fileSelected.emit(str(folder))
        dialog.reject()
        await user.until_true(lambda: user.transcript.session.workspace == str(folder), "the folder is shown")

    async def journey(user: Driver) -> None:
        QTest.keyClicks(await opened(user, "notes.txt"), "x")
        await go_to(user, other)
        assert (editors(user), is_shown(user, "reviewPanel"), is_shown(user, "viewerTabs")) == ([], True, False)
        await go_to(user, project)
        assert editors(user)[0].toPlainText() == "xmine\n"
        part(user.window.main_window, FilePane, "viewerWindow").tabs.pages[0].bar.discard.click()

    go([str(project), *ARGUMENTS], journey)
