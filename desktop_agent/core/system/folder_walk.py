"""Going through everything in folders, the upper levels first."""

import os
from collections import deque
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from pathlib import Path


def entries_below(
    roots: Iterable[Path], *, skipped: Container[str] = ()
) -> Iterator[tuple[Path, str, os.DirEntry[str]]]:
    """Yield every entry below `roots`: its root, its path from there, with `/`, and itself. Blocks.

    Symbolic links are not followed, and folders with a `skipped` name not entered. What cannot be read is passed over.
    """
    folders = deque((root, "") for root in roots)
    while folders:
        root, folder = folders.popleft()
        with suppress(OSError), os.scandir(root / folder) as listing:
            for entry in listing:
                path = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False) and entry.name not in skipped:
                    folders.append((root, f"{path}/"))
                yield root, path, entry
