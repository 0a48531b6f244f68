"""Whatever system call of a write fails, the file is the old one or the new one, whole, and nothing else is left.

Each write is made again and again with its first, second, third … system call failing, until it comes through with
none left to fail: the loop by which SQLite tests its own commits.
"""

import errno
import os
import resource
import shutil
import stat
import struct
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest

from desktop_agent.core import files
from desktop_agent.core.files import FileState, write_atomically, write_state

CONTENT_CALLS = ("open", "write", "read", "lseek", "ftruncate", "fsync", "close", "replace", "unlink", "symlink")
CALLS = frozenset(
    (*CONTENT_CALLS, "stat", "fstat", "fchmod", "chmod", "fchown", "listxattr", "getxattr", "setxattr", "removexattr")
)
FAULTS = [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EPERM, errno.EINTR]
OLD = b"old content\r\n" * 40
ACL = struct.pack("<I" + "HHI" * 5, 2, 1, 6, 2**32 - 1, 2, 4, 1000, 4, 4, 2**32 - 1, 16, 4, 2**32 - 1, 32, 0, 2**32 - 1)
"""Owner rw, user 1000 r, group r, mask r, others nothing: as `acl(5)` stores it."""


class FaultyOs:
    """The `os` module, whose n-th system call fails; with `is_short`, its n-th write takes only a part."""

    def __init__(self, *, nth: int, code: int = 0, is_short: bool = False) -> None:
        self.nth = nth
        self.is_short = is_short
        self.code = code
        self.count = 0
        self.failed = ""

    def __getattr__(self, name: str) -> object:
        real = getattr(os, name)
        return self._counted(name, real) if name in CALLS else real

    def _counted(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            if self.is_short and name != "write":
                return real(*args, **kwargs)
            self.count += 1
            if self.count != self.nth:
                return real(*args, **kwargs)
            self.failed = name
            if name == "write" and self.code != errno.EINTR:
                data = bytes(cast("memoryview[int]", args[1]))
                taken = real(args[0], data[: max(1, len(data) // 2)])  # a disk that fills up takes a part first
                if self.is_short:
                    return taken
            elif name == "close":
                real(*args, **kwargs)  # the descriptor is gone also where this fails
            raise OSError(self.code, os.strerror(self.code))

        return call


@dataclass(frozen=True)
class Facts:
    """All that must be kept about a file."""

    content: bytes
    mode: int
    owner: tuple[int, int]
    links: int
    attributes: tuple[tuple[str, bytes], ...]
    is_link: bool


def facts(path: Path) -> Facts:
    status = path.stat()
    attributes = tuple((name, os.getxattr(path, name)) for name in sorted(os.listxattr(path)))
    owner = (status.st_uid, status.st_gid)
    return Facts(path.read_bytes(), stat.S_IMODE(status.st_mode), owner, status.st_nlink, attributes, path.is_symlink())


def plain(folder: Path) -> Path:
    path = folder / "a"
    path.write_bytes(OLD)
    path.chmod(0o754)
    return path


def with_attributes(folder: Path) -> Path:
    path = plain(folder)
    with suppress(OSError):
        os.setxattr(path, "user.note", b"mine")
        os.setxattr(path, "system.posix_acl_access", ACL)
    return path


def of_another_owner(folder: Path) -> Path:
    path = plain(folder)
    if os.geteuid() == 0:
        os.chown(path, 12345, 54321)
        path.chmod(0o2755)
    return path


def linked(folder: Path) -> Path:
    path = plain(folder)
    path.rename(folder / "real")
    path.symlink_to("real")
    return path


def with_hard_link(folder: Path) -> Path:
    path = with_attributes(folder)
    os.link(path, folder / "b")
    return path


def in_a_folder_with_a_default_acl(folder: Path) -> Path:
    path = plain(folder)
    with suppress(OSError):
        os.setxattr(folder, "system.posix_acl_default", ACL)
    return path


KINDS = [plain, with_attributes, of_another_owner, linked, with_hard_link, in_a_folder_with_a_default_acl]
NEW = {"longer": b"new content\n" * 90, "shorter": b"new", "empty": b""}


@contextmanager
def in_place_of_os(faulty: FaultyOs) -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "os", faulty)
        yield


def rounds(folder: Path, **fault: object) -> Iterator[tuple[FaultyOs, Path]]:
    """Yield a fault for the first call, the second, … and a fresh folder for each, until no call is left to fail."""
    for nth in range(1, 1000):
        faulty = FaultyOs(nth=nth, **fault)  # pyright: ignore[reportArgumentType] - code and is_short, as they come
        room = folder / str(nth)
        room.mkdir()
        yield faulty, room
        if not faulty.failed:
            assert nth > 1
            return
    pytest.fail("the write never comes to its end")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", NEW)
@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
def test_a_write_that_fails_anywhere_leaves_the_old_or_the_new_and_no_litter(
    tmp_path: Path, code: int, size: str, kind: Callable[[Path], Path]
) -> None:
    """Z-82."""
    for faulty, folder in rounds(tmp_path, code=code):
        path = kind(folder)
        old = facts(path)
        names = {entry.name for entry in folder.iterdir()}
        raised = False
        with in_place_of_os(faulty):
            try:
                write_atomically(path, NEW[size])
            except OSError:
                raised = True
        expected = old if raised else replace(old, content=NEW[size])
        assert facts(path) == expected, faulty.failed
        assert {entry.name for entry in folder.iterdir()} == names, faulty.failed
        if kind is with_hard_link:
            assert (folder / "b").read_bytes() == expected.content
        assert not (raised and code == errno.EINTR), f"{faulty.failed} was not tried again"


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_that_the_system_takes_in_parts_is_completed(tmp_path: Path, kind: Callable[[Path], Path]) -> None:
    for faulty, folder in rounds(tmp_path, is_short=True):
        path = kind(folder)
        with in_place_of_os(faulty):
            write_atomically(path, NEW["longer"])
        assert path.read_bytes() == NEW["longer"]


@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, FileState(content=b"new", mode=0o600)),
        (FileState(content=OLD, mode=0o640), None),
        (FileState(content=OLD, mode=0o640), FileState(content=b"new", mode=0o755)),
        (FileState(content=OLD, mode=0o640), FileState(content=b"b", mode=0o777, kind="symlink")),
        (FileState(content=b"b", mode=0o777, kind="symlink"), FileState(content=b"new", mode=0o640)),
        (FileState(content=b"b", mode=0o777, kind="symlink"), None),
    ],
)
def test_every_change_of_state_is_made_or_not_made(
    tmp_path: Path, code: int, before: FileState | None, after: FileState | None
) -> None:
    for faulty, folder in rounds(tmp_path, code=code):
        path = folder / "a"
        write_state(path, before)
        (folder / "b").write_bytes(b"untouched")
        raised = False
        with in_place_of_os(faulty):
            try:
                write_state(path, after)
            except OSError:
                raised = True
        assert files.read_state(path) == (before if raised else after), faulty.failed
        assert {entry.name for entry in folder.iterdir()} <= {"a", "b"}, faulty.failed
        assert (folder / "b").read_bytes() == b"untouched"


def test_a_disk_that_takes_no_more_leaves_hard_links_as_they_were(tmp_path: Path) -> None:
    """The limit on a file's size stays in force, as a full disk does, while the old content is put back."""
    path = with_hard_link(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(OLD) + 10, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            write_atomically(path, NEW["longer"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == (tmp_path / "b").read_bytes() == OLD
    assert {entry.name for entry in tmp_path.iterdir()} == {"a", "b"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")
@pytest.mark.parametrize("folder_mode", [0o777, 0o755])
def test_somebody_elses_file_that_we_may_write_stays_theirs(folder_mode: int) -> None:
    """In a folder that takes new files, and in one that does not."""
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "a"
        path.write_bytes(OLD)
        path.chmod(0o666)
        folder.chmod(folder_mode)
        os.seteuid(12345)
        try:
            write_atomically(path, b"new")
        finally:
            os.seteuid(0)
        status = path.stat()
        assert (path.read_bytes(), status.st_uid, stat.S_IMODE(status.st_mode)) == (b"new", 0, 0o666)
        assert list(folder.iterdir()) == [path]
    finally:
        shutil.rmtree(folder)
