"""One process at a time renews the tokens of an account: a refresh token is good for one use."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder

if TYPE_CHECKING:
    from filelock import FileLock

LIMIT_S = 120.0
"""How long another process is waited for. It may be asking the user for the keyring, and then the network."""

_LOOK_EVERY_S = 0.1


@asynccontextmanager
async def renewing(path: Path, clock: Clock) -> AsyncGenerator[None]:
    """Hold the lock at `path` for the length of the block. It goes away with its process.

    Raises `CredentialsError` when another process holds it for too long, or it cannot be made.
    """
    lock = await _lock_at(path)
    began = clock.monotonic()
    try:
        while not await _acquired(lock):
            if clock.monotonic() - began > LIMIT_S:
                raise CredentialsError(
                    "Another process has been renewing the sign-in for two minutes.",
                    hint="See whether it waits for the keyring, then try again.",
                )
            await clock.sleep(_LOOK_EVERY_S)
        yield
    finally:
        lock.release()


async def _lock_at(path: Path) -> "FileLock":
    def made() -> "FileLock":
        from filelock import FileLock  # slow, and of no use before a token is renewed

        make_private_folder(path.parent)
        # Of no thread: taken in one, released in another.
        return FileLock(path, timeout=0, mode=PRIVATE_FILE, thread_local=False)

    try:
        return await asyncio.to_thread(made)
    except OSError as error:
        raise _unusable(path, error) from error


async def _acquired(lock: "FileLock") -> bool:
    """Try once, in a thread, and return whether it worked. Being cancelled meanwhile leaves nothing held."""
    attempt = asyncio.ensure_future(asyncio.to_thread(_try, lock))
    try:
        return await asyncio.shield(attempt)
    except asyncio.CancelledError:
        await asyncio.gather(attempt, return_exceptions=True)  # a moment: nothing is waited for in there
        raise


def _try(lock: "FileLock") -> bool:
    from filelock import Timeout

    try:
        lock.acquire()
    except Timeout:
        return False
    except OSError as error:
        raise _unusable(Path(lock.lock_file), error) from error
    return True


def _unusable(path: Path, error: OSError) -> CredentialsError:
    return CredentialsError(
        "The sign-in cannot be renewed: its lock cannot be used.",
        hint="Check the application's data folder: `desktop-agent doctor`.",
        detail=f"{path}: {error}",
    )
