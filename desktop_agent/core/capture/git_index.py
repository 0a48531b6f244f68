"""Which files git has unchanged, found from its index without reading them.

The index says how each file looked to `stat` when its content was known to be that of an object; a file that still
looks so has that content. This is what `git status` rests on, and so is the rule for files that were written in the
same moment as the index: of those nothing is said. The format is gitformat-index(5), versions 2 to 4 with SHA-1.
"""

import os
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.capture.scan import Signature
from desktop_agent.core.system.gitrepo.finding import find_repository

_HEAD = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_ASSUME_VALID, _EXTENDED, _STAGES = 0x8000, 0x4000, 0x3000
_CONVERTS = (b"filter", b"ident", b"working-tree-encoding")
"""Attributes by which the content of a file can be another than that of its object, and as long."""
_LARGEST_ATTRIBUTES = 2**20


def unchanged_objects(folder: Path, found: dict[str, Signature]) -> dict[str, str]:
    """Return the object ids of those files in `folder` that are as the index has them; none when in doubt. Blocks.

    Line endings may be converted between file and object, which changes the length: compare that before use.
    """
    repository = find_repository(folder)
    if repository is None:
        return {}
    try:
        if _may_convert(repository.root, repository.git_dir, folder, found):
            return {}
        with (repository.git_dir / "index").open("rb") as file:
            written_ns = os.fstat(file.fileno()).st_mtime_ns
            content = file.read()
        return dict(_unchanged(content, repository.prefix, found, written_ns))
    except (OSError, ValueError, struct.error):
        return {}


def _unchanged(index: bytes, prefix: str, found: dict[str, Signature], written_ns: int) -> Iterator[tuple[str, str]]:
    for name, fields, identifier in _entries(index):
        path = os.fsdecode(name)
        signature = found.get(path.removeprefix(prefix)) if path.startswith(prefix) else None
        if signature is None:
            continue
        changed_ns, modified_ns, size, inode, mode = signature
        looked = (fields[0] * 10**9 + fields[1], fields[2] * 10**9 + fields[3], fields[9], fields[5], fields[6])
        is_same = looked == (changed_ns, modified_ns, size & 0xFFFFFFFF, inode & 0xFFFFFFFF, _git_mode(mode))
        if is_same and modified_ns < written_ns:
            yield path.removeprefix(prefix), identifier.hex()


def _git_mode(mode: int) -> int:
    if not stat.S_ISREG(mode):
        return stat.S_IFMT(mode)
    return stat.S_IFREG | (0o755 if mode & stat.S_IXUSR else 0o644)


def _entries(index: bytes) -> Iterator[tuple[bytes, tuple[int, ...], bytes]]:
    """Yield name, numbers and object id of every plain entry. Raises `ValueError` for a format that is not known."""
    mark, version, count = _HEAD.unpack_from(index)
    if mark != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index of a known version")
    at, name = _HEAD.size, b""
    for _ in range(count):
        *numbers, identifier, flags = _ENTRY.unpack_from(index, at)
        start = at + _ENTRY.size + (2 if flags & _EXTENDED else 0)
        if version == 4:
            cut, start = _variable_number(index, start)
            end = index.index(b"\0", start)
            name = name[: len(name) - cut] + index[start:end]
            at = end + 1
        else:
            end = index.index(b"\0", start)
            name = index[start:end]
            at += (end - at) // 8 * 8 + 8
        if not flags & (_ASSUME_VALID | _EXTENDED | _STAGES):
            yield name, tuple(numbers), identifier


def _variable_number(data: bytes, at: int) -> tuple[int, int]:
    """Read a number of any length (that of pack offsets), and return it with where it ends."""
    number = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        number = ((number + 1) << 7) | (data[at] & 0x7F)
    return number, at + 1


def _may_convert(top: Path, git_dir: Path, folder: Path, found: Iterable[str]) -> bool:
    """Whether attributes may give a file another content than its object, of the same length."""
    home = Path.home()
    settings = os.environ.get("XDG_CONFIG_HOME") or str(home / ".config")
    places = [git_dir / "info" / "attributes", Path(settings) / "git" / "attributes", Path("/etc/gitattributes")]
    places += [parent / ".gitattributes" for parent in folder.parents if parent.is_relative_to(top)]
    places += [folder / path for path in found if path.endswith(".gitattributes")]
    for place in places:
        with suppress(FileNotFoundError, NotADirectoryError):
            if place.stat().st_size > _LARGEST_ATTRIBUTES:
                return True
            content = place.read_bytes()
            if any(word in content for word in _CONVERTS):
                return True
    return False
