"""A session in a worktree, its changes brought back, and the list of worktrees."""

import subprocess
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton

from desktop_agent.ui.review.diff.diff_view import DiffView
from desktop_agent.ui.sessions.worktrees import WorktreeRow, WorktreesDialog, WorktreeSheet
from tests.e2e import orders
from tests.e2e.tour.scene import Scene
from tests.e2e.tour.tourist import CTRL, Tourist
from tests.servers.script import reply, text

CTRL_ALT = CTRL | Qt.KeyboardModifier.AltModifier


def begin_repository(folder: Path) -> None:
    who = ("config user.name Ada", "config user.email ada@example.org")
    for line in ("init -q -b main", *who, "add -A", "commit --allow-empty -qm begin", "branch -f release"):
        subprocess.run(["git", *line.split()], cwd=folder, check=True)  # noqa: TID251 - no loop runs here


async def _play(tour: Tourist) -> None:
    actions = tour.window.actions_
    await tour.until(actions.new_worktree.isEnabled, "git is read")
    await tour.press(Qt.Key.Key_N, CTRL_ALT)
    sheet = await tour.see(WorktreeSheet, "worktreeSheet")
    (await tour.see(QLineEdit, "worktreeNameEdit")).setText("calm-otter")
    await tour.take("worktree-new", sheet)
    await tour.press(Qt.Key.Key_Return)
    await tour.until(lambda: tour.user.transcript.session.worktree is not None, "it works in the worktree")
    await tour.send("Check the totals, and use the new logo.")
    for _ in range(2):
        await tour.allow()
    await tour.see_turn_end()
    await tour.see(QPushButton, "commitButton")  # git is read
    await tour.take("worktree")
    await tour.press(Qt.Key.Key_J, CTRL_ALT)
    await tour.until(lambda: tour.user.transcript.session.worktree is None, "it is offered")
    view = await tour.see(DiffView, "diffView")
    await tour.until(lambda: len(view.document.rows.changes) == 3, "its changes are drawn")
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_R)
    await tour.until(lambda: bool(tour.user.transcript.changed.undos), "one is brought back")
    await tour.take("worktree-back")
    await tour.press(Qt.Key.Key_O, CTRL_ALT)
    dialog = await tour.see(WorktreesDialog, "worktreesDialog")
    row = await tour.see(WorktreeRow, "worktreeRow")
    await tour.until(lambda: row.state.text().startswith("Not brought"), "it is counted")
    await tour.take("worktrees", dialog)
    await tour.user.click("removeWorktreeButton")
    await tour.see(QPushButton, "restoreWorktreeButton")
    await tour.close(dialog)


WORKTREES = Scene(
    states=("worktree-new", "worktree", "worktree-back", "worktrees"),
    play=_play,
    answers=(*orders.answers(), reply(text("It is done."))),
    prepare=begin_repository,
)
