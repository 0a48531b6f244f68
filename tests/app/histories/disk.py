"""A folder as bytes: its entries, with names of any bytes, and ways to replace them."""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["file", "folder", "link", "pipe"]
Name = bytes
"""A path relative to the workspace."""

NAMES: tuple[Name, ...] = (
    b"a.txt",
    b"b.txt",
    b"d/c.txt",
    b"d",
    "gr\u00fc\u00dfe und so.txt".encode(),
    b"new\nline",
    b"\xff.x",
    b"d/\xfe\xfd",
)
"""Plain names, a folder and names in it, names that need quoting, and two that are no Unicode."""


class Node(NamedTuple):
    kind: Kind
    mode: int
    content: bytes = b""


Tree = Mapping[Name, Node]


def tree_of(root: Path) -> dict[Name, Node]:
    return {os.fsencode(path.relative_to(root)): node for path, node in _nodes(root)}


def _nodes(folder: Path) -> Iterator[tuple[Path, Node]]:
    for path in folder.iterdir():
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            yield path, Node("link", mode, os.fsencode(path.readlink()))
        elif stat.S_ISFIFO(status.st_mode):
            yield path, Node("pipe", mode)
        elif stat.S_ISDIR(status.st_mode):
            yield path, Node("folder", mode)
            yield from _nodes(path)
        else:
            yield path, Node("file", mode, path.read_bytes())


def put(root: Path, name: Name, node: Node | None) -> None:
    """Put this node there instead of whatever is there, and make its parent folders. None removes."""
    path = root / os.fsdecode(name)
    _remove(path)
    if node is None:
        return
    _make_folder(path.parent)
    match node.kind:
        case "file":
            path.write_bytes(node.content)
            path.chmod(node.mode)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(os.fsdecode(node.content))
        case "pipe":
            os.mkfifo(path)
            path.chmod(node.mode)


def _make_folder(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        _remove(path)
        path.mkdir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
