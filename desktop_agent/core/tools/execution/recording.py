"""Puts changes on record: those of calls, and first those that the user made since to the same files."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import CallId, ChangeId, change_id
from desktop_agent.core.capture.capture import StatCapture
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.event_log import EventLog
from desktop_agent.core.protocol.model import Author, FileChange, FileImage
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.tools.execution.writers import Maker, Writers

LastNumber = Callable[[int], int]
"""Returns the largest number of any change of a turn in the journal as it is now; 0 if there is none."""
LastImages = Callable[[], Mapping[str, FileImage | None]]
"""How the session's records left each file that they name."""


class Recording:
    """The changes of one session on their way to its records."""

    def __init__(self, ledger: Ledger, log: EventLog, last_number: LastNumber) -> None:
        self._ledger = ledger
        self._log = log
        self._last_number = last_number
        self._reserved: dict[int, int] = {}
        """The largest number of each turn that was reserved, and may not be recorded yet."""
        self._guard = threading.Lock()

    def reserve_ids(self, turn: int, count: int) -> tuple[ChangeId, ...]:
        """Return ids for `count` more changes of `turn` that nothing else has or will get.

        Only here are ids made. The journal is asked each time, because recovery adds to it.
        """
        with self._guard:
            last = max(self._last_number(turn), self._reserved.get(turn, 0))
            self._reserved[turn] = last + count
        return tuple(change_id(turn, last + number) for number in range(1, count + 1))

    def store(
        self, turn: int, transitions: Sequence[FileTransition], author: Author = "agent"
    ) -> tuple[FileChange, ...]:
        """Store the images of those that change something, and return their changes. Blocks."""
        real = [item for item in transitions if item.before != item.after]
        with self._ledger.recorder() as recorder:
            for item, change_id in zip(real, self.reserve_ids(turn, len(real)), strict=True):
                recorder.add(item, author=author, change_id=change_id)
        return recorder.changes

    async def record_applied(self, turn: int, call_id: CallId, changes: tuple[FileChange, ...]) -> None:
        """Put on record that `changes` are on disk now."""
        if changes:
            await self._log.record(ev.ChangesRecorded(turn=turn, call_id=call_id, changes=changes))


class UserEdits:
    """What the user did to files of a session since its records left them."""

    def __init__(
        self,
        ledger: Ledger,
        capture: StatCapture,
        recording: Recording,
        last_images: LastImages,
        writers: Writers,
    ) -> None:
        self._writers = writers
        self._ledger = ledger
        self._capture = capture
        self._recording = recording
        self._last_images = last_images

    async def record_in(self, turn: int, transitions: Sequence[FileTransition]) -> None:
        """Put on record what the user did to the files of a plan, before its changes come on top of it."""
        last = self._last_images()
        known = [(item.path, item.before) for item in transitions if item.path in last]
        await self._record(turn, await asyncio.to_thread(self._since, last, known))

    async def record_all(self, turn: int) -> None:
        """Put on record what the user did to any of the files, before a command may change them."""
        if last := self._last_images():
            await self._record(turn, await asyncio.to_thread(self._changed_since, last))

    async def _record(self, turn: int, transitions: Sequence[FileTransition]) -> None:
        if not transitions:
            return
        theirs = await asyncio.to_thread(self._by_maker, turn, transitions)
        for maker, made in theirs.items():
            changes = await asyncio.to_thread(self._recording.store, maker.turn, made, maker.author)
            await self._recording.record_applied(maker.turn, maker.call_id, changes)

    def _by_maker(self, turn: int, transitions: Sequence[FileTransition]) -> Mapping[Maker, Sequence[FileTransition]]:
        """Return them by maker: a program of ours may have written since the last look."""
        found: dict[Maker, list[FileTransition]] = {}
        for item, maker in zip(transitions, self._writers.makers_of(transitions), strict=True):
            found.setdefault(maker or Maker(turn, "", "person"), []).append(item)
        return found

    def _changed_since(self, last: Mapping[str, FileImage | None]) -> list[FileTransition]:
        """What became of the files of this session since it last had to do with them."""
        seen = self._capture.images(last)
        different = [path for path, image in last.items() if seen.get(path) != image]
        now: list[tuple[str, FileState | None]] = []
        for path in different:
            with suppress(OSError):  # it cannot be read; then nothing can be said of it
                now.append((path, self._ledger.files.current(path)))
        return self._since(last, now)

    def _since(
        self, last: Mapping[str, FileImage | None], now: Iterable[tuple[str, FileState | None]]
    ) -> list[FileTransition]:
        """How these files differ from what the records left. One whose old content is gone is left out."""
        found: list[FileTransition] = []
        for path, state in now:
            image = last[path]
            if (state.image() if state else None) != image:
                with suppress(StorageError):
                    found.append(FileTransition(path, self._ledger.images.state(image), state))
        return found
