"""The real window: the questions before an undo, and that every undo can be redone."""

import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QListView, QPushButton, QWidget

from desktop_agent.core.transcript import UndoEntry
from desktop_agent.ui.chat.entry_words import sentence as undo_words
from desktop_agent.ui.review.change_listing import BaselinePicker
from desktop_agent.ui.review.diff.diff_review import DiffReview
from desktop_agent.ui.review.diff.diff_view import DiffView
from tests.e2e.driver import Driver, drive
from tests.harness import with_lines_changed
from tests.servers.script import ToolUse, reply, text, tool_use
from tests.servers.threaded import serve
from tests.trees import Node, tree_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
LINES = [f"line {number}\n" for number in range(40)]
text_with = partial(with_lines_changed, LINES)


@pytest.fixture
def folder(tmp_path: Path, ready_to_work: None) -> Path:
    return make_folder(tmp_path / "my notes")


def make_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("".join(LINES))
    (folder / "notes.md").write_text("one\n")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *command], cwd=folder, env=os.environ | WHO, check=True)  # noqa: TID251 - no loop runs yet
    (folder / "notes.md").write_bytes(b"one\r\ntwo, by me\xff\n")
    (folder / "deep").mkdir()
    (folder / "deep/new.bin").write_bytes(b"\0\1")
    return folder


def files(folder: Path) -> dict[str, object]:
    return {path: node for path, node in tree_of(folder).items() if not path.startswith(".git")}


async def see_files(user: Driver, folder: Path, wanted: dict[str, object], what: str) -> None:
    def is_so() -> bool:
        with suppress(FileNotFoundError):  # it is being written
            return files(folder) == wanted
        return False

    await user.until_true(is_so, what)


async def see_listed(user: Driver, count: int) -> None:
    changes = await user.see(QListView, "changeList")
    await user.until_true(lambda: changes.model().rowCount() == count, f"{count} files are listed")


async def review_uncommitted(user: Driver) -> None:
    picker = await user.see(BaselinePicker, "baselinePicker")
    index = next(index for index in range(picker.count()) if picker.itemText(index).startswith("Uncommitted"))
    picker.setCurrentIndex(index)
    picker.activated.emit(index)


Look = Callable[[Driver, str], Awaitable[None]]


async def no_look(_user: Driver, _name: str) -> None: ...


async def undo_mine(user: Driver, folder: Path, look: Look = no_look) -> None:
    before, start = files(folder), files_at_commit()
    await user.see_ready()
    await user.click("reviewUncommittedButton")
    await see_listed(user, 2)
    await user.click("undoTurnButton")
    await user.see(QWidget, "undoOthersDialog")
    await look(user, "c1-none-of-it-is-the-agents")
    assert user.find(QPushButton, "undoAgentsButton") is None
    await user.press(Qt.Key.Key_Escape)
    await user.until_true(lambda: user.find(QWidget, "undoOthersDialog") is None, "the question is gone")
    assert files(folder) == before, "nothing is undone without an answer"
    await user.click("undoTurnButton")
    await user.click("undoEverybodysButton")
    await see_files(user, folder, start, "all is as it was committed")
    await user.click("redoButton")
    await see_files(user, folder, before, "all is as it was before the undo")
    await see_listed(user, 2)
    undo = await user.see(QPushButton, "undoTurnButton")

    def has_focus() -> bool:
        user.window.main_window.activateWindow()
        undo.setFocus()
        return undo.hasFocus()

    await user.until_true(has_focus, "the button has the keyboard")
    await user.press(Qt.Key.Key_Space)
    await user.see(QWidget, "undoOthersDialog")
    await user.press(Qt.Key.Key_Tab)
    every = await user.see(QPushButton, "undoEverybodysButton")
    every.setFocus()
    await user.press(Qt.Key.Key_Space)
    await see_files(user, folder, start, "all is as it was committed again")
    await user.see(QPushButton, "redoButton")
    await look(user, "c1-undone")


def files_at_commit() -> dict[str, object]:
    return {
        "a.txt": Node("file", 0o644, "".join(LINES).encode()),
        "notes.md": Node("file", 0o644, b"one\n"),
    }


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_what_the_user_changed_is_undone_after_a_question_and_redone_after_a_restart(
    folder: Path, tmp_path: Path
) -> None:
    before = files(folder)
    with serve() as server:
        argv = [str(folder), "--base-url", server.url]

        async def undo(user: Driver) -> None:
            await undo_mine(user, folder)
            await user.quit()

        async def redo(user: Driver) -> None:
            await user.see_ready()
            await user.see(QPushButton, "redoButton")
            await user.press(Qt.Key.Key_Y, CTRL_SHIFT)
            await see_files(user, folder, before, "all is as it was before the undo")
            await user.quit()

        drive(argv, tmp_path, undo)
        drive([*argv, "--continue"], tmp_path, redo)


AGENTS = text_with(line_5="five\n", line_30="thirty\n")
BOTH = text_with(line_5="five\n", line_20="twenty, by me\n", line_30="thirty\n")
PROMPT = "Write the numbers as words."


def write(path: str, content: str) -> ToolUse:
    return tool_use("create_file", path=path, content=content, if_exists="overwrite")


async def let_agent_change(user: Driver, turn: int = 1) -> None:
    if turn == 1:
        await user.see_ready()
    await user.type("composer", PROMPT)
    await user.press(Qt.Key.Key_Return)
    await user.allow_with_mouse()
    await user.until_true(lambda: user.transcript.turn == turn, "the turn is on record")
    await user.see_turn_end()


