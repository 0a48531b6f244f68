"""A real session in the panels of the window: pressed buttons reach the session, and events are drawn."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager

from PySide6.QtCore import QSettings
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox, QPushButton, QWidget

from desktop_agent.app.diffs import BlobDiffs
from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Reply
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.transcript import Transcript
from desktop_agent.ui.chat.checklist import TodoPanel
from desktop_agent.ui.chat.composer.composer import Composer
from desktop_agent.ui.chat.transcript.view import TranscriptView
from desktop_agent.ui.files.file_panel import FileTree
from desktop_agent.ui.jobs_panel import JobsPanel
from desktop_agent.ui.review.diff_pane import DiffPane
from desktop_agent.ui.review.review_panel import ReviewPanel
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.window.actions import Actions
from desktop_agent.ui.window.conversation_pane import ConversationPane, PlanBar
from desktop_agent.ui.window.main_window import MainWindow
from desktop_agent.ui.window.mode_pickers import ModePickers
from desktop_agent.ui.window.panel_controllers import SessionPanels
from desktop_agent.ui.window.session_controller import SessionController
from desktop_agent.ui.window.session_handle import SessionHandle
from tests.harness import Ground, Open
from tests.parts import part
from tests.ui.approvals.stage import NOW, WordRules

_POLL_S = 0.001
PATIENCE_S = 60
"""Long, as only failing tests wait for it."""


class Room:
    def __init__(self, ground: Ground, theme: Theme) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.frame = MainWindow(theme, QSettings())
        self.source = BlobDiffs(Blobs(ground.paths.blobs))
        transcript, composer = TranscriptView(theme), Composer(theme)
        self.review = ReviewPanel(theme, self.source, self._spawn)
        jobs, files, pickers = JobsPanel(theme, lambda: NOW), FileTree(theme, self._leave), ModePickers(composer)
        todos, plan = TodoPanel(theme), PlanBar()
        pane = ConversationPane(transcript, plan, todos)
        self.frame.set_panels(QWidget(), files, pane, composer, self.review, jobs)
        panels = SessionPanels(self.frame, theme, transcript, composer, pickers, self.review, files, jobs, todos, plan)
        self.session = SessionController(
            panels,
            self.source,
            self._spawn,
            lambda: NOW,
            lambda _transcript: WordRules(),
        )
        self.frame.resize(1400, 900)
        self.frame.show()

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _leave(self, work: Coroutine[object, object, None]) -> None:
        work.close()

    def is_idle(self) -> bool:
        return not self._tasks

    async def clear(self) -> None:
        for dialog in self.frame.findChildren(QDialog):
            dialog.reject()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def aclose(self) -> None:
        await self.clear()
        await self.source.aclose()
        self.frame.let_close()
        self.frame.close()
        self.frame.deleteLater()


class Stage:
    def __init__(self, s: Open, ground: Ground, room: Room) -> None:
        self.s = s
        self.ground = ground
        self.room = room
        self.frame, self.review, self.session = room.frame, room.review, room.session
        self.asked: list[ops.Op] = []
        self.handle = SessionHandle(Transcript(), self.submit)
        self._delivered = 0
        self.session.show(self.handle)
        self.deliver()

    @property
    def actions(self) -> Actions:
        return self.frame.actions_

    def submit(self, op: ops.Op) -> None:
        """Submit `op`, and then a harmless op: once that one is recorded, the session is done with `op`."""
        self.asked.append(op)
        self.s.submit(op)
        self.s.submit(ops.PinSession(is_pinned=False))

    def deliver(self) -> None:
        events = self.s.rx.events
        while self._delivered < len(events):
            self._delivered += 1
            self.handle.deliver(events[self._delivered - 1])

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                self.deliver()
                QApplication.processEvents()
                if is_so():
                    return
                await asyncio.sleep(_POLL_S)  # other threads need the interpreter, too

    async def drawn(self) -> None:
        self.deliver()
        for _ in range(3):  # a throttled drawing takes two turns of the loop
            QApplication.processEvents()
            await asyncio.sleep(0)

    async def heard(self, press: Callable[[], object]) -> ev.ChangesUndone | ev.ChangesRedone:
        before = len(self.reverts())
        press()
        await self.until(lambda: len(self.reverts()) > before)
        self.deliver()
        return self.reverts()[-1]

    async def answered(self, press: Callable[[], object]) -> bool:
        """Press something, and wait for its result. Whether the session was asked at all."""
        await self.until(self.room.is_idle)
        asked = len(self.asked)
        press()
        await self.until(self.room.is_idle)
        if len(self.asked) == asked:
            return False
        await self.until(lambda: self._count_done() == len(self.asked))
        self.deliver()
        return True

    def _count_done(self) -> int:
        """Count finished ops: an op may end with several events, or with a notice alone."""
        return sum(isinstance(event, ev.SessionPinned) for event in self.s.rx.events)

    def reverts(self) -> list[ev.ChangesUndone | ev.ChangesRedone]:
        return [event for event in self.s.rx.events if isinstance(event, ev.ChangesUndone | ev.ChangesRedone)]

    def button(self, name: str) -> QPushButton:
        return part(self.review, QPushButton, name)

    async def press(self, name: str) -> ev.ChangesUndone | ev.ChangesRedone:
        button = self.button(name)
        await self.until(lambda: button.isVisible() and button.isEnabled())
        return await self.heard(button.click)

    async def trigger(self, action: QAction) -> ev.ChangesUndone | ev.ChangesRedone:
        assert action.isEnabled()
        return await self.heard(action.trigger)

    async def hunks(self) -> tuple[HunkKey, ...]:
        pane = part(self.review, DiffPane)
        await self.until(lambda: pane.review.hunks.keys)
        return tuple(pane.review.hunks.keys)

    async def undo_hunk(self, number: int) -> ev.ChangesUndone | ev.ChangesRedone:
        key = (await self.hunks())[number]
        pane = part(self.review, DiffPane)
        return await self.heard(lambda: pane.review.hunks.requested.emit("undo", (key,)))

    async def take(self, name: str) -> ev.ChangesUndone | ev.ChangesRedone:
        await self.until(lambda: self._clash_button(name) is not None)
        button = self._clash_button(name)
        assert button is not None
        return await self.heard(button.click)

    def question(self, name: str) -> QPushButton | None:
        names = ("undoKeptDialog", "undoOthersDialog")
        boxes = [one for one in self.frame.findChildren(QMessageBox) if one.isVisible() and one.objectName() in names]
        return boxes[0].findChild(QPushButton, name) if boxes else None

    def asked_with(self, name: str) -> QPushButton:
        button = self.question(name)
        assert button is not None, name
        return button

    def dialogs(self) -> list[QDialog]:
        return [one for one in self.review.findChildren(QDialog, "undoConflictDialog") if one.isVisible()]

    def _clash_button(self, name: str) -> QPushButton | None:
        for dialog in self.review.findChildren(QDialog, "undoConflictDialog"):
            button = dialog.findChild(QPushButton, name)
            if dialog.isVisible() and button is not None and button.isEnabled():
                return button
        return None

    def undone(self) -> Mapping[str, object]:
        records = self.s.session.transcript.changes.values()
        return {r.change.id: r.is_undone or r.undone_hunks for r in records if r.change.is_by_agent}


@asynccontextmanager
async def staged(ground: Ground, theme: Theme, script: list[Reply]) -> AsyncGenerator[Stage]:
    async with ground.session(script, approval="never") as s:
        room = Room(ground, theme)
        try:
            yield Stage(s, ground, room)
        finally:
            await room.aclose()
