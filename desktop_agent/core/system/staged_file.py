import errno
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

O_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
O_BINARY: int = getattr(os, "O_BINARY", 0)
O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
BLOCK_BYTES = 64 * 1024


def retried(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    while True:
        with suppress(InterruptedError):
            return call(*args, **kwargs)


def write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[retried(os.write, descriptor, rest) :]


def read_all(descriptor: int) -> bytes:
    parts: list[bytes] = []
    while part := retried(os.read, descriptor, BLOCK_BYTES):
        parts.append(part)
    return b"".join(parts)


def close(descriptor: int) -> None:
    """Close the descriptor. Errors are ignored: the data is synced by then, and a failed close closes it, too."""
    with suppress(OSError):
        os.close(descriptor)


TEMPORARY_MARK = ".desktop-agent-"
"""A part of every temporary name, by which the left-overs of a killed process are recognised and removed."""

_TEMPORARY_SUFFIX = ".tmp"


class StagedFile:
    """A new private file without its final name: written, synced, then placed. Without `place`, it is deleted.

    Sync several files before placing the first: they then appear almost together. `sync_folders` makes names durable.
    """

    def __init__(self, folder: Path, name: str = "") -> None:
        """The temporary name contains `name`. All methods raise `OSError`."""
        self.path = temporary_beside(folder / "draft", name)
        self.size = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC | O_BINARY
        self._descriptor = retried(os.open, self.path, flags, 0o600)
        self._is_placed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        if not self._is_placed:
            with suppress(OSError):
                retried(os.unlink, self.path)

    def write(self, content: bytes) -> None:
        write_all(self._descriptor, content)
        self.size += len(content)

    def sync(self) -> None:
        retried(os.fsync, self._descriptor)
        self._close()

    def place(self, path: Path) -> None:
        retried(os.replace, self.path, path)
        self._is_placed = True

    def _close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            close(descriptor)


def sync_folders(folders: Iterable[Path]) -> None:
    """Make the names in these folders durable, if the platform can. Raises `OSError` when the disk fails."""
    if os.name == "nt":
        return
    for folder in folders:
        descriptor = retried(os.open, folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            retried(os.fsync, descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
                raise
        finally:
            close(descriptor)


def sync_folder(folder: Path) -> None:
    with suppress(OSError):
        sync_folders([folder])


def temporary_beside(path: Path, intended: str = "") -> Path:
    middle = f".{intended}" if intended else ""
    return path.parent / f"{TEMPORARY_MARK}{secrets.token_hex(8)}{middle}{_TEMPORARY_SUFFIX}"


def free_path(folder: Path, stem: str, suffix: str = "") -> Path:
    names = chain((stem,), (f"{stem}-{number}" for number in count(2)))
    return next(path for name in names if not os.path.lexists(path := folder / f"{name}{suffix}"))


def is_left_over(path: Path) -> bool:
    return TEMPORARY_MARK in path.name and path.name.startswith(".") and path.name.endswith(_TEMPORARY_SUFFIX)


def intended_name(name: str) -> str:
    """The final name of the staged file called `name`; empty if unknown, or if it is no staged file."""
    if not (name.startswith(TEMPORARY_MARK) and name.endswith(_TEMPORARY_SUFFIX)):
        return ""
    return name.removeprefix(TEMPORARY_MARK).removesuffix(_TEMPORARY_SUFFIX).partition(".")[2]
