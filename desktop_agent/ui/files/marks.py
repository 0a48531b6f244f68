"""What git and the agent say about a path, looked up when its row is drawn."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from desktop_agent.core.system.git.repository import FileState, FileStatus
from desktop_agent.core.system.workspace import FolderMark


class FileMark(NamedTuple):
    """What is known about one path."""

    state: FileState | None = None
    """Of the path itself, or of the untracked or ignored folder it is in."""
    below: FolderMark | None = None
    """Of a folder: the strongest change below it."""
    is_touched: bool = False
    """The agent changed it in this session, or something below it."""
    renamed_from: str = ""

    @property
    def is_ignored(self) -> bool:
        """Whether git leaves it alone."""
        return self.state == "ignored"


class FileMarks:
    """The marks of a whole workspace at one moment. Immutable: a refresh makes another one."""

    def __init__(
        self,
        files: Mapping[str, FileStatus] | None = None,
        folders: Mapping[str, FolderMark] | None = None,
        touched: Iterable[str] = (),
    ) -> None:
        self._files: Mapping[str, FileStatus] = files if files is not None else {}
        self._folders: Mapping[str, FolderMark] = folders if folders is not None else {}
        self._touched = frozenset(touched)
        self._touched_folders = _folders_above(self._touched)
        self._has_whole_folders = any(status.is_folder for status in self._files.values())

    def with_touched(self, touched: Iterable[str]) -> "FileMarks":
        """Return the same marks with other files changed by the agent."""
        return FileMarks(self._files, self._folders, touched)

    def of(self, path: str, *, is_dir: bool) -> FileMark:
        """Return what is known about `path`."""
        status = self._files.get(path) or self._inherited(path)
        is_touched = path in self._touched or (is_dir and path in self._touched_folders)
        below = self._folders.get(path) if is_dir else None
        if status is None:
            return FileMark(None, below, is_touched) if below or is_touched else _NOTHING
        return FileMark(status.state, below, is_touched, status.renamed_from)

    def is_deleted(self, path: str) -> bool:
        """Whether git still knows the file but it is gone."""
        status = self._files.get(path)
        return status is not None and status.state == "deleted"

    def _inherited(self, path: str) -> FileStatus | None:
        if not self._has_whole_folders:
            return None
        for folder in _folders_of(path):
            status = self._files.get(folder)
            if status is not None and status.is_folder:
                return status
        return None


_NOTHING = FileMark()


def _folders_above(paths: Iterable[str]) -> set[str]:
    """Return the folders that these paths are in, each looked at once: thousands of files are in a few of them."""
    found: set[str] = set()
    level = {path.rpartition("/")[0] for path in paths} - {""}
    while level:
        found |= level
        level = {folder.rpartition("/")[0] for folder in level} - found - {""}
    return found


def _folders_of(path: str) -> Iterable[str]:
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)
