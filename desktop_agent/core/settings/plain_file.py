"""Reading a small file that may be anything: a pipe, a device, a folder, or of any size. Never waits for one."""

import os
import stat
from pathlib import Path


class UnreadableError(OSError):
    """What stands there is no file that can be read as settings; the message says why, without the path."""


def read_plain(path: Path, largest_bytes: int) -> bytes:
    """Return the content of a plain file. Blocks, but never on a pipe or a device.

    Raises `FileNotFoundError` when nothing is there, and `UnreadableError` for a dangling link, what is not a file, is
    larger than `largest_bytes`, or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
            content = file.read(largest_bytes + 1) if is_plain else b""
    except FileNotFoundError:
        if path.is_symlink():
            raise UnreadableError("cannot be read: it is a link to what does not exist") from None
        raise
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from error
    if not is_plain:
        raise UnreadableError("cannot be read: it is not a file")
    if len(content) > largest_bytes:
        raise UnreadableError(f"cannot be read: it is larger than {largest_bytes // 1024} KiB")
    return content


def with_last_line_ended(content: bytes) -> bytes:
    """Return the content of a text file with an end of line behind its last line, of the kind that its others have.

    For what is about to be written on: it would otherwise continue that line.
    """
    if not content or content.endswith(b"\n"):
        return content
    return content + (b"\r\n" if b"\r\n" in content else b"\n")
