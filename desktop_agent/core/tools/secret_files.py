"""The files of a workspace that often hold secrets, found quickly: for commands that run without a question."""

from collections.abc import Iterable
from pathlib import Path

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.system.workspace import entries_below

MOST_ENTRIES = 500_000
"""How many files and folders are looked at, which takes about a second."""

_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv"})
"""What tools fill: certificates of packages look like keys, and hiding them breaks what uses them."""

MOST_BESIDE_PROGRAMS = 20_000
_LIBRARIES = frozenset({"lib", "lib64", "libexec", "include", "share", "site-packages"})
"""What is installed with programs and rarely is the user's own: the same goes for it."""


def secret_files(root: Path, *, most: int = MOST_ENTRIES) -> tuple[Path, ...]:
    """Return the secret files in `root`, all of them. Blocks, for some milliseconds in a usual folder.

    What cannot be read is left out: a command cannot read it either. Raises `ToolError` when `root` holds more than
    `most` entries, since its secrets cannot all be found in time.
    """
    found: list[Path] = []
    for count, (_, path, entry) in enumerate(entries_below((root,), skipped=_SKIPPED), start=1):
        if count > most:
            text = (
                f"The folder holds more than {most:,} files and folders, too many to find and hide its secrets, so the "
                "command was not run in the read-only sandbox. Open a smaller folder, or ask to run it unconfined."
            )
            raise ToolError(text, error_type="permission")
        if sensitivity(path) == "secret" and not entry.is_dir(follow_symlinks=False):
            found.append(root / path)
    return tuple(found)


def secrets_beside_programs(folders: Iterable[Path], *, most: int = MOST_BESIDE_PROGRAMS) -> tuple[Path, ...]:
    """Return what often holds secrets, or leads to another program, in folders where programs are installed. Blocks.

    The upper levels first, and no more folders after `most` entries; the libraries of programs are not looked through.
    """
    return tuple(
        root / path
        for root, path, entry in entries_below(folders, skipped=_SKIPPED | _LIBRARIES, most=most)
        if not entry.is_dir(follow_symlinks=False)
        and (sensitivity(path) == "secret" or not (entry.is_symlink() or entry.is_file()))
    )
