"""The file that a call is about: found, checked, and loaded in its exact state. Everything here blocks."""

import stat
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.policy.boundary import Boundary, ResolvedPath
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.files import FileState, read_state
from desktop_agent.core.tools.files.suggest import closest_paths, paths_named
from desktop_agent.core.tools.files.textfile import NotTextError, TextFile
from desktop_agent.core.tools.tool import ToolContext

LARGE_FILE_LINES = 2000
"""From here on an answer warns the model."""

LARGEST_EDITED_BYTES = 64 * 1024 * 1024
"""Edit tools refuse larger files: a change must be shown, recorded and undone as a whole."""


class Target(Struct, frozen=True):
    """A file to edit as it is now; `before` is None when there is none."""

    path: str
    """Relative to the workspace, with `/`, symlinks followed."""
    absolute: Path
    before: FileState | None


def edit_target(text: str, context: ToolContext) -> Target:
    """Return the file that `text` names, symlinks followed, so that a link stays a link.

    Raises `ToolError` when it is outside, protected, a folder, special, too large, or changed since the model read it.
    """
    return load_target(context.boundary.follow(context.boundary.for_writing(text)), text, context)


def load_target(place: ResolvedPath, text: str, context: ToolContext) -> Target:
    """Return the state of `place` itself, which the model named `text`. Raises like `edit_target`."""
    before = None
    if (status := file_status(place.absolute, text)) is not None:
        if stat.S_ISDIR(status[0]):
            raise ToolError(f"{text}: path is a directory. This tool works on files only.")
        if status[1] > LARGEST_EDITED_BYTES:
            raise ToolError(
                f"{text} has {status[1]:,} bytes. Edit tools work on files up to {LARGEST_EDITED_BYTES:,} bytes, so "
                "that every change can be undone. Use run_terminal_cmd for larger ones."
            )
        try:
            before = read_state(place.absolute)
        except OSError as error:
            raise not_read(text, error) from error
    context.reads.require_fresh(place.relative, before.digest if before is not None else None)
    return Target(place.relative, place.absolute, before)


def text_of(target: Target, state: FileState) -> TextFile:
    """Return the text of a file that an edit tool changes in part. Raises `ToolError` when it is none."""
    try:
        return TextFile(state.content)
    except NotTextError as error:
        raise ToolError(f"{target.path} cannot be edited as text: {error}. Use run_terminal_cmd.") from error


def large_file_warning(total_lines: int) -> JsonObject:
    """Return what an answer says besides when the file is large; nothing when it is not."""
    if total_lines < LARGE_FILE_LINES:
        return {}
    return {"warning": "large file: read it in parts, and keep edits small", "total_lines": total_lines}


def file_status(path: Path, text: str) -> tuple[int, int] | None:
    """Return mode and size of `path` itself, or None when nothing is there."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise ToolError(f"{text}: a parent of this path is a file, not a directory.") from error
    except OSError as error:
        raise not_read(text, error) from error
    return status.st_mode, status.st_size


def folder_to_list(text: str, context: ToolContext) -> ResolvedPath:
    """Return the folder that `text` names, symlinks followed. Raises `ToolError` when the workspace has none."""
    place = context.boundary.follow(context.boundary.for_reading(text))
    if not place.absolute.exists():
        raise not_found(text, place.absolute, context.boundary)
    if not place.absolute.is_dir():
        raise ToolError(f"{text} is a file, not a directory. Use read_file to read it.")
    return place


def path_read(text: str, context: ToolContext) -> str:
    """Return where a path that is to be read leads, relative to the workspace. Raises `ToolError` when outside."""
    return context.boundary.follow(context.boundary.for_reading(text)).relative


def require_regular(path: Path, text: str, context: ToolContext) -> None:
    """Refuse what is not a file, or a link to one, before it is opened: opening a named pipe would wait for ever.

    Raises `ToolError` for what is there and is no file or not there at all, `OSError` for what cannot be looked at.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise not_found(text, path, context.boundary) from error
    if stat.S_ISDIR(mode):
        raise ToolError(f"{text} is a directory. Use list_files to see what is in it.")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{text} is a device, pipe or socket, which cannot be read as a file.")


def not_found(text: str, path: Path, boundary: Boundary) -> ToolError:
    """Return the error for a file that is not there, with what is there instead."""
    similar = paths_named(path.name, boundary.root) or closest_paths(path, boundary.root)
    advice = f"Did you mean {' or '.join(similar)}?" if similar else "Use list_files to see what is there."
    return ToolError(f"{text} does not exist. {advice}", error_type="not_found")


def not_read(text: str, error: OSError) -> ToolError:
    """Return the error for a file that the system did not let us read."""
    reason = error.strerror or str(error)
    kind = "permission" if isinstance(error, PermissionError) else "recoverable"
    return ToolError(f"{text} could not be read: {reason}.", error_type=kind)
