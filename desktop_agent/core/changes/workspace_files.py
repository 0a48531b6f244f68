"""The files of a workspace as they are now. Reads, and follows no link to what another path names."""

import os
import stat
from collections.abc import Collection
from pathlib import Path

from desktop_agent.core.base.paths import real_path
from desktop_agent.core.changes.other_names import IsSpecial, has_names_elsewhere, is_hidden, names_inside
from desktop_agent.core.changes.stored_images import image_of
from desktop_agent.core.protocol.model import FileImage
from desktop_agent.core.system.files import FileState, read_state


class WorkspaceFiles:
    """What stands at the paths of one workspace folder. Its methods block."""

    def __init__(self, root: Path, is_special: IsSpecial = is_hidden) -> None:
        """A path that `is_special` is not written under another name of its file."""
        self.root = real_path(root)
        """The workspace folder."""
        self._is_special = is_special

    def current(self, path: str) -> FileState | None:
        """The file, symlink or folder as it is now. Raises `OSError` when it cannot be read.

        Where a symlink has taken the place of a folder on the way, there is nothing: what it leads to has another path.
        """
        if self.link_above(path):
            return None
        return read_state(self.root / path, with_special=True)

    def is_at(self, path: str, image: FileImage | None) -> bool:
        """Whether the file is in this state now. Shows, after a crash, how far a write got."""
        try:
            return image_of(self.current(path)) == image
        except OSError:
            return False

    def is_inside(self, path: str) -> bool:
        """Whether the folder of `path` still lies in the workspace; a program may have put a symlink in its place."""
        return Path(os.path.realpath((self.root / path).parent)).is_relative_to(self.root)

    def link_above(self, path: str) -> str:
        """The outermost folder on the way to `path` that is a symlink; empty without any."""
        return next((folder for folder in folders_above(path) if (self.root / folder).is_symlink()), "")

    def file_above(self, path: str) -> str:
        """What stands where a folder on the way to `path` has to be, and is no folder; empty without such a thing."""
        folders = folders_above(path)
        return next((name for name in folders if os.path.lexists(place := self.root / name) and not place.is_dir()), "")

    def is_empty(self, folder: str, gone: Collection[str] = ()) -> bool:
        """Whether this is a folder with nothing but empty folders in it, those that are `gone` apart."""
        place = self.root / folder
        if self.link_above(folder) or place.is_symlink():
            return False
        try:
            names = [f"{folder}/{path.name}" for path in place.iterdir()]
        except OSError:
            return False
        return all(name in gone or self.is_empty(name, gone) for name in names)

    def missing_folders(self, path: str) -> tuple[str, ...]:
        """The folders that writing `path` will have to make, outermost first."""
        parents = [parent.as_posix() for parent in reversed(Path(path).parents) if parent.parts]
        if link := self.link_above(path):  # a folder takes its place
            return tuple(parents[parents.index(link) :])
        return tuple(parent for parent in parents if not (self.root / parent).is_dir())

    def has_names_elsewhere(self, path: str) -> bool:
        """Whether the file has a name (a hard link) that a write to `path` must not change, and so breaks off."""
        status = self._status_of_linked(path)
        return status is not None and has_names_elsewhere(self.root, status, self._is_special)

    def keeps_names(self, status: os.stat_result, only: Collection[str] | None = None) -> bool:
        """Whether a write may change the file of `status` under all its names (hard links).

        All of them have to be in the workspace, and among `only`.
        """
        names = names_inside(self.root, status, self._is_special)
        return names is not None and (only is None or set(names) <= set(only))

    def other_names(self, path: str) -> tuple[str, ...]:
        """The other names (hard links) of the file that a write to `path` changes as well."""
        status = self._status_of_linked(path)
        names = names_inside(self.root, status, self._is_special) if status is not None else None
        return tuple(sorted(name for name in names or () if name != path))

    def _status_of_linked(self, path: str) -> os.stat_result | None:
        """The status of a file that has several names; None for anything else."""
        try:
            status = (self.root / path).lstat()
        except OSError:
            return None
        return status if stat.S_ISREG(status.st_mode) and status.st_nlink > 1 else None


def folders_above(path: str) -> tuple[str, ...]:
    """Return the folders that a relative path is in, outermost first."""
    names = path.split("/")
    return tuple("/".join(names[:depth]) for depth in range(1, len(names)))
