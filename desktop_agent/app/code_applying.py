"""Code of an answer goes into a file: found, compared, and written as a change of the user."""

import asyncio
import stat
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject

from desktop_agent.app.folder_files import FolderFiles
from desktop_agent.app.window_panels import WindowPanels
from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.protocol.model import FileChange, FileDiff
from desktop_agent.core.system.files import digest_of
from desktop_agent.ui.review.code_placing import ApplyTarget, decoded
from desktop_agent.ui.review.diff_source import Spawn, turn_obstacle
from desktop_agent.ui.theme import Theme

_LARGEST_BYTES = 2_000_000
_OFFERED = 12


class CodeApplying(QObject):
    """Opens the dialog for a block of code, and answers what it asks: an `ApplySource`."""

    def __init__(self, panels: WindowPanels, theme: Theme, files: FolderFiles, spawn: Spawn) -> None:
        super().__init__(panels.window)
        self._panels = panels
        self._theme = theme
        self._files = files
        self._spawn = spawn
        panels.transcript.entry_actions.apply_requested.connect(self._open)

    def _open(self, code: str, paths: Sequence[str]) -> None:
        self._spawn(self._open_with(code, paths))

    async def _open_with(self, code: str, paths: Sequence[str]) -> None:
        from desktop_agent.ui.review.code_dialog import ApplyDialog  # with the first one

        known = await self._files.latest()
        found = await asyncio.to_thread(likely_paths, paths, known.files if known is not None else frozenset[str]())
        dialog = ApplyDialog(self._theme, code, found, self, self._spawn, self._panels.window)
        dialog.chosen.connect(self._write)
        dialog.open()

    def _write(self, op: object) -> None:
        from desktop_agent.core.protocol.ops import WriteFile

        if (bridge := self._panels.wiring.bridge) is not None and isinstance(op, WriteFile):
            bridge.submit(op)

    # -- what the dialog asks --

    async def read(self, path: str) -> ApplyTarget:
        """See `ApplySource.read`."""
        bridge = self._panels.wiring.bridge
        if bridge is None:
            raise WorkspaceError(self.tr("No folder is open"), hint=self.tr("Open one first."))
        return await asyncio.to_thread(read_target, Path(bridge.transcript.session.workspace), path)

    async def compare(self, target: ApplyTarget, new: str) -> FileDiff:
        """See `ApplySource.compare`."""
        before = target.text.encode() if target.text is not None else None
        kind = "created" if before is None else "modified"
        change = FileChange(id="apply", path=target.path, kind=kind, author="person", before=None, after=None)
        return await self._panels.diffs.compare(change, before, new.encode())

    async def offers(self, typed: str) -> Sequence[str]:
        """See `ApplySource.offers`."""
        known = await self._files.latest()
        if known is None or not typed.strip():
            return ()
        found = await asyncio.to_thread(lambda: list(known.offers(typed, _OFFERED)))
        return [offer.label for offer in found if offer.kind == "file"]

    def obstacle(self) -> str:
        """See `ApplySource.obstacle`."""
        bridge = self._panels.wiring.bridge
        if bridge is None or bridge.read_only:
            return self.tr("This conversation cannot be changed here.")
        return turn_obstacle(is_running=bridge.transcript.turns.is_running)


def likely_paths(named: Sequence[str], files: frozenset[str]) -> list[str]:
    """Return the paths that are named, those of known files first, also where only their last parts were named."""
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
        raise WorkspaceError("The file does not lie in the open folder.", hint="Give its path from the folder on.")
    relative = Path(path).as_posix()
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST_BYTES:
            raise WorkspaceError(f"{relative} is no file that code can be applied to.", hint="Choose another one.")
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ApplyTarget(relative, None, None)
    except OSError as error:
        raise WorkspaceError(f"{relative} cannot be read.", hint="Choose another file.", detail=str(error)) from error
    text = decoded(content)
    if text is None:
        raise WorkspaceError(f"{relative} is not a text in UTF-8.", hint="Choose another file.")
    return ApplyTarget(relative, text, digest_of(content))
