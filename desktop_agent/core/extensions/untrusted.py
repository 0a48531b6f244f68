"""Reading a file that anybody may have written: only its beginning, never through a link or a pipe, and no secrets."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.base.errors import ToolError

SecretAt = Callable[[Path, os.stat_result], str]
"""Returns the name for which a resolved file counts as a secret; empty if it does not. Raises `ToolError`."""


class HoldsSecretsError(ValueError):
    """The file holds secrets, or may. The message is the reason, worded to follow a name and a colon."""


def read_start(path: Path, most: int, secret_at: SecretAt | None) -> bytes:
    """Return the first `most` bytes of a resolved file. Blocks, but never on a pipe.

    `secret_at` is `None` for the user's own file, which may be any file. Raises `HoldsSecretsError` and `OSError`.
    """
    with open(path, "rb", opener=_not_through_a_link) as source:
        # The file that is open is judged: another may have taken its name since the look.
        if secret_at is not None and (reason := _why_not(path, source.fileno(), secret_at)):
            raise HoldsSecretsError(reason)
        return source.read(most)


def why_unread(error: Exception) -> str:
    """Return why a file could not be read or parsed, in the system's words where it has some."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(getattr(error, "strerror", None) or error)


def _why_not(path: Path, descriptor: int, secret_at: SecretAt) -> str:
    with suppress(OSError):  # only Linux tells where the open file is
        opened = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - for hundreds of files
        if opened.removesuffix(" (deleted)") != str(path):
            return "a folder of it was replaced while it was read"
    try:
        secret = secret_at(path, os.fstat(descriptor))
    except ToolError:  # the folder is too big to find its secrets
        return "it has another name (a hard link), and the folder holds too many files to find out which"
    return f"it is a link to `{secret}`, which often holds secrets" if secret else ""


def _not_through_a_link(path: str, flags: int) -> int:
    """Open the file that was checked, unless a link replaced it; never wait for a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
