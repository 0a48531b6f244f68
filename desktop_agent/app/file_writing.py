"""Writing files as the user edited them in the viewer: as changes of the user in the conversation that is shown."""

import asyncio
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QObject

from desktop_agent.app.navigator import Navigator
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileChange, FileDiff
from desktop_agent.core.protocol.ops import MoveFile, UndoChanges, WriteFile
from desktop_agent.ui.review.diff_source import turn_obstacle
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.window.bridge import SessionBridge

_PATIENCE_S = 60.0
_NOT_WRITTEN = ("not_written", "storage", "busy")


class Written(NamedTuple):
    """What came of a write: why it was not done, or the changes that it is on record as."""

    problem: str
    changes: tuple[ChangeId, ...] = ()


class FileWriting(QObject):
    """A `FileStore`: asks the session, and waits for what it says. A conversation begins with the first write."""

    def __init__(self, panels: WindowPanels, navigator: Navigator) -> None:
        super().__init__(panels.window)
        self._panels = panels
        self._navigator = navigator
        self._one_at_a_time = asyncio.Lock()
        self._path = ""
        self._outcome: asyncio.Future[Written] | None = None

    async def save(self, root: Path, path: str, expected: str | None, content: bytes) -> str:
        """See `FileStore.save`."""
        return (await self.write(root, WriteFile(path=path, expected=expected, content=content))).problem

    async def write(self, root: Path, op: WriteFile | MoveFile) -> Written:
        """Do what `op` asks for in the folder `root`, and return what came of it."""
        async with self._one_at_a_time:
            bridge = self._panels.wiring.bridge
            if bridge is None or root != self._navigator.workspace:
                return Written(self.tr("Another folder is open now. Open {0} first.").format(root))
            if reason := bridge.read_only or turn_obstacle(is_running=bridge.transcript.turns.is_running):
                return Written(reason)
            return await self._ask(bridge, op)

    def undo(self, changes: tuple[ChangeId, ...]) -> None:
        """Take back what the user wrote in these changes, at their own request."""
        if (bridge := self._panels.wiring.bridge) is not None:
            bridge.submit(UndoChanges(selection=ChangeSelection(change_ids=changes), includes_others=True))

    async def compare(self, path: str, before: bytes | None, after: bytes) -> FileDiff:
        """See `FileStore.compare`."""
        kind = "created" if before is None else "modified"
        change = FileChange(id="viewer", path=path, kind=kind, author="person", before=None, after=None)
        return await self._panels.diffs.compare(change, before, after)

    async def _ask(self, bridge: SessionBridge, op: WriteFile | MoveFile) -> Written:
        self._path = op.path
        outcome = self._outcome = asyncio.get_running_loop().create_future()
        bridge.happened.connect(self._on_happened)
        begun: list[SessionBridge] = []

        def follow(opened: SessionBridge) -> None:  # a conversation that begins with this
            opened.happened.connect(self._on_happened)
            begun.append(opened)

        self._navigator.session_opened.connect(follow)
        try:
            bridge.submit(op)
            return await asyncio.wait_for(outcome, _PATIENCE_S)
        except TimeoutError:
            return Written(self.tr("The conversation did not answer, so it is not known whether that was done."))
        finally:
            self._outcome = None
            self._navigator.session_opened.disconnect(follow)
            for each in (bridge, *begun):
                each.happened.disconnect(self._on_happened)

    def _on_happened(self, event: ev.Event) -> None:
        if self._outcome is None or self._outcome.done():
            return
        match event:
            case ev.ChangesRecorded(changes=changes) if any(
                change.author == "person" and change.path == self._path for change in changes
            ):
                self._outcome.set_result(Written("", tuple(change.id for change in changes)))
            case ev.Notice(code=code, title=title, hint=hint) if code in _NOT_WRITTEN:
                self._outcome.set_result(Written(f"{core_words(title)} {core_words(hint)}".strip()))
            case _:
                pass
