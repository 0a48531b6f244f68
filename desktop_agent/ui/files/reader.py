"""Reads folders, git and the list of files in the background, and gives the model what came of it."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QElapsedTimer, QObject, Signal

from desktop_agent.core.base.matching import NarrowingSearch
from desktop_agent.core.system.git.repository import NoStatus, Repository, RepoStatus, find_repository
from desktop_agent.core.system.workspace import FolderListing
from desktop_agent.ui.files.marks import FileMarks
from desktop_agent.ui.files.model import FileTreeModel
from desktop_agent.ui.files.outline import Folder, OutlineEdit, edits_between


class _Job(NamedTuple):
    """One thing to read, of the workspace of one moment."""

    generation: int
    workspace: Path
    key: str


Spawn = Callable[[Coroutine[object, object, None]], None]
"""Runs a coroutine to its end in the background, and reports what it raises."""


class TreeReader(QObject):
    """One reader per tree. Each folder, and git, is read once at a time; asking meanwhile means once more after it.

    What was read for an earlier workspace is dropped.

    Signals:
        repository_moved: git says something else than when it was last asked.
        repository_read: the state of the repository is known: a `RepoStatus`, or a `NoStatus` with the reason.
        matches_found: the answer to the latest `find`: a `Matches`.
    """

    repository_moved = Signal()
    repository_read = Signal(object)
    matches_found = Signal(object)

    def __init__(self, model: FileTreeModel, spawn: Spawn, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._spawn = spawn
        self._workspace: Path | None = None
        self._generation = 0
        self._repository: Repository | None = None
        self._answer: RepoStatus | NoStatus | None = None
        """What git last said."""
        self._touched: frozenset[str] = frozenset()
        self._running: dict[str, bool] = {}
        """What is being read, by folder or by one of the two keys below, and whether to read it again afterwards."""
        self._repository_timer = QElapsedTimer()
        """Runs from when git was last asked, and from when it last answered."""
        self._took_ms = 0
        self._files: NarrowingSearch | None = None
        self._query = ""
        model.wanted.connect(self.read_folder)

    @property
    def workspace(self) -> Path | None:
        """The folder being read."""
        return self._workspace

    @property
    def repository(self) -> Repository | None:
        """The repository it is in, once known."""
        return self._repository

    def start(self, workspace: Path | None) -> None:
        """Read this workspace from now on, or none."""
        self._generation += 1
        self._workspace = workspace
        self._repository = self._answer = None
        self._touched = frozenset()
        self._running = {}
        self._files = None
        if workspace is None:
            self._model.clear()
        else:
            self._model.reset()
            self.read_repository()

    def set_touched(self, paths: Iterable[str]) -> None:
        """Mark these files (relative paths) as changed by the agent."""
        touched = frozenset(paths)
        if touched != self._touched:
            self._touched = touched
            self._model.set_marks(self._model.marks.with_touched(touched))

    def read_folder(self, path: str) -> None:
        """Read an open folder again; `path` is relative to the workspace."""
        self._run(path, self._read_folder)

    def read_repository(self) -> None:
        """Ask git again."""
        self._run(_REPOSITORY, self._read_repository)

    def poll_repository(self) -> None:
        """Ask git again, unless it is busy answering or was so slow that it deserves a rest."""
        is_resting = self._repository_timer.isValid() and self._repository_timer.elapsed() < _REST * self._took_ms
        if _REPOSITORY not in self._running and not is_resting:
            self.read_repository()

    def forget_files(self) -> None:
        """List the files anew for the next `find`: some may have come or gone."""
        self._files = None

    def find(self, query: str) -> None:
        """Look for files; the answer to the latest query comes by `matches_found`."""
        self._query = query
        self._run(_MATCHES, self._find)

    # --- in the background ----------------------------------------------------------------------------------------

    def _run(self, key: str, read: Callable[[_Job], Coroutine[object, object, None]]) -> None:
        if self._workspace is None:
            return
        if key in self._running:
            self._running[key] = True
        else:
            self._running[key] = False
            self._spawn(self._repeat(_Job(self._generation, self._workspace, key), read))

    async def _repeat(self, job: _Job, read: Callable[[_Job], Coroutine[object, object, None]]) -> None:
        try:
            while self._is_current(job):
                self._running[job.key] = False
                await read(job)
                if self._is_current(job) and not self._running[job.key]:
                    return
        finally:
            if self._is_current(job):
                del self._running[job.key]

    def _is_current(self, job: _Job) -> bool:
        return job.generation == self._generation

    async def _read_folder(self, job: _Job) -> None:
        import asyncio

        folder = self._model.outline.find(job.key)
        if folder is None:
            return
        listing, edits = await asyncio.to_thread(_scan, job.workspace / job.key, folder)
        if not self._is_current(job):
            return
        if self._model.outline.find(job.key) is folder:
            self._model.put(folder, listing, edits)
        else:
            self._running[job.key] = True  # closed and opened again meanwhile: these edits start from other rows

    async def _read_repository(self, job: _Job) -> None:
        import asyncio

        from desktop_agent.core.system.git.git_process import status_of

        self._repository_timer.start()
        repository = await asyncio.to_thread(find_repository, job.workspace)
        if repository is None:
            answer = NoStatus(reason="not_a_repository")
        else:
            answer = await status_of(repository)
        is_long = isinstance(answer, RepoStatus) and len(answer.files) > _FEW_FILES
        work = partial(_compare, self._answer, answer)
        marks, is_news = await asyncio.to_thread(work) if is_long else work()
        self._took_ms = self._repository_timer.restart()
        if self._is_current(job):
            self._repository, self._answer = repository, answer
            if is_news:
                self.repository_moved.emit()
            self._model.set_marks(marks.with_touched(self._touched))
            self.repository_read.emit(answer)

    async def _find(self, job: _Job) -> None:
        import asyncio

        if self._files is None:
            files = await _all_files(job.workspace)
            search = await asyncio.to_thread(_search, files, self._model.marks)
            if not self._is_current(job):
                return
            self._files = search
        matches = await asyncio.to_thread(self._files.find, self._query, limit=MAX_MATCHES)
        if self._is_current(job):
            self.matches_found.emit(matches)


_REPOSITORY = "\0repository"
_MATCHES = "\0matches"
_FEW_FILES = 200
"""The marks of so many are made in less time than a thread takes to wake up."""
_REST = 20
"""Polling takes at most one part in this many of the time."""

MAX_MATCHES = 200
"""More are not listed; the count says how many there are."""


def _scan(path: Path, folder: Folder) -> tuple[FolderListing, list[OutlineEdit]]:
    from desktop_agent.core.system.workspace import scan_directory

    listing = scan_directory(path)
    return listing, edits_between(folder, listing)


def _compare(before: RepoStatus | NoStatus | None, now: RepoStatus | NoStatus) -> tuple[FileMarks, bool]:
    """Return the marks of the files, and whether git says something else than before."""
    from desktop_agent.core.system.workspace import roll_up

    marks = FileMarks(now.files, roll_up(now.files)) if isinstance(now, RepoStatus) else FileMarks()
    return marks, now != before


async def _all_files(workspace: Path) -> Sequence[str]:
    import asyncio

    from desktop_agent.core.system.git.git_process import list_files
    from desktop_agent.core.system.workspace import walk_files

    listed = await list_files(workspace) or await asyncio.to_thread(walk_files, workspace)
    return listed[0]


def _search(files: Sequence[str], marks: FileMarks) -> NarrowingSearch:
    return NarrowingSearch([path for path in files if not marks.is_deleted(path)])