async def undo_agents_part(user: Driver, folder: Path, look: Look = no_look) -> None:
    (folder / "a.txt").write_text(text_with(line_20="twenty, by me\n"))
    await let_agent_change(user)
    before = files(folder)
    await review_uncommitted(user)
    await see_listed(user, 3)
    await look(user, "c1-uncommitted")
    await user.click("undoTurnButton")
    await user.see(QWidget, "undoOthersDialog")
    agents = await user.see(QPushButton, "undoAgentsButton")
    await user.activate()
    assert agents.hasFocus(), "what is harmless is at hand"
    await look(user, "c1-not-all-of-it-is-the-agents")
    await user.press(Qt.Key.Key_Return)
    wanted = before | {"a.txt": Node("file", 0o644, text_with(line_20="twenty, by me\n").encode())}
    await see_files(user, folder, wanted, "only what the agent changed is undone")
    await user.press(Qt.Key.Key_Y, CTRL_SHIFT)
    await see_files(user, folder, before, "it is made again")


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_of_what_both_changed_only_the_agents_part_is_undone(folder: Path, tmp_path: Path) -> None:
    async def journey(user: Driver) -> None:
        await undo_agents_part(user, folder)
        await user.quit()

    with serve(reply(write("a.txt", BOTH)), reply(text("Done."))) as server:
        drive([str(folder), "--base-url", server.url], tmp_path, journey)


async def undo_what_is_undecided(user: Driver, folder: Path, look: Look = no_look) -> None:
    await let_agent_change(user)
    view = await user.see(DiffView, "diffView")
    overlays = view.findChild(DiffReview)
    assert overlays
    await user.until_true(lambda: len(overlays.hunks.keys) == 2, "the two changes are drawn")
    view.setFocus()
    await user.press(Qt.Key.Key_K)
    await user.until_true(lambda: overlays.hunks.counts()[0] == 1, "the first is kept, and the review shows it")
    await user.press(Qt.Key.Key_Z, CTRL_SHIFT)
    await user.see(QWidget, "undoKeptDialog")
    await look(user, "c8-one-is-kept")
    await user.click("undoUndecidedButton")
    await user.until_true(lambda: (folder / "a.txt").read_text() == text_with(line_5="five\n"), "the other is undone")
    await user.press(Qt.Key.Key_Y, CTRL_SHIFT)
    await user.until_true(lambda: (folder / "a.txt").read_text() == AGENTS, "it is made again")


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_what_is_kept_stays_where_only_what_is_undecided_is_undone(folder: Path, tmp_path: Path) -> None:
    async def journey(user: Driver) -> None:
        await undo_what_is_undecided(user, folder)
        await user.quit()

    with serve(reply(write("a.txt", AGENTS)), reply(text("Done."))) as server:
        drive([str(folder), "--base-url", server.url], tmp_path, journey)


CLASHING = (
    reply(write("a.txt", text_with(line_5="five\n"))),
    reply(text("Done.")),
    reply(write("a.txt", text_with(line_5="cinq\n"))),
    reply(text("Done.")),
)


async def settle_clash_of_turns(user: Driver, folder: Path, look: Look = no_look) -> None:
    await let_agent_change(user)
    await let_agent_change(user, turn=2)
    before = (folder / "a.txt").read_text()
    picker = await user.see(BaselinePicker, "baselinePicker")
    index = next(index for index in range(picker.count()) if "1" in picker.itemText(index) and index > 0)
    picker.setCurrentIndex(index)
    picker.activated.emit(index)
    await user.click("undoTurnButton")
    dialog = await user.see(QWidget, "undoConflictDialog")
    await user.see(QWidget, "clashColumns")
    await look(user, "c6-a-clash-of-two-turns")
    said = words_of(dialog)
    await user.press(Qt.Key.Key_Escape)
    await user.until_true(lambda: user.find(QWidget, "undoConflictDialog") is None, "the dialog is gone")
    assert (folder / "a.txt").read_text() == before
    await look(user, "c6-nothing-was-undone")
    await user.click("undoTurnButton")
    await user.see(QWidget, "clashColumns")
    await user.press(Qt.Key.Key_1, Qt.KeyboardModifier.AltModifier)
    await user.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    await user.until_true(lambda: (folder / "a.txt").read_text() == "".join(LINES), "the undo is taken")
    await user.until_true(lambda: user.find(QWidget, "undoConflictDialog") is None, "the dialog is gone for good")
    await user.until_true(lambda: undone(user) == [True, True], "the change that was written over is undone, too")
    await look(user, "c7-both-are-undone")
    await user.press(Qt.Key.Key_Y, CTRL_SHIFT)
    await user.until_true(lambda: (folder / "a.txt").read_text() == before, "both are made again")
    await user.until_true(lambda: undone(user) == [False, False], "both stand again")
    if "urn 2" in said:  # in English
        assert "Undo conflicts with turn 2" in said
        assert "your" not in said.lower()


def undone(user: Driver) -> list[bool]:
    return [record.is_undone for record in user.transcript.changes.values() if record.change.is_by_agent]


def words_of(dialog: QWidget) -> str:
    widgets = [*dialog.findChildren(QLabel), *dialog.findChildren(QPushButton)]
    return " | ".join(widget.text() for widget in widgets if widget.isVisible())


@pytest.mark.realwindow
@pytest.mark.usefixtures("qapp")
def test_a_clash_between_two_turns_is_told_as_one_and_settled_for_both(folder: Path, tmp_path: Path) -> None:
    async def journey(user: Driver) -> None:
        await settle_clash_of_turns(user, folder)
        assert any("Nothing was undone" in said for said in undos_told(user))
        await user.quit()

    with serve(*CLASHING) as server:
        drive([str(folder), "--base-url", server.url], tmp_path, journey)


def undos_told(user: Driver) -> list[str]:
    return [undo_words(entry) for entry in user.transcript.entries if isinstance(entry, UndoEntry)]
