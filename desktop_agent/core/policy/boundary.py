"""The workspace boundary: which paths a tool may touch, with symlinks resolved.

Every path a model names goes through `Boundary` before anything is opened. It fails closed: what cannot be resolved is
outside.
"""

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from desktop_agent.core.errors import ToolError

PROTECTED_FOLDERS = frozenset({".git"})
"""Folders whose content no edit tool writes: a broken `.git` is not a file change anybody can review."""


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A path inside the workspace."""

    absolute: Path
    """Where it is, as named: parents resolved, a symlink in the last place kept."""
    relative: str
    """Relative to the workspace, with `/`; `.` for the workspace itself. What people and the journal see."""

    @property
    def target(self) -> Path:
        """What the path leads to: the same as `absolute` unless that is a symlink."""
        return self.absolute.resolve()


class Boundary:
    """One workspace folder and the decision whether a path lies in it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def for_reading(self, text: str) -> ResolvedPath:
        """Resolve a path the model wants to read. Raises `ToolError` (permission) when it leads outside."""
        absolute = self._locate(text)
        try:
            self._require_inside(absolute.resolve(), text)
            absolute.stat()
        except (FileNotFoundError, NotADirectoryError):
            pass  # what is missing is each tool's own to say
        except (OSError, RuntimeError) as error:  # a name too long, a folder that may not be entered, a symlink loop
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise ToolError(f"The path {text!r} cannot be reached: {reason}.", error_type="validation") from error
        return ResolvedPath(absolute, self._relative(absolute))

    def for_writing(self, text: str) -> ResolvedPath:
        """Resolve a path the model wants to write: inside, and not in a protected folder."""
        resolved = self.for_reading(text)
        if resolved.relative == ".":
            raise ToolError("The path is the workspace folder itself; name a file in it.", error_type="validation")
        for path in (resolved.absolute, resolved.target):
            parts = path.relative_to(self.root).parts
            if protected := next((part for part in parts if part.casefold() in PROTECTED_FOLDERS), None):
                raise ToolError(
                    f"{text!r} lies in {protected!r}, which edit tools never write. Use git commands instead.",
                    error_type="permission",
                )
        return resolved

    def follow(self, resolved: ResolvedPath) -> ResolvedPath:
        """Return where a symlink in the last place leads; edits go there, so that the link stays a link."""
        target = resolved.target
        return resolved if target == resolved.absolute else ResolvedPath(target, self._relative(target))

    def contains(self, path: Path) -> bool:
        """Whether `path`, with symlinks resolved, is the workspace or inside it."""
        try:
            return path.resolve().is_relative_to(self.root)
        except (OSError, RuntimeError):
            return False

    def _locate(self, text: str) -> Path:
        if "\0" in text:
            raise ToolError("The path contains a NUL character.", error_type="validation")
        # normpath only joins and squeezes here; `..` behind a symlink is settled by resolving the parent for real.
        joined = self.root / text
        try:
            parent = joined.parent.resolve()
        except (OSError, RuntimeError) as error:
            raise ToolError(f"The path {text!r} cannot be resolved: {error}", error_type="validation") from error
        if joined.name in ("", ".."):
            return Path(os.path.realpath(joined))
        return parent / joined.name

    def _require_inside(self, real: Path, text: str) -> None:
        if not real.is_relative_to(self.root):
            raise ToolError(
                f"{text!r} is outside the workspace {str(self.root)!r}. Use paths inside it, relative to it.",
                error_type="permission",
            )

    def _relative(self, absolute: Path) -> str:
        try:
            return PurePosixPath(absolute.relative_to(self.root)).as_posix()
        except ValueError:
            # Reached through a symlink whose own place is outside while its target is inside: name the target.
            return PurePosixPath(absolute.resolve().relative_to(self.root)).as_posix()
