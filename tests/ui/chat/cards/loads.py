"""Contents for cards that arrive when the test says so."""

import asyncio
from collections.abc import Coroutine

from PySide6.QtCore import QBuffer
from PySide6.QtGui import QColor, QImage

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.diff.diff import count_lines, diff_change
from desktop_agent.core.protocol.model import BlobRef, FileChange, FileDiff, FileImage
from desktop_agent.ui.chat.cards.tool_body import CardLoader


class Loads:
    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.error: AgentError | None = None
        self._files: dict[str, tuple[bytes | None, bytes | None]] = {}
        self._tasks: list[Coroutine[object, object, None]] = []
        self.loader = CardLoader(self, self._tasks.append)

    def change(self, change_id: str, path: str, before: bytes | None, after: bytes | None) -> FileChange:
        self._files[change_id] = (before, after)
        added, removed = count_lines(before, after)
        return FileChange(
            id=change_id,
            path=path,
            kind="created" if before is None else "deleted" if after is None else "modified",
            author="agent",
            before=_image(before),
            after=_image(after),
            added=added,
            removed=removed,
        )

    def picture(self, name: str, content: bytes) -> BlobRef:
        digest = name * 64
        self.blobs[digest] = content
        return BlobRef(blob=digest, size=len(content), media_type="image/png")

    def finish(self) -> None:
        with asyncio.Runner() as runner:
            while self._tasks:
                runner.run(self._tasks.pop(0))

    async def change_diff(self, change: FileChange) -> FileDiff:
        self.asked.append(change.path)
        if self.error is not None:
            raise self.error
        return diff_change(change, *self._files[change.id])

    async def blob(self, ref: BlobRef) -> bytes:
        return self._given(ref.blob, ref.blob[0])

    async def named_picture(self, folder: str, address: str) -> bytes:
        return self._given(address, f"{folder}: {address}")

    def _given(self, key: str, asked: str) -> bytes:
        self.asked.append(asked)
        if self.error is not None:
            raise self.error
        return self.blobs[key]


def png(width: int, height: int) -> bytes:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor("#0E7C70"))
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportArgumentType,reportCallIssue] - the stub wants bytes, Qt a name
    return bytes(buffer.data().data())


def _image(content: bytes | None) -> FileImage | None:
    return FileImage(digest="0" * 64, size=len(content), mode=0o644) if content is not None else None
