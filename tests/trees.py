"""All files of a folder at one moment, for comparisons: kinds, permission bits, contents, links."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from desktop_agent.core.protocol.model import FileImage, FileKind
from desktop_agent.core.system.files import digest_of


class Node(NamedTuple):
    """A file, folder or link: its kind, permission bits, and content or link target."""

    kind: FileKind
    mode: int
    content: bytes

    def image(self) -> FileImage:
        return FileImage(digest=digest_of(self.content), size=len(self.content), mode=self.mode, kind=self.kind)


NOTHING = Node("file", 0, b"")
Tree = Mapping[str, Node]


def tree_of(root: Path) -> dict[str, Node]:
    return dict(_nodes(root, root))


def _nodes(folder: Path, root: Path) -> Iterator[tuple[str, Node]]:
    for entry in list(os.scandir(folder)):  # read at once, so that no listing stays open if a file vanishes
        path = Path(entry.path)
        name = path.relative_to(root).as_posix()
        mode = path.lstat().st_mode & 0o7777
        if name == ".git":
            continue
        if entry.is_symlink():
            yield name, Node("symlink", mode, os.fsencode(path.readlink()))
        elif entry.is_dir():
            yield name, Node("folder", mode, b"")
            yield from _nodes(path, root)
        elif path.is_fifo() or path.is_socket():
            yield name, Node("fifo" if path.is_fifo() else "socket", mode, b"")
        else:
            yield name, Node("file", mode, path.read_bytes())
