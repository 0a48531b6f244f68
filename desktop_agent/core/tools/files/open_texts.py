"""The texts that an editor has open: tools read and edit what is unsaved there, and the editor saves their edits."""

import codecs
import os
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.changes.workspace_files import WorkspaceFiles
from desktop_agent.core.protocol.model import FileChange
from desktop_agent.core.system.files import FileTransition
from desktop_agent.core.tools.files.text_files import TextFile, as_seen

_LARGEST_BYTES: Final = 4 * 1024 * 1024
"""The size of a file up to which the editor is asked: its answer is one message."""


UNSAVED: Final = "[`{}` has unsaved changes in the editor, which are saved with this edit.]"
FORMATTED: Final = (
    "[The editor saved something else than this edit in `{}`; perhaps it formats files. Its version was kept: read the "
    "file again before the next edit.]"
)


class TextEditor(Protocol):
    """Its methods block: call them from a thread."""

    @property
    def can_write(self) -> bool: ...

    def read(self, path: Path) -> str | None:
        """Return the text that the editor shows of a file; None if it does not report one."""
        ...

    def write(self, path: Path, text: str) -> str:
        """Have the editor show and save a text. Return why it failed; empty if it reports success."""
        ...


class OpenTexts(Struct, frozen=True):
    editor: TextEditor | None = None

    def shown(self, path: Path, content: bytes) -> bytes:
        """Return a file's content as the editor shows it: `content`, which is on disk, if nothing is unsaved. Blocks.

        Editors report neither encodings nor line endings, and some drop what they cannot read. So only UTF-8 is
        requested, and the file's mark and line endings are kept.
        """
        if self.editor is None or not _is_plain(content):
            return content
        file = TextFile(content)
        if "\r" in file.text or (read := self.editor.read(path)) is None:
            return content
        text = as_seen(read.removeprefix("\ufeff"))
        if file.text.endswith("\n") and text and not text.endswith("\n"):
            text += "\n"  # some editors leave the last one out
        return content if text == file.text else file.rewritten(text)

    @contextmanager
    def opened(self, path: Path, file: BufferedReader) -> Generator[BufferedReader]:
        """Yield `file`, which is `path` on disk, or a copy of what the editor shows. Blocks."""
        if self.editor is None or os.fstat(file.fileno()).st_size > _LARGEST_BYTES:
            yield file
            return
        content = file.read()
        file.seek(0)
        if (shown := self.shown(path, content)) == content:
            yield file
            return
        with tempfile.TemporaryFile() as copy:
            copy.write(shown)
            copy.flush()
            with os.fdopen(os.dup(copy.fileno()), "rb") as read:
                read.seek(0)
                yield read

    @property
    def can_write(self) -> bool:
        return self.editor is not None and self.editor.can_write

    def unsaved(self, files: WorkspaceFiles, changes: Sequence[FileChange]) -> list[FileTransition]:
        """Return what has to be saved before these changes. Blocks. Raises `ToolError` if other texts are shown."""
        planned = {change.path: change.before for change in changes if change.before and change.before.kind == "file"}
        found = self.unsaved_in(files, planned)
        for path, shown in ((item.path, item.after) for item in found):
            if shown is not None and shown.image() != planned[path]:
                raise ToolError(
                    f"{path} was edited in the editor meanwhile. Nothing was written. Read it again, then redo the "
                    "edit."
                )
        return found

    def unsaved_in(self, files: WorkspaceFiles, paths: Iterable[str]) -> list[FileTransition]:
        """Return how the editor shows these files, where that is not what is on disk. Blocks."""
        found: list[FileTransition] = []
        for path in paths if self.editor is not None else ():
            disk = files.current(path)
            if disk is not None and disk.kind == "file":
                shown = disk.with_content(self.shown(files.root / path, disk.content))
                found += [FileTransition(path, disk, shown)] if shown != disk else []
        return found

    def hand(self, root: Path, change: FileChange, content: bytes) -> str | None:
        """Have the editor save the new content of a file. Return a note if it did not; None if it was not asked.

        Blocks. What was saved has to be verified.
        """
        if change.before is None or change.before.kind != "file" or content.startswith(codecs.BOM_UTF8):
            return None
        if self.editor is None or not _is_plain(content):
            return None
        why = self.editor.write(root / change.path, content.decode())
        return why and f"[The editor did not save this edit of `{change.path}`, so it was written to disk: {why}]"


def _is_plain(content: bytes) -> bool:
    if len(content) > _LARGEST_BYTES or b"\0" in content:
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


NO_TEXTS: Final = OpenTexts()
