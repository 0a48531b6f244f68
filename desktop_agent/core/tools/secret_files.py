"""Finds the files that often hold secrets, and hard links to them, for commands that run without approval."""

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.sandbox.guarded import places_of_secrets
from desktop_agent.core.system.workspace import entries_below

MOST_ENTRIES = 500_000

_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv"})
"""Folders that tools fill. Certificates in packages look like keys, and hiding them breaks programs."""

MOST_BESIDE_PROGRAMS = 20_000
_LIBRARIES = frozenset({"lib", "lib64", "libexec", "include", "share", "site-packages"})
"""Folders that are installed with programs, skipped for the same reason as `_SKIPPED`."""


def secret_files(root: Path, *, most: int = MOST_ENTRIES) -> tuple[Path, ...]:
    """Return the workspace's secrets. Blocks for milliseconds. Raises `ToolError` for more than `most` entries."""
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


def secrets_beside_programs(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the secret and the special files. Reads at most `MOST_BESIDE_PROGRAMS` entries. Blocks."""
    return tuple(
        root / path
        for root, path, entry in entries_below(folders, skipped=_SKIPPED | _LIBRARIES, most=MOST_BESIDE_PROGRAMS)
        if not entry.is_dir(follow_symlinks=False)
        and (sensitivity(path) == "secret" or not (entry.is_symlink() or entry.is_file()))
    )


MOST_HIDDEN_ENTRIES = 20_000

Identity = tuple[int, int]


def linked_files(places: Sequence[Path]) -> dict[Identity, str]:
    """Return the files in or among `places` that have several names (hard links). Blocks for milliseconds."""
    known: dict[Identity, str] = {}
    inside = (root / path for root, path, _ in entries_below(places, most=MOST_HIDDEN_ENTRIES))
    for path in chain(places, inside):
        _note(known, path, str(path))
    return known


class SecretNames:
    def __init__(self, root: Path, elsewhere: Callable[[], Mapping[Identity, str]] = dict[Identity, str]) -> None:
        """`elsewhere` returns the secrets with several names outside the workspace. It is called only if needed."""
        self._root = root
        self._elsewhere = elsewhere

    def secret_behind(self, path: Path, status: os.stat_result | None = None) -> str:
        """The secret to which `path` is a hard link, relative to the workspace or absolute; empty for none."""
        try:
            status = status or path.stat()
        except (OSError, ValueError):
            return ""
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return ""
        return self._linked_secrets.get((status.st_dev, status.st_ino), "")

    def secret_at(self, path: Path, status: os.stat_result) -> str:
        """Return the name that makes a file a secret: that of the resolved `path`, or a hard link's; empty for none."""
        name = path.relative_to(self._root).as_posix()
        return name if sensitivity(name) == "secret" else self.secret_behind(path, status)

    def behind(self, relative_paths: Iterable[str]) -> dict[str, str]:
        """Return, by path, the secret to which the path is a hard link. Paths that look like secrets are left out."""
        named = [path for path in relative_paths if sensitivity(path) != "secret"]
        found = {path: self.secret_behind(self._root / path) for path in named}
        return {path: secret for path, secret in found.items() if secret}

    @cached_property
    def by_name(self) -> tuple[Path, ...]:
        return secret_files(self._root)

    def other_names(self) -> tuple[Path, ...]:
        numbers = {inode for _, inode in self._linked_secrets}
        entries = entries_below((self._root,)) if numbers else ()
        paths = (self._root / path for _, path, entry in entries if entry.inode() in numbers)
        return tuple(path for path in paths if self.secret_behind(path))

    @cached_property
    def _linked_secrets(self) -> dict[Identity, str]:
        known = dict(self._elsewhere())
        for path in self.by_name:
            _note(known, path, path.relative_to(self._root).as_posix())
        return known


def finder_of_secrets(root: Path, environ: Mapping[str, str]) -> Callable[[], SecretNames]:
    """Return a function that finds the workspace's secrets at each call, and those elsewhere only once."""
    elsewhere = lru_cache(maxsize=1)(lambda: linked_files(places_of_secrets(environ)))
    return lambda: SecretNames(root, elsewhere)


def _note(known: dict[Identity, str], path: Path, name: str) -> None:
    try:
        status = path.lstat()
    except OSError:
        return
    if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
        known[status.st_dev, status.st_ino] = name
