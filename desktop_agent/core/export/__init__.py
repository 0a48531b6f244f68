"""Exports of a session: `md` and `html` to read, `jsonl` to import elsewhere, `patch` of what it changed.

The journal is read without a lock, one turn at a time, so a session may be running.
"""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError, UsageError, storage_error
from desktop_agent.core.changes.net import net_changes
from desktop_agent.core.changes.patch import PatchFile, make_patch
from desktop_agent.core.export.export_source import ExportSource
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal_reader import Readable, read_each_line
from desktop_agent.core.system.staged_file import StagedFile
from desktop_agent.core.transcript import ChangeState

ExportForm = Literal["md", "html", "jsonl", "patch"]
EXPORT_FORMS: tuple[ExportForm, ...] = ("md", "html", "jsonl", "patch")

Progress = Callable[[int], object]
"""Called with the number of bytes written so far. If it raises, the export ends and its file is removed."""


def export_text(journal: Path, form: ExportForm, blobs: Blobs) -> Iterator[bytes]:
    """Yield the session in this form. Blocks. Raises `StorageError`, at the first piece or later."""
    source = ExportSource(journal, blobs)
    match form:
        case "md":
            from desktop_agent.core.export.markdown import export_markdown

            yield from (piece.encode("utf-8", "replace") for piece in export_markdown(source))
        case "html":
            from desktop_agent.core.export.html import export_html

            yield from (piece.encode("utf-8", "replace") for piece in export_html(source))
        case "jsonl":
            from desktop_agent.core.export.jsonl import export_jsonl

            yield from export_jsonl(source)
        case "patch":
            yield from export_patch(source)


def export_session(
    journal: Path,
    form: ExportForm,
    blobs: Blobs,
    target: Path,
    *,
    overwrites: bool = False,
    progress: Progress = lambda _: None,
) -> int:
    """Write the export to `target` and return its size in bytes. Blocks. The file appears only when it is complete.

    Raises `UsageError` if the file exists and must not be overwritten, or if its name is invalid, and `StorageError`.
    """
    hint = "Check the folder and the free space."
    with storage_error("The export could not be written.", hint=hint, path=target):
        _refuse_unusable(target, overwrites=overwrites)
        with StagedFile(target.parent) as draft:
            for piece in export_text(journal, form, blobs):
                draft.write(piece)
                progress(draft.size)
            draft.sync()
            _refuse_unusable(target, overwrites=overwrites)  # another program may have made it meanwhile
            draft.place(target)
    return draft.size


def _refuse_unusable(target: Path, *, overwrites: bool) -> None:
    try:
        target.stat()
    except FileNotFoundError:
        return
    except ValueError as error:  # a NUL, or half a character
        raise UsageError("No file can have this name, so nothing was written.", hint="Choose another name.") from error
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise UsageError("This name is too long, so nothing was written.", hint="Choose a shorter name.") from error
    if not overwrites:
        raise UsageError(f"{target} exists already.", hint="Choose another name, or allow to overwrite it.")


_OF_CHANGES = frozenset({"session_opened", "turn_started", "changes_recorded", "changes_undone", "changes_redone"})


def export_patch(source: ExportSource) -> Iterator[bytes]:
    """Yield one patch for `git apply`, in exact bytes: nothing is masked.

    A missing file is named at the top, in a line that git skips.
    """
    state = ChangeState()
    for _, found in read_each_line(source.journal, source.blobs):
        if isinstance(found, Readable) and found.event.type in _OF_CHANGES:
            state.apply(found.event, turn=0, tool=None)
    files: list[PatchFile] = []
    held = source.blobs.of_file
    records = list(state.changes.values())
    last = {record.change.path: record.change.after for record in records if not record.change.needs_own_question}
    for row in net_changes(record for record in records if record.change.is_by_agent):
        if row.state == "undone":
            continue
        change = row.change
        if row.state == "partly" and row.path in last:  # as it was after the last undo or redo of a part of it
            change = replace(change, after=last[row.path])
        try:
            files.append(PatchFile(change, held(change.before), held(change.after)))
        except StorageError:
            yield f"# not in this patch: {row.path!a}, whose content is no longer on disk\n".encode()
    yield make_patch(files)
