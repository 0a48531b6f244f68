"""Changes that the user makes in the window: edits in the viewer, renamed and deleted files, code of an answer."""

import asyncio
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.navigator import Navigator, answer_to
from desktop_agent.app.shown_folder import FolderFiles
from desktop_agent.core.base.errors import AgentError, WorkspaceError
from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileDiff
from desktop_agent.core.protocol.ops import MoveFile, UndoChanges, WriteFile
from desktop_agent.core.system.files import FileState, digest_of, read_state
from desktop_agent.ui.review.code_dialog import ApplyDialog, ApplyTarget, decoded
from desktop_agent.ui.review.diff_source import turn_obstacle
from desktop_agent.ui.translation.core_words import core_words
from desktop_agent.ui.window.session_handle import SessionHandle

_PATIENCE_S = 60.0
_NOT_WRITTEN = ("not_written", "storage", "busy")


class Written(NamedTuple):
    """The outcome of a write: why it failed, or the ids of its recorded changes."""

    problem: str
    changes: tuple[ChangeId, ...] = ()


class FileWriting(Controller):
    """A `FileStore` that writes through the session, which starts with the first write if necessary."""

    def __init__(self, context: WindowContext, navigator: Navigator) -> None:
        super().__init__(context)
        self._navigator = navigator
        self._one_at_a_time = asyncio.Lock()

    async def save(self, root: Path, path: str, expected: str | None, content: bytes) -> str:
        return (await self.write(root, WriteFile(path=path, expected=expected, content=content))).problem

    async def write(self, root: Path, op: WriteFile | MoveFile) -> Written:
        async with self._one_at_a_time:
            handle = self._panels.session.handle
            if handle is None or root != self._navigator.workspace:
                return Written(self.tr("Another folder is open now. Open {0} first.").format(root))
            if reason := handle.read_only or turn_obstacle(is_running=handle.transcript.turns.is_running):
                return Written(reason)
            return await self._ask(handle, op)

    def undo(self, changes: tuple[ChangeId, ...]) -> None:
        if (handle := self._panels.session.handle) is not None:
            handle.submit(UndoChanges(selection=ChangeSelection(change_ids=changes), includes_others=True))

    async def compare(self, path: str, before: bytes | None, after: bytes) -> FileDiff:
        return await self._panels.diffs.compare(path, before, after)

    async def _ask(self, handle: SessionHandle, op: WriteFile | MoveFile) -> Written:
        def is_answer(event: ev.Event) -> bool:
            match event:
                case ev.ChangesRecorded(changes=changes):
                    return any(change.author == "person" and change.path == op.path for change in changes)
                case ev.Notice(code=code):
                    return code in _NOT_WRITTEN
                case _:
                    return False

        try:
            async with asyncio.timeout(_PATIENCE_S):
                answer = await answer_to(handle, op, is_answer)
        except TimeoutError:
            return Written(self.tr("The conversation did not answer, so it is not known whether that was done."))
        except AgentError as error:  # the session cannot be opened
            return Written(f"{core_words(error.title)} {core_words(error.hint)}".strip())
        if isinstance(answer, ev.ChangesRecorded):
            return Written("", tuple(change.id for change in answer.changes))
        assert isinstance(answer, ev.Notice)
        return Written(f"{core_words(answer.title)} {core_words(answer.hint)}".strip())


class FileChanging(Controller):
    """Carries out the actions of the tree on files, and shows the outcome below it."""

    def __init__(self, context: WindowContext, navigator: Navigator, saving: FileWriting) -> None:
        super().__init__(context)
        self._files = self._panels.files
        self._navigator = navigator
        self._saving = saving
        self._files.file_actions.rename_requested.connect(in_background(self._launch, self._rename))
        self._files.file_actions.delete_requested.connect(in_background(self._launch, self._delete))
        self._files.done.undo_requested.connect(saving.undo)

    async def _rename(self, path: str, to: str) -> None:
        if (root := self._navigator.workspace) is None:
            return
        state = await asyncio.to_thread(_state, root, path)
        op = MoveFile(path=path, to=to, expected=state.digest, is_folder=state.kind == "folder")
        problem, changes = await self._saving.write(root, op)
        self._say(problem or self.tr("{0} is {1} now.").format(path, to), changes)

    async def _delete(self, path: str) -> None:
        if (root := self._navigator.workspace) is None:
            return
        state = await asyncio.to_thread(_state, root, path)
        problem, changes = await self._saving.write(root, WriteFile(path=path, expected=state.digest, content=None))
        self._say(problem or self.tr("{0} was deleted.").format(path), changes)

    def _say(self, words: str, changes: tuple[str, ...]) -> None:
        self._files.done.say(named(words), changes)
        self._files.refresh()


