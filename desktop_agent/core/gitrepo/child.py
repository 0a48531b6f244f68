"""Running git: one child process in its own process group, with a bounded output and time.

It asks nothing, sees no environment but what is listed here, and is killed when the awaiting task is cancelled.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from desktop_agent.core.programs import search_path

TIME_LIMIT_S: Final = 30.0
_ERROR_LIMIT_BYTES: Final = 8 * 1024

_PASSED_ON: Final = (
    "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "GIT_EXEC_PATH",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
    "APPDATA", "LOCALAPPDATA", "USERPROFILE", "SYSTEMROOT", "TEMP", "TMP", "PATHEXT",
)  # fmt: skip
"""Named one by one, so that no key reaches a child process and no GIT_DIR of a calling hook misleads it."""
_NOWHERE: Final = str(Path(os.sep, "nonexistent"))
"""Stands for no `PATH`: an empty one is the current folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoStatus:
    """Why git has nothing to say about a folder. `detail` is git's own first line, for people."""

    reason: Literal["not_a_repository", "git_missing", "too_slow", "failed"]
    detail: str = ""


async def run_git(folder: Path, *arguments: str, limit_bytes: int) -> tuple[bytes, bool] | NoStatus:
    """Return git's output and whether it is whole, or why there is none. Cancelling kills the process group."""
    try:
        process = await _start_git(folder, arguments)
    except FileNotFoundError:
        return NoStatus(reason="git_missing")
    except OSError as error:
        return NoStatus(reason="failed", detail=error.strerror or str(error))
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(TIME_LIMIT_S):
            (output, is_complete), complaint = await asyncio.gather(
                _read_output(process, process.stdout, limit_bytes), _read_complaint(process.stderr)
            )
            await process.wait()
    except TimeoutError:
        return NoStatus(reason="too_slow")
    finally:
        await _end(process)
    if is_complete and process.returncode != 0:
        lines = complaint.decode("utf-8", "replace").strip().splitlines()
        return NoStatus(reason="failed", detail=lines[0] if lines else f"git ended with {process.returncode}")
    return output, is_complete


async def _start_git(folder: Path, arguments: Sequence[str]) -> asyncio.subprocess.Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            "git",
            "--no-pager",
            "--no-optional-locks",
            # A file system monitor named by the repository is a program of somebody else's, and outlives us.
            "-c",
            "core.fsmonitor=false",
            *arguments,
            cwd=folder,
            env=_environment(folder),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Cancelled half-way, asyncio ends the child but not its group, and can wait for ever: let it start first.
        with contextlib.suppress(OSError):
            await _end(await starting)
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """Leave nothing of the process behind, neither running nor in its pipes."""
    if process.returncode is None:
        _kill(process)
        await process.communicate()


async def _read_output(
    process: asyncio.subprocess.Process, stream: asyncio.StreamReader, limit_bytes: int
) -> tuple[bytes, bool]:
    """Return at most `limit_bytes`, and whether that is all. What is over is read, too: a full pipe is never closed."""
    output = bytearray()
    is_complete = True
    while chunk := await stream.read(64 * 1024):
        room = limit_bytes - len(output)
        output += chunk[:room]
        if is_complete and len(chunk) > room:
            is_complete = False
            _kill(process)
    return bytes(output), is_complete


async def _read_complaint(stream: asyncio.StreamReader) -> bytes:
    """Return the beginning of what was written, but read it all: a full pipe would stop git."""
    kept = b""
    while chunk := await stream.read(64 * 1024):
        kept += chunk[: _ERROR_LIMIT_BYTES - len(kept)]
    return kept


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the whole group. Nothing is lost by it: these commands only read, and take no lock."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended by itself a moment ago
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _environment(workspace: Path) -> dict[str, str]:
    environment = {name: value for name in _PASSED_ON if (value := os.environ.get(name)) is not None}
    return environment | {
        "PATH": search_path(os.environ, workspace) or _NOWHERE,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_ASKPASS": "",
    }
