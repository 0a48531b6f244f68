"""The ledger: makes changes durable before they happen, writes them, and repairs interrupted ones. Blocks."""

import errno
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct, structs

from desktop_agent.core.base.errors import AgentError, StorageError, ToolError, WorkspaceError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.file_types import is_binary
from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.changes.folder_moves import FolderContents, move
from desktop_agent.core.changes.workspace_files import (
    MEANWHILE,
    UNSEEN,
    IsSpecial,
    Mark,
    StoredImages,
    WorkspaceFiles,
    anchored,
    image_of,
    is_hidden,
    mark_of,
    unless_touched,
)
from desktop_agent.core.diff.comparing import LineCounter
from desktop_agent.core.protocol.model import (
    Author,
    ChangeKind,
    FileChange,
    FileImage,
    OutsideFile,
    Reverted,
)
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.file_writes import (
    ANYTHING,
    ChangedError,
    Expected,
    give_state_extras,
    is_torn,
    write_state,
)
from desktop_agent.core.system.files import FileState, FileTransition
from desktop_agent.core.system.staged_file import is_left_over
from desktop_agent.core.system.workspace import HeldWorkspace

_BATCH_BYTES = 64 * 1024 * 1024


MissingFolders = Callable[[str], tuple[str, ...]]
"""Returns the folders that writing a path will have to create, outermost first."""


class ChangeRecorder:
    """Records changes with few disk syncs. Blocks. Write nothing before the `with` block has ended."""

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
        self._counter.close()
        if error is None:
            self._store()

    def __len__(self) -> int:
        return len(self._changes)

    @property
    def changes(self) -> tuple[FileChange, ...]:
        return tuple(self._changes)

    def add(
        self,
        transition: FileTransition,
        *,
        author: Author,
        change_id: ChangeId,
        reverts: tuple[Reverted, ...] = (),
    ) -> None:
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


NOT_EMPTY = "The folder has other contents, so it was kept."
RENAMED_TOGETHER = "It was renamed together with {}, which has to be left alone."
_BROKEN_LINK = (
    "It was a hard link to a file that is not a regular file of this folder, and that file keeps the previous content."
)
_LEFT_NAMES = "It was a hard link to the same file as {}, which keeps the previous content."


Hand = Callable[[FileChange, FileState], bool]
"""Has another program write the new state of a file. Returns whether that was tried."""


class LedgerWrite(Struct, frozen=True):
    """A recorded change to write, and the folders to remove with the file if they are then empty."""

    change: FileChange
    new_folders: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    """The other hard links of the file that change with it. Its link to any further name is broken."""
    is_own: bool = False
    moves_to: str = ""


