"""What a command prints, in bounded memory: its first and last bytes, the whole of it in a file, live text for people.

Nothing here blocks the event loop: files are written in a thread, and when the disk is slower than the command, the
command is made to wait.
"""

import asyncio
import codecs
import os
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

KEPT_BYTES = 64 * 1024
"""How much of the beginning, and again of the end, stays in memory."""

SPOOL_LIMIT_BYTES = 64 * 1024 * 1024
"""How much of the output goes to the file. Of more than that, the file has the beginning and memory the end."""

LIVE_INTERVAL_S = 1 / 30
LIVE_LIMIT_BYTES = 32 * 1024
"""How much text people are shown per interval. Nobody can read more, and the window must keep up."""

BACKLOG_BYTES = 1024 * 1024

Sink = Callable[[bytes], "asyncio.Future[None] | None"]
"""Takes output on the event loop's thread. A returned future asks for a pause until it is done."""


class BackgroundWriter:
    """Hands chunks to a blocking `write` in a thread, in order and in batches."""

    def __init__(self, write: Callable[[Sequence[bytes]], None]) -> None:
        self._write = write
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._task: asyncio.Task[None] | None = None
        self.error = ""
        """Why writing ended early; what came after it is lost."""

    def feed(self, chunk: bytes) -> "asyncio.Future[None] | None":
        """Take `chunk`; a returned future is done when there is room for more."""
        if self.error:
            return None
        self._waiting.append(chunk)
        self._waiting_bytes += len(chunk)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write_waiting())
        return self._task if self._waiting_bytes > BACKLOG_BYTES else None

    async def flush(self) -> None:
        """Return when everything fed so far is written."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    async def _write_waiting(self) -> None:
        while self._waiting:
            batch, self._waiting, self._waiting_bytes = self._waiting, [], 0
            try:
                await asyncio.to_thread(self._write, batch)
            except OSError as error:
                self.error = str(error)
                self._waiting = []


class Spool:
    """A file for the whole output, private to the person, created when something is first written to it."""

    def __init__(self, folder: Path, limit_bytes: int = SPOOL_LIMIT_BYTES) -> None:
        self.path = folder / f"output-{secrets.token_hex(8)}.log"
        self.written_bytes = 0
        self._limit_bytes = limit_bytes
        self._file: FileIO | None = None

    def write(self, chunks: Sequence[bytes]) -> None:
        """Append as much of `chunks` as the limit allows. Blocks."""
        room = self._limit_bytes - self.written_bytes
        content = b"".join(chunks)[:room]
        if content:
            if self._file is None:
                self._file = create_private(self.path)
            write_all(self._file, content)
            self.written_bytes += len(content)

    def close(self) -> None:
        """Close the file. Blocks."""
        if self._file is not None:
            self._file.close()

    def discard(self) -> None:
        """Close and remove the file. Blocks."""
        self.close()
        self.path.unlink(missing_ok=True)


class LiveText:
    """Calls back with what was printed, at most 30 times a second, and never with more than a person can read."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = bytearray()
        self._skipped_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, chunk: bytes) -> None:
        """Take `chunk`."""
        self._waiting += chunk
        excess = len(self._waiting) - LIVE_LIMIT_BYTES
        if excess > 0:
            del self._waiting[:excess]
            self._skipped_bytes += excess
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LIVE_INTERVAL_S, self._show)

    def finish(self) -> None:
        """Show what is left."""
        if self._timer is not None:
            self._timer.cancel()
        self._show(final=True)

    def _show(self, *, final: bool = False) -> None:
        self._timer = None
        text = ""
        if self._skipped_bytes:
            text = f"{self._decoder.decode(b'', final=True)}\n[... {self._skipped_bytes:,} bytes not shown live ...]\n"
            del self._waiting[: continuation_bytes(self._waiting)]
            self._skipped_bytes = 0
        text += self._decoder.decode(bytes(self._waiting), final)
        self._waiting.clear()
        if text:
            self._on_text(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedOutput:
    """What a command printed. `tail` is empty when `head` is all of it; otherwise something between is left out."""

    head: str
    tail: str
    total_bytes: int
    total_lines: int
    spool_path: Path | None
    """The whole output, when it was more than `KEPT_BYTES`. The reader of this result owns the file."""
    spooled_bytes: int
    spool_error: str
    """Why the file has less than the limit allows, such as a full disk."""


class OutputCapture:
    """A sink for one command's output. Feed it, then `finish` or `discard` it."""

    def __init__(self, *, spool_folder: Path | None = None, on_text: Callable[[str], None] | None = None) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._total_bytes = 0
        self._newlines = 0
        self._last_byte = b""
        self._live = LiveText(on_text) if on_text is not None else None
        self._spool = Spool(spool_folder) if spool_folder is not None else None
        self._writer = BackgroundWriter(self._spool.write) if self._spool is not None else None

    def feed(self, chunk: bytes) -> "asyncio.Future[None] | None":
        """Take `chunk`; a returned future asks for a pause until it is done."""
        self._newlines += chunk.count(b"\n")
        self._last_byte = chunk[-1:]
        if self._live is not None:
            self._live.feed(chunk)
        pause = self._spool_from_the_start(chunk)
        self._total_bytes += len(chunk)
        room = KEPT_BYTES - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk)
            self._tail_bytes += len(chunk)
            while self._tail_bytes - len(self._tail[0]) >= KEPT_BYTES:
                self._tail_bytes -= len(self._tail.popleft())
        return pause

    async def finish(self) -> CapturedOutput:
        """Show, write and close everything, and return it."""
        if self._live is not None:
            self._live.finish()
        if self._writer is not None and self._spool is not None:
            await self._writer.flush()
            await asyncio.to_thread(self._spool.close)
        head, tail = self._texts()
        has_file = self._spool is not None and self._spool.written_bytes > 0
        return CapturedOutput(
            head=head,
            tail=tail,
            total_bytes=self._total_bytes,
            total_lines=self._newlines + (self._last_byte not in (b"", b"\n")),
            spool_path=self._spool.path if self._spool is not None and has_file else None,
            spooled_bytes=self._spool.written_bytes if self._spool is not None else 0,
            spool_error=self._writer.error if self._writer is not None else "",
        )

    async def discard(self) -> None:
        """Forget everything and leave no file behind."""
        if self._writer is not None and self._spool is not None:
            await self._writer.flush()
            await asyncio.to_thread(self._spool.discard)

    def _spool_from_the_start(self, chunk: bytes) -> "asyncio.Future[None] | None":
        """Write to the file once the output is more than `head` holds; until then there is nothing to add to memory."""
        if self._writer is None or self._total_bytes + len(chunk) <= KEPT_BYTES:
            return None
        if self._total_bytes <= KEPT_BYTES and self._head:
            self._writer.feed(bytes(self._head))
        return self._writer.feed(chunk)

    def _texts(self) -> tuple[str, str]:
        end = b"".join(self._tail)
        if self._total_bytes == len(self._head) + len(end) and len(end) <= KEPT_BYTES:
            return (self._head + end).decode("utf-8", "replace"), ""
        end = end[-KEPT_BYTES:]
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        return head, end[continuation_bytes(end) :].decode("utf-8", "replace")


def continuation_bytes(data: bytes | bytearray) -> int:
    """Return how many leading bytes are the rest of a UTF-8 character that began before `data`."""
    return next((index for index, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)


def create_private(path: Path) -> FileIO:
    """Create `path`, which must not exist, readable by its owner only; output may hold secrets."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600), "wb")


def write_all(file: FileIO, content: bytes) -> None:
    """Write every byte of `content`."""
    view = memoryview(content)
    while view:
        view = view[file.write(view) or 0 :]
