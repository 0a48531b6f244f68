"""Notices that a window ended unexpectedly, and makes a report for the next start. Nothing is sent.

While a window runs, it has a file in the folder of logs. `faulthandler` writes into the file when a signal kills the
process. A file without a process becomes the report, unless the computer or the login session ended meanwhile.
"""

import faulthandler
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TextIO

import PySide6
from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.secrets import mask, secrets_in
from desktop_agent.core.system.private_files import make_private_file, make_private_folder

REPORT: Final = "crash-report.txt"
_RUNNING: Final = "running-*.txt"
_BY_EXCEPTION: Final = "Fatal exception"
_SHOWN: Final = "Window system: "
_MOST_STACK: Final = 100_000
_MOST_LOG: Final = 64_000
_LOG_LINES: Final = 40

_RECORD: Final = regex(r"(?P<head>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ (?P<logger>\S+): )")
_FRAME: Final = regex(r'\s*File "[^"]*", line \d+, in \S+$')
_ERROR: Final = regex(r"[A-Za-z_][\w.]*(?:Error|Exception|Group|Interrupt|Exit|Warning)\b")


class CrashWatch:
    """Holds the window's file while the block runs. After an unexpected exception, the file stays."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._path = folder / _RUNNING.replace("*", f"{os.getpid()}-{time.time_ns()}")
        self._place = _place(environ)
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        with suppress(OSError):  # without a disk to write to, there is no report
            make_private_folder(self._path.parent)
            make_private_file(self._path)
            self._file = self._path.open("w", encoding="utf-8", buffering=1)
            _is_locked(self._file)  # from now on
            python = sys.version.split()[0]
            self._file.write(
                f"{self._place}\nDesktop Agent {__version__}{' (frozen)' if hasattr(sys, 'frozen') else ''}\n"
                f"Python {python}, PySide6 {PySide6.__version__}, Qt {qVersion()}\n"
                f"System: {_system()}\nStarted: {_local_time(time.time())}\n"
            )
            faulthandler.enable(self._file)
        return self

    def note_shown(self) -> None:
        """From now on, a killed process leaves a report. A signal before this may be an ordinary end."""
        if self._file is not None:
            self._file.write(f"{_SHOWN}{QGuiApplication.platformName()}\n")

    def close(self) -> None:
        """Leave no report, whatever happens from now on."""
        self._end(is_expected=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, (UsageError, SystemExit, KeyboardInterrupt)):
            if self._file is not None:
                self._file.write("\n".join([_BY_EXCEPTION, *_stack(error)]) + "\n")
            self._end(is_expected=False)
        else:
            self._end(is_expected=True)

    def _end(self, *, is_expected: bool) -> None:
        if self._file is None:
            return
        faulthandler.disable()
        with suppress(OSError):
            self._file.close()
            if is_expected:
                self._path.unlink()
        self._file = None


def take_report(folder: Path, environ: Mapping[str, str]) -> tuple[Path, str] | None:
    """Return the file and the text of the report to offer. Call this before writing to the log. Blocks."""
    report = folder / REPORT
    for left in sorted(folder.glob(_RUNNING)):
        with suppress(OSError):
            if (text := _left_text(left)) is None:
                continue
            ended = _local_time(left.stat().st_mtime)
            left.unlink()  # before all else: on Windows, this fails if its process still runs
            if told := _told(text, _place(environ)):
                whole = f"{told}\nLast lines of the log:\n{_end_of_log(folder)}\n"
                make_private_file(report)
                report.write_text(f"Ended: about {ended}\n{_without_secrets(whole, environ)}", encoding="utf-8")
    with suppress(OSError):
        return report, report.read_text("utf-8", "replace")
    return None


def _left_text(path: Path) -> str | None:
    """Return what a window left; None if it still runs."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return None if _is_locked(file) else file.read(_MOST_STACK)


def _told(text: str, place: str) -> str:
    """Return the report without its log; empty if the window did not end unexpectedly."""
    written, _, rest = text.partition("\n")
    if re.search(r"^(?:Fatal|Windows fatal|Current thread) ", rest, re.MULTILINE):
        return rest
    # It was killed: by the user, for lack of memory, or together with the login session.
    return f"{rest}It was killed, and left no stack.\n" if _SHOWN in rest and written == place else ""


if sys.platform != "win32":
    import fcntl

    def _is_locked(file: TextIO) -> bool:
        """Lock the file, unless another process has locked it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False

else:

    def _is_locked(file: TextIO) -> bool:
        del file
        return False


def _place(environ: Mapping[str, str]) -> str:
    """Return a text that changes with each start of the computer and each login."""
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return f"{boot} {environ.get('XDG_SESSION_ID', '')}"


def _system() -> str:
    if sys.platform == "win32":
        return f"Windows {'.'.join(map(str, sys.getwindowsversion()[:3]))}"
    system = os.uname()  # without the name of the computer
    return f"{system.sysname} {system.release} {system.machine} {os.environ.get('XDG_CURRENT_DESKTOP', '')}".strip()


def _local_time(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(moment))


def _stack(error: BaseException) -> Iterator[str]:
    """Yield the kinds of errors and their frames: no messages, because they quote values."""
    if before := error.__cause__ or (None if error.__suppress_context__ else error.__context__):
        yield from _stack(before)
        yield "Then:"
    yield f"{type(error).__module__}.{type(error).__qualname__}"
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        yield f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}'
        trace = trace.tb_next


def _end_of_log(folder: Path) -> str:
    try:
        with (folder / "desktop-agent.log").open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _MOST_LOG, 0))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "\n".join([shown for line in lines if (shown := _shown(line))][-_LOG_LINES:])


def _shown(line: str) -> str:
    """Return the part of a line that the report shows: nothing that a library or an error may have quoted."""
    if record := _RECORD.match(line):
        return line if record["logger"].startswith("desktop_agent.") else record["head"]
    if _FRAME.match(line):
        return line
    error = _ERROR.match(line)
    return error[0] if error else ""


def _without_secrets(text: str, environ: Mapping[str, str]) -> str:
    for home in sorted({str(Path.home()), os.path.realpath(Path.home())}, key=len, reverse=True):
        text = text.replace(home, "~") if len(home) > 1 else text
    return mask(text, secrets_in(environ))
