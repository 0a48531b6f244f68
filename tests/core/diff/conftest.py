"""Ready-made changes from contents before and after."""

import threading
import time
from collections.abc import Callable
from hashlib import blake2b

import pytest

from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.protocol.model import ChangeKind, FileChange, FileDiff, FileImage, FileKind


def make_diff(
    before: bytes | None,
    after: bytes | None,
    *,
    path: str = "src/app.py",
    modes: tuple[int, int] = (0o644, 0o644),
    kinds: tuple[FileKind, FileKind] = ("file", "file"),
) -> FileDiff:
    """Compare two contents as one change of `path`; `None` means that the file is absent."""
    kind: ChangeKind = "created" if before is None else "deleted" if after is None else "modified"
    change = FileChange(
        id="1.1",
        path=path,
        kind=kind,
        author="agent",
        before=_image(before, modes[0], kinds[0]),
        after=_image(after, modes[1], kinds[1]),
    )
    return diff_change(change, before, after)


def _image(content: bytes | None, mode: int, kind: FileKind) -> FileImage | None:
    if content is None:
        return None
    return FileImage(digest=blake2b(content, digest_size=32).hexdigest(), size=len(content), mode=mode, kind=kind)


@pytest.fixture
def settle() -> Callable[[], None]:
    """Wait until the next write gets a time stamp that differs from the last one."""

    def settle() -> None:
        begun = time.monotonic()
        while time.monotonic() < begun + 0.06:
            threading.Event().wait(0.01)

    return settle
