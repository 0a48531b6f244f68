"""The workspace boundary: which paths a tool may touch, with symlinks resolved. An unresolvable path is outside."""

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Collection, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.file_names import real_name
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.paths import plain_name

PROTECTED_FOLDERS = frozenset({".git"})
"""The user cannot review a broken `.git` as a change of a file, so no edit tool writes there."""

_HOME = regex(r"~[^/]*(?=/|$)")
_VARIABLE = regex(r"(?:\$\{?\w+\}?|%\w+%)(?=[/\\])")
_WINDOWS = regex(r"[A-Za-z]:[/\\]|\\\\|[^/\\]+\\(?!x[0-9a-f]{2})\w")
_ADDRESS = regex(r"[a-z][a-z0-9+.-]+://")

_DEVICE = r"^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)"
_NO_WINDOWS_NAME = regex(rf'[\0-\x1f<>:"|?*]|[ .]$|{_DEVICE}', re.IGNORECASE)

_RELATIVE = "Write the path relative to the workspace, with '/' between its parts."

_HANDLES = Path("/proc/self/fd")


class ResolvedPath(Struct, frozen=True):
    absolute: Path
    """All symlinks are resolved, except for one in the last place."""
    relative: str
    """Relative to the workspace, with `/`, or absolute if it is outside."""

    @property
    def target(self) -> Path:
        return self.absolute.resolve()


class Boundary:
    def __init__(self, root: Path, allowed: Sequence[Path] = (), *, guarded: Sequence[Path] = ()) -> None:
        """`allowed` folders can be read, too. `guarded` folders in the workspace cannot be written to. Blocks."""
        self.root = real_path(root)
        self.allowed = tuple(real_path(folder.expanduser()) for folder in allowed)
        # If the workspace itself is inside a guarded folder, as the demo's is, it is still writable.
        self._guarded = tuple(folder for path in guarded if _lies_in(folder := real_path(path), self.root))

    def for_reading(self, text: str) -> ResolvedPath:
        """Resolve a path to read. Raises `ToolError` (permission) when it leads outside."""
        absolute = self._locate(text)
        try:
            self._require_inside(absolute.resolve(), text)
            absolute.stat()
        except (FileNotFoundError, NotADirectoryError):
            pass  # each tool reports a missing file itself
        except (OSError, RuntimeError) as error:  # a name too long, a closed folder, a symlink loop
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise ToolError(f"The path {text!r} cannot be reached: {reason}.", error_type="validation") from error
        return ResolvedPath(absolute, self._relative(absolute))

    def for_writing(self, text: str) -> ResolvedPath:
        """Resolve a path to write. Raises `ToolError` when it leads outside or into a protected folder."""
        resolved = self.for_reading(text)
        if not _lies_in(resolved.target, self.root) or PurePosixPath(resolved.relative).is_absolute():
            raise ToolError(
                f"{text!r} is outside the workspace {str(self.root)!r}: it may be read, but not written.",
                error_type="permission",
            )
        if resolved.relative == ".":
            raise ToolError("The path is the workspace folder itself; name a file in it.", error_type="validation")
        for path in (resolved.absolute, resolved.target):
            if any(_lies_in(path, folder) for folder in self._guarded):
                raise ToolError(
                    f"{text!r} is in a folder where this application keeps its own settings and sessions, which "
                    "edit tools never write.",
                    error_type="permission",
                )
            parts = self._below_root(path)
            if protected := next((part for part in parts if plain_name(part) in PROTECTED_FOLDERS), None):
                raise ToolError(
                    f"{text!r} is in {protected!r}, which edit tools never write. Use git commands instead.",
                    error_type="permission",
                )
        return resolved

    def follow(self, resolved: ResolvedPath) -> ResolvedPath:
        """Return the target of a link in the last place, because edits write to it, so that the link stays a link."""
        target = resolved.target
        return resolved if target == resolved.absolute else ResolvedPath(target, self._relative(target))

    def require_opened(self, descriptor: int, text: str) -> None:
        """Raise `ToolError` if the opened file lies outside: a symlink may have been placed since the check. Blocks."""
        if _HANDLES.is_dir():
            self._require_inside((_HANDLES / str(descriptor)).readlink(), text)

    def _locate(self, text: str) -> Path:
        given, text = text, real_name(text, is_there=lambda name: os.path.lexists(self.root / name))
        if "\0" in text:
            raise ToolError("The path contains a NUL character.", error_type="validation")
        if sys.platform == "win32":
            why = misread_by_windows(text, [folder.drive for folder in (self.root, *self.allowed)])
        else:
            is_new = given == text and not os.path.lexists(self.root / text.partition("/")[0])
            why = self._misread(text) if is_new else ""
        if why:
            raise ToolError(f"The path {text!r} cannot be used: {why}", error_type="validation")
        # normpath only joins and squeezes here. `..` behind a symlink is settled by resolving the parent.
        joined = self.root / text
        try:
            parent = joined.parent.resolve()
        except (OSError, RuntimeError) as error:
            raise ToolError(f"The path {text!r} cannot be resolved: {error}", error_type="validation") from error
        if joined.name in ("", ".."):
            return Path(os.path.realpath(joined))
        absolute = parent / joined.name
        return as_listed(absolute, self.root) if sys.platform in ("win32", "darwin") else absolute

    def _misread(self, text: str) -> str:
        """Return a hint if this path is for a shell, for Windows or for a browser: it would name a wrong file."""
        if found := _HOME.match(text):
            meant = Path(os.path.normpath(os.path.expanduser(text)))  # noqa: PTH111  # `~nobody` stays as it is
            if meant.is_relative_to(self.root):
                return f"'~' is not expanded. Write {meant.relative_to(self.root).as_posix()!r}."
            if meant.is_absolute() or found[0] == "~":
                return f"'~' is not expanded, and {str(meant)!r} is outside the workspace. {_RELATIVE}"
        elif found := _VARIABLE.match(text):
            return f"{found[0]} is not expanded. {_RELATIVE}"
        elif found := _ADDRESS.match(text):
            return f"it is an address. {_RELATIVE}"
        elif found := _WINDOWS.match(text):
            plain = text.replace("\\", "/")
            is_whole = found[0][1] == ":" or plain.startswith("//")
            return f"this is not Windows. {_RELATIVE if is_whole else f'Write {plain!r}.'}"
        return ""

    def _require_inside(self, real: Path, text: str) -> None:
        if not any(_lies_in(real, folder) for folder in (self.root, *self.allowed)):
            raise ToolError(
                f"{text!r} is outside the workspace {str(self.root)!r}. Use paths inside it, relative to it.",
                error_type="permission",
            )

    def _below_root(self, path: Path) -> tuple[str, ...]:
        return path.parts[len(self.root.parts) :]

    def _relative(self, absolute: Path) -> str:
        if not _lies_in(absolute, self.root):
            # A symlink outside leads to a target inside: use the target's path.
            absolute = absolute.resolve()
        if _lies_in(absolute, self.root):
            return PurePosixPath(*self._below_root(absolute)).as_posix()
        return absolute.as_posix()