class Ledger:
    def __init__(
        self, root: Path, blobs: Blobs, *, held: HeldWorkspace | None = None, is_special: IsSpecial = is_hidden
    ) -> None:
        """Writes are refused unless `root` is still the folder `held`, by default the present folder.

        A path for which `is_special` is true keeps its content when another name of the same file is written.
        """
        self.files = WorkspaceFiles(root, is_special)
        self.images = StoredImages(blobs)
        self.held = held or HeldWorkspace(self.files.root)
        self._blobs = blobs

    def require_root(self) -> None:
        """Raise `WorkspaceError` unless the folder is there and the same."""
        self.held.check()

    def record(
        self,
        transition: FileTransition,
        *,
        author: Author,
        change_id: ChangeId,
        reverts: tuple[Reverted, ...] = (),
    ) -> FileChange:
        """Store both images durably; write nothing to the workspace, also if this raises `StorageError`."""
        with self.recorder() as recorder:
            recorder.add(transition, author=author, change_id=change_id, reverts=reverts)
        return recorder.changes[0]

    def recorder(self, *, finds_folders: bool = True) -> ChangeRecorder:
        """With `finds_folders` false, the changes must include the folders that are created along with a file."""
        return ChangeRecorder(self._blobs, self.files.missing_folders if finds_folders else lambda _: ())

    def record_outside(self, transition: FileTransition) -> OutsideFile:
        before, after = transition.before, transition.after
        assert before is not None
        self._blobs.put_many([state.content for state in (before, after) if state is not None])
        return OutsideFile(path=transition.path, before=before.image(), after=after.image() if after else None)

    def apply(self, changes: Sequence[FileChange], hand: Hand | None = None) -> tuple[str, ...]:
        """Write the after-images if every file still matches its before-image; otherwise write none of them.

        `hand` may have another program write a changed file. What that wrote instead stays; its paths are returned.
        Raises `ToolError` if a file changed meanwhile or could not be written; written files are then restored. The
        error is fatal if the workspace is missing.
        """
        try:
            self.require_root()
        except WorkspaceError as error:
            raise ToolError(f"{error.title} Nothing was written.", error_type="fatal") from error
        states = [(change, self.images.state(change.before), self.images.state(change.after)) for change in changes]
        seen = {change.path: mark_of(self.files.root / change.path) for change in changes}
        for change, before, _ in states:
            name = name_on_a_line(change.path)
            if not self.files.is_inside(change.path):
                raise ToolError(
                    f"The folder of {name} is not in the workspace any more. Nothing was written.",
                    error_type="permission",
                )
            if self.files.current(change.path) != before:
                raise ToolError(
                    f"{name} changed on disk before the edit could be written. Nothing was written. Read it "
                    "again, then redo the edit against its current content."
                )
        done: list[tuple[FileChange, FileState | None]] = []
        foreign: list[str] = []
        try:
            for change, before, after in states:
                done.append((change, before))
                if self.files.is_at(change.path, change.after):
                    continue  # it is another name of a file that was just written
                if hand is None or before is None or after is None or not hand(change, after):
                    self._write(change.path, after, seen[change.path], before)
                elif not self._finish_handed(change, before, after):
                    foreign.append(change.path)
        except OSError as error:
            failed, _ = done[-1]
            for change, before in reversed(done):
                is_ours = change is not failed and self.files.is_at(change.path, change.after)
                if is_ours or (change is failed and not isinstance(error, ChangedError)):  # another program's file
                    with suppress(OSError):
                        self._restore(change, before, self.images.state(change.after) if is_ours else ANYTHING)
            path = failed.path
            raise ToolError(f"{path} could not be written: {error.strerror or error}. Nothing was changed.") from error
        return tuple(foreign)

    def _finish_handed(self, change: FileChange, before: FileState, after: FileState) -> bool:
        """Write what the other program left unwritten. Return False if it wrote something else, which stays."""
        seen, now = mark_of(self.files.root / change.path), self.files.current(change.path)
        if now is None or now.kind != before.kind or now.content not in (before.content, after.content):
            return False
        if now != after or now.extras != before.extras:
            whole = structs.replace(after, extras=after.extras or before.extras)
            self._write(change.path, whole, seen, now)
        return True

    def move_folder(self, contents: FolderContents, to: str) -> None:
        """Move a folder. Raises `ToolError` if it changed or cannot be moved; then nothing was changed."""
        new = self.files.missing_folders(to)
        try:
            self.require_root()
            move(self.files.root, contents, to, identity=self.held.identity)
        except (OSError, AgentError) as error:
            self._remove_empty(new)
            reason = (error.strerror if isinstance(error, OSError) else "") or error
            raise ToolError(f"{contents.path} could not be moved: {reason}. Nothing was changed.") from error

    def apply_each(
        self, writes: Sequence[LedgerWrite], missing: dict[ChangeId, str] | None = None, hand: Hand | None = None
    ) -> dict[ChangeId, str]:
        """Write each after-image whose file still matches its before-image. Return the reasons for the others.

        `missing` receives the extras that could not be restored. `hand` may have another program write a changed file.
        """
        missing = {} if missing is None else missing
        try:
            self.require_root()
        except WorkspaceError as error:
            return dict.fromkeys((write.change.id for write in writes), error.title)
        problems = {write.change.id: problem for write in writes if (problem := self._problem(write, missing, hand))}
        problems |= self._brought_back(writes, problems)
        self._remove_left_empty(writes)
        return problems

    def _remove_left_empty(self, writes: Sequence[LedgerWrite]) -> None:
        coming = {write.change.path for write in writes if write.change.after is not None}
        for write in writes:
            if write.change.after is None:
                self._remove_empty([folder for folder in write.new_folders if folder not in coming])

    def _brought_back(self, writes: Sequence[LedgerWrite], problems: Mapping[ChangeId, str]) -> dict[ChangeId, str]:
        failed = {write.change.path for write in writes if write.change.id in problems}
        back: dict[ChangeId, str] = {}
        for write in writes:
            change = write.change
            if write.moves_to in failed and change.id not in problems:
                opposite = structs.replace(change, before=change.after, after=change.before)
                if not self._problem(LedgerWrite(opposite), {}):
                    back[change.id] = RENAMED_TOGETHER.format(write.moves_to)
        return back

    def sweep(self, changes: Sequence[FileChange]) -> None:
        """Repair the workspace after a process was killed while it made these changes."""
        for folder in {(self.files.root / change.path).parent for change in changes}:
            with suppress(OSError):
                for path in folder.iterdir():
                    if is_left_over(path):
                        path.unlink()
        chains: dict[str, list[FileChange]] = {}
        for change in changes:
            chains.setdefault(change.path, []).append(change)
        for path, chain in chains.items():
            with suppress(OSError, StorageError):  # then the file stays unchanged, and counts as not written
                self._mend(path, chain[0].before, chain[-1].after)
        coming = {change.path for change in changes if change.after is not None}
        for change in reversed(changes):
            if change.new_folders and not os.path.lexists(self.files.root / change.path):
                self._remove_empty([folder for folder in change.new_folders if folder not in coming])

    def _mend(self, path: str, before: FileImage | None, after: FileImage | None) -> None:
        current = self.files.current(path)
        if before is None or after is None or image_of(current) in (before, after):
            return
        if current is None:
            if before.kind != after.kind and "folder" in (before.kind, after.kind):  # removed before the new one comes
                self._write(path, self.images.state(before), before=None)
            return
        old = self.images.bytes_of(before)
        if current.digest != after.digest and is_torn(current.content, old, self.images.bytes_of(after)):
            old_state = FileState(content=old, mode=before.mode, kind=before.kind)
            write_state(self.files.root / path, old_state, keeps_names=self.files.keeps_names)

    def _problem(self, write: LedgerWrite, missing: dict[ChangeId, str], hand: Hand | None = None) -> str:
        change = write.change
        try:
            if not self.files.is_inside(change.path):
                return "Its folder is not in the workspace any more."
            seen = mark_of(self.files.root / change.path)
            now = self.files.current(change.path)
            if image_of(now) != change.before:
                if image_of(now) == change.after:
                    return ""  # it is another name of a file that was just written
                return MEANWHILE
            after = self.images.state(change.after) if hand is not None and not write.along else None
            if hand is not None and now is not None and after is not None and hand(change, after):
                self._finish_handed(change, now, after)  # what was written instead stays, as the user's
                return ""
            left = self._names_left(write)
            lost = [self._write_or_leave_no_folder(write, seen, now), left]
            if any(lost):
                missing[change.id] = " ".join(filter(None, lost))
            if change.after is None:
                self._remove_empty(write.new_folders)
        except ChangedError:
            return MEANWHILE
        except StorageError as error:
            return error.title
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return NOT_EMPTY
            return f"It could not be written: {error.strerror or error}."
        return ""

    def _names_left(self, write: LedgerWrite) -> str:
        change = write.change
        if write.is_own or change.before is None or change.after is None:
            return ""
        if self.files.has_names_elsewhere(change.path):
            return _BROKEN_LINK
        others = self.files.other_names(change.path)
        return "" if set(others) <= set(write.along) else _LEFT_NAMES.format(", ".join(others))

    def _restore(self, change: FileChange, state: FileState | None, ours: Expected) -> None:
        self._write(change.path, state, before=ours)
        if state is None:
            self._remove_empty(change.new_folders)

    def _remove_empty(self, folders: Sequence[str]) -> None:
        for folder in reversed(folders):
            with suppress(OSError):  # not empty: it is in use again
                (self.files.root / folder).rmdir()

    def _write_or_leave_no_folder(self, write: LedgerWrite, seen: Mark, before: FileState | None) -> str:
        change = write.change
        try:
            names = (change.path, *write.along)
            return self._write(change.path, self.images.state(change.after), seen, before, names=names)
        except OSError:
            if change.before is None:
                self._remove_empty(change.new_folders)
            raise

    def _write(
        self,
        path: str,
        state: FileState | None,
        seen: Mark = UNSEEN,
        before: Expected = ANYTHING,
        *,
        names: Collection[str] | None = None,
    ) -> str:
        """Raise `ChangedError` unless the file matches `seen` and `before`. Return which extras could not be written.

        Hard links are preserved if all of them are in `names`.
        """
        root, makes_folders = self.files.root, state is not None
        try:
            with anchored(root, path, makes_folders=makes_folders, identity=self.held.identity) as place:
                check = unless_touched(place, seen)
                keeps_names = partial(self.files.keeps_names, only=names)
                write_state(place, state, check=check, keeps_names=keeps_names, before=before)
                return give_state_extras(place, state) if state is not None else ""
        except FileNotFoundError:
            if state is not None:
                raise
            return ""
