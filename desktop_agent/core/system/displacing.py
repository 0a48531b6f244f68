"""Giving a name to a file, and taking it away, so that only what was expected there is displaced."""

import errno
import os
import secrets
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Final

from desktop_agent.core.base.exchange import ExchangeUnsupportedError, exchange, rename_to_free
from desktop_agent.core.system.files import FileState, read_state
from desktop_agent.core.system.staged_file import temporary_beside
from desktop_agent.core.system.system_calls import retried

MEANWHILE = "it was changed at this very moment"


class ChangedError(OSError):
    """Another program wrote the file between the look at it and the write."""


class Anything(Enum):
    """That a write may displace whatever is there."""

    ANYTHING = "anything"


ANYTHING: Final = Anything.ANYTHING
Expected = FileState | Anything | None
"""What a write may displace; None: nothing may be there."""


def place(temporary: Path, target: Path, before: Expected) -> None:
    """Give what is at `temporary` the name `target`, in place of `before` and of nothing else.

    Raises `ChangedError` when something else was there: it has its name again then, and ours is at `temporary`.
    """
    if before is ANYTHING:
        retried(os.replace, temporary, target)
        return
    try:
        if before is None:
            rename_to_free(temporary, target)
            return
        exchange(temporary, target)
    except ExchangeUnsupportedError:
        retried(os.replace, temporary, target)
        return
    except (FileExistsError, FileNotFoundError) as error:
        raise ChangedError(errno.EBUSY, MEANWHILE) from error
    if _is_still(temporary, before):
        with suppress(OSError):  # ours is in its place, and a left-over is swept
            retried(os.unlink, temporary)
        return
    try:
        exchange(temporary, target)
    except FileNotFoundError:  # another program has removed ours already
        rename_to_free(temporary, target)
    except OSError:  # theirs is not ours to remove
        retried(os.rename, temporary, _kept_beside(target))
        raise
    raise ChangedError(errno.EBUSY, MEANWHILE)


def remove(path: Path, before: Expected) -> None:
    """Remove the file or symlink at `path` if it is `before`; otherwise leave it, and raise `ChangedError`."""
    if before is ANYTHING:
        retried(os.unlink, path)
        return
    aside = temporary_beside(path)
    try:
        rename_to_free(path, aside)
    except ExchangeUnsupportedError:
        retried(os.unlink, path)
        return
    if _is_still(aside, before):
        try:
            retried(os.unlink, aside)
        except OSError:
            rename_to_free(aside, path)
            raise
        return
    try:
        rename_to_free(aside, path)
    except FileExistsError as error:  # two of them at once: the later one has the name, the other keeps its content
        kept = _kept_beside(path)
        rename_to_free(aside, kept)
        raise ChangedError(errno.EBUSY, f"{MEANWHILE}, twice; the first version is {kept.name}") from error
    raise ChangedError(errno.EBUSY, MEANWHILE)


def _kept_beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.kept-{secrets.token_hex(4)}")


def _is_still(path: Path, before: Expected) -> bool:
    try:
        return read_state(path, with_special=True, with_extras=False) == before
    except OSError:  # it cannot be read
        return False
