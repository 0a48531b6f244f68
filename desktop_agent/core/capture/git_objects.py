"""Contents that git has already: a tracked file that is as in the index needs no copy of ours."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from desktop_agent.core.system.gitrepo.finding import find_repository

if TYPE_CHECKING:
    import pygit2


class GitObjects:
    """The index and the objects of the repository that a folder is in. Methods block, and none of them writes.

    Takes 90 ms to import what reads them, which a folder outside of any repository does not need.
    """

    def __init__(self, repository: "pygit2.Repository", prefix: str) -> None:
        self._repository = repository
        self._prefix = prefix

    @cached_property
    def _index(self) -> "pygit2.Index":
        return self._repository.index

    @classmethod
    def of(cls, folder: Path) -> "GitObjects | None":
        """Return those of `folder`; None when there are none that can be read."""
        found = find_repository(folder)
        if found is None:
            return None
        import pygit2

        try:
            return cls(pygit2.Repository(str(found.root), pygit2.enums.RepositoryOpenFlag.NO_SEARCH), found.prefix)
        except pygit2.GitError:  # of a kind that libgit2 does not know, or another user owns it
            return None

    def is_clean(self, path: str, identifier: str) -> bool:
        """Whether the index has `path` with just this content."""
        import pygit2

        try:
            return str(self._index[self._prefix + path].id) == identifier
        except (KeyError, pygit2.GitError):
            return False

    def is_as_long(self, identifier: str, size: int) -> bool:
        """Whether git has this object, as a blob of this many bytes."""
        import pygit2

        try:
            kind, length = self._repository.odb.read_header(identifier)
        except (KeyError, ValueError, pygit2.GitError):
            return False
        return kind == pygit2.enums.ObjectType.BLOB and length == size

    def read(self, identifier: str) -> bytes | None:
        """Return the content of a blob; None when git does not have it any more."""
        import pygit2

        try:
            found = self._repository[identifier]
        except (KeyError, ValueError, pygit2.GitError):
            return None
        return found.data if isinstance(found, pygit2.Blob) else None


def index_stamp(folder: Path) -> int | None:
    """Return a number that changes whenever git's index does; None without a repository."""
    found = find_repository(folder)
    if found is None:
        return None
    try:
        return (found.git_dir / "index").stat().st_mtime_ns
    except OSError:
        return None
