"""Reads contents that git has, so that they need no copy, and hard-links them, so that git cannot lose them.

Git's index has the format of gitformat-index(5), versions 2 to 4, SHA-1.
"""

import errno
import os
import shutil
import stat
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from desktop_agent.core.base.regex import regex
from desktop_agent.core.capture.scan import Signature
from desktop_agent.core.system.git.index_file import spans
from desktop_agent.core.system.git.repository import Repository, common_folder, find_repository, read_regular
from desktop_agent.core.system.private_files import make_private_folder

if TYPE_CHECKING:
    import pygit2

T = TypeVar("T")

BASELINES = "baselines"
_PACK = regex(r"pack-[0-9a-f]{40,64}\.pack")
_TICK_NS = 50_000_000
"""One tick of the file system's clock. A folder that changes twice within one tick keeps the same time."""
_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_STRANDED_S = 14 * 86_400
_SHORTEST_REST = 38
"""The length of a loose object's file name without the two letters of its folder."""
_MOST_ALTERNATES = 20
_LARGEST_ALTERNATES = 64 * 1024


class GitState(Struct, frozen=True):
    repository: Repository
    index_stamp: int | None
    folders: tuple[str, ...]
    """Object folders of the repository, and of those that it borrows objects from."""
    packs: str

    @classmethod
    def of(cls, folder: Path) -> "GitState | None":
        """Return the state of a folder's repository; None if it has none. Costs `stat` of a few files."""
        found = find_repository(folder)
        if found is None:
            return None
        folders = tuple(_object_folders(common_folder(found.git_dir) / "objects"))
        try:
            index = (found.git_dir / "index").stat().st_mtime_ns
        except OSError:
            index = None
        return cls(found, index, folders, "|".join(_stamp(place) for place in folders))


def _object_folders(first: Path) -> Iterator[str]:
    """Yield an object folder, and the folders that it borrows objects from (gitrepository-layout(5))."""
    pending, seen = [os.fspath(first)], set[str]()
    while pending and len(seen) < _MOST_ALTERNATES:
        folder = pending.pop(0)
        if folder in seen:
            continue
        seen.add(folder)
        yield folder
        named = os.fsdecode(read_regular(Path(folder) / "info" / "alternates", _LARGEST_ALTERNATES)).splitlines()
        pending += [os.path.normpath(Path(folder) / line) for line in named if _is_path(line)]


def _is_path(line: str) -> bool:
    return line != "" and line[0] not in '#"' and "\0" not in line


def _stamp(folder: str) -> str:
    try:
        status = Path(folder, "pack").stat()
    except OSError:
        return ""
    now = time.time_ns()
    return f"{folder}:{status.st_ino}:{status.st_mtime_ns}:{now if now - status.st_mtime_ns < _TICK_NS else ''}"


