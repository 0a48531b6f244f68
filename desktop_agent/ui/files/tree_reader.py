"""Reads folders, git and the list of files in the background, and again after changes on disk."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QElapsedTimer, QFileSystemWatcher, QObject, Qt, QTimer, Signal

from desktop_agent.core.base.matching import NarrowingSearch
from desktop_agent.core.system.git.repository import NoStatus, Repository, RepoStatus, find_repository
from desktop_agent.core.system.workspace import FolderListing, roll_up, scan_directory, walk_files
from desktop_agent.ui.files.file_tree_model import FileMarks, FileTreeModel, Folder, ListingEdit, edits_between
from desktop_agent.ui.runtime.pacing import one_shot

SETTLE_MS = 300
"""How long files must not have changed before they are read, because a checkout or a build changes many in a row."""

PATIENCE_MS = 2_000
"""The longest wait after the first change. Then files are read even if changes keep coming."""

POLL_MS = 10_000
"""The shortest poll interval. Polls are needed: an edit does not change its folder, and some disks report nothing."""

SELDOM_MS = 60_000
"""The longest poll interval. While nothing changes, each interval is twice the last."""

MAX_WATCHED = 400
"""The most watched folders: all programs together get a limited number of watches. Polls cover the other folders."""


class PathWatch(QObject):
    """Watches files and folders by absolute path, even if other files are renamed to the paths. Idle until `resume`."""

    changed = Signal(object)  # a set of paths

    def __init__(self, parent: QObject | None = None, *, settle_ms: int = SETTLE_MS) -> None:
        super().__init__(parent)
        self._paths: set[str] = set()
        self._changed: set[str] = set()
        self._watcher: QFileSystemWatcher | None = None
        self._unquiet = QElapsedTimer()
        self._settle = one_shot(self, settle_ms, self._report)

    @property
    def is_active(self) -> bool:
        return self._watcher is not None

    def watch(self, paths: Iterable[str]) -> None:
        self._paths = set(paths)
        self._update()

    def resume(self) -> None:
        if self._watcher is None:
            self._watcher = QFileSystemWatcher(self)
            self._watcher.directoryChanged.connect(self._note)
            self._watcher.fileChanged.connect(self._note)
            self._update()

    def nudge(self) -> None:
        """Report a change of unknown files."""
        if self._watcher is not None:
            if not self._settle.isActive():
                self._unquiet.start()
            if self._unquiet.elapsed() < PATIENCE_MS:
                self._settle.start()

    def pause(self) -> None:
        self._settle.stop()
        self._changed.clear()
        if self._watcher is not None:
            self._watcher.blockSignals(True)  # reported changes that have not arrived yet must be ignored
            self._watcher.deleteLater()
            self._watcher = None

    def _update(self) -> None:
        if self._watcher is None:
            return
        watched = {*self._watcher.directories(), *self._watcher.files()}
        if outdated := watched - self._paths:
            self._watcher.removePaths(list(outdated))
        if missing := self._paths - watched:
            self._watcher.addPaths(list(missing))  # missing files are noticed by their folder's watch or by a poll

    def _note(self, path: str) -> None:
        self._changed.add(path)
        self.nudge()

    def _report(self) -> None:
        changed, self._changed = self._changed, set()
        self._update()  # the watch on a file ends when it is replaced
        self.changed.emit(changed)


class FolderWatch(PathWatch):
    folder_changed = Signal(str)  # an absolute path
    repository_changed = Signal()  # the index or HEAD changed, or a folder did
    due = Signal()  # time to check files that cannot be watched

    def __init__(self, parent: QObject | None = None, *, settle_ms: int = SETTLE_MS, poll_ms: int = POLL_MS) -> None:
        super().__init__(parent, settle_ms=settle_ms)
        self._folders: list[str] = []
        self._repository_files: list[str] = []
        self._poll = QTimer(self, interval=poll_ms, timerType=Qt.TimerType.VeryCoarseTimer)
        self._poll.timeout.connect(self._on_poll)
        self._poll_ms = poll_ms
        self.changed.connect(self._on_changed)

    def watch_folders(self, folders: Iterable[Path]) -> None:
        """Watch these folders. The most important must come first, because the number of watches is limited."""
        self._folders = [str(folder) for folder in folders][:MAX_WATCHED]
        self.watch([*self._folders, *self._repository_files])

    def watch_repository(self, git_dir: Path | None) -> None:
        self._repository_files = [] if git_dir is None else [str(git_dir / "index"), str(git_dir / "HEAD")]
        self.watch([*self._folders, *self._repository_files])

    def resume(self) -> None:
        super().resume()
        self.poll_often()

    def nudge(self) -> None:
        self.poll_often()
        super().nudge()

    def poll_often(self) -> None:
        if self.is_active:
            self._poll.start(self._poll_ms)

    def pause(self) -> None:
        self._poll.stop()
        super().pause()

    def _on_poll(self) -> None:
        self._poll.setInterval(min(self._poll.interval() * 2, max(SELDOM_MS, self._poll_ms)))
        self.due.emit()

    def _on_changed(self, paths: set[str]) -> None:
        for folder in paths.intersection(self._folders):
            self.folder_changed.emit(folder)
        self.repository_changed.emit()  # a new or deleted file also changes the git status


class _Job(NamedTuple):
    generation: int
    workspace: Path
    key: str


Spawn = Callable[[Coroutine[object, object, None]], None]


class TreeReader(QObject):
    """Reads for one tree. A request during a read causes one more read. Drops results for an earlier workspace."""

    repository_moved = Signal()  # the git status changed since the last request
    repository_read = Signal(object)  # a `RepoStatus`, or a `NoStatus` with the reason
    matches_found = Signal(object)  # `Matches`, the answer to the latest `find`

    def __init__(self, model: FileTreeModel, spawn: Spawn, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._spawn = spawn
        self.workspace: Path | None = None
        self._generation = 0
        self.repository: Repository | None = None
        self._answer: RepoStatus | NoStatus | None = None
        self._touched: frozenset[str] = frozenset()
        self._running: dict[str, bool] = {}
        """Whether to read again after each running read, by folder or by `_REPOSITORY` or `_MATCHES`."""
        self._repository_timer = QElapsedTimer()
        """Runs from the last request to git, and restarts when git answers."""
        self._took_ms = 0
        self._files: NarrowingSearch | None = None
        self._query = ""
        model.wanted.connect(self.read_folder)

    def start(self, workspace: Path | None) -> None:
        self._generation += 1
        self.workspace = workspace
        self.repository = self._answer = None
        self._touched = frozenset()
        self._running = {}
        self._files = None
        if workspace is None:
            self._model.clear()
        else:
            self._model.reset()
            self.read_repository()

    def set_touched(self, paths: Iterable[str]) -> None:
        touched = frozenset(paths)
        if touched != self._touched:
            self._touched = touched
            self._model.set_marks(self._model.marks.with_touched(touched))

    def read_folder(self, path: str) -> None:
        self._run(path, self._read_folder)

    def read_repository(self) -> None:
        self._run(_REPOSITORY, self._read_repository)

    def poll_repository(self) -> None:
        """Ask git again, unless a request is running or the pause after a slow request has not ended (see `_REST`)."""
        is_resting = self._repository_timer.isValid() and self._repository_timer.elapsed() < _REST * self._took_ms
        if _REPOSITORY not in self._running and not is_resting:
            self.read_repository()

    def forget_files(self) -> None:
        self._files = None

    def find(self, query: str) -> None:
        self._query = query
        self._run(_MATCHES, self._find)

    def _run(self, key: str, read: Callable[[_Job], Coroutine[object, object, None]]) -> None:
        if self.workspace is None:
            return
        if key in self._running:
            self._running[key] = True
        else:
            self._running[key] = False
            self._spawn(self._repeat(_Job(self._generation, self.workspace, key), read))

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
        folder = self._model.find(job.key)
        if folder is None:
            return
        listing, edits = await asyncio.to_thread(_scan, job.workspace / job.key, folder)
        if not self._is_current(job):
            return
        if self._model.find(job.key) is folder:
            self._model.put(folder, listing, edits)
        else:
            self._running[job.key] = True  # closed and opened again meanwhile: these edits refer to outdated rows

    async def _read_repository(self, job: _Job) -> None:
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
            self.repository, self._answer = repository, answer
            if is_news:
                self.repository_moved.emit()
            self._model.set_marks(marks.with_touched(self._touched))
            self.repository_read.emit(answer)

    async def _find(self, job: _Job) -> None:
        if self._files is None:
            from desktop_agent.core.system.git.git_process import list_files

            listed = await list_files(job.workspace) or await asyncio.to_thread(walk_files, job.workspace)
            files = listed[0]
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
"""Up to this many files, making the marks takes less time than waking a thread."""
_REST = 20
"""After a request to git, the next poll waits this many times as long as the request took."""

MAX_MATCHES = 200


def _scan(path: Path, folder: Folder) -> tuple[FolderListing, list[ListingEdit]]:
    listing = scan_directory(path)
    return listing, edits_between(folder, listing)


def _compare(before: RepoStatus | NoStatus | None, now: RepoStatus | NoStatus) -> tuple[FileMarks, bool]:
    marks = FileMarks(now.files, roll_up(now.files)) if isinstance(now, RepoStatus) else FileMarks()
    return marks, now != before


def _search(files: Sequence[str], marks: FileMarks) -> NarrowingSearch:
    return NarrowingSearch([path for path in files if not marks.is_deleted(path)])
