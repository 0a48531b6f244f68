"""The whole demo in the real window, with mouse and keyboard: from the first start to resuming after the second."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit, QListView, QPlainTextEdit, QToolButton, QWidget

from desktop_agent.ui.review.diff_view import DiffView
from tests.e2e.driver import Driver, drive

CTRL = Qt.KeyboardModifier.ControlModifier
BROKEN = "    pages = total // size\n    return pages\n"
FIXED = "    return -(-total // size)\n"


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_the_demo_from_first_start_to_resume(tmp_path: Path, expected_logs: list[str]) -> None:
    # A test process has a heap ten times the application's, and two cores that other tests use as well.
    expected_logs.append("the window stands still")
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine\n")
    places: list[Path] = []

    async def first_start(person: Driver) -> None:
        # Without a key and without a session, the window welcomes. A folder is chosen ...
        await person.see(QWidget, "onboardingDialog")
        await person.click("chooseFolderButton")
        await person.see(QFileDialog, "folderDialog")
        name = await person.see(QLineEdit, "fileNameEdit")
        name.setText(str(folder))  # typing fast meets Qt's completer, which rewrites what was typed
        QTest.keyClick(name, Qt.Key.Key_Return)
        await person.until_true(
            lambda: "my project" in person.window.main_window.top_bar.workspace_button.text(), "the folder is shown"
        )
        # ... and the demo is tried: it works on a project of its own.
        await person.click("demoButton")
        await person.until_true(lambda: "One of the tests" in person.window.desk.composer.text(), "a prompt is offered")
        places.append(Path(person.transcript.workspace))
        pages = places[0] / "pagination" / "pages.py"
        assert pages.read_text().count(BROKEN) == 1
        composer = await person.see(QWidget, "composer")
        composer.setFocus()
        await person.press(Qt.Key.Key_Return)

        # The command is asked about; it is allowed with the mouse.
        edit = await person.see(QPlainTextEdit, "approvalCommandEdit")
        assert "unittest" in edit.toPlainText()
        await allow_with_mouse(person)
        # The edit is asked about with its diff; it is allowed with the keyboard.
        view = await person.see(DiffView, "approvalDiffView")
        assert pages.read_text().count(BROKEN) == 1, "nothing is written before the answer"
        await person.until_true(lambda: dialog_can_allow(person), "the change can be allowed")
        view.setFocus()
        await person.press(Qt.Key.Key_Return, CTRL)
        await person.until_true(lambda: pages.read_text().count(FIXED) == 1, "the edit is applied")
        # The tests run again, and the turn ends with a summary.
        await person.see(QPlainTextEdit, "approvalCommandEdit")
        await allow_with_mouse(person)
        await ended(person)

        await person.until_true(
            lambda: "Add a test" in person.window.desk.composer.text(), "what to ask next is offered"
        )
        # The change is in the review panel, with its diff.
        changes = await person.see(QListView, "changeList")
        assert changes.model().rowCount() == 1
        diff = await person.see(DiffView, "diffView")
        await person.until_true(lambda: diff.current_change == 0, "the diff is drawn")
        # Undo and redo restore the very bytes.
        after = pages.read_bytes()
        await person.click("undoTurnButton")
        await person.until_true(lambda: pages.read_text().count(BROKEN) == 1, "the turn is undone")
        await person.click("redoButton")
        await person.until_true(lambda: pages.read_bytes() == after, "the turn is redone")
        # What the person does meanwhile is theirs: an undo leaves it alone and says so.
        pages.write_text(pages.read_text() + "\n# mine\n")
        await person.click("undoTurnButton")
        await person.see(QWidget, "undoConflictDialog")
        await person.press(Qt.Key.Key_Escape)
        assert pages.read_text().endswith("# mine\n")
        pages.write_bytes(after)
        await person.press(Qt.Key.Key_Q, CTRL)
        await person.until_true(lambda: not person.window.main_window.isVisible(), "the window has closed")

    async def second_start(person: Driver) -> None:
        # The conversation is there again, with its change, and goes on.
        await person.see(QListView, "changeList")
        transcript = person.transcript
        assert transcript.title.startswith("One of the tests fails")
        assert transcript.workspace == str(places[0])
        assert (await person.see(QToolButton, "workspaceButton")).text().startswith("pagination")
        await person.type("composer", "Add a test for an empty list, and note the fix in the changelog.")
        await person.press(Qt.Key.Key_Return)
        await person.until_true(lambda: dialog_can_allow(person), "the new file is asked about")
        await person.press(Qt.Key.Key_Return, CTRL)
        await person.until_true((places[0] / "tests" / "test_edge.py").exists, "the file is created")
        edit = await person.see(QPlainTextEdit, "approvalCommandEdit")
        assert "CHANGELOG" in edit.toPlainText()
        await allow_with_mouse(person)
        await person.until_true((places[0] / "CHANGELOG.md").exists, "the command ran")
        edit = await person.see(QPlainTextEdit, "approvalCommandEdit")
        await allow_with_mouse(person)
        await ended(person)
        # What the command wrote is a change like any other.
        assert {record.change.author for record in transcript.active_changes(2)} == {"agent", "shell"}
        assert person.find(QLabel, "contextMeter") is not None
        await person.press(Qt.Key.Key_Q, CTRL)
        await person.until_true(lambda: not person.window.main_window.isVisible(), "the window has closed")

    drive([], tmp_path, first_start)
    drive([], tmp_path, second_start)


async def allow_with_mouse(person: Driver) -> None:
    await person.until_true(lambda: dialog_can_allow(person), "the dialog can be answered")
    await person.click("approveButton")
    await person.until_true(lambda: person.find(QWidget, "approveButton") is None, "the dialog has closed")


def dialog_can_allow(person: Driver) -> bool:
    from desktop_agent.ui.approvals.dialog import ApprovalDialog

    dialog = person.find(ApprovalDialog, "approvalDialog")
    return dialog is not None and dialog.can_allow


async def ended(person: Driver) -> None:
    bridge = person.window.desk.wiring.bridge
    assert bridge is not None
    await person.until_true(lambda: not bridge.transcript.is_running, "the turn has ended")
    assert bridge.transcript.last_end == "completed"
