"""The shared basis of tools about one file: arguments, and finding, checking, loading and editing the file."""

import hashlib
import json
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Annotated, TypeVar

from msgspec import Struct
from pydantic import AfterValidator, BeforeValidator, Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.globs import Glob
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.policy.boundary import Boundary, ResolvedPath
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.system.files import FileState, FileTransition, new_hasher, read_state
from desktop_agent.core.tools.files.suggest import closest_paths, paths_named
from desktop_agent.core.tools.files.text_files import NotTextError, Splice, TextFile, splice
from desktop_agent.core.tools.tool import EditPlan, EditTool, ReadTool, ToolArguments, ToolContext, edit_answer


def _known_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, UnicodeError) as error:
        raise ValueError(f"{name!r} is no text encoding; use a name such as utf-8, latin-1 or utf-16") from error
    return name


PathText = Annotated[str, Field(min_length=1)]

TextEncoding = Annotated[str, AfterValidator(_known_encoding)]


def _valid_glob(pattern: str) -> str:
    Glob(pattern)
    return pattern


GlobText = Annotated[str, AfterValidator(_valid_glob)]


def one_of(name: str, values: tuple[str, ...], *, listed: str = "{}") -> BeforeValidator:
    """Accept `values` in upper or lower case. `listed` formats the list of them in the error message."""

    def known(value: object) -> object:
        word = value.lower() if isinstance(value, str) else value
        if word not in values:
            raise ValueError(f"{name} must be one of {listed.format(', '.join(values))}")
        return word

    return BeforeValidator(known)


LARGE_FILE_LINES = 2000

LARGEST_EDITED_BYTES = 64 * 1024 * 1024
"""How many bytes a file may have for edit tools: a change is shown, recorded and undone as a whole."""


def file_digest(file: BufferedReader) -> Digest:
    file.seek(0)
    return hashlib.file_digest(file, new_hasher).hexdigest()


class Target(Struct, frozen=True):
    """The file that a tool is about to change. `before` is its present state, or None if it does not exist."""

    path: str
    """Relative to the workspace, with `/` and after following symlinks."""
    absolute: Path
    before: FileState | None


def edit_target(text: str, context: ToolContext) -> Target:
    """Return the file to edit. Symlinks are followed, so that a link stays a link.

    Raises `ToolError` if the file is outside, protected, a folder, special, too large, or changed since it was read.
    """
    return load_target(context.boundary.follow(context.boundary.for_writing(text)), text, context)


def load_target(place: ResolvedPath, text: str, context: ToolContext) -> Target:
    """Return the file at `place`, following no link. `text` is the model's name for it. Raises like `edit_target`."""
    before = None
    try:
        status = place.absolute.lstat()
        if stat.S_ISDIR(status.st_mode):
            raise ToolError(f"{text}: path is a directory. This tool works on files only.")
        if status.st_size > LARGEST_EDITED_BYTES:
            raise ToolError(
                f"{text} has {status.st_size:,} bytes. Edit tools work on files up to {LARGEST_EDITED_BYTES:,} bytes, "
                "so that every change can be undone. Use run_terminal_cmd for larger ones."
            )
        before = read_state(place.absolute)
        if before is not None and before.kind == "file":
            before = before.with_content(context.texts.shown(place.absolute, before.content))
    except FileNotFoundError:
        pass
    except NotADirectoryError as error:
        raise ToolError(f"{text}: a parent of this path is a file, not a directory.") from error
    except OSError as error:
        raise not_read(text, error) from error
    context.reads.require_fresh(place.relative, before.digest if before is not None else None)
    return Target(place.relative, place.absolute, before)


def text_of(target: Target, state: FileState, quoted: str = "") -> TextFile:
    try:
        return TextFile(state.content, quoted=quoted)
    except NotTextError as error:
        raise ToolError(f"{target.path} cannot be edited as text: {error}. Use run_terminal_cmd.") from error


def require_notebooks(writes: Sequence[FileTransition]) -> None:
    """Raises `ToolError` for a change that would make a valid notebook invalid."""
    for write in writes:
        before, after = write.before, write.after
        if not write.path.endswith(".ipynb") or after is None or after.kind != "file" or write.moved_from:
            continue
        was_broken = before is not None and _why_no_notebook(before.content)
        if not was_broken and (why := _why_no_notebook(after.content)):
            raise ToolError(
                f"{write.path} would not be a notebook any more: {why}. Nothing was changed. In its JSON, "
                'a line of a cell is a string: escape quotes as \\" and newlines as \\n, and separate lines by commas.'
            )


def _why_no_notebook(content: bytes) -> str:
    try:
        return "" if isinstance(json.loads(content.decode("utf-8-sig")), dict) else "it is not a JSON object"
    except (ValueError, RecursionError) as error:
        return f"it is not valid JSON ({error})"