def _state(root: Path, path: str) -> FileState:
    """Return the state of a file. Raises `WorkspaceError` when it is gone or cannot be read. Blocks."""
    try:
        state = read_state(root / path, with_special=True)
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be read.", hint="Nothing was done.", detail=str(error)) from error
    if state is None:
        raise WorkspaceError(f"{path} is no longer there.", hint="It was moved or deleted since.")
    return state


_LARGEST_BYTES = 2_000_000
_OFFERED = 12


class CodeApplying(Controller):
    """Opens the dialog for a block of code, and is its `ApplySource`."""

    def __init__(self, context: WindowContext, files: FolderFiles) -> None:
        super().__init__(context)
        self._files = files
        self._spawn = self._panels.spawner.spawn
        self._panels.transcript.entry_actions.apply_requested.connect(in_background(self._spawn, self._open))

    async def _open(self, code: str, paths: Sequence[str]) -> None:
        known = await self._files.latest()
        found = await asyncio.to_thread(likely_paths, paths, known.files if known is not None else frozenset[str]())
        dialog = ApplyDialog(self._theme, code, found, self, self._spawn, self._panels.window)
        dialog.chosen.connect(self._write)
        dialog.open()

    def _write(self, op: object) -> None:
        if (handle := self._panels.session.handle) is not None and isinstance(op, WriteFile):
            handle.submit(op)

    # -- what the dialog asks --

    async def read(self, path: str) -> ApplyTarget:
        handle = self._panels.session.handle
        if handle is None:
            raise WorkspaceError(self.tr("No folder is open"), hint=self.tr("Open one first."))
        return await asyncio.to_thread(read_target, Path(handle.transcript.session.workspace), path)

    async def compare(self, target: ApplyTarget, new: str) -> FileDiff:
        before = target.text.encode() if target.text is not None else None
        return await self._panels.diffs.compare(target.path, before, new.encode())

    async def offers(self, typed: str) -> Sequence[str]:
        known = await self._files.latest()
        if known is None or not typed.strip():
            return ()
        found = await asyncio.to_thread(lambda: list(known.offers(typed, _OFFERED)))
        return [offer.label for offer in found if offer.kind == "file"]

    def obstacle(self) -> str:
        handle = self._panels.session.handle
        if handle is None or handle.read_only:
            return self.tr("This conversation cannot be changed here.")
        return turn_obstacle(is_running=handle.transcript.turns.is_running)


def likely_paths(named: Sequence[str], files: frozenset[str]) -> list[str]:
    """Return the named paths, known files first; a name can be only the last parts of a path."""
    known: list[str] = []
    for path in named:
        if path in files:
            known.append(path)
        else:
            known += sorted((file for file in files if file.endswith(f"/{path}")), key=lambda file: (len(file), file))[
                :3
            ]
    return list(dict.fromkeys([*known, *named]))


def read_target(root: Path, path: str) -> ApplyTarget:
    """Read the file at `path` below `root`. Raises `WorkspaceError` when code cannot be written there. Blocks."""
    parts = Path(path).parts
    file = root / path
    if not parts or Path(path).is_absolute() or ".." in parts or not file.resolve().is_relative_to(root.resolve()):
        raise WorkspaceError("The file does not lie in the open folder.", hint="Give its path relative to the folder.")
    relative = Path(path).as_posix()
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST_BYTES:
            raise WorkspaceError(f"Code cannot be applied to {relative}.", hint="Choose another one.")
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ApplyTarget(relative, None, None)
    except OSError as error:
        raise WorkspaceError(f"{relative} cannot be read.", hint="Choose another file.", detail=str(error)) from error
    text = decoded(content)
    if text is None:
        raise WorkspaceError(f"{relative} is not a text in UTF-8.", hint="Choose another file.")
    return ApplyTarget(relative, text, digest_of(content))
