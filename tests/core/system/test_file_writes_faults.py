"""When any system call of a write fails, the file is whole, old or new, and nothing else is left.

As in SQLite's tests, a write is repeated with its first, second, third … system call failing, until none is left.
"""

import errno
import os
import resource
import shutil
import stat
import struct
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from desktop_agent.core.system.file_writes import write_atomically, write_state
from desktop_agent.core.system.files import FileState, read_state
from tests.faulty_os import FAULTS, in_place_of_os, rounds

OLD = b"old content\r\n" * 40
ACL = struct.pack("<I" + "HHI" * 5, 2, 1, 6, 2**32 - 1, 2, 4, 1000, 4, 4, 2**32 - 1, 16, 4, 2**32 - 1, 32, 0, 2**32 - 1)
"""Owner rw, user 1000 r, group r, mask r, others nothing: as `acl(5)` stores it."""


@dataclass(frozen=True)
class Facts:
    content: bytes
    mode: int
    owner: tuple[int, int]
    links: int
    attributes: tuple[tuple[str, bytes], ...]
    is_link: bool


def facts(path: Path) -> Facts:
    status = path.stat()
    names = sorted(os.listxattr(path)) if hasattr(os, "listxattr") else []
    attributes = tuple((name, os.getxattr(path, name)) for name in names)
    owner = (status.st_uid, status.st_gid)
    return Facts(path.read_bytes(), stat.S_IMODE(status.st_mode), owner, status.st_nlink, attributes, path.is_symlink())


def plain(folder: Path) -> Path:
    path = folder / "a"
    path.write_bytes(OLD)
    path.chmod(0o754)
    return path


def with_attributes(folder: Path) -> Path:
    path = plain(folder)
    with suppress(OSError, AttributeError):  # not every file system takes them, and not every system has them
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
    with suppress(OSError, AttributeError):  # not every file system takes them, and not every system has them
        os.setxattr(folder, "system.posix_acl_default", ACL)
    return path


KINDS = [plain, with_attributes, of_another_owner, linked, with_hard_link, in_a_folder_with_a_default_acl]
NEW = {"longer": b"new content\n" * 90, "shorter": b"new", "empty": b""}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", NEW)
@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
def test_a_write_that_fails_anywhere_leaves_the_old_or_the_new_and_no_litter(
    tmp_path: Path, code: int, size: str, kind: Callable[[Path], Path]
) -> None:  # Z-82
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
        assert read_state(path) == (before if raised else after), faulty.failed
        assert {entry.name for entry in folder.iterdir()} <= {"a", "b"}, faulty.failed
        assert (folder / "b").read_bytes() == b"untouched"


def test_a_disk_that_takes_no_more_leaves_hard_links_as_they_were(tmp_path: Path) -> None:
    """The limit on file sizes still holds while the old content is put back."""
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
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
