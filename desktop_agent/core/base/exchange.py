"""Renames that lose nothing: two names exchanged in one step, and a name taken only where there is none.

Python has neither. Linux does (`renameat2`), on the file systems that people keep their work on; where it does not,
these say so and the caller does what it can without.
"""

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path

_AT_FDCWD = -100
_NOREPLACE = 1
_EXCHANGE = 2
_UNKNOWN = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
"""How a kernel, or a file system, says that it cannot do this."""


class ExchangeUnsupportedError(Exception):
    """This system, or this file system, has no such rename. Nothing was done."""


def exchange(one: Path, other: Path) -> None:
    """Let two existing names lead to what the other one led to, in one step.

    Raises `OSError`, or `ExchangeUnsupportedError`.
    """
    _rename(one, other, _EXCHANGE)


def rename_to_free(source: Path, target: Path) -> None:
    """Give `source` the name `target`, unless there is something: `FileExistsError`.

    Raises `OSError`, or `ExchangeUnsupportedError`.
    """
    _rename(source, target, _NOREPLACE)


def _rename(source: Path, target: Path, flags: int) -> None:
    libc = _libc()
    if libc is None:
        raise ExchangeUnsupportedError
    while libc.renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) != 0:
        code = ctypes.get_errno()
        if code in _UNKNOWN:
            raise ExchangeUnsupportedError
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code), str(source), None, str(target))


@cache
def _libc() -> ctypes.CDLL | None:
    """Return the C library, if it has the call."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    return libc if hasattr(libc, "renameat2") else None
