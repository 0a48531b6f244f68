"""A disk that loses data in a power failure."""

import errno
import os
from pathlib import Path

import pytest

from desktop_agent.core.store.journal import journal
from desktop_agent.core.system import staged_file


class DroppingDisk:
    """A disk whose failing fsync drops the data, and whose next fsync succeeds, as on Linux.

    `on_disk` is what a power failure would leave.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[tuple[int, bytes]] = []
        self.failures = 0
        self.on_disk = bytearray(path.read_bytes())

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def write(self, descriptor: int, content: bytes) -> int:
        written = os.write(descriptor, content)
        offset = os.lseek(descriptor, 0, os.SEEK_CUR) - written
        self._waiting.append((offset, bytes(content[:written])))
        return written

    def ftruncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)
        del self.on_disk[size:]
        self._waiting = [(offset, content[: size - offset]) for offset, content in self._waiting if offset < size]

    def fsync(self, descriptor: int) -> None:
        os.fsync(descriptor)
        waiting, self._waiting = self._waiting, []
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        for offset, content in waiting:
            self.on_disk.extend(bytes(max(0, offset - len(self.on_disk))))
            self.on_disk[offset : offset + len(content)] = content

    def is_safe(self, path: Path) -> bool:
        return bytes(self.on_disk) == path.read_bytes()


def dropping_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> DroppingDisk:
    disk = DroppingDisk(path)
    for module in (journal, staged_file):
        monkeypatch.setattr(module, "os", disk)
    return disk
