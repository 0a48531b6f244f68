"""A server's output besides the protocol. Its end is kept in memory and more of it in a file; both are limited."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.system.private_files import make_private_file, make_private_folder

KEPT_BYTES = 64 * 1024

FILE_BYTES = 1024 * 1024
"""How many bytes a log may have before it is rotated. One older file is kept beside it."""

_PENDING_BYTES = 256 * 1024
"""How many bytes may wait for the disk. After that, the server has to wait."""


class ServerLog:
    def __init__(self, path: Path | None, secrets: Collection[str] = ()) -> None:
        """Without a path nothing is written. `secrets` are masked."""
        self.path = path
        self._secrets = tuple(secrets)
        self._tail = bytearray()
        self._pending = bytearray()
        self._writing: asyncio.Task[None] | None = None

    def feed(self, content: bytes) -> asyncio.Future[None] | None:
        """Take output on the event loop's thread. If this returns a future, the server should wait for it."""
        self._tail += content
        del self._tail[:-KEPT_BYTES]
        if self.path is None:
            return None
        self._pending += content
        if self._writing is None:
            self._writing = asyncio.create_task(self._write(self.path), name=f"log {self.path.name}")
        return self._writing if len(self._pending) > _PENDING_BYTES else None

    def say(self, sentence: str) -> None:
        self.feed(f"[{sentence}]\n".encode())

    def hide(self, secrets: Collection[str]) -> None:
        self._secrets = tuple({*self._secrets, *secrets})

    def tail(self, lines: int = 0) -> str:
        """Return the last lines without control characters; 0 returns all lines in memory."""
        text = mask(self._tail.decode("utf-8", "replace").replace("\r\n", "\n"), self._secrets)
        return "\n".join(without_controls(text).rstrip().split("\n")[-lines:])

    async def aclose(self) -> None:
        while self._writing is not None:
            await asyncio.wait({self._writing})
        if self.path is not None and self._pending:
            self._writing = asyncio.create_task(self._write(self.path, is_last=True), name=f"log {self.path.name}")
            await asyncio.wait({self._writing})

    async def _write(self, path: Path, *, is_last: bool = False) -> None:
        try:
            while size := self._writable(is_last=is_last):
                content = bytes(self._pending[:size])
                del self._pending[:size]
                with suppress(OSError):  # a full disk must not end a server that works
                    await asyncio.to_thread(self._append, path, content)
        finally:
            self._writing = None

    def _writable(self, *, is_last: bool) -> int:
        """Return how many bytes can be written. They end with a line, because a masked text must not be cut."""
        if is_last or len(self._pending) > _PENDING_BYTES:
            return len(self._pending)
        return self._pending.rfind(b"\n") + 1

    def _append(self, path: Path, content: bytes) -> None:
        make_private_folder(path.parent)
        if path.exists() and path.stat().st_size + len(content) > FILE_BYTES:
            path.replace(path.with_suffix(".old.log"))
        make_private_file(path)
        with path.open("ab") as file:
            file.write(mask(content.decode("utf-8", "replace"), self._secrets).encode()[-FILE_BYTES:])
