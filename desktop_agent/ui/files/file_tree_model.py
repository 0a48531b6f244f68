"""The model of the file tree: a flat list of the visible rows, from the open folders, with the marks of their paths."""

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple

from PySide6.QtCore import QAbstractListModel, QCoreApplication, QObject, Qt, Signal

from desktop_agent.core.base.file_names import all_folders_above, parents_of
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.system.git.repository import FileState, FileStatus, NoStatus
from desktop_agent.core.system.workspace import FolderListing, FolderMark, natural_key
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex
from desktop_agent.ui.wording import plain_tooltip

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


class Folder:
    __slots__ = (
        "depth", "folder_count", "is_loaded", "links", "name", "names", "open_folders", "parent", "path", "position",
        "problem", "span",
    )  # fmt: skip

    def __init__(self, name: str, parent: "Folder | None", position: int) -> None:
        self.name = name
        self.parent = parent
        self.position = position
        self.path = name if parent is None or not parent.path else f"{parent.path}/{name}"
        """The path relative to the workspace, with `/`; empty for the workspace itself."""
        self.depth: int = -1 if parent is None else parent.depth + 1
        self.names: list[str] = []
        self.folder_count = 0
        self.links: frozenset[str] = frozenset()
        self.open_folders: list[Folder] = []
        self.span = 0
        """How many rows are shown below it, at any depth."""
        self.is_loaded = False
        self.problem = ""

    def open_at(self, position: int) -> "Folder | None":
        return next((folder for folder in self.open_folders if folder.position == position), None)

    def row(self, position: int) -> int:
        """`position` may be one past the last entry."""
        before = sum(child.span for child in self.open_folders if child.position < position)
        start = 0 if self.parent is None else self.parent.row(self.position) + 1
        return start + position + before

    def apply(self, edit: "ListingEdit") -> None:
        """Apply an edit. Folders among the replaced entries must be closed."""
        growth = len(edit.names) - (edit.end - edit.start)
        self.names[edit.start : edit.end] = edit.names
        if edit.are_folders:
            self.folder_count += growth
        for child in self.open_folders:
            if child.position >= edit.end:
                child.position += growth
        self.grow(growth)

    def grow(self, rows: int) -> None:
        folder: Folder | None = self
        while folder is not None:
            folder.span += rows
            folder = folder.parent


class TreePlace(NamedTuple):
    folder: Folder
    position: int

    @property
    def name(self) -> str:
        return self.folder.names[self.position]

    @property
    def path(self) -> str:
        return f"{self.folder.path}/{self.name}" if self.folder.path else self.name

    @property
    def is_folder(self) -> bool:
        return self.position < self.folder.folder_count


class ListingEdit(NamedTuple):
    """An edit of a folder's list: the entries `start:end` become `names`, which are all folders or all files."""

    start: int
    end: int
    names: Sequence[str]
    are_folders: bool


def edits_between(folder: Folder, listing: FolderListing) -> list[ListingEdit]:
    """Return the edits that make `folder` show `listing`, the last edit first. Can run in a thread."""
    count = folder.folder_count
    edits = _edits(folder.names[:count], listing.folders, 0, are_folders=True)
    edits += _edits(folder.names[count:], listing.files, count, are_folders=False)
    edits.reverse()
    return edits


def _edits(old: Sequence[str], new: Sequence[str], offset: int, *, are_folders: bool) -> list[ListingEdit]:
    edits: list[ListingEdit] = []
    at_old = at_new = start_old = start_new = 0
    while at_old < len(old) or at_new < len(new):
        if at_old < len(old) and at_new < len(new) and old[at_old] == new[at_new]:
            if at_old > start_old or at_new > start_new:
                edits.append(ListingEdit(offset + start_old, offset + at_old, new[start_new:at_new], are_folders))
            at_old += 1
            at_new += 1
            start_old, start_new = at_old, at_new
        elif at_new == len(new) or (at_old < len(old) and natural_key(old[at_old]) < natural_key(new[at_new])):
            at_old += 1
        else:
            at_new += 1
    if at_old > start_old or at_new > start_new:
        edits.append(ListingEdit(offset + start_old, offset + at_old, new[start_new:at_new], are_folders))
    return edits


class FileRow(NamedTuple):
    path: str
    name: str
    depth: int = 0
    is_dir: bool = False
    is_open: bool = False
    is_symlink: bool = False
    mark: FileMark = FileMark()
    problem: str = ""


