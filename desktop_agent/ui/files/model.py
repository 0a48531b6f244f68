"""The file tree as Qt sees it: a list of the visible rows.

Not a model of nested indexes, because a `QTreeView` asks Python about every row whenever one is added: with 100,000
files in a folder each change costs it 265 ms, against 2 ms for a table of rows whose height is known.
"""

from collections.abc import Iterable
from typing import NamedTuple

from PySide6.QtCore import QAbstractListModel, QObject, Qt, Signal

from desktop_agent.core.system.workspace import FolderListing
from desktop_agent.ui.files.file_words import describe_mark, displayed
from desktop_agent.ui.files.marks import FileMark, FileMarks
from desktop_agent.ui.files.outline import FileOutline, Folder, OutlineEdit
from desktop_agent.ui.widgets.rows import NO_PARENT, AnyIndex
from desktop_agent.ui.wording.tooltips import plain_tooltip


class FileRow(NamedTuple):
    """All there is to draw in one row."""

    path: str
    """Relative to the workspace, with `/`."""
    name: str
    depth: int
    is_dir: bool
    is_open: bool
    is_symlink: bool
    mark: FileMark
    problem: str


class FileTreeModel(QAbstractListModel):
    """Rows of the open folders of one workspace. Reads nothing itself: it says what to read, and is given it.

    Paths travel as Python objects: Qt's own strings lose what is not UTF-8 in a name.

    Signals:
        wanted: the entries of this folder (a relative path) are to be read and passed to `put`.
        folders_changed: other folders are open than before.
        was_read: what was read of a folder (a relative path) is shown now.
    """

    wanted = Signal(object)
    folders_changed = Signal()
    was_read = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.outline = FileOutline()
        """The open folders and their entries. To be read only: the views hear of what the model itself changes."""
        self._marks = FileMarks()
        self._open_paths: set[str] = set()
        """Folders to open again whenever they appear: a folder that is closed keeps what was open in it."""

    # --- the workspace --------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Show nothing."""
        self.beginResetModel()
        self.outline = FileOutline()
        self._marks = FileMarks()
        self._open_paths.clear()
        self.endResetModel()
        self.folders_changed.emit()

    def reset(self) -> None:
        """Show another workspace, from nothing, and want its entries."""
        self.clear()
        self.wanted.emit("")

    def put(self, folder: Folder, listing: FolderListing, edits: Iterable[OutlineEdit]) -> None:
        """Show what was read of an open folder; `edits` are `edits_between(folder, listing)`."""
        for edit in edits:
            self._apply(folder, edit)
        folder.is_loaded = True
        if (folder.problem, folder.links) != (listing.problem, listing.links):
            folder.problem, folder.links = listing.problem, listing.links
            self._redraw()
        self._reopen(folder)
        self.was_read.emit(folder.path)

    # --- marks ----------------------------------------------------------------------------------------------------

    @property
    def marks(self) -> FileMarks:
        """What git and the agent say at the moment."""
        return self._marks

    def set_marks(self, marks: FileMarks) -> None:
        """Draw these marks from now on."""
        self._marks = marks
        self._redraw()

    # --- opening and closing --------------------------------------------------------------------------------------

    def toggle(self, row: int) -> None:
        """Open the folder in this row, or close it. Nothing happens to a file."""
        if self.row_at(row).is_open:
            self.close(row)
        else:
            self.open(row)

    def open(self, row: int) -> None:
        """Open the folder in this row and want its entries. Nothing happens to a file or an open folder."""
        place = self.outline.place(row)
        if place.is_folder and place.folder.open_at(place.position) is None:
            self._open_paths.add(place.path)
            folder = self.outline.open(place)
            self._redraw_row(row)
            self.folders_changed.emit()
            self.wanted.emit(folder.path)

    def close(self, row: int) -> None:
        """Close the folder in this row. Nothing happens to a file or a closed folder."""
        place = self.outline.place(row)
        folder = place.folder.open_at(place.position)
        if folder is not None:
            self._open_paths.discard(folder.path)
            self._close(folder)
            self._redraw_row(row)
            self.folders_changed.emit()

    # --- rows -----------------------------------------------------------------------------------------------------

    def row_at(self, row: int) -> FileRow:
        """Return what is in this row."""
        place = self.outline.place(row)
        name, path, is_dir = place.name, place.path, place.is_folder
        child = place.folder.open_at(place.position) if is_dir else None
        return FileRow(
            path=path,
            name=name,
            depth=place.folder.depth + 1,
            is_dir=is_dir,
            is_open=child is not None,
            is_symlink=name in place.folder.links,
            mark=self._marks.of(path, is_dir=is_dir),
            problem=child.problem if child is not None else "",
        )

    # --- changing rows --------------------------------------------------------------------------------------------

    def _apply(self, folder: Folder, edit: OutlineEdit) -> None:
        for child in list(folder.open_folders):
            if edit.start <= child.position < edit.end:
                self._close(child)
        first = self.outline.row(folder, edit.start)
        removed, added = edit.end - edit.start, len(edit.names)
        if removed:
            self.beginRemoveRows(NO_PARENT, first, first + removed - 1)
            self.outline.apply(folder, edit._replace(names=()))
            self.endRemoveRows()
        if added:
            self.beginInsertRows(NO_PARENT, first, first + added - 1)
            self.outline.apply(folder, edit._replace(end=edit.start))
            self.endInsertRows()

    def _close(self, folder: Folder) -> None:
        assert folder.parent is not None
        if not folder.span:
            self.outline.close(folder)
            return
        first = self.outline.row(folder, 0)
        self.beginRemoveRows(NO_PARENT, first, first + folder.span - 1)
        self.outline.close(folder)
        self.endRemoveRows()

    def _reopen(self, folder: Folder) -> None:
        """Open what was open below a folder before it was closed, or before its entry came back."""
        names = {path.rpartition("/")[2] for path in self._open_paths if path.rpartition("/")[0] == folder.path}
        for name in names.intersection(folder.names[: folder.folder_count]):
            position = folder.names.index(name)
            if folder.open_at(position) is None:
                self.open(self.outline.row(folder, position))

    def _redraw(self) -> None:
        if len(self.outline):
            self.dataChanged.emit(self.index(0), self.index(len(self.outline) - 1))

    def _redraw_row(self, row: int) -> None:
        self.dataChanged.emit(self.index(row), self.index(row))

    # --- Qt -------------------------------------------------------------------------------------------------------

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsDragEnabled if index.isValid() else flags

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.outline)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not self.checkIndex(index, QAbstractListModel.CheckIndexOption.IndexIsValid):
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return displayed(self.outline.place(index.row()).name)
            case Qt.ItemDataRole.AccessibleTextRole:
                row = self.row_at(index.row())
                return ", ".join([displayed(row.name), *self._kind(row), *describe_mark(row.mark)])
            case Qt.ItemDataRole.ToolTipRole:
                row = self.row_at(index.row())
                lines = [displayed(row.path), *describe_mark(row.mark), *filter(None, [row.problem])]
                return plain_tooltip("\n".join(lines))
            case _:
                return None

    def _kind(self, row: FileRow) -> list[str]:
        if not row.is_dir:
            return [self.tr("link")] if row.is_symlink else []
        return [self.tr("folder, open") if row.is_open else self.tr("folder, closed"), *filter(None, [row.problem])]
