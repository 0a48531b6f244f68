import errno
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from desktop_agent.core.system import file_writes, files, staged_file

FILE_MODULES: tuple[ModuleType, ...] = (file_writes, files, staged_file)
CONTENT_CALLS = ("open", "write", "read", "lseek", "ftruncate", "fsync", "close", "replace", "unlink", "symlink")
CALLS = frozenset(
    (*CONTENT_CALLS, "stat", "fstat", "fchmod", "chmod", "fchown", "listxattr", "getxattr", "setxattr", "removexattr")
)
FAULTS = [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EPERM, errno.EINTR]


class FaultyOs:
    """The `os` module, whose n-th system call fails; with `is_short`, its n-th write is partial."""

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


@contextmanager
def in_place_of_os(faulty: object, *modules: ModuleType) -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in modules or FILE_MODULES:
            patch.setattr(module, "os", faulty)
        yield


def rounds(folder: Path, *, code: int = 0, is_short: bool = False) -> Iterator[tuple[FaultyOs, Path]]:
    """Yield a fault for the first call, the second, … with a fresh folder each, until no call is left."""
    for nth in range(1, 1000):
        faulty = FaultyOs(nth=nth, code=code, is_short=is_short)
        room = folder / str(nth)
        room.mkdir()
        yield faulty, room
        if not faulty.failed:
            assert nth > 1
            return
    pytest.fail("the write never comes to its end")
