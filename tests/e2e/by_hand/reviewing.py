"""Journeys through the review: comments on a change and on a plan, and an undo that meets a later edit."""

import subprocess
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from desktop_agent.ui.window.plan_window import PlanPage
from tests.e2e import orders
from tests.e2e.by_hand.hands import Keyboard, Mouse
from tests.e2e.by_hand.stage import Stage
from tests.e2e.tour.scenes.worktrees import begin_repository
from tests.servers.script import Answer, reply, text, tool_use

NOTES = "notes.md"


def head_subject(folder: Path) -> str:
    return subprocess.check_output(["git", "log", "-1", "--format=%s"], cwd=folder, text=True).strip()


def _edit(old: str, new: str) -> Answer:
    return reply(tool_use("edit_file", path=NOTES, old_str=old, new_str=new))


async def _see_kept(stage: Stage, count: int) -> None:
    """Wait until the review shows it: the sheet of the commit would tick all that is shown as undecided."""
    review = await stage.see_changes(3)
    await stage.until(lambda: review.hunks.counts()[0] == count, "it is kept")


class Commenting:
    row = "Keep one change, and send a comment on the next"

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (*orders.answers(), reply(text("It is one.")))

    async def begin(self, stage: Stage) -> None:
        orders.reset_shop(stage.folder)
        await stage.ask("Check the totals, and use the new logo.")
        for _ in range(2):
            await stage.allow()
        await stage.see_turn_end()
        await stage.see_changes(3)

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click("keepHunkButton")
        await _see_kept(stage, 1)
        await hand.click_at_change(1, "commentHunkButton")
        await hand.write("Why not a generator?")
        await hand.click("saveCommentButton")
        await hand.click("sendCommentsButton")
        await hand.click("sendAllCommentsButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("F8")
        await hand.press("K")
        await _see_kept(stage, 1)
        await hand.press("C")
        await hand.write("Why not a generator?")
        await hand.press("Ctrl+Return")
        await stage.user.see(QWidget, "sendCommentsButton")
        await hand.press("Ctrl+Alt+M")
        await stage.user.see(QWidget, "sendAllCommentsButton")
        await hand.press("Ctrl+Return")

    async def end(self, stage: Stage) -> None:
        await stage.until(lambda: stage.transcript.turn == 2, "the comment is sent")
        await stage.see_turn_end()
        assert "Why not a generator?" in stage.requested


class Planning:
    row = "Plan, comment, have it revised, carry it out"
    plan = "# Green\n\n- [ ] paint it\n"
    revised = "# Green\n\n- [ ] paint it twice\n"
    accept_button, accept_keys = "acceptPlanButton", "Ctrl+Return"
    planned: tuple[Answer, ...] = (
        reply(tool_use("write_plan", plan=plan)),
        reply(text("Shall I?")),
        reply(tool_use("write_plan", plan=revised)),
        reply(text("Twice.")),
    )

    @property
    def answers(self) -> tuple[Answer, ...]:
        tick = reply(tool_use("todo_write", merge=True, todos=[{"id": "1", "status": "completed"}]))
        return (*self.planned, tick, reply(text("Green.")))

    async def begin(self, stage: Stage) -> None:
        pass

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click("approvalPicker")
        await hand.choose("Plans first")
        await hand.write("Make it green.")
        await hand.click("sendButton")
        await hand.click("openPlanButton")
        page = await self._opened(stage)
        await hand.click_in(page, lambda: QPoint(10, page.block_area(1).center().y()))
        await hand.write("Once is not enough.")
        await hand.click("saveCommentButton")
        await hand.click("sendPlanCommentsButton")
        await self._revised(stage)
        await hand.click(self.accept_button)

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Ctrl+Shift+L")
        await hand.write("Make it green.")
        await hand.press("Return")
        await stage.user.see(QWidget, "openPlanButton")
        await hand.press("Ctrl+Alt+P")
        page = await self._opened(stage)
        await stage.until(page.hasFocus, "the plan has the keyboard")
        await hand.press("Down")
        await hand.press("C")
        await hand.write("Once is not enough.")
        await hand.press("Ctrl+Return")
        await stage.user.see(QWidget, "sendPlanCommentsButton")
        await hand.press("Ctrl+Alt+M")
        await self._revised(stage)
        await hand.press(self.accept_keys)

    async def end(self, stage: Stage) -> None:
        await stage.until(lambda: stage.transcript.turns.plan == self.revised.replace("[ ]", "[x]"), "it is ticked")
        await stage.see_turn_end()
        assert not stage.transcript.session.is_planning

    async def _opened(self, stage: Stage) -> PlanPage:
        page = await stage.user.see(PlanPage, "planPage")
        await stage.until(lambda: len(page.column.text.blocks) == 2, "the plan is rendered")
        return page

    async def _revised(self, stage: Stage) -> None:
        await stage.until(lambda: stage.transcript.turns.plan == self.revised, "the plan is revised")
        await stage.user.see(QWidget, "acceptPlanButton")


class UndoingOutOfOrder:
    row = "Undo an earlier turn, and settle the clash with your own edit"
    answers: tuple[Answer, ...] = (
        _edit("yellow", "green"),
        reply(text("Green.")),
        _edit("Red", "Blue"),
        reply(text("Blue.")),
    )

    async def begin(self, stage: Stage) -> None:
        self.file(stage).write_text("Oak yellow.\n\n\n\n\n\nRed beech.\n")
        for prompt in ("Green, please.", "Blue, please."):
            await stage.ask(prompt)
            await stage.allow()
            await stage.see_turn_end()
        self.file(stage).write_text("Oak green, or so.\n\n\n\n\n\nBlue beech.\n")
        await stage.see_changes(1)

    def file(self, stage: Stage) -> Path:
        return stage.folder / NOTES

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        picker = await stage.user.see(QComboBox, "baselinePicker")
        await hand.click("baselinePicker")
        await hand.click_row(picker.view(), "Turn 1")
        await self._first_turn(stage)
        await hand.click("undoTurnButton")
        await hand.click("takeWantedButton")
        await hand.click("writeResultButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Ctrl+Alt+R")
        await hand.write("Turn 1")
        await hand.press("Return")
        await self._first_turn(stage)
        await hand.press("Ctrl+Shift+U")
        await stage.user.see(QWidget, "takeWantedButton")
        await hand.press("Alt+1")
        await hand.press("Ctrl+Return")

    async def end(self, stage: Stage) -> None:
        written = "Oak yellow.\n\n\n\n\n\nBlue beech.\n"
        await stage.until(lambda: self.file(stage).read_text() == written, "the first turn is undone, and only that")

    async def _first_turn(self, stage: Stage) -> None:
        picker = await stage.user.see(QComboBox, "baselinePicker")
        await stage.until(lambda: picker.currentText().startswith("Turn 1"), "the first turn is shown")


class Committing:
    row = "Keep two of three changes, and commit them"

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (*orders.answers()[:2], reply(text("It is done.")))

    async def begin(self, stage: Stage) -> None:
        orders.reset_shop(stage.folder)
        begin_repository(stage.folder)
        await stage.ask("Check the totals.")
        await stage.allow()
        await stage.see_turn_end()
        await stage.see_changes(3)
        await stage.user.see(QWidget, "commitButton")

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click("keepHunkButton")
        await _see_kept(stage, 1)
        await hand.click_at_change(1, "keepHunkButton")
        await _see_kept(stage, 2)
        await hand.click("commitButton")
        await prepared(stage, "2 of 3")
        await hand.write("orders: check the totals")
        await hand.click("commitChangesButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("F8")
        await hand.press("K")
        await _see_kept(stage, 1)
        await hand.press("K")
        await _see_kept(stage, 2)
        await hand.press("Ctrl+Alt+G")
        await prepared(stage, "2 of 3")
        await hand.write("orders: check the totals")
        await hand.press("Ctrl+Return")

    async def end(self, stage: Stage) -> None:
        await stage.until(lambda: bool(stage.transcript.changed.commits), "it is committed")
        (commit,) = stage.transcript.changed.commits
        assert (commit.subject, commit.paths) == ("orders: check the totals", (orders.MODULE,))


async def prepared(stage: Stage, ticked: str) -> None:
    count = await stage.user.see(QLabel, "commitCount")
    await stage.until(lambda: count.text().startswith(ticked), "those that are meant are ticked")


class InAWorktree:
    row = "Work in a worktree, and bring two of three changes back"

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (*orders.answers()[:2], reply(text("It is done.")))

    async def begin(self, stage: Stage) -> None:
        orders.reset_shop(stage.folder)
        begin_repository(stage.folder)
        await stage.until(stage.user.actions.new_worktree.isEnabled, "git is read")

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click("moreSessionsButton")
        await hand.choose("New session in a worktree")
        await hand.click("createWorktreeButton")
        await self._begun(stage)
        await hand.write("Check the totals.")
        await hand.click("sendButton")
        await bring_back_by_mouse(stage, hand)

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Ctrl+Alt+N")
        await stage.user.see(QWidget, "createWorktreeButton")
        await hand.press("Return")
        await self._begun(stage)
        await hand.write("Check the totals.")
        await hand.press("Return")
        await bring_back_by_keyboard(stage, hand)

    async def end(self, stage: Stage) -> None:
        await brought(stage, 2)
        (record,) = (record for record in stage.transcript.changes.values() if record.is_offered)
        assert len(record.undone_hunks) == 1

    async def _begun(self, stage: Stage) -> None:
        await in_worktree(stage)
        await stage.until(stage.user.composer.edit.hasFocus, "a message can be written")


async def in_worktree(stage: Stage) -> None:
    await stage.until(lambda: stage.transcript.session.worktree is not None, "the session works in a worktree")
    await stage.user.activate()  # as a window manager does when a dialog closes


async def bring_back_by_mouse(stage: Stage, hand: Mouse) -> None:
    await stage.see_question()
    await hand.click_words("Allow once")
    await stage.see_turn_end()
    await hand.click("bringBackButton")
    await _offered(stage)
    await hand.click("redoHunkButton")
    await brought(stage, 1)
    await hand.click_at_change(1, "redoHunkButton")


async def bring_back_by_keyboard(stage: Stage, hand: Keyboard) -> None:
    await stage.see_question()
    await hand.press("Ctrl+Shift+A")
    await stage.see_turn_end()
    await hand.press("Ctrl+Alt+J")
    await _offered(stage)
    await hand.press("R")
    await brought(stage, 1)
    await hand.press("R")


async def _offered(stage: Stage) -> None:
    await stage.until(lambda: stage.transcript.session.worktree is None, "the changes are offered")
    review = await stage.see_changes(3)
    await stage.until(review.view.hasFocus, "the changes have the keyboard")


async def brought(stage: Stage, count: int) -> None:
    await stage.until(lambda: len(stage.transcript.changed.undos) == count, "it is brought back")
    review = await stage.see_changes(3)
    await stage.until(lambda: review.hunks.counts()[1] == 3 - count, "the review shows it")


class FromPlanToCommit(Planning):
    row = "From a plan to a commit and back: all of it, with the plan carried out in a worktree"
    accept_button, accept_keys = "acceptPlanApartButton", "Ctrl+Shift+Return"
    subject = "orders: check the totals"

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (*self.planned, *orders.answers()[:2], reply(text("It is done.")))

    async def begin(self, stage: Stage) -> None:
        orders.reset_shop(stage.folder)
        begin_repository(stage.folder)
        await stage.until(stage.user.actions.new_worktree.isEnabled, "git is read")

    async def plan_by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await super().by_mouse(stage, hand)

    async def plan_by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await super().by_keyboard(stage, hand)

    async def by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await self.plan_by_mouse(stage, hand)
        await in_worktree(stage)
        await bring_back_by_mouse(stage, hand)
        await brought(stage, 2)
        await hand.click("commitButton")
        await prepared(stage, "2 of 2")
        await hand.write(self.subject)
        await hand.click("commitChangesButton")
        await self._committed(stage)
        await hand.click("undoCommitButton")

    async def by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await self.plan_by_keyboard(stage, hand)
        await in_worktree(stage)
        await bring_back_by_keyboard(stage, hand)
        await brought(stage, 2)
        await hand.press("Ctrl+Alt+G")
        await prepared(stage, "2 of 2")
        await hand.write(self.subject)
        await hand.press("Ctrl+Return")
        await self._committed(stage)
        await hand.press("Ctrl+Shift+G")

    async def end(self, stage: Stage) -> None:
        await stage.until(lambda: not stage.transcript.changed.commits, "the commit is undone")
        assert head_subject(stage.folder) == "begin"
        await brought(stage, 2)

    async def _committed(self, stage: Stage) -> None:
        await stage.until(lambda: bool(stage.transcript.changed.commits), "it is committed")
        assert head_subject(stage.folder) == self.subject
        await stage.user.activate()
        await stage.user.see(QWidget, "undoCommitButton")


class InWords(FromPlanToCommit):
    row = "The same, with the comment as a message"

    async def plan_by_mouse(self, stage: Stage, hand: Mouse) -> None:
        await hand.click("approvalPicker")
        await hand.choose("Plans first")
        await hand.write("Make it green.")
        await hand.click("sendButton")
        await stage.user.see(QWidget, "openPlanButton")
        await hand.write("Once is not enough.")
        await hand.click("sendButton")
        await self._planned_again(stage)
        await hand.click("carryOutApartButton")

    async def plan_by_keyboard(self, stage: Stage, hand: Keyboard) -> None:
        await hand.press("Ctrl+Shift+L")
        await hand.write("Make it green.")
        await hand.press("Return")
        await stage.user.see(QWidget, "openPlanButton")
        await hand.write("Once is not enough.")
        await hand.press("Return")
        await self._planned_again(stage)
        await hand.press("Ctrl+Shift+J")

    async def _planned_again(self, stage: Stage) -> None:
        await stage.until(lambda: stage.transcript.turns.plan == self.revised, "the plan is revised")
        await stage.user.see(QWidget, "carryOutApartButton")
