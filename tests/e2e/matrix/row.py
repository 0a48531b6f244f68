"""A row of the matrix: one call in a known workspace, its answer, and the changed files."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from desktop_agent.core.base.errors import ToolErrorType
from desktop_agent.core.protocol.model import JsonObject
from tests.pictures import png

WORKSPACE: Mapping[str, bytes] = {
    "a.txt": b"one\ntwo\nthree\n",
    "crlf.txt": b"one\r\ntwo\r\n",
    "latin.txt": b"caf\xe9\n",
    "twice.txt": b"x\ny\nx\nz\n",
    "big.txt": b"line\n" * 2_000,
    "bytes.bin": b"\0\1\2",
    "picture.png": png(),
    "run.sh": b"#!/bin/sh\necho hello\n",
    "src/main.py": b"def main():\n    return TODO\n",
    "src/deep/util.py": b"# todo: write\ndef util():\n    pass\n",
    "docs/guide.md": b"# Guide\nHow to resume a session.\n",
}
"""The files before every call, oldest first. `run.sh` is executable; `link.txt` links to `a.txt`."""

_OLDEST = 1_700_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A call and what it is expected to do. Unset fields mean unchanged or irrelevant."""

    tool: str
    arguments: JsonObject
    before: tuple[tuple[str, JsonObject], ...] = ()
    """Earlier calls of the same session. `{job_id}` in an argument is the job that the last of them started."""
    is_asked: bool = False
    """Whether it runs in a session whose user allows it, instead of alone."""
    exact: object = None
    """The whole content, as text or decoded JSON."""
    has: Mapping[str, object] = field(default_factory=dict[str, object])
    """Members of the content's JSON object."""
    says: tuple[str, ...] = ()
    """Pieces of the content."""
    changes: Mapping[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])
    """Changed files; None for removed ones."""
    error: ToolErrorType | None = None
    case: str = ""
    status: int = 1

    @property
    def label(self) -> str:
        told = ",".join(f"{name}={str(value)[:24]!r}" for name, value in self.arguments.items() if name != "path")
        return f"{self.tool}({told})" + (f" {self.case or self.error}" if self.error else "")


def ok(tool: str, arguments: JsonObject, **expected: object) -> Row:
    return Row(tool=tool, arguments=arguments, **expected)  # pyright: ignore[reportArgumentType] - Row's own fields


def fails(tool: str, arguments: JsonObject, error: ToolErrorType, *says: str, **expected: object) -> Row:
    status = 2 if error == "validation" else 1
    fields: dict[str, object] = {"status": status, **expected}
    return Row(tool=tool, arguments=arguments, error=error, says=says, **fields)  # pyright: ignore[reportArgumentType]


def build(root: Path) -> None:
    for age, (path, content) in enumerate(WORKSPACE.items()):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, (_OLDEST + age, _OLDEST + age))
    (root / "run.sh").chmod(0o755)
    (root / "link.txt").symlink_to("a.txt")


Entry = tuple[int, int, int, bytes]


def tree(root: Path) -> dict[str, Entry]:
    """Return everything below `root`: mode, inode, a file's mtime, and its bytes or its link target."""
    found: dict[str, Entry] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        changed = 0 if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
        found[path.relative_to(root).as_posix()] = status.st_mode, status.st_ino, changed, content
    return found


def files(entries: Mapping[str, Entry]) -> dict[str, bytes]:
    return {path: entry[3] for path, entry in entries.items() if not stat.S_ISDIR(entry[0])}
