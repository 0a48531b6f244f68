"""The rows of the file tree, worked out from its open folders instead of being kept one by one.

A folder with 100,000 files is one list that came from a thread; opening it is one insertion. Which entry is in a row
follows from the few folders that are open, so nothing here takes longer because a folder is large.
"""

from bisect import insort
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from desktop_agent.core.system.workspace import FolderListing


class Folder:
    """A folder whose rows are shown: its entries in order, and which of them are open folders themselves."""

    __slots__ = (
        "depth", "folder_count", "is_loaded", "links", "name", "names", "open_folders", "parent", "path", "position",
        "problem", "span",
    )  # fmt: skip

    def __init__(self, name: str, parent: "Folder | None", position: int) -> None:
        self.name = name
        self.parent = parent
        self.position = position
        """Where it is among the entries of its parent."""
        self.path = name if parent is None or not parent.path else f"{parent.path}/{name}"
        """Relative to the workspace, with `/`; empty for the workspace itself."""
        self.depth: int = -1 if parent is None else parent.depth + 1
        self.names: list[str] = []
        """Its entries, folders first."""
        self.folder_count = 0
        self.links: frozenset[str] = frozenset()
        self.open_folders: list[Folder] = []
        """In the order of their positions."""
        self.span = 0
        """How many rows are shown below it, at any depth."""
        self.is_loaded = False
        self.problem = ""

    def open_at(self, position: int) -> "Folder | None":
        """Return the open folder at this position, if there is one."""
        return next((folder for folder in self.open_folders if folder.position == position), None)


class OutlineRow(NamedTuple):
    """What a row shows: the entry at `position` of `folder`."""

    folder: Folder
    position: int

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.folder.names[self.position]

    @property
    def path(self) -> str:
        """Its path, relative to the workspace."""
        return f"{self.folder.path}/{self.name}" if self.folder.path else self.name

    @property
    def is_folder(self) -> bool:
        """Whether it can be opened."""
        return self.position < self.folder.folder_count


class OutlineEdit(NamedTuple):
    """Entries `start:end` of a folder give way to `names`, which are all folders or all files."""

    start: int
    end: int
    names: Sequence[str]
    are_folders: bool


class FileOutline:
    """All rows, from the first entry of the workspace to the last visible one."""

    def __init__(self) -> None:
        self.root = Folder("", None, 0)

    def __len__(self) -> int:
        return self.root.span

    def place(self, row: int) -> OutlineRow:
        """Return what `row` shows. The row must exist."""
        folder, left = self.root, row
        while True:
            for child in folder.open_folders:
                if left <= child.position:
                    return OutlineRow(folder, left)
                if left <= child.position + child.span:
                    folder, left = child, left - child.position - 1
                    break
                left -= child.span
            else:
                return OutlineRow(folder, left)

    def row(self, folder: Folder, position: int) -> int:
        """Return the row of an entry of an open folder; `position` may be one past the last."""
        before = sum(child.span for child in folder.open_folders if child.position < position)
        start = 0 if folder.parent is None else self.row(folder.parent, folder.position) + 1
        return start + position + before

    def open(self, place: OutlineRow) -> Folder:
        """Open the folder at `place`, without rows until its entries are put in."""
        child = Folder(place.name, place.folder, place.position)
        insort(place.folder.open_folders, child, key=_position)
        return child

    def close(self, folder: Folder) -> None:
        """Take away the rows of an open folder."""
        assert folder.parent is not None
        folder.parent.open_folders.remove(folder)
        _grow(folder.parent, -folder.span)

    def apply(self, folder: Folder, edit: OutlineEdit) -> None:
        """Exchange entries of a folder. Folders among the old ones must be closed."""
        growth = len(edit.names) - (edit.end - edit.start)
        folder.names[edit.start : edit.end] = edit.names
        if edit.are_folders:
            folder.folder_count += growth
        for child in folder.open_folders:
            if child.position >= edit.end:
                child.position += growth
        _grow(folder, growth)

    def find(self, path: str) -> Folder | None:
        """Return the open folder with this path."""
        return next((folder for folder in self.folders() if folder.path == path), None)

    def parent_row(self, row: int) -> int:
        """Return the row of the folder that `row` is in; -1 for the workspace."""
        folder = self.place(row).folder
        return -1 if folder.parent is None else self.row(folder.parent, folder.position)

    def folders(self) -> Iterator[Folder]:
        """Every open folder, the workspace first."""
        waiting = [self.root]
        for folder in waiting:
            yield folder
            waiting.extend(folder.open_folders)


def edits_between(folder: Folder, listing: FolderListing) -> list[OutlineEdit]:
    """Return what makes `folder` show `listing`, last edit first, so that applying one does not move the next.

    Entries in both stay where they are. Only reads the folder: made for a thread.
    """
    count = folder.folder_count
    edits = _edits(folder.names[:count], listing.folders, 0, are_folders=True)
    edits += _edits(folder.names[count:], listing.files, count, are_folders=False)
    edits.reverse()
    return edits


def _edits(old: Sequence[str], new: Sequence[str], offset: int, *, are_folders: bool) -> list[OutlineEdit]:
    """Walk both lists, which have the same order, side by side."""
    from desktop_agent.core.system.workspace import natural_key

    edits: list[OutlineEdit] = []
    at_old = at_new = start_old = start_new = 0
    while at_old < len(old) or at_new < len(new):
        if at_old < len(old) and at_new < len(new) and old[at_old] == new[at_new]:
            if at_old > start_old or at_new > start_new:
                edits.append(OutlineEdit(offset + start_old, offset + at_old, new[start_new:at_new], are_folders))
            at_old += 1
            at_new += 1
            start_old, start_new = at_old, at_new
        elif at_new == len(new) or (at_old < len(old) and natural_key(old[at_old]) < natural_key(new[at_new])):
            at_old += 1
        else:
            at_new += 1
    if at_old > start_old or at_new > start_new:
        edits.append(OutlineEdit(offset + start_old, offset + at_old, new[start_new:at_new], are_folders))
    return edits


def _position(folder: Folder) -> int:
    return folder.position


def _grow(folder: Folder | None, rows: int) -> None:
    while folder is not None:
        folder.span += rows
        folder = folder.parent
