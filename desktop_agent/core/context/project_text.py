"""Files of a project that become text for the model without a question: its AGENTS.md files and its commands.

A file that holds secrets is none of them, whatever its names are.
"""

import os
from collections.abc import Callable
from pathlib import Path

from desktop_agent.core.base.errors import ToolError

SecretAt = Callable[[Path, os.stat_result], str]
"""Returns the name by which a file of the workspace, resolved, holds secrets; empty for one that holds none.

Raises `ToolError` when that cannot be found out.
"""


class HoldsSecretsError(ValueError):
    """The file is, or may be, one that holds secrets; its text says why, to stand behind a name and a colon."""


def read_start(path: Path, most: int, secret_at: SecretAt | None) -> bytes:
    """Return the first `most` bytes of the file at `path`, which is resolved. Blocks, but waits for no pipe.

    Pass `None` as `secret_at` for the user's own file, which may be any. Raises `HoldsSecretsError` and `OSError`.
    """
    with open(path, "rb", opener=_not_through_a_link) as source:
        # The file that is open is judged: another may have taken its name since the look.
        if secret_at is not None and (reason := _secret_in(path, os.fstat(source.fileno()), secret_at)):
            raise HoldsSecretsError(reason)
        return source.read(most)


def _secret_in(path: Path, status: os.stat_result, secret_at: SecretAt) -> str:
    """Return why the file must not be read; empty when it may."""
    try:
        secret = secret_at(path, status)
    except ToolError:  # the folder is too big to find its secrets
        return "it has another name (a hard link), and the folder holds too many files to find out which"
    return f"it is a link to `{secret}`, which often holds secrets" if secret else ""


def _not_through_a_link(path: str, flags: int) -> int:
    """Open the file that was looked at: one that was put in its place meanwhile may be a link, or a pipe that waits."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