class HeldObjects:
    """Hard links to git's objects in a folder of our own, so that git cannot lose them. Methods block."""

    def __init__(self, folder: Path, *, may_change: bool = True) -> None:
        """With `may_change` false, the folder is only read."""
        self._folder = folder
        self._may_change = may_change
        self._may_link = may_change
        self._open: dict[Path, pygit2.Odb] = {}

    @property
    def stamp(self) -> str:
        return _stamp(os.fspath(self._folder))

    def read(self, identifier: str) -> bytes | None:
        for folder in (self._folder, self._folder / "retired"):
            if (content := _of_blob(lambda folder=folder: self._opened(folder).read(identifier))) is not None:
                return content
        return None

    def size(self, identifier: str) -> int | None:
        return _of_blob(lambda: self._opened(self._folder).read_header(identifier))

    def take_packs(self, folders: Iterable[str]) -> None:
        if not self._may_change:
            return
        self._bring_back()
        found = {name: folder for folder in folders for name in _packs(folder)}
        for name, folder in found.items():
            for ending in (".pack", ".idx"):  # a pack counts only with its index
                self._link(Path(folder, "pack", name + ending), self._folder / "pack" / (name + ending))
        gone = [name for name in _packs(os.fspath(self._folder)) if name not in found]
        _move(gone, self._folder / "pack", self._folder / "retired" / "pack")
        self._open.clear()

    def hold(self, identifier: str, folders: Iterable[str]) -> bool:
        if self.size(identifier) is not None:
            return True
        place = Path(identifier[:2], identifier[2:])
        is_linked = any(self._link(folder / place, self._folder / place) for folder in folders)
        return is_linked and self.size(identifier) is not None

    def drop(self, needed: set[str], *, keeps_retired: bool) -> None:
        if not self._may_change:
            return
        for path in _loose(self._folder):
            if path.parent.name + path.name not in needed:
                with suppress(OSError):
                    path.unlink()
        if keeps_retired:
            self._bring_back()
        else:
            shutil.rmtree(self._folder / "retired", ignore_errors=True)

    def _link(self, source: Path, target: Path) -> bool:
        try:
            if not self._may_link or not stat.S_ISREG(source.lstat().st_mode):
                return False
            make_private_folder(target.parent)
            with suppress(FileExistsError):
                os.link(source, target)
        except OSError as error:
            self._may_link = self._may_link and error.errno not in _NO_LINKS
            return False
        return True

    def _bring_back(self) -> None:
        names = _packs(os.fspath(self._folder / "retired"))
        _move(names, self._folder / "retired" / "pack", self._folder / "pack")
        self._open.clear()

    def _opened(self, folder: Path) -> "pygit2.Odb":
        import pygit2

        if folder not in self._open:
            self._open[folder] = pygit2.Odb(os.fspath(folder))
        return self._open[folder]


def drop_stranded(baselines: Path, now_s: float) -> None:
    """Delete links to packs that git no longer has, for workspaces that were not used for two weeks. Blocks."""
    for folder in baselines.glob("*.objects"):
        with suppress(OSError):
            database = folder.with_suffix(".sqlite3")
            is_left = not database.exists() or now_s - database.stat().st_mtime > _STRANDED_S
            if is_left and any(path.stat().st_nlink == 1 for path in folder.glob("*/*.pack")):
                shutil.rmtree(folder, ignore_errors=True)


def _packs(folder: str) -> list[str]:
    try:
        names = {path.name for path in Path(folder, "pack").iterdir()}
    except OSError:
        return []
    return [name[:-5] for name in sorted(names) if _PACK.fullmatch(name) and f"{name[:-5]}.idx" in names]


def _loose(folder: Path) -> list[Path]:
    return [path for path in folder.glob("??/*") if len(path.name) >= _SHORTEST_REST]


def _move(names: Sequence[str], source: Path, target: Path) -> None:
    for name in names:
        for ending in (".pack", ".idx"):
            with suppress(OSError):
                make_private_folder(target)
                (source / (name + ending)).replace(target / (name + ending))


def _of_blob(ask: Callable[[], tuple[int, T]]) -> T | None:
    """Return what libgit2 tells of an object; None if it has none, cannot read it, or it is no blob."""
    import pygit2

    try:
        kind, found = ask()
    except (KeyError, ValueError, pygit2.GitError):
        return None
    return found if kind == pygit2.enums.ObjectType.BLOB else None


