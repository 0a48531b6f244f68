"""The real window, with mouse and keyboard: the demo from the first start to resuming, and a review hunk by hunk."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QFileDialog,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QWidget,
)

from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.overlays.diff_review import DiffReview
from desktop_agent.ui.review.panel.file_editor import FileEditor
from tests.e2e import orders
from tests.e2e.driver import Driver, ask_for_no_titles, drive
from tests.servers.script import reply, text
from tests.servers.threaded import serve

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
        await person.until_true(
            lambda: "One of the tests" in person.window.panels.composer.text(), "a prompt is offered"
        )
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
            lambda: "Add a test" in person.window.panels.composer.text(), "what to ask next is offered"
        )
        # The change is in the review panel, with its diff.
        changes = await person.see(QListView, "changeList")
        assert changes.model().rowCount() == 1
        diff = await person.see(DiffView, "diffView")
        await person.until_true(lambda: diff.navigation.change == 0, "the diff is drawn")
        # Undo and redo restore the very bytes.
        after = pages.read_bytes()
        await person.click("undoTurnButton")
        await person.until_true(lambda: pages.read_text().count(BROKEN) == 1, "the turn is undone")
        await person.click("redoButton")
        await person.until_true(lambda: pages.read_bytes() == after, "the turn is redone")
        # What the user does meanwhile is theirs: an undo leaves it alone.
        pages.write_text(pages.read_text() + "\n# mine\n")
        await person.click("undoTurnButton")
        await person.until_true(lambda: pages.read_text().count(BROKEN) == 1, "the turn is undone")
        assert pages.read_text().endswith("# mine\n")
        await person.click("redoButton")
        await person.until_true(lambda: pages.read_text().count(FIXED) == 1, "the turn is redone")
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
        # What was offered and not sent is still there.
        await person.until_true(lambda: "Add a test" in person.window.panels.composer.text(), "the draft is there")
        person.window.panels.composer.setFocus()
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
        assert person.find(QAbstractButton, "contextMeter") is not None
        await person.press(Qt.Key.Key_Q, CTRL)
        await person.until_true(lambda: not person.window.main_window.isVisible(), "the window has closed")

    drive([], tmp_path, first_start)
    drive([], tmp_path, second_start)


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_a_review_hunk_by_hunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]) -> None:
    expected_logs.append("the window stands still")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-000000000000")
    ask_for_no_titles()
    folder = tmp_path / "my shop"
    orders.make_shop(folder)
    module, logo = folder / orders.MODULE, folder / orders.LOGO
    old_logo = logo.read_bytes()

    def is_module(*edits: int) -> bool:
        return module.read_text() == orders.module_with(*edits)

    async def journey(person: Driver) -> None:
        ready: list[bool] = []
        person.window.ready.connect(lambda: ready.append(True))
        await person.until_true(lambda: bool(ready), "the window is ready")
        await person.type("composer", "Check the totals, and use the new logo.")
        await person.press(Qt.Key.Key_Return)
        await person.until_true(lambda: dialog_can_allow(person), "the patch is asked about")
        await allow_with_mouse(person)
        await allow_with_mouse(person)
        await ended(person)
        changes = await person.see(QListView, "changeList")
        await person.until_true(lambda: changes.model().rowCount() == 2, "both files are listed")
        view = await person.see(DiffView, "diffView")
        review = view.findChild(DiffReview)
        assert review
        await person.until_true(lambda: len(review.hunks.keys) == 3, "the three changes are drawn")

        # The first is kept with a key, the second undone with the mouse and made again with a key.
        view.setFocus()
        await person.press(Qt.Key.Key_K)
        await person.until_true(lambda: bool(person.transcript.kept.get(orders.MODULE)), "it is kept")
        await person.press(Qt.Key.Key_F7)
        await person.click("undoHunkButton")
        await person.until_true(lambda: is_module(0, 2), "only the second is undone")
        await person.until_true(lambda: review.hunks.counts() == (1, 1), "it is drawn as undone")
        view.setFocus()
        await person.press(Qt.Key.Key_R)
        await person.until_true(lambda: is_module(0, 1, 2), "it is made again")
        await person.until_true(lambda: review.hunks.counts() == (1, 0), "it is drawn as made")

        # What the user writes in the diff is theirs. Undoing the agent's there clashes, and they decide.
        await person.until_true(lambda: person.find(QPushButton, "editFileButton") is not None, "it can be edited")
        await person.press(Qt.Key.Key_E)
        editor = await person.see(FileEditor, "fileEditor")
        await person.until_true(lambda: editor.is_ready, "there is a text to edit")
        mine = orders.AFTER.replace("    if order.is_empty():", "    if order.is_empty():  # mine")
        await person.press(Qt.Key.Key_End)
        QTest.keyClicks(editor, "  # mine")
        await person.press(Qt.Key.Key_S, CTRL)
        await person.until_true(lambda: module.read_text() == mine, "the edit is saved")
        await person.until_true(lambda: person.find(FileEditor, "fileEditor") is None, "the editor is gone")
        view.setFocus()
        await person.press(Qt.Key.Key_U)
        await person.see(QWidget, "undoConflictDialog")
        assert module.read_text() == mine, "nothing is written before the answer"
        await person.click("takeWantedButton")
        await person.click("writeResultButton")
        await person.until_true(lambda: is_module(0, 2), "the clash is settled")

        # The picture is looked at, and undone and kept as a whole.
        changes.setCurrentIndex(changes.model().index(1, 0))
        await person.see(QWidget, "mediaView")
        await person.click("undoShownFileButton")
        await person.until_true(lambda: logo.read_bytes() == old_logo, "the picture is back")
        await person.click("redoShownFileButton")
        await person.until_true(lambda: logo.read_bytes() != old_logo, "the new picture is there")
        await person.click("keepShownFileButton")
        await person.until_true(lambda: bool(person.transcript.kept.get(orders.LOGO)), "the picture is kept")

        # A comment goes to the agent with the lines it is about.
        changes.setCurrentIndex(changes.model().index(0, 0))
        await person.until_true(
            lambda: view.document.diff is not None and view.document.diff.path == orders.MODULE, "it is drawn"
        )
        view.setFocus()
        await person.press(Qt.Key.Key_C)
        await person.type("commentEdit", "Why not a generator?")
        await person.press(Qt.Key.Key_Return, CTRL)
        await person.click("sendCommentsButton")
        await person.click("sendAllCommentsButton")
        await person.until_true(lambda: person.transcript.turn == 2, "it is sent")
        await ended(person)
        assert "Why not a generator?" in str(server.messages[-1].fields["messages"])

        # There is a way back to before all of it.
        await person.press(Qt.Key.Key_Z, CTRL | Qt.KeyboardModifier.AltModifier)
        await person.see(QWidget, "rewindDialog")
        await person.press(Qt.Key.Key_Escape)
        await person.until_true(lambda: person.find(QWidget, "rewindDialog") is None, "the dialog has closed")
        person.window.request_quit()
        await person.until_true(lambda: not person.window.main_window.isVisible(), "the window has closed")

    with serve(*orders.answers(), reply(text("It is one."))) as server:
        drive([str(folder), "--base-url", server.url], tmp_path, journey)


async def allow_with_mouse(person: Driver) -> None:
    await person.until_true(lambda: dialog_can_allow(person), "the dialog can be answered")
    await person.click("approveButton")
    await person.until_true(lambda: person.find(QWidget, "approveButton") is None, "the dialog has closed")


def dialog_can_allow(person: Driver) -> bool:
    from desktop_agent.ui.approvals.dialog import ApprovalDialog

    dialog = person.find(ApprovalDialog, "approvalDialog")
    return dialog is not None and dialog.can_allow


async def ended(person: Driver) -> None:
    bridge = person.window.panels.wiring.bridge
    assert bridge is not None
    await person.until_true(lambda: not bridge.transcript.is_running, "the turn has ended")
    assert bridge.transcript.last_end == "completed"
