"""Captures a command's output in bounded memory: its beginning and end, the whole in a file, and live text."""

import asyncio
import codecs
import os
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.system.private_files import make_private_folder
from desktop_agent.core.system.staged_file import O_CLOEXEC, write_all
from desktop_agent.core.terminal.printout import Printout, joined
from desktop_agent.core.terminal.rows import SGR

KEPT_BYTES = 64 * 1024
"""How much of the beginning stays in memory, and the same amount of the end."""

SPOOL_LIMIT_BYTES = 64 * 1024 * 1024
"""How much of the output goes to the file. Longer output is stored as its beginning, a mark, and its end."""

LIVE_INTERVAL_S = 1 / 30
LIVE_LIMIT_BYTES = 32 * 1024
"""How much text is shown per interval. Nobody can read more, and the window must keep up."""

Sink = Callable[[bytes], "asyncio.Future[None] | None"]


class Spool:
    def __init__(self, folder: Path) -> None:
        self.path = folder / f"output-{secrets.token_hex(8)}.log"
        self.written_bytes = 0
        self.error = ""
        self._file: FileIO | None = None

    def write(self, content: bytes) -> None:
        content = content[: SPOOL_LIMIT_BYTES - self.written_bytes]
        if content and not self.error:
            self._append(content)
            self.written_bytes += 0 if self.error else len(content)

    def end_with(self, tail: bytes, missing_bytes: int) -> None:
        if not self.error:
            self._append(f"\n[... {missing_bytes:,} bytes not kept ...]\n".encode() + tail)
            self.written_bytes += 0 if self.error else len(tail)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def discard(self) -> None:
        if self._file is not None:
            self._file.close()
            self.path.unlink(missing_ok=True)

    def _append(self, content: bytes) -> None:
        try:
            if self._file is None:
                self._file = create_private(self.path)
            write_all(self._file.fileno(), content)
        except OSError as error:
            self.error = str(error)


_AGAIN_S = 0.002


class LiveText:
    """Passes new output to `on_text` on the event loop, at most 30 times a second. Feed it from one thread."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._loop = asyncio.get_running_loop()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lock = threading.Lock()
        self._waiting = bytearray()
        self._skipped_bytes = 0
        self._is_due = False
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, chunk: bytes) -> None:
        with self._lock:
            self._skipped_bytes += max(0, len(chunk) - LIVE_LIMIT_BYTES)
            self._waiting += chunk[-LIVE_LIMIT_BYTES:]
            excess = len(self._waiting) - LIVE_LIMIT_BYTES
            if excess > 0:
                del self._waiting[:excess]
                self._skipped_bytes += excess
            if self._is_due:
                return
            self._is_due = True
        with suppress(RuntimeError):  # the loop is closed, so no front end shows the text
            self._loop.call_soon_threadsafe(self._start_timer)

    def finish(self) -> None:
        """Call this on the loop's thread, after the last `feed`."""
        if self._timer is not None:
            self._timer.cancel()
        self._is_due = True
        self._show(final=True)

    def _start_timer(self) -> None:
        if self._timer is None and self._is_due:
            self._timer = self._loop.call_later(LIVE_INTERVAL_S, self._show)

    def _show(self, *, final: bool = False) -> None:
        if not self._lock.acquire(blocking=final):
            # The reader has the lock and may be waiting for a processor. The loop does not wait with it.
            self._timer = self._loop.call_later(_AGAIN_S, self._show)
            return
        try:
            waiting, self._waiting = self._waiting, bytearray()
            skipped, self._skipped_bytes = self._skipped_bytes, 0
            self._is_due = False
        finally:
            self._lock.release()
        self._timer = None
        text = ""
        if skipped:
            text = f"{self._decoder.decode(b'', final=True)}\n[... {skipped:,} bytes not shown live ...]\n"
            del waiting[: continuation_bytes(waiting)]
        text += self._decoder.decode(bytes(waiting), final)
        if text:
            self._on_text(text)


