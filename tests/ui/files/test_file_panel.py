"""The file tree as a user uses it: on real folders, with real git."""

import os
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from desktop_agent.core.system.git.repository import RepoStatus
from tests.git import git
from tests.ui.files.conftest import Desk, driven


@pytest.fixture
def repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git(folder, "init", "-q", "-b", "fix/off-by-one")
    (folder / ".gitignore").write_text("build/\n", encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


# --- showing ------------------------------------------------------------------------------------------------------


@driven
async def test_without_a_workspace_it_says_what_to_do(desk: Desk) -> None:
    assert "Choose a folder to see its files." in desk.visible_texts()
    assert not desk.field.isEnabled()


def test_a_workspace_given_before_there_is_a_loop_is_read_once_there_is_one(desk: Desk, folder: Path) -> None:
    desk.tree.set_workspace(folder)
    desk.drive(desk.quiet)
    assert desk.shown() == ["src", "tests", "README.md"]


@driven
@pytest.mark.parametrize(
    ("path", "words"),
    [(".", "This folder is empty."), ("gone", "This folder cannot be read: No such file or directory")],
)
async def test_a_folder_without_files_says_why(desk: Desk, tmp_path: Path, path: str, words: str) -> None:
    await desk.open_workspace(tmp_path / path)
    assert words in desk.visible_texts()


@driven
async def test_a_click_opens_a_folder_and_another_one_closes_it_and_a_double_click_opens_a_file(
    desk: Desk, folder: Path
) -> None:
    await desk.open_workspace(folder)
    at, file = (desk.rows.visualRect(desk.model.index(row, 0)).center() for row in (0, 2))
    QTest.mouseClick(desk.rows.viewport(), Qt.MouseButton.LeftButton, pos=file)
    QTest.mouseDClick(desk.rows.viewport(), Qt.MouseButton.LeftButton, pos=file)
    assert desk.opened == [str(folder / "README.md")]
    QTest.mouseClick(desk.rows.viewport(), Qt.MouseButton.LeftButton, pos=at)
    await desk.quiet()
    assert desk.shown() == ["src", "pagination", "tests", "README.md"]
    QTest.mouseClick(desk.rows.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert desk.shown() == ["src", "tests", "README.md"]


@driven
async def test_the_keyboard_walks_in_and_out_and_opens_a_file(desk: Desk, folder: Path) -> None:
    await desk.open_workspace(folder)
    desk.select("src")
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right):
        QTest.keyClick(desk.rows, key)
        await desk.quiet()
    assert desk.rows.currentIndex().data() == "cursor.py"
    QTest.keyClick(desk.rows, Qt.Key.Key_Return)
    assert desk.opened == [str(folder / "src" / "pagination" / "cursor.py")]
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Left):
        QTest.keyClick(desk.rows, key)
    assert desk.rows.currentIndex().data() == "src"
    assert desk.shown() == ["src", "tests", "README.md"]


@driven
async def test_a_slow_answer_for_an_earlier_workspace_is_dropped(desk: Desk, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "only").touch()
    desk.tree.set_workspace(folder)
    desk.tree.set_workspace(other)
    await desk.quiet()
    assert desk.shown() == ["only"]


