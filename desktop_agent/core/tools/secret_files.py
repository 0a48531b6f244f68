"""The files of a workspace that often hold secrets, found quickly: for commands that run without a question."""

import os
from collections import deque
from pathlib import Path

from desktop_agent.core.policy.paths import sensitivity

MOST_ENTRIES = 3_000
"""How many files and folders are looked at; the upper levels come first, where such files usually are."""

_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv"})


def secret_files(root: Path) -> tuple[Path, ...]:
    """Return the secret files in `root`, as far as they are found among `MOST_ENTRIES`. Blocks, for some milliseconds.

    What cannot be read is left out: a command cannot read it either.
    """
    found: list[Path] = []
    folders = deque([""])
    entries = 0
    while folders and entries < MOST_ENTRIES:
        folder = folders.popleft()
        try:
            with os.scandir(root / folder) as listing:
                for entry in listing:
                    entries += 1
                    path = f"{folder}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED:
                            folders.append(f"{path}/")
                    elif sensitivity(path) == "secret":
                        found.append(root / path)
        except OSError:
            continue
    return tuple(found)