def large_file_warning(total_lines: int) -> JsonObject:
    if total_lines < LARGE_FILE_LINES:
        return {}
    return {"warning": "large file: read it in parts, and keep edits small", "total_lines": total_lines}


def encoding_note(file: TextFile) -> JsonObject:
    return {"encoding": file.encoding} if file.encoding else {}


def folder_to_list(text: str, context: ToolContext) -> ResolvedPath:
    """Return the folder to list. Raises `ToolError` if there is no such folder in the workspace."""
    place = context.boundary.follow(context.boundary.for_reading(text))
    if not place.absolute.exists():
        raise not_found(text, place.absolute, context.boundary)
    if not place.absolute.is_dir():
        raise ToolError(f"{text} is a file, not a directory. Use read_file to read it.")
    return place


def path_read(text: str, context: ToolContext) -> str:
    """Return the path relative to the workspace, with links followed. Raises `ToolError` if it is outside."""
    return context.boundary.follow(context.boundary.for_reading(text)).relative


def _require_regular(path: Path, text: str, context: ToolContext) -> None:
    """Raise `ToolError` unless the file is regular: opening a named pipe would wait for ever."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise not_found(text, path, context.boundary) from error
    if stat.S_ISDIR(mode):
        raise ToolError(f"{text} is a directory. Use list_files to see what is in it.")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{text} is a device, pipe or socket, which cannot be read as a file.")


@contextmanager
def opened_file(text: str, context: ToolContext) -> Generator[tuple[BufferedReader, ResolvedPath]]:
    """Yield the opened file as an editor shows it, and its path. Raises `ToolError` if it cannot be read."""
    place = context.boundary.follow(context.boundary.for_reading(text))
    try:
        _require_regular(place.absolute, text, context)
        with place.absolute.open("rb") as file:
            context.boundary.require_opened(file.fileno(), text)
            with context.texts.opened(place.absolute, file) as shown:
                yield shown, place
    except OSError as error:
        raise not_read(text, error) from error


def not_found(text: str, path: Path, boundary: Boundary) -> ToolError:
    similar = paths_named(path.name, boundary.root) or closest_paths(path, boundary.root)
    advice = f"Did you mean {' or '.join(similar)}?" if similar else "Use list_files to see what is there."
    return ToolError(f"{text} does not exist. {advice}", error_type="not_found")


def not_read(text: str, error: OSError) -> ToolError:
    reason = error.strerror or str(error)
    kind = "permission" if isinstance(error, PermissionError) else "recoverable"
    return ToolError(f"{text} could not be read: {reason}.", error_type=kind)


class FileArguments(ToolArguments):
    path: PathText = Field(description="The file, relative to the workspace.")


F = TypeVar("F", bound=FileArguments)


class FileReadTool(ReadTool[F]):
    def title(self, arguments: F) -> str:
        return arguments.path

    def paths(self, arguments: F, context: ToolContext) -> tuple[str, ...]:
        return (path_read(arguments.path, context),)


class FileEditTool(EditTool[F]):
    def title(self, arguments: F) -> str:
        return arguments.path


def existing_text(path: str, context: ToolContext, quoted: str = "") -> tuple[Target, TextFile]:
    target = edit_target(path, context)
    if target.before is None:
        raise not_found(path, target.absolute, context.boundary)
    return target, text_of(target, target.before, quoted)


def chosen(places: Sequence[int], occurrence: int, *, found: str, found_in: str) -> tuple[int, JsonObject]:
    if occurrence > len(places):
        raise ToolError(f"{found_in}, so there is no occurrence {occurrence}. Nothing was changed.")
    note: JsonObject = {} if len(places) == 1 else {"note": f"{found}; this was occurrence {occurrence}"}
    return places[occurrence - 1], note


def splice_plan(
    arguments: ToolArguments,
    target: Target,
    file: TextFile,
    change: Splice,
    *,
    action: str,
    lines_changed: int,
    note: JsonObject,
) -> EditPlan:
    """Return the plan of an edit. Raises `ToolError` if the file cannot hold the text."""
    assert target.before is not None
    lines = file.lines
    try:
        content = file.encoded(splice(lines, [change]))
    except NotTextError as error:
        raise ToolError(f"{target.path}: {error}. Nothing was changed.") from error
    answer: JsonObject = {
        "ok": True,
        "action": action,
        "path": target.path,
        "line": change.start + 1,
        "lines_changed": lines_changed,
    }
    answer |= note | large_file_warning(len(lines)) | encoding_note(file)
    return EditPlan(
        writes=(FileTransition(target.path, target.before, target.before.with_content(content)),),
        content=edit_answer(answer, arguments),
        metadata={"path": target.path, "action": action, "lines_changed": lines_changed},
    )