@driven
async def test_names_that_are_no_utf8_are_shown_and_opened_as_they_are(desk: Desk, tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("other systems do not allow such names")
    name = os.fsdecode(b"latin\xe9")
    (tmp_path / name).mkdir()
    (tmp_path / name / name).touch()
    await desk.open_workspace(tmp_path)
    assert desk.shown() == [r"latin\xe9"]
    desk.rows.select_row(0)
    QTest.keyClick(desk.rows, Qt.Key.Key_Return)
    await desk.quiet()
    assert desk.shown() == [r"latin\xe9", r"latin\xe9"]
    desk.rows.select_row(1)
    QTest.keyClick(desk.rows, Qt.Key.Key_Return)
    assert desk.opened == [str(tmp_path / name / name)]


# --- git ----------------------------------------------------------------------------------------------------------


@driven
async def test_what_git_says_is_shown_on_files_and_rolled_up_to_folders(desk: Desk, repository: Path) -> None:
    (repository / "src" / "pagination" / "pages.py").write_text("changed\n", encoding="utf-8")
    (repository / "tests" / "test_edge.py").touch()
    (repository / "build").mkdir()
    (repository / "build" / "out").touch()
    await desk.open_workspace(repository)
    status = desk.repositories[-1]
    assert isinstance(status, RepoStatus)
    assert status.branch == "fix/off-by-one"
    assert desk.heard("src") == "src, folder, closed, contains changes"
    assert desk.heard("tests") == "tests, folder, closed, contains new files"
    assert desk.heard("build") == "build, folder, closed, ignored by git"
    desk.select("tests")
    QTest.keyClick(desk.rows, Qt.Key.Key_Right)
    await desk.quiet()
    assert desk.heard("tests") == "tests, folder, open, contains new files"
    assert desk.heard("test_edge.py") == "test_edge.py, new, not in git yet"


@driven
async def test_when_git_cannot_tell_the_tree_still_works_and_says_why(
    desk: Desk, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    await desk.open_workspace(repository)
    assert desk.shown() == ["src", "tests", ".gitignore", "README.md"]
    assert "No marks: git is not installed." in desk.visible_texts()


# --- changes on disk ----------------------------------------------------------------------------------------------


@driven
async def test_files_that_come_and_go_are_noticed(desk: Desk, folder: Path) -> None:
    await desk.open_workspace(folder)
    desk.select("README.md")
    (folder / "A new one.md").touch()
    (folder / "tests" / "test_pages.py").unlink()
    (folder / "tests").rmdir()
    await desk.until(lambda: desk.shown() == ["src", "A new one.md", "README.md"])
    assert desk.rows.currentIndex().data() == "README.md"


@driven
async def test_a_commit_made_elsewhere_is_noticed(desk: Desk, repository: Path) -> None:
    (repository / "README.md").write_text("changed\n", encoding="utf-8")
    await desk.open_workspace(repository)
    assert desk.heard("README.md") == "README.md, modified"
    git(repository, "commit", "-qam", "second")
    await desk.until(lambda: desk.heard("README.md") == "README.md")
    git(repository, "checkout", "-q", "--detach")  # git replaced its files by renaming: are they still watched?
    desk.repositories.clear()
    await desk.until(lambda: bool(desk.repositories))


@driven
async def test_what_happened_while_hidden_is_seen_when_shown_again(desk: Desk, folder: Path) -> None:
    await desk.open_workspace(folder)
    desk.tree.hide()
    (folder / "later").touch()
    await desk.quiet()
    assert "later" not in desk.shown()
    desk.tree.show()
    await desk.until(lambda: "later" in desk.shown())


# --- the filter ---------------------------------------------------------------------------------------------------


@driven
async def test_typing_shows_the_files_that_fit_and_clearing_brings_the_tree_back(desk: Desk, repository: Path) -> None:
    await desk.open_workspace(repository)
    QTest.keyClicks(desk.field, "pages")
    await desk.until(lambda: desk.shown() == ["src/pagination/pages.py", "tests/test_pages.py"])
    QTest.keyClick(desk.field, Qt.Key.Key_Down)
    assert desk.rows.hasFocus() or not desk.tree.isActiveWindow()
    QTest.keyClick(desk.rows, Qt.Key.Key_Down)
    QTest.keyClick(desk.rows, Qt.Key.Key_Return)
    assert desk.opened == [str(repository / "tests" / "test_pages.py")]
    QTest.keyClick(desk.rows, Qt.Key.Key_Escape)
    assert desk.shown() == ["src", "tests", ".gitignore", "README.md"]
    assert desk.field.text() == ""


@driven
async def test_letters_typed_in_the_tree_go_to_the_filter_where_enter_opens_the_best_match(
    desk: Desk, folder: Path
) -> None:
    await desk.open_workspace(folder)
    QTest.keyClicks(desk.rows, "c")
    assert desk.field.text() == "c"
    QTest.keyClicks(desk.field, "ur")
    await desk.until(lambda: desk.shown() == ["src/pagination/cursor.py"])
    QTest.keyClick(desk.field, Qt.Key.Key_Return)
    assert desk.opened == [str(folder / "src" / "pagination" / "cursor.py")]


@driven
async def test_ignored_and_deleted_files_are_not_found_and_too_many_are_counted(desk: Desk, repository: Path) -> None:
    (repository / "build").mkdir()
    (repository / "build" / "pages.o").touch()
    (repository / "tests" / "test_pages.py").unlink()
    for number in range(250):
        (repository / f"file{number}").touch()
    await desk.open_workspace(repository)
    for filtered, words in (("nothing like this", "No file matches."), ("file", "200 of 250 files")):
        desk.field.setText(filtered)
        await desk.until(lambda words=words: words in desk.visible_texts())
    desk.field.setText("pages")
    await desk.until(lambda: desk.shown() == ["src/pagination/pages.py"])


# --- the menu -----------------------------------------------------------------------------------------------------


def menu_of(desk: Desk, name: str) -> dict[str, QAction]:
    at = desk.rows.visualRect(desk.model.index(desk.shown().index(name), 0)).center()
    desk.rows.customContextMenuRequested.emit(at)
    menu = desk.tree.findChildren(QMenu)[-1]
    return {action.text(): action for action in menu.actions() if action.text()}


@driven
async def test_the_menu_offers_what_works_for_the_row_which_is_copied_and_dragged_too(
    desk: Desk, repository: Path
) -> None:
    (repository / "README.md").write_text("changed\n", encoding="utf-8")
    mentioned: list[object] = []
    desk.tree.file_actions.mention_requested.connect(mentioned.append)
    await desk.open_workspace(repository)
    assert list(menu_of(desk, "src")) == [
        *("Open", "Mention in the message", "Copy path", "Copy relative path", "Rename…")
    ]
    assert list(menu_of(desk, ".gitignore")) == [
        *("Open", "Open with its application", "Mention in the message"),
        *("Copy path", "Copy relative path", "Rename…", "Delete"),
    ]
    assert "Show changes" not in menu_of(desk, "README.md"), "the review knows what the agent changed, not more"
    desk.tree.set_touched(["src/pagination/pages.py", "README.md"])
    assert desk.heard("src") == "src, folder, closed, changed by the agent"
    assert desk.heard("README.md") == "README.md, modified, changed by the agent"
    menu = menu_of(desk, "README.md")
    assert list(menu) == [
        *("Open", "Open with its application", "Show changes", "Mention in the message"),
        *("Copy path", "Copy relative path", "Rename…", "Delete"),
    ]
    menu["Show changes"].trigger()
    assert desk.changes_asked_for == ["README.md"]
    menu["Mention in the message"].trigger()
    menu_of(desk, "src")["Mention in the message"].trigger()
    assert mentioned == ["README.md", "src/"]
    menu = menu_of(desk, "README.md")
    menu["Copy path"].trigger()
    assert QGuiApplication.clipboard().text() == str(repository / "README.md")
    menu["Copy relative path"].trigger()
    assert QGuiApplication.clipboard().text() == "README.md"
    menu["Open"].trigger()
    assert desk.opened == [str(repository / "README.md")]
    desk.select("src")
    QTest.keyClick(desk.rows, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "src"
    data = desk.rows.dragged()
    assert data is not None
    assert [url.toLocalFile() for url in data.urls()] == [str(repository / "src")]
    assert desk.model.flags(desk.model.index(0, 0)) & Qt.ItemFlag.ItemIsDragEnabled