class CapturedOutput(Struct, frozen=True, kw_only=True):
    """A command's output, as a terminal shows it. If there is a `tail`, text between `head` and `tail` is left out."""

    head: str
    tail: str
    total_bytes: int
    total_lines: int
    written: str
    """The raw output, if it is not in the file and a terminal shows it differently; otherwise empty."""
    spool_path: Path | None
    """The raw output, if it is longer than `KEPT_BYTES`. The reader of this result owns the file."""
    spooled_bytes: int
    """How much of the output is in the file: all of it, unless a limit or `spool_error` cut it."""
    spool_error: str


class Ends:
    def __init__(self) -> None:
        self.head = bytearray()
        self.total_bytes = 0
        self._tail = bytearray()

    def feed(self, content: bytes) -> None:
        self.total_bytes += len(content)
        room = KEPT_BYTES - len(self.head)
        if room > 0:
            self.head += content[:room]
            content = content[room:]
        self._tail += content[-KEPT_BYTES:]
        if len(self._tail) > 2 * KEPT_BYTES:
            del self._tail[:-KEPT_BYTES]

    def last(self, size_bytes: int) -> bytes:
        return bytes(self._tail[-min(KEPT_BYTES, size_bytes) :]) if size_bytes else b""

    def recent(self, most_bytes: int) -> tuple[str, bool]:
        """Return the end of the content, whole characters only, and whether its beginning is missing."""
        is_whole = self.total_bytes == len(self.head) + len(self._tail)
        kept = self.head + self._tail if is_whole else self._tail[-KEPT_BYTES:]
        del kept[: max(0, len(kept) - most_bytes)]
        is_cut = len(kept) < self.total_bytes
        del kept[: continuation_bytes(kept) if is_cut else 0]
        return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(kept)), is_cut

    def texts(self) -> tuple[str, str]:
        if self.total_bytes == len(self.head) + len(self._tail) and len(self._tail) <= KEPT_BYTES:
            return (self.head + self._tail).decode("utf-8", "replace"), ""
        end = self._tail[-KEPT_BYTES:]
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self.head))
        return head, end[continuation_bytes(end) :].decode("utf-8", "replace")


MOST_EFFORT = 4 * 1024 * 1024
"""How much of an output is parsed character by character. That much takes some seconds."""
_READ_BYTES = 256 * 1024


class ShownOutput:
    def __init__(self) -> None:
        self._waiting = bytearray()
        self._passed_over_bytes = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._printout = Printout(
            lambda rows: self._take(joined(rows).encode()),
            unseen=lambda text: self._take(SGR.sub("", text).replace("\r\n", "\n").encode()),
        )
        self._ends = Ends()
        self._newlines = 0

    def feed(self, chunk: bytes) -> None:
        if self._printout.effort >= MOST_EFFORT:
            self._waiting += chunk
            if len(self._waiting) > 2 * _READ_BYTES:
                self._pass_over()
        elif self._decoder.getstate()[0]:  # in the middle of a character
            self._printout.feed(self._decoder.decode(chunk))
        else:
            self._printout.feed_bytes(chunk, self._decoder.decode, self._take)

    def finish(self) -> tuple[str, str, int]:
        """Return the shown beginning, the shown end (empty if all was shown before), and the number of lines."""
        self._pass_over()
        if self._passed_over_bytes:
            self._printout.feed(f"[... {self._passed_over_bytes:,} bytes not read ...]\n")
        self._printout.feed(self._decoder.decode(bytes(self._waiting), final=True))
        standing = joined(self._printout.standing()).removesuffix("\n")
        self._take(standing.encode())
        head, tail = self._ends.texts()
        return head, tail, self._newlines + (not (tail or head).endswith("\n") and bool(head))

    def _pass_over(self) -> None:
        excess = len(self._waiting) - _READ_BYTES
        if excess <= 0:
            return
        if not self._passed_over_bytes:
            self._printout.feed(self._decoder.decode(b"", final=True) + "\x18\x1b[!p\x1b[?1049l\n")
        cut = self._waiting.find(b"\n", excess) + 1 or excess
        self._passed_over_bytes += cut
        self._newlines += self._waiting.count(b"\n", 0, cut)
        del self._waiting[:cut]

    def _take(self, content: bytes) -> None:
        self._newlines += content.count(b"\n")
        self._ends.feed(content)