class FileTreeModel(QAbstractListModel):
    """The rows of the file tree. Emits which folders to read. Paths are no Qt strings: these lose what is not UTF-8."""

    wanted = Signal(object)  # a folder (a relative path) to be read and passed to `put`
    folders_changed = Signal()  # folders were opened or closed
    was_read = Signal(object)  # the folder (a relative path)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.root = Folder("", None, 0)
        """The folder of the workspace. Views learn only of those changes that are made by this model's methods."""
        self.marks = FileMarks()
        self._open_paths: set[str] = set()
        """The folders to reopen when their rows appear again: those that were open in a folder that was closed."""

    def clear(self) -> None:
        self.beginResetModel()
        self.root = Folder("", None, 0)
        self.marks = FileMarks()
        self._open_paths.clear()
        self.endResetModel()
        self.folders_changed.emit()

    def reset(self) -> None:
        self.clear()
        self.wanted.emit("")

    def put(self, folder: Folder, listing: FolderListing, edits: Iterable[ListingEdit]) -> None:
        """`edits` must be `edits_between(folder, listing)`."""
        for edit in edits:
            for child in list(folder.open_folders):
                if edit.start <= child.position < edit.end:
                    self._close(child)
            first = folder.row(edit.start)
            removed, added = edit.end - edit.start, len(edit.names)
            if removed:
                self.beginRemoveRows(NO_PARENT, first, first + removed - 1)
                folder.apply(edit._replace(names=()))
                self.endRemoveRows()
            if added:
                self.beginInsertRows(NO_PARENT, first, first + added - 1)
                folder.apply(edit._replace(end=edit.start))
                self.endInsertRows()
        folder.is_loaded = True
        if (folder.problem, folder.links) != (listing.problem, listing.links):
            folder.problem, folder.links = listing.problem, listing.links
            self._redraw()
        names = {path.rpartition("/")[2] for path in self._open_paths if path.rpartition("/")[0] == folder.path}
        for name in names.intersection(folder.names[: folder.folder_count]):
            position = folder.names.index(name)
            if folder.open_at(position) is None:
                self.open(folder.row(position))
        self.was_read.emit(folder.path)

    def set_marks(self, marks: FileMarks) -> None:
        self.marks = marks
        self._redraw()

    def place(self, row: int) -> TreePlace:
        folder, left = self.root, row
        while True:
            for child in folder.open_folders:
                if left <= child.position:
                    return TreePlace(folder, left)
                if left <= child.position + child.span:
                    folder, left = child, left - child.position - 1
                    break
                left -= child.span
            else:
                return TreePlace(folder, left)

    def parent_row(self, row: int) -> int:
        folder = self.place(row).folder
        return -1 if folder.parent is None else folder.parent.row(folder.position)

    def folders(self) -> Iterator[Folder]:
        waiting = [self.root]
        for folder in waiting:
            yield folder
            waiting.extend(folder.open_folders)

    def find(self, path: str) -> Folder | None:
        return next((folder for folder in self.folders() if folder.path == path), None)

    def toggle(self, row: int) -> None:
        if self.row_at(row).is_open:
            self.close(row)
        else:
            self.open(row)

    def open(self, row: int) -> None:
        folder, position = place = self.place(row)
        if place.is_folder and folder.open_at(position) is None:
            self._open_paths.add(place.path)
            insort(folder.open_folders, Folder(place.name, folder, position), key=attrgetter("position"))
            self._redraw(row)
            self.folders_changed.emit()
            self.wanted.emit(place.path)

    def close(self, row: int) -> None:
        place = self.place(row)
        folder = place.folder.open_at(place.position)
        if folder is not None:
            self._open_paths.discard(folder.path)
            self._close(folder)
            self._redraw(row)
            self.folders_changed.emit()

    def row_at(self, row: int) -> FileRow:
        place = self.place(row)
        name, path, is_dir = place.name, place.path, place.is_folder
        child = place.folder.open_at(place.position) if is_dir else None
        return FileRow(
            path=path,
            name=name,
            depth=place.folder.depth + 1,
            is_dir=is_dir,
            is_open=child is not None,
            is_symlink=name in place.folder.links,
            mark=self.marks.of(path, is_dir=is_dir),
            problem=child.problem if child is not None else "",
        )

    def _close(self, folder: Folder) -> None:
        assert folder.parent is not None
        first, span = folder.row(0), folder.span
        if span:
            self.beginRemoveRows(NO_PARENT, first, first + span - 1)
        folder.parent.open_folders.remove(folder)
        folder.parent.grow(-span)
        if span:
            self.endRemoveRows()

    def _redraw(self, row: int | None = None) -> None:
        if self.root.span:
            first, last = (0, self.root.span - 1) if row is None else (row, row)
            self.dataChanged.emit(self.index(first), self.index(last))

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else flags

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else self.root.span

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not self.checkIndex(index, QAbstractListModel.CheckIndexOption.IndexIsValid):
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return named(self.place(index.row()).name)
            case Qt.ItemDataRole.AccessibleTextRole:
                row = self.row_at(index.row())
                return ", ".join([named(row.name), *self._kind(row), *describe_mark(row.mark)])
            case Qt.ItemDataRole.ToolTipRole:
                row = self.row_at(index.row())
                lines = [named(row.path), *describe_mark(row.mark), *filter(None, [row.problem])]
                return plain_tooltip("\n".join(lines))
            case _:
                return None

    def _kind(self, row: FileRow) -> list[str]:
        if not row.is_dir:
            return [self.tr("link")] if row.is_symlink else []
        return [self.tr("folder, open") if row.is_open else self.tr("folder, closed"), *filter(None, [row.problem])]
