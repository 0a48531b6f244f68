"""Going through everything in folders, the upper levels first."""

import os
from collections import deque
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from math import inf
from pathlib import Path


def entries_below(
    roots: Iterable[Path], *, skipped: Container[str] = (), most: float = inf
) -> Iterator[tuple[Path, str, os.DirEntry[str]]]:
    """Yield every entry below `roots`: its root, its path from there, with `/`, and itself. Blocks.

    Symbolic links are not followed, and folders with a `skipped` name not entered. What cannot be read is passed over.
    After `most` entries no other folder is begun; the one that holds the last of them is gone through to its end.
    """
    folders = deque((root, "") for root in roots)
    seen = 0
    while folders and seen < most:
        root, folder = folders.popleft()
        with suppress(OSError), os.scandir(root / folder) as listing:
            for entry in listing:
                seen += 1
                path = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False) and entry.name not in skipped:
                    folders.append((root, f"{path}/"))
                yield root, path, entry
