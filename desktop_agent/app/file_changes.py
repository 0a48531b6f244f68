"""Shows files of the open folder in the viewer, and changes files: in the viewer, in the tree, with code of answers."""

import asyncio
import stat
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QCoreApplication

from desktop_agent.app.controller import Controller, WindowContext, in_background
from desktop_agent.app.file_opening import open_with_application
from desktop_agent.app.navigator import Navigator, submit_and_wait
from desktop_agent.app.shown_folder import FolderFiles
from desktop_agent.core.base.errors import AgentError, WorkspaceError
from desktop_agent.core.base.file_names import real_name
from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.mentions.offers import FolderPaths
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ChangeSelection, FileDiff
from desktop_agent.core.protocol.ops import MoveFile, UndoChanges, WriteFile
from desktop_agent.core.system.files import FileState, digest_of, read_state
from desktop_agent.ui.chat.text.file_links import names_alone
from desktop_agent.ui.files.path_actions import new_paths
from desktop_agent.ui.review.code_dialog import ApplyDialog, ApplyTarget, decoded
from desktop_agent.ui.review.diff_source import turn_obstacle
from desktop_agent.ui.translation import core_words, error_words
from desktop_agent.ui.window.session_handle import SessionHandle

if TYPE_CHECKING:
    from desktop_agent.ui.files.viewer.file_pane import FilePane

_tr = partial(QCoreApplication.translate, "FileChanging")

_PATIENCE_S = 60.0
_NOT_WRITTEN = ("not_written", "storage", "busy")


class Written(NamedTuple):
    """The outcome of a write: the reason why it failed, or the ids of its recorded changes."""

    problem: str
    changes: tuple[ChangeId, ...] = ()


class FileWriting(Controller):
    """Renames and deletes files, and is the viewer's `FileStore`. The first write starts a session if necessary."""

    def __init__(self, context: WindowContext, navigator: Navigator) -> None:
        super().__init__(context)
        self._navigator = navigator
        self._files = self._panels.files
        self._one_at_a_time = asyncio.Lock()
        self._files.file_actions.rename_requested.connect(in_background(self._launch, self._rename))
        self._files.file_actions.delete_requested.connect(in_background(self._launch, self._delete))
        self._files.done.undo_requested.connect(self._undo)

    async def save(self, root: Path, path: str, expected: str | None, content: bytes) -> str:
        return (await self.write(root, WriteFile(path=path, expected=expected, content=content))).problem

    async def write(self, root: Path, op: WriteFile | MoveFile) -> Written:
        async with self._one_at_a_time:
            handle = self._panels.session.handle
            if handle is None or root != self._navigator.workspace:
                return Written(self.tr("Another folder is open now. Open {0} first.").format(root))
            if reason := handle.read_only or turn_obstacle(is_running=handle.transcript.turns.is_running):
                return Written(reason)

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
                    answer = await submit_and_wait(handle, op, is_answer)
            except TimeoutError:
                return Written(self.tr("The conversation did not answer, so it is not known whether that was done."))
            except AgentError as error:  # the session cannot be opened
                return Written(error_words(error))
            if isinstance(answer, ev.ChangesRecorded):
                return Written("", tuple(change.id for change in answer.changes))
            assert isinstance(answer, ev.Notice)
            return Written(f"{core_words(answer.title)} {core_words(answer.hint)}".strip())

    async def compare(self, path: str, before: bytes | None, after: bytes) -> FileDiff:
        return await self._panels.diffs.compare(path, before, after)

    async def _rename(self, path: str, to: str) -> None:
        if (root := self._navigator.workspace) is None:
            return
        state = await asyncio.to_thread(_state, root, path)
        op = MoveFile(path=path, to=to, expected=state.digest, is_folder=state.kind == "folder")
        problem, changes = await self.write(root, op)
        self._say(problem or _tr("{0} was renamed to {1}.").format(path, to), changes)

    async def _delete(self, path: str) -> None:
        if (root := self._navigator.workspace) is None:
            return
        state = await asyncio.to_thread(_state, root, path)
        problem, changes = await self.write(root, WriteFile(path=path, expected=state.digest, content=None))
        self._say(problem or _tr("{0} was deleted.").format(path), changes)

    def _say(self, words: str, changes: tuple[str, ...]) -> None:
        self._files.done.say(named(words), changes)
        self._files.refresh()

    def _undo(self, changes: tuple[ChangeId, ...]) -> None:
        if (handle := self._panels.session.handle) is not None:
            handle.submit(UndoChanges(selection=ChangeSelection(change_ids=changes), includes_others=True))


