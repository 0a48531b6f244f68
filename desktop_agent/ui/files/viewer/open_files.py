"""Notices that files which are open in the viewer changed on disk."""

from collections.abc import Iterable

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

SETTLE_MS = 150
"""A file is often written in several steps, or replaced: read once it has been quiet for this long."""


class OpenFiles(QObject):
    """Watches files (absolute paths), also those that are replaced by renaming or come back.

    Signals:
        changed: some of them may be others now.
    """

    changed = Signal()

    def __init__(self, parent: QObject, *, settle_ms: int = SETTLE_MS) -> None:
        super().__init__(parent)
        self._wanted: set[str] = set()
        self._watcher = QFileSystemWatcher(self)
        self._settle = QTimer(self, interval=settle_ms, singleShot=True)
        self._settle.timeout.connect(self._report)
        self._watcher.fileChanged.connect(self._note)
        self._watcher.directoryChanged.connect(self._note)

    def watch(self, files: Iterable[str], folders: Iterable[str]) -> None:
        """Watch these files, and the folders that they are in, instead of those before."""
        self._wanted = {*files, *folders}
        self._update()

    def pause(self) -> None:
        """Tell nothing until `watch` is called again."""
        self.watch((), ())
        self._settle.stop()

    def _update(self) -> None:
        watched = {*self._watcher.files(), *self._watcher.directories()}
        if outdated := watched - self._wanted:
            self._watcher.removePaths(list(outdated))
        if missing := self._wanted - watched:
            self._watcher.addPaths(list(missing))  # what is not there is noticed by its folder

    def _note(self, _path: str) -> None:
        self._settle.start()

    def _report(self) -> None:
        self._update()  # the watch on a file ends when it is replaced
        self.changed.emit()