class OutputCapture:
    """Captures an output. Feed it from one thread, then `finish` it on the loop's thread."""

    def __init__(self, *, spool_folder: Path | None = None, on_text: Callable[[str], None] | None = None) -> None:
        self._written = Ends()
        self._writing = threading.Lock()
        self._shown = ShownOutput()
        self._live = LiveText(on_text) if on_text is not None else None
        self._spool = Spool(spool_folder) if spool_folder is not None else None

    def feed(self, chunk: bytes) -> None:
        if self._live is not None:
            self._live.feed(chunk)
        if self._spool is not None:
            self._spool_from_the_start(self._spool, chunk)
        with self._writing:
            self._written.feed(chunk)
        self._shown.feed(chunk)

    def recent(self, most_bytes: int) -> tuple[str, bool]:
        """Return the end of what was printed so far, and whether its beginning is missing. For any thread."""
        with self._writing:
            return self._written.recent(most_bytes)

    async def finish(self) -> CapturedOutput:
        if self._live is not None:
            self._live.finish()
        spool = self._spool
        if spool is not None:
            await asyncio.to_thread(self._complete, spool)
        head, tail, lines = await asyncio.to_thread(self._shown.finish)
        is_spooled = spool is not None and spool.written_bytes > 0
        written = "" if is_spooled else self._written.texts()[0]
        return CapturedOutput(
            head=head,
            tail=tail,
            total_bytes=self._written.total_bytes,
            total_lines=lines,
            written=written if written != head else "",
            spool_path=spool.path if spool is not None and is_spooled else None,
            spooled_bytes=spool.written_bytes if spool is not None else 0,
            spool_error=spool.error if spool is not None else "",
        )

    def _spool_from_the_start(self, spool: Spool, chunk: bytes) -> None:
        before = self._written.total_bytes
        if before + len(chunk) > KEPT_BYTES:
            if before <= KEPT_BYTES:
                spool.write(bytes(self._written.head))
            spool.write(chunk)

    def _complete(self, spool: Spool) -> None:
        missing = self._written.total_bytes - spool.written_bytes
        if spool.written_bytes and missing:
            tail = self._written.last(missing)
            spool.end_with(tail, missing - len(tail))
        spool.close()
        if not spool.written_bytes:
            spool.discard()


def continuation_bytes(data: bytes | bytearray) -> int:
    return next((index for index, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)


def create_private(path: Path) -> FileIO:
    """Create a file that only its owner may read, because output may hold secrets. `path` must not exist."""
    make_private_folder(path.parent)
    return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC, 0o600), "wb")


class RecordSplitter:
    def __init__(self, separator: bytes, most_bytes: int) -> None:
        self.too_long = 0
        self._separator = separator
        self._most_bytes = most_bytes
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, content: bytes) -> list[bytes]:
        first, *others = content.split(self._separator)
        self._add(first)
        if not others:
            return []
        whole = [b"".join(self._begun)] if self._size <= self._most_bytes else []
        middle = others[:-1]
        if len(content) > self._most_bytes:
            middle = [record for record in middle if len(record) <= self._most_bytes]
            self.too_long += len(others) - 1 - len(middle)
        self._begun, self._size = [], 0
        self._add(others[-1])
        return whole + middle

    def _add(self, part: bytes) -> None:
        was_short = self._size <= self._most_bytes
        self._size += len(part)
        if self._size <= self._most_bytes:
            self._begun.append(part)
        else:
            self._begun.clear()
            self.too_long += was_short
