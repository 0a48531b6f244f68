"""Makes changes of files' states, with all contents durable before the first change is given away."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.diff.comparing import LineCounter
from desktop_agent.core.diff.text import is_binary
from desktop_agent.core.protocol.model import Author, ChangeKind, FileChange, Reverted
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import FileState, FileTransition

_BATCH_BYTES = 64 * 1024 * 1024
"""How much waits in memory to be stored together."""


MissingFolders = Callable[[str], tuple[str, ...]]
"""Returns the folders that writing a path will have to make, outermost first."""


class ChangeRecorder:
    """The changes of one call, in the order in which they are added, recorded with few waits for the disk. Blocks.

    When its block has ended, all contents are durable. Until then none may be, and nothing may be written.
    """

    def __init__(self, blobs: Blobs, missing_folders: MissingFolders) -> None:
        self._blobs = blobs
        self._missing_folders = missing_folders
        self._counter = LineCounter()
        self._changes: list[FileChange] = []
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Make durable what is not yet, unless something went wrong. Raises `StorageError`."""
        self._counter.close()
        if error is None:
            self._store()

    def __len__(self) -> int:
        """How many changes there are so far."""
        return len(self._changes)

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """All of them so far."""
        return tuple(self._changes)

    def add(
        self,
        transition: FileTransition,
        *,
        author: Author,
        change_id: ChangeId,
        reverts: tuple[Reverted, ...] = (),
    ) -> None:
        """Take up what became of one file. Raises `StorageError`."""
        before, after = transition.before, transition.after
        for state in (before, after):
            if state is not None:
                self._keep(state.content)
        old = before.content if before else None
        new = after.content if after else None
        added, removed = self._counter.count(old, new)
        self._changes.append(
            FileChange(
                id=change_id,
                path=transition.path,
                kind="renamed" if transition.moved_from else _kind(before, after),
                author=author,
                before=before.image() if before else None,
                after=after.image() if after else None,
                added=added,
                removed=removed,
                is_binary=is_binary(old or b"") or is_binary(new or b""),
                reverts=reverts,
                new_folders=transition.new_folders
                or (self._missing_folders(transition.path) if before is None else ()),
                moved_from=transition.moved_from,
                moved_to=transition.moved_to,
                is_shared=transition.is_shared,
                is_new_name=transition.is_new_name,
                is_prior=transition.is_prior,
            )
        )

    def _store(self) -> None:
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if waiting:
            self._blobs.put_many(waiting)

    def _keep(self, content: bytes) -> None:
        self._waiting.append(content)
        self._waiting_bytes += len(content)
        if self._waiting_bytes >= _BATCH_BYTES:
            self._store()


def _kind(before: FileState | None, after: FileState | None) -> ChangeKind:
    if before is None:
        return "created"
    if after is None:
        return "deleted"
    return "mode_changed" if (before.content, before.kind) == (after.content, after.kind) else "modified"
