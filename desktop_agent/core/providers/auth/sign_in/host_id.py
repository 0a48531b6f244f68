"""The name of this installation for services that ask which machine a program runs on: made once, and kept.

ChatGPT shows the user the machines that use the plan. It is random, says nothing about the machine, and is no secret.
"""

import uuid
from pathlib import Path

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder

_LOCK_TIMEOUT_S = 10.0
_PREFIX = "urn:uuid:"


def host_id(folder: Path) -> str:
    """Return the name kept in `folder`, the application's data, making one when there is none. Blocks.

    Processes that ask at the same time get the same. Raises `CredentialsError` when it cannot be kept.
    """
    from filelock import FileLock, Timeout  # slow, and of no use before a sign-in

    path = folder / "host-id"
    try:
        make_private_folder(folder)
        with FileLock(folder / ".host-id.lock", timeout=_LOCK_TIMEOUT_S, mode=PRIVATE_FILE):
            kept = _kept(path)
            if kept is None:
                kept = uuid.uuid4().urn
                write_atomically(path, f"{kept}\n".encode(), mode=PRIVATE_FILE)
            return kept
    except (OSError, Timeout) as error:
        raise CredentialsError(
            "The name of this installation could not be kept, which the sign-in needs.",
            hint="Check the application's data folder: `desktop-agent doctor`.",
            detail=f"{path}: {error}",
        ) from error


def _kept(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="ascii").strip()
        return uuid.UUID(text.removeprefix(_PREFIX)).urn if text.startswith(_PREFIX) else None
    except (FileNotFoundError, ValueError):  # of UnicodeDecodeError too
        return None