class GitObjects:
    """The index and the objects of a folder's repository. Methods block, and never write to the repository."""

    def __init__(
        self, repository: "pygit2.Repository", state: GitState, held: HeldObjects, failures: tuple[type[Exception], ...]
    ) -> None:
        """`failures` are what the repository raises for something that it does not have or cannot read."""
        self._repository = repository
        self._failures = failures
        self._state = state
        self._held = held

    @cached_property
    def _index(self) -> "pygit2.Index":
        return self._repository.index

    @classmethod
    def of(cls, state: GitState | None, held: HeldObjects) -> "GitObjects | None":
        if state is None:
            return None
        import pygit2

        flag = pygit2.enums.RepositoryOpenFlag.NO_SEARCH
        try:
            failures = (KeyError, ValueError, pygit2.GitError)
            return cls(pygit2.Repository(str(state.repository.root), flag), state, held, failures)
        except pygit2.GitError:  # of a kind that libgit2 does not know, or another user owns it
            return None

    def is_clean(self, path: str, identifier: str) -> bool:
        try:
            return str(self._index[self._state.repository.prefix + path].id) == identifier
        except self._failures:
            return False

    def hold(self, identifier: str, size: int) -> bool:
        """Link a blob of this many bytes, so that it outlives the repository. False if that is not certain."""
        return self._held.hold(identifier, self._state.folders) and self._held.size(identifier) == size

    def has(self, identifier: str, size: int) -> bool:
        return _of_blob(lambda: self._repository.odb.read_header(identifier)) == size

    def read(self, identifier: str) -> bytes | None:
        return _of_blob(lambda: self._repository.odb.read(identifier))


_ENTRY = struct.Struct(">10I20sH")
_ASSUME_VALID, _EXTENDED, _STAGES = 0x8000, 0x4000, 0x3000
_CONVERTS = (b"filter", b"ident", b"working-tree-encoding")
"""Attributes that can make the content of a file differ from its object at equal length."""
_LARGEST_ATTRIBUTES = 2**20


def unchanged_objects(folder: Path, found: dict[str, Signature]) -> dict[str, str]:
    """The object ids of the files that match the index. Empty when in doubt. Blocks.

    Line endings may be converted between file and object, so compare the lengths before use.
    """
    repository = find_repository(folder)
    if repository is None:
        return {}
    try:
        if _may_convert(repository.root, repository.git_dir, folder, found):
            return {}
        with (repository.git_dir / "index").open("rb") as file:
            written_ns = os.fstat(file.fileno()).st_mtime_ns
            content = file.read()
        return dict(_unchanged(content, repository.prefix, found, written_ns))
    except (OSError, ValueError, struct.error):
        return {}


def _unchanged(index: bytes, prefix: str, found: dict[str, Signature], written_ns: int) -> Iterator[tuple[str, str]]:
    for name, begin, _ in spans(index):
        path = os.fsdecode(name)
        signature = found.get(path.removeprefix(prefix)) if path.startswith(prefix) else None
        *fields, identifier, flags = _ENTRY.unpack_from(index, begin)
        if signature is None or flags & (_ASSUME_VALID | _EXTENDED | _STAGES):
            continue
        changed_ns, modified_ns, size, inode, mode = signature
        looked = (fields[0] * 10**9 + fields[1], fields[2] * 10**9 + fields[3], fields[9], fields[5], fields[6])
        is_same = looked == (changed_ns, modified_ns, size & 0xFFFFFFFF, inode & 0xFFFFFFFF, _git_mode(mode))
        if is_same and modified_ns < written_ns:
            yield path.removeprefix(prefix), identifier.hex()


def _git_mode(mode: int) -> int:
    if not stat.S_ISREG(mode):
        return stat.S_IFMT(mode)
    return stat.S_IFREG | (0o755 if mode & stat.S_IXUSR else 0o644)


def _may_convert(top: Path, git_dir: Path, folder: Path, found: Iterable[str]) -> bool:
    home = Path.home()
    settings = os.environ.get("XDG_CONFIG_HOME") or str(home / ".config")
    places = [git_dir / "info" / "attributes", Path(settings) / "git" / "attributes", Path("/etc/gitattributes")]
    places += [parent / ".gitattributes" for parent in folder.parents if parent.is_relative_to(top)]
    places += [folder / path for path in found if path.endswith(".gitattributes")]
    for place in places:
        with suppress(FileNotFoundError, NotADirectoryError):
            if place.stat().st_size > _LARGEST_ATTRIBUTES:
                return True
            content = place.read_bytes()
            if any(word in content for word in _CONVERTS):
                return True
    return False
