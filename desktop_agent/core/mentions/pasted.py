"""Pasted content that is not text, or is too long: stored for a while, and mentioned as `@pasted:NAME`."""

import asyncio
import re
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError, UsageError
from desktop_agent.core.base.file_types import PictureError, inspect_picture
from desktop_agent.core.base.paths import AppPaths
from desktop_agent.core.mcp.server_status import MediaPart
from desktop_agent.core.mentions.mention_grammar import Mention
from desktop_agent.core.protocol.model import Attachment
from desktop_agent.core.store.journal.lines import open_regular
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.system.staged_file import free_path
from desktop_agent.core.tools.output import OutputLimits, fit
from desktop_agent.core.tools.servers.mcp_tool import Keep, read_parts

PASTED_SOURCE = "pasted"
"""The source of mentions of pasted content, unless an MCP server has that name."""

LARGEST_BYTES = 10 * 2**20
KEPT = timedelta(days=30)
"""How long content that is in no sent message is kept."""

_NAME = re.compile(r"[a-z]{1,20}-[0-9]{1,10}(?:-[0-9]{1,4})?\.(?:png|jpg|txt)")
_TEXT_LIMIT = OutputLimits(max_bytes=400_000, max_lines=400_000)
"""How much of a text the model reads. Of a longer text, it reads the beginning and the end."""


class PastedContents(Struct, eq=False):
    _folder: Path

    @classmethod
    def of(cls, paths: AppPaths) -> "PastedContents":
        return cls(paths.data / "pasted")

    def keep(self, content: bytes, kind: str, suffix: str, now: datetime) -> str:
        """Store content, delete expired content, and return the new name. Raises `UsageError` and `StorageError`."""
        if len(content) > LARGEST_BYTES:
            size = f"What was pasted has {len(content) / 2**20:,.1f} MiB"
            raise UsageError(
                f"{size}, and no more than {LARGEST_BYTES // 2**20} MiB can come with a message.",
                hint="Save it as a file in the folder, and mention that.",
            )
        try:
            make_private_folder(self._folder)
            self._remove_old(now)
            path = free_path(self._folder, f"{kind}-{now:%H%M%S}", f".{suffix}")
            write_atomically(path, content, mode=PRIVATE_FILE)
        except OSError as error:
            raise StorageError("What was pasted could not be kept.", hint="Check the free space.") from error
        return path.name

    def read(self, name: str) -> bytes:
        """Return pasted content. Blocks. Raises `UsageError` if there is none with this name."""
        if _NAME.fullmatch(name) is None:
            raise UsageError("Nothing of that name was pasted.")
        try:
            with open_regular(self._folder / name) as file:
                return file.read(LARGEST_BYTES)
        except OSError as error:
            raise UsageError("It is not kept any more.", hint="Paste it again.") from error

    def _remove_old(self, now: datetime) -> None:
        oldest = (now - KEPT).timestamp()
        for path in self._folder.iterdir():
            with suppress(OSError):
                if _NAME.fullmatch(path.name) and path.lstat().st_mtime < oldest:
                    path.unlink()


class PastedMentions(Struct, eq=False):
    _contents: PastedContents
    _keep: Keep

    async def attach(self, mention: Mention) -> Attachment:
        """Return the pasted content. Raises `UsageError` and `StorageError`."""
        return await asyncio.to_thread(self._attachment, mention)

    def _attachment(self, mention: Mention) -> Attachment:
        content = self._contents.read(mention.target)
        name, size = mention.target, len(content)
        read = Attachment(mention=mention.written, uri=name, name=name, size=size, kind="file", media_type="text/plain")
        if mention.target.endswith(".txt"):
            fitted = fit(content.decode("utf-8", "replace"), limits=_TEXT_LIMIT)
            whole = self._keep(content, "text/plain") if fitted.is_truncated else None
            return replace(read, text=fitted.text, content=whole)
        try:
            picture = inspect_picture(content)
        except PictureError as error:
            raise UsageError(f"It cannot be shown to a model: {error}.") from error
        shown = read_parts([MediaPart(content, picture.media_type)], self._keep)
        if not shown.pictures:
            raise UsageError("It is a picture that is too large for a model.")
        images = tuple(shown.pictures)
        return replace(read, kind="picture", media_type=picture.media_type, text=shown.texts[0], images=images)
