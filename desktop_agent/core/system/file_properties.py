"""What a file takes over from the one whose place or content it gets: permission bits, owner, attributes."""

import errno
import os
import stat
from pathlib import Path

from desktop_agent.core.system.system_calls import O_CLOEXEC, O_NOFOLLOW, close, retried

_OWN_ATTRIBUTES = ("user.", "system.posix_acl_")
"""Attributes that people give a file. Others are labels that the system gives, and not everybody may set."""


def change_mode(path: Path, descriptor: int, mode: int) -> None:
    if hasattr(os, "fchmod"):
        retried(os.fchmod, descriptor, mode)
    else:
        retried(os.chmod, path, mode)


def change_mode_of(path: Path, mode: int) -> None:
    """Change the mode of what must not be opened, and never through a symlink that took its place meanwhile."""
    if not hasattr(os, "O_PATH"):
        retried(os.chmod, path, mode, follow_symlinks=os.chmod not in os.supports_follow_symlinks)
        return
    descriptor = retried(os.open, path, os.O_PATH | O_NOFOLLOW | O_CLOEXEC)
    try:
        if not stat.S_ISLNK(retried(os.fstat, descriptor).st_mode):
            retried(os.chmod, f"/proc/self/fd/{descriptor}", mode)
    finally:
        close(descriptor)


def require_mode(path: Path, descriptor: int, mode: int) -> None:
    """Set the mode unless it is so already: only a file's owner may, and writing can have cleared special bits."""
    if stat.S_IMODE(retried(os.fstat, descriptor).st_mode) != mode:
        change_mode(path, descriptor, mode)


def take_over(target: Path, descriptor: int, old: os.stat_result) -> None:
    """Give the new file the owner and the extended attributes (with them the ACL) of the old one.

    Raises `OSError` when it cannot have them; only what the system itself labels files with may stay behind.
    """
    if os.name == "nt":
        return
    new = retried(os.fstat, descriptor)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        retried(os.fchown, descriptor, old.st_uid, old.st_gid)
    if not hasattr(os, "listxattr"):
        return
    wanted = _attributes(target)
    for name in _attributes(descriptor):
        if name not in wanted and name.startswith(_OWN_ATTRIBUTES):  # an ACL that the folder gives to new files
            retried(os.removexattr, descriptor, name)
    for name in wanted:
        try:
            retried(os.setxattr, descriptor, name, retried(os.getxattr, target, name))
        except OSError:
            if name.startswith(_OWN_ATTRIBUTES):
                raise


def _attributes(file: Path | int) -> list[str]:
    try:
        return retried(os.listxattr, file)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise
