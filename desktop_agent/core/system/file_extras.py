"""Reads and restores `FileExtras`: owner, `user.*` attributes, ACLs, capabilities and labels."""

import base64
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from desktop_agent.core.protocol.model import FileExtras

_PREFIXES = ("user.", "system.posix_acl_", "security.", "trusted.")
_DERIVED = ("security.ima", "security.evm")
_ABSENT = (errno.ENOTSUP, errno.EPERM, errno.EACCES)


def read_extras(path: Path, owner: tuple[int, int]) -> FileExtras:
    """Read a file's extras, without following symlinks. Raises `OSError` when the file is missing."""
    return FileExtras(owner=owner, attributes=tuple(sorted(_attributes(path))))


def give_extras(path: Path, wanted: FileExtras) -> str:
    """Give a file these extras. Return in words what failed. This can change the file's permissions."""
    missing: list[str] = []
    status = path.lstat()
    if (status.st_uid, status.st_gid) != wanted.owner:
        missing += _give_owner(path, wanted.owner)
    now, then = dict(_attributes(path)), dict(wanted.attributes)
    for name in sorted(now.keys() | then.keys()):
        if now.get(name) == then.get(name):
            continue
        try:
            _give_attribute(path, name, then.get(name))
        except (OSError, ValueError):
            missing.append(f"the attribute {name}" if name in then else f"to be without the attribute {name}")
    return f"It could not get back: {', '.join(missing)}." if missing else ""


def _give_attribute(path: Path, name: str, value: str | None) -> None:
    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    if value is None:
        os.removexattr(path, name, follow_symlinks=False)
    else:
        os.setxattr(path, name, base64.b64decode(value), follow_symlinks=False)


def _give_owner(path: Path, owner: tuple[int, int]) -> Iterator[str]:
    user, group = owner
    if sys.platform == "win32":
        yield f"its owner ({user}:{group})"
        return
    try:
        os.lchown(path, user, group)
    except OSError:
        try:  # every user may give their own file to one of their groups
            os.lchown(path, -1, group)
        except OSError:
            yield f"its owner ({user}:{group})"
            return
        if path.lstat().st_uid != user:
            yield f"its owner ({user})"


def _attributes(path: Path) -> Iterator[tuple[str, str]]:
    if sys.platform != "linux":
        return
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        if error.errno in _ABSENT:
            return
        raise
    for name in names:
        if name.startswith(_PREFIXES) and name not in _DERIVED:
            try:
                value = os.getxattr(path, name, follow_symlinks=False)
            except OSError:  # an unreadable attribute can be neither lost nor restored
                continue
            yield name, base64.b64encode(value).decode("ascii")