def misread_by_windows(text: str, drives: Collection[str]) -> str:
    """Return why Windows takes the path for something else than a file; empty if it does not. Asks no drive."""
    path = PureWindowsPath(text)
    if path.drive and not path.root:
        return f"it depends on the current folder of the drive {path.drive} {_RELATIVE}"
    if path.drive.startswith("\\\\") and path.drive.casefold() not in {drive.casefold() for drive in drives}:
        return f"it is on another machine, which would be sent the user's credentials. {_RELATIVE}"
    named = path.parts[bool(path.anchor) :]
    if wrong := next((part for part in named if part != ".." and _NO_WINDOWS_NAME.search(part)), None):
        return f"Windows takes {wrong!r} for a device, a stream or another name. Choose a name without that."
    return ""


def as_listed(path: Path, root: Path, names_in: Callable[[Path], Sequence[str]] = os.listdir) -> Path:
    """Return a path in `root` as folders list it. Some file systems find a name in any case or composition. Blocks."""
    if not path.is_relative_to(root):
        return path
    found = root
    for name in path.parts[len(root.parts) :]:
        try:
            names = names_in(found)
        except OSError:  # missing, or closed to us
            return path
        if name not in names and os.path.lexists(found / name):
            found /= next((one for one in names if _plain(one) == _plain(name)), name)
        else:
            found /= name
    return found


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _lies_in(path: Path, folder: Path) -> bool:
    """Whether a path is in a folder. Case is ignored if the file system ignores it."""
    if path.is_relative_to(folder):
        return True
    head = Path(*path.parts[: len(folder.parts)])
    if len(path.parts) < len(folder.parts) or str(head).casefold() != str(folder).casefold():
        return False
    try:
        return head.samefile(folder)
    except OSError:
        return False