def _state(root: Path, path: str) -> FileState:
    """Return the state of a file. Raises `WorkspaceError` if the file is missing or unreadable. Blocks."""
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
    """Return the paths that `named` may mean, existing files first. A name may be the last parts of a path."""
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
    """Read the file at `path` below `root`. Raises `WorkspaceError` if code cannot be written there. Blocks."""
    parts = Path(path).parts
    file = root / path
    if not parts or Path(path).is_absolute() or ".." in parts or not file.resolve().is_relative_to(root.resolve()):
        raise WorkspaceError("The file is outside the open folder.", hint="Give its path relative to the folder.")
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
        raise WorkspaceError(f"{relative} is not UTF-8 text.", hint="Choose another file.")
    return ApplyTarget(relative, text, digest_of(content))


class FileViewing(Controller):
    def __init__(self, context: WindowContext, navigator: Navigator, files: FolderFiles, saving: FileWriting) -> None:
        super().__init__(context)
        panels = self._panels
        self._files = files
        self._saving = saving
        self._navigator = navigator
        self._spawn = spawn = panels.spawner.spawn
        self._pane: FilePane | None = None
        self._handle: SessionHandle | None = None
        """The session whose renamed files the viewer follows to their new paths."""
        navigator.shown.connect(self._on_shown)
        navigator.workspace_changed.connect(self._on_workspace_changed)
        files.listed.connect(in_background(spawn, self._link))
        panels.files.file_actions.file_activated.connect(self.open_file)
        panels.files.file_actions.application_requested.connect(open_with_application)
        panels.transcript.entry_actions.file_requested.connect(self.open_file)
        panels.review.file_open_requested.connect(self.open_file)

    def open_file(self, path: str, line: int = 0) -> None:
        """Show a file at `line` (from 1; 0: none). `path` is absolute or relative to the open folder."""
        root = self._navigator.workspace
        if root is None:
            return
        path = real_name(path)  # the palette and links have names as JSON has them
        named = Path(path)
        inside = named.is_absolute() and named.is_relative_to(root)
        self._opened_pane().open_file(root, named.relative_to(root).as_posix() if inside else path, line)

    def may_close(self) -> bool:
        if self._pane is None or not self._pane.has_unsaved:
            return True
        self._pane.ask_for_unsaved()
        return False

    def _on_workspace_changed(self, root: Path) -> None:
        if self._pane is not None:
            self._pane.show_root(root)

    def _on_happened(self, event: ev.Event) -> None:
        root = self._navigator.workspace
        if self._pane is None or self._handle is None or root is None:
            return
        if paths := new_paths(event, self._handle.transcript.changes):
            self._pane.follow(root, paths)

    def _on_shown(self) -> None:
        if self._handle is not None:
            self._handle.happened.disconnect(self._on_happened)
        self._handle = self._panels.session.handle
        if self._handle is not None:
            self._handle.happened.connect(self._on_happened)
        if self._files.known is None and (root := self._navigator.workspace) is not None:
            self._panels.transcript.row_layout.files.set_files(str(root), frozenset(), {})
            self._spawn(self._files.latest())

    async def _link(self, paths: FolderPaths, _is_changed: bool) -> None:
        root, layout = self._navigator.workspace, self._panels.transcript.row_layout
        names = await asyncio.to_thread(names_alone, paths.files)
        is_current = root == self._navigator.workspace and self._files.known is paths
        if is_current and layout.files.set_files(str(root), paths.files, names):
            layout.restyle()

    def _opened_pane(self) -> "FilePane":
        if self._pane is None:
            from desktop_agent.ui.files.viewer.file_pane import FilePane  # with the first file

            self._pane = FilePane(self._theme, self._saving, self._spawn, self._panels.review)
            window = self._panels.window
            window.set_file_pane(self._pane)
            window.review_wanted.connect(self._pane.show_review)
            self._pane.wanted.connect(window.show_files)
            self._pane.emptied.connect(window.leave_files)
            self._pane.tabs.review_alone.connect(self._panels.review.show_title)
            self._pane.left.connect(window.show_beside_review)
            self._pane.left.connect(self._panels.composer.setFocus)
            self._pane.review_chosen.connect(window.show_review)
            self._pane.head.application_requested.connect(open_with_application)
        return self._pane
