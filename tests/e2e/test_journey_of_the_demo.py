"""The real window: the demo from the first start to resuming."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QLineEdit, QListView, QPlainTextEdit, QToolButton, QWidget

from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.e2e.driver import Driver, drive

CTRL = Qt.KeyboardModifier.ControlModifier
BROKEN = b"    pages = total // size\n    return pages\n"
FIXED = b"    return -(-total // size)\n"


@dataclass(frozen=True)
class Project:
    folder: Path

    @property
    def content(self) -> bytes:
        return (self.folder / "pagination" / "pages.py").read_bytes()

    def put(self, content: bytes) -> None:
        (self.folder / "pagination" / "pages.py").write_bytes(content)

    def is_broken(self) -> bool:
        return self.content.count(BROKEN) == 1

    def is_fixed(self) -> bool:
        return self.content.count(FIXED) == 1


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_the_demo_from_first_start_to_resume(tmp_path: Path, expected_logs: list[str]) -> None:
    # A test process has ten times the application's heap, and shares its cores with other tests.
    expected_logs.append("the window stands still")
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine\n")
    projects: list[Project] = []

    async def first_start(user: Driver) -> None:
        await choose_folder(user, folder)
        projects.append(await try_demo(user))
        await allow_all_questions_of_first_turn(user, projects[0])
        await see_change_in_review(user)
        await undo_and_redo(user, projects[0])
        await user.quit_with_key()

    async def second_start(user: Driver) -> None:
        await see_conversation_again(user, projects[0])
        await send_what_was_offered(user, projects[0])
        # The command's writes are a change like any other.
        assert {record.change.author for record in user.transcript.changed.active(2)} == {"agent", "shell"}
        assert user.find(QAbstractButton, "contextMeter") is not None
        await user.quit_with_key()

    drive([], tmp_path, first_start)
    drive([], tmp_path, second_start)


async def choose_folder(user: Driver, folder: Path) -> None:
    await user.see(QWidget, "onboardingDialog")
    await user.click("chooseFolderButton")
    await user.see(QFileDialog, "folderDialog")
    name = await user.see(QLineEdit, "fileNameEdit")
    name.setText(str(folder))  # while one types fast, Qt's completer rewrites the text
    QTest.keyClick(name, Qt.Key.Key_Return)
    button = user.window.main_window.top_bar.workspace_button
    await user.until_true(lambda: folder.name in button.text(), "the folder is shown")


async def try_demo(user: Driver) -> Project:
    await user.click("demoButton")
    await see_draft(user, "One of the tests")
    project = Project(Path(user.transcript.session.workspace))
    assert project.is_broken()
    composer = await user.see(QWidget, "composer")
    composer.setFocus()
    await user.press(Qt.Key.Key_Return)
    return project


async def allow_all_questions_of_first_turn(user: Driver, project: Project) -> None:
    edit = await user.see(QPlainTextEdit, "approvalCommandEdit")
    assert "unittest" in edit.toPlainText()
    await user.allow_with_mouse()
    view = await user.see(DiffView, "approvalDiffView")
    assert project.is_broken(), "nothing is written before the answer"
    await user.until_true(lambda: user.can_allow, "the change can be allowed")
    view.setFocus()
    await user.press(Qt.Key.Key_A, CTRL | Qt.KeyboardModifier.ShiftModifier)
    await user.until_true(project.is_fixed, "the edit is applied")
    await user.see(QPlainTextEdit, "approvalCommandEdit")  # the tests run again
    await user.allow_with_mouse()
    await user.see_turn_end()


async def see_change_in_review(user: Driver) -> None:
    await see_draft(user, "Add a test")
    changes = await user.see(QListView, "changeList")
    await user.until_true(lambda: changes.model().rowCount() == 1, "the file is listed")
    diff = await user.see(DiffView, "diffView")
    await user.until_true(lambda: diff.navigation.change == 0, "the diff is drawn")


async def undo_and_redo(user: Driver, project: Project) -> None:
    after = project.content
    await user.click("undoTurnButton")
    await user.until_true(project.is_broken, "the turn is undone")
    await user.click("redoButton")
    await user.until_true(lambda: project.content == after, "the turn is redone")
    project.put(after + b"\n# mine\n")
    await user.click("undoTurnButton")
    await user.until_true(project.is_broken, "the turn is undone")
    assert project.content.endswith(b"# mine\n")
    await user.click("redoButton")
    await user.until_true(project.is_fixed, "the turn is redone")
    project.put(after)


async def see_conversation_again(user: Driver, project: Project) -> None:
    await user.see(QListView, "changeList")
    assert user.transcript.session.title.startswith("One of the tests fails")
    assert user.transcript.session.workspace == str(project.folder)
    assert (await user.see(QToolButton, "workspaceButton")).text().startswith("pagination")
    await see_draft(user, "Add a test")


async def send_what_was_offered(user: Driver, project: Project) -> None:
    user.composer.setFocus()
    await user.press(Qt.Key.Key_Return)
    await user.until_true(lambda: user.can_allow, "the new file is asked about")
    await user.press(Qt.Key.Key_A, CTRL | Qt.KeyboardModifier.ShiftModifier)
    await user.until_true((project.folder / "tests" / "test_edge.py").exists, "the file is created")
    edit = await user.see(QPlainTextEdit, "approvalCommandEdit")
    assert "CHANGELOG" in edit.toPlainText()
    await user.allow_with_mouse()
    await user.until_true((project.folder / "CHANGELOG.md").exists, "the command ran")
    await user.see(QPlainTextEdit, "approvalCommandEdit")
    await user.allow_with_mouse()
    await user.see_turn_end()


async def see_draft(user: Driver, beginning: str) -> None:
    await user.until_true(lambda: beginning in user.composer.text(), f"{beginning!r} is offered")
