"""The real window: a review hunk by hunk."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListView, QPushButton, QWidget

from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.review.file_editing import FileEditor
from tests.e2e import orders
from tests.e2e.driver import Driver, drive
from tests.servers.script import reply, text
from tests.servers.threaded import serve

CTRL = Qt.KeyboardModifier.ControlModifier


@dataclass(frozen=True)
class Review:
    user: Driver
    folder: Path
    changes: QListView
    view: DiffView
    overlays: DiffReview

    @property
    def module(self) -> Path:
        return self.folder / orders.MODULE

    async def see_module_with(self, *edits: int, what: str) -> None:
        await self.user.until_true(lambda: self.module.read_text() == orders.module_with(*edits), what)

    async def see_counts(self, kept: int, undone: int) -> None:
        await self.user.until_true(lambda: self.overlays.hunks.counts() == (kept, undone, 0), "the marks are drawn")

    async def press(self, key: Qt.Key) -> None:
        self.view.setFocus()
        await self.user.press(key)

    def choose(self, row: int) -> None:
        self.changes.setCurrentIndex(self.changes.model().index(row, 0))


@pytest.mark.realwindow
@pytest.mark.usefixtures("ready_to_work")
def test_a_review_hunk_by_hunk(tmp_path: Path) -> None:
    folder = tmp_path / "my shop"
    orders.make_shop(folder)
    old_logo = (folder / orders.LOGO).read_bytes()

    async def journey(user: Driver) -> None:
        await let_agent_change_two_files(user)
        review = await open_review(user, folder)
        await keep_undo_and_redo_hunks(review)
        await edit_in_diff(review)
        await settle_clash(review)
        await undo_redo_and_keep_picture(review, old_logo)
        await send_comment(review)
        assert "Why not a generator?" in str(server.messages[-1].fields["messages"])
        await look_at_rewinding(user)
        await user.quit()

    with serve(*orders.answers(), reply(text("It is one."))) as server:
        drive([str(folder), "--base-url", server.url], tmp_path, journey)


async def let_agent_change_two_files(user: Driver) -> None:
    await user.see_ready()
    await user.type("composer", "Check the totals, and use the new logo.")
    await user.press(Qt.Key.Key_Return)
    await user.allow_with_mouse()
    await user.allow_with_mouse()
    await user.see_turn_end()


async def open_review(user: Driver, folder: Path) -> Review:
    changes = await user.see(QListView, "changeList")
    await user.until_true(lambda: changes.model().rowCount() == 2, "both files are listed")
    view = await user.see(DiffView, "diffView")
    overlays = view.findChild(DiffReview)
    assert overlays
    await user.until_true(lambda: len(overlays.hunks.keys) == 3, "the three changes are drawn")
    return Review(user, folder, changes, view, overlays)


async def keep_undo_and_redo_hunks(review: Review) -> None:
    user = review.user
    await review.press(Qt.Key.Key_K)
    await review.see_counts(1, 0)
    await user.click("undoHunkButton")
    await review.see_module_with(0, 2, what="only the second is undone")
    await review.see_counts(1, 1)
    await review.press(Qt.Key.Key_R)
    await review.see_module_with(0, 1, 2, what="it is made again")
    await review.see_counts(1, 0)
    await user.press(Qt.Key.Key_P)  # from the next, where the letter went on to


async def edit_in_diff(review: Review) -> None:
    user = review.user
    await user.until_true(lambda: user.find(QPushButton, "editFileButton") is not None, "it can be edited")
    await user.press(Qt.Key.Key_E)
    editor = await user.see(FileEditor, "fileEditor")
    await user.until_true(lambda: editor.is_ready, "there is a text to edit")
    await user.press(Qt.Key.Key_End)
    QTest.keyClicks(editor, "  # mine")
    await user.press(Qt.Key.Key_S, CTRL)
    await user.until_true(is_edited(review), "the edit is saved")
    await user.until_true(lambda: user.find(FileEditor, "fileEditor") is None, "the editor is gone")


async def settle_clash(review: Review) -> None:
    await review.press(Qt.Key.Key_U)
    await review.user.see(QWidget, "undoConflictDialog")
    assert is_edited(review)(), "nothing is written before the answer"
    await review.user.click("takeWantedButton")
    await review.user.click("writeResultButton")
    await review.see_module_with(0, 2, what="the clash is settled")


def is_edited(review: Review) -> Callable[[], bool]:
    mine = orders.AFTER.replace("    if order.is_empty():", "    if order.is_empty():  # mine")
    return lambda: review.module.read_text() == mine


async def undo_redo_and_keep_picture(review: Review, old: bytes) -> None:
    user, logo = review.user, review.folder / orders.LOGO
    review.choose(1)
    await user.see(QWidget, "mediaView")
    await user.click("undoShownFileButton")
    await user.until_true(lambda: logo.read_bytes() == old, "the picture is back")
    await user.click("redoShownFileButton")
    await user.until_true(lambda: logo.read_bytes() != old, "the new picture is there")
    await user.see(QPushButton, "undoShownFileButton")
    await user.click("keepShownFileButton")
    await user.until_true(lambda: bool(user.transcript.changed.kept.get(orders.LOGO)), "the picture is kept")


async def send_comment(review: Review) -> None:
    user, document = review.user, review.view.document
    review.choose(0)
    await user.until_true(
        lambda: document.diff is not None and document.diff.path == orders.MODULE, "the module is drawn"
    )
    await review.press(Qt.Key.Key_C)
    await user.type("commentEdit", "Why not a generator?")
    await user.press(Qt.Key.Key_Return, CTRL)
    await user.click("sendCommentsButton")
    await user.click("sendAllCommentsButton")
    await user.until_true(lambda: user.transcript.turn == 2, "it is sent")
    await user.see_turn_end()


async def look_at_rewinding(user: Driver) -> None:
    await user.press(Qt.Key.Key_Z, CTRL | Qt.KeyboardModifier.AltModifier)
    await user.see(QWidget, "rewindDialog")
    await user.press(Qt.Key.Key_Escape)
    await user.until_true(lambda: user.find(QWidget, "rewindDialog") is None, "the dialog has closed")
