"""The marks of git and the agent for a path, as letters and in words. Looked up when a row is drawn."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.file_names import all_folders_above, parents_of
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.system.git.repository import FileState, FileStatus, NoStatus
from desktop_agent.core.system.workspace import FolderMark

_tr = partial(QCoreApplication.translate, "FileTree")


class FileMark(NamedTuple):
    state: FileState | None = None
    """The state of the path itself, or of an untracked or ignored folder that contains it."""
    below: FolderMark | None = None
    """For a folder: the strongest change below it."""
    is_touched: bool = False
    """Whether the agent changed the file, or something below the folder, in this session."""
    renamed_from: str = ""


class FileMarks:
    """The marks of a whole workspace. Immutable: a refresh makes new marks."""

    def __init__(
        self,
        files: Mapping[str, FileStatus] | None = None,
        folders: Mapping[str, FolderMark] | None = None,
        touched: Iterable[str] = (),
    ) -> None:
        self._files: Mapping[str, FileStatus] = files if files is not None else {}
        self._folders: Mapping[str, FolderMark] = folders if folders is not None else {}
        self._touched = frozenset(touched)
        self._touched_folders = all_folders_above(self._touched)
        self._has_whole_folders = any(status.is_folder for status in self._files.values())

    def with_touched(self, touched: Iterable[str]) -> "FileMarks":
        return FileMarks(self._files, self._folders, touched)

    def of(self, path: str, *, is_dir: bool) -> FileMark:
        status = self._files.get(path) or self._inherited(path)
        is_touched = path in self._touched or (is_dir and path in self._touched_folders)
        below = self._folders.get(path) if is_dir else None
        if status is None:
            return FileMark(None, below, is_touched) if below or is_touched else _NOTHING
        return FileMark(status.state, below, is_touched, status.renamed_from)

    def is_deleted(self, path: str) -> bool:
        status = self._files.get(path)
        return status is not None and status.state == "deleted"

    def _inherited(self, path: str) -> FileStatus | None:
        found = map(self._files.get, parents_of(path) if self._has_whole_folders else ())
        return next((status for status in found if status is not None and status.is_folder), None)


_NOTHING = FileMark()


LETTERS: Final[Mapping[FileState, str]] = {
    "modified": "M", "added": "A", "deleted": "D", "renamed": "R", "untracked": "U", "conflicted": "C",
}  # fmt: skip
"""The letters that mark changed files. Ignored files have none, because they are dimmed."""

COLOUR_OF_STATE: Final[Mapping[FileState | FolderMark, str]] = {
    "modified": "syntax_number",  # the brown of the drawn target; amber would say that something waits for the user
    "added": "added_text",
    "deleted": "removed_text",
    "renamed": "syntax_function",
    "untracked": "added_text",
    "conflicted": "danger_text",
}


def describe_mark(mark: FileMark) -> list[str]:
    states: dict[FileState, str] = {
        "modified": _tr("modified"),
        "added": _tr("added"),
        "deleted": _tr("deleted"),
        "renamed": _tr("renamed from {0}").format(named(mark.renamed_from)),
        "untracked": _tr("new, not in git yet"),
        "conflicted": _tr("has merge conflicts"),
        "ignored": _tr("ignored by git"),
    }
    below: dict[FolderMark, str] = {
        "modified": _tr("contains changes"),
        "added": _tr("contains new files"),
        "conflicted": _tr("contains merge conflicts"),
    }
    phrases = [states[mark.state]] if mark.state else [below[mark.below]] if mark.below else []
    return [*phrases, _tr("changed by the agent")] if mark.is_touched else phrases


def why_no_marks(answer: NoStatus) -> str:
    return {
        "not_a_repository": "",
        "git_missing": _tr("No marks: git is not installed."),
        "too_slow": _tr("No marks: git took too long."),
        "replaced": _tr("No marks: this folder's git repository was replaced by another one."),
        "failed": _tr("No marks: git says “{0}”").format(answer.detail),
    }[answer.reason]
