"""What the scripts that a command names contain now, so that a change is seen before the command runs."""

import os
import stat
from pathlib import Path

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.policy.scripts import scripts_of
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.model import ScriptMark
from desktop_agent.core.system.files import digest_of

_MOST_BYTES = 8_000_000
"""Of a larger file its size and date are compared: it is a program rather than a script."""


def script_marks(command: str, folder: str) -> tuple[ScriptMark, ...]:
    """Return a mark of every file that `command` would run from `folder`, or could run if it were there. Blocks."""
    return tuple(ScriptMark(path=path, mark=_mark_of(Path(folder, path))) for path in scripts_of(parse(command)))


def changed_scripts(asked: tuple[ScriptMark, ...], now: tuple[ScriptMark, ...]) -> tuple[str, ...]:
    """Return the paths of those that are not what they were."""
    before = {mark.path: mark.mark for mark in asked}
    after = {mark.path: mark.mark for mark in now}
    return tuple(path for path in after if before.get(path, "") != after[path])


def _mark_of(path: Path) -> Digest:
    """Return what identifies a file's content; empty when there is no file to run."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):
        return ""
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if facts.st_size > _MOST_BYTES:
            return f"{facts.st_size}-{facts.st_mtime_ns}"
        return digest_of(file.read(_MOST_BYTES + 1))
