"""Notices that open folders or the repository changed on disk."""

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QFileSystemWatcher, QObject, Qt, QTimer, Signal

SETTLE_MS = 300
"""A checkout or a build changes many files: read once it has been quiet for this long."""

PATIENCE_MS = 2_000
"""Where it is never quiet, read after this time all the same."""

POLL_MS = 10_000
"""Edits inside a file do not change its folder, and some file systems report nothing at all."""

SELDOM_MS = 60_000
"""As long as nothing changes, each poll is twice as far away as the last, but not farther than this."""

MAX_WATCHED = 400
"""The system hands out a limited number of watches to all programs together; the poll covers the rest."""


class FolderWatch(QObject):
    """Watches the folders that are open and the two files that git rewrites. Stopped until `resume`.

    Signals:
        folder_changed: entries came to or left this folder (an absolute path).
        repository_changed: the index or HEAD is another one.
        due: time to look again at what cannot be watched.
    """

    folder_changed = Signal(str)
    repository_changed = Signal()
    due = Signal()

    def __init__(self, parent: QObject | None = None, *, settle_ms: int = SETTLE_MS, poll_ms: int = POLL_MS) -> None:
        super().__init__(parent)
        self._folders: list[str] = []
        self._repository_files: list[str] = []
        self._changed: set[str] = set()
        self._watcher: QFileSystemWatcher | None = None
        self._unquiet = QElapsedTimer()
        self._settle = QTimer(self, interval=settle_ms, singleShot=True)
        self._settle.timeout.connect(self._report)
        self._poll = QTimer(self, interval=poll_ms, timerType=Qt.TimerType.VeryCoarseTimer)
        self._poll.timeout.connect(self._on_poll)
        self._poll_ms = poll_ms

    @property
    def is_active(self) -> bool:
        """Whether anything is watched or timed."""
        return self._watcher is not None

    def watch_folders(self, folders: Iterable[Path]) -> None:
        """Watch these folders instead of the present ones. The first matter most, should there be too many."""
        self._folders = [str(folder) for folder in folders][:MAX_WATCHED]
        self._update()

    def watch_repository(self, git_dir: Path | None) -> None:
        """Watch the repository with this git folder, or none."""
        self._repository_files = [] if git_dir is None else [str(git_dir / "index"), str(git_dir / "HEAD")]
        self._update()

    def resume(self) -> None:
        """Watch and poll."""
        if self._watcher is None:
            self._watcher = QFileSystemWatcher(self)
            self._watcher.directoryChanged.connect(self._note)
            self._watcher.fileChanged.connect(self._note)
            self.poll_often()
            self._update()

    def nudge(self) -> None:
        """Assume that some files changed, without knowing which."""
        if self._watcher is not None:
            self._wait_until_settled()

    def poll_often(self) -> None:
        """Expect more changes soon: something has changed, or the user is back."""
        if self._watcher is not None:
            self._poll.start(self._poll_ms)

    def pause(self) -> None:
        """Hold no watch and no running timer."""
        self._settle.stop()
        self._poll.stop()
        self._changed.clear()
        if self._watcher is not None:
            self._watcher.blockSignals(True)  # it may have news already, which come before its end does
            self._watcher.deleteLater()
            self._watcher = None

    def _update(self) -> None:
        if self._watcher is None:
            return
        watched = {*self._watcher.directories(), *self._watcher.files()}
        wanted = {*self._folders, *self._repository_files}
        if outdated := watched - wanted:
            self._watcher.removePaths(list(outdated))
        if missing := wanted - watched:
            self._watcher.addPaths(list(missing))  # what is not there, or is one too many, is left to the poll

    def _on_poll(self) -> None:
        self._poll.setInterval(min(self._poll.interval() * 2, max(SELDOM_MS, self._poll_ms)))
        self.due.emit()

    def _note(self, path: str) -> None:
        self._changed.add(path)
        self._wait_until_settled()

    def _wait_until_settled(self) -> None:
        self.poll_often()
        if not self._settle.isActive():
            self._unquiet.start()
        if self._unquiet.elapsed() < PATIENCE_MS:
            self._settle.start()

    def _report(self) -> None:
        changed, self._changed = self._changed, set()
        self._update()  # git replaces its files by renaming, which ends the watch on the old one
        for folder in changed.intersection(self._folders):
            self.folder_changed.emit(folder)
        self.repository_changed.emit()  # a new or deleted file is a change for git as well
