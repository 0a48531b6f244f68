"""Running git: one child process in its own process group, with a bounded output and time. Nothing else starts git.

It asks nothing, sees no environment but what is listed here, and is killed when the awaiting task is cancelled. Each
process is bound to a repository that was found before (`finding`), and reads a configuration that names no program
(`stand_in`), because any program that can write a folder can put a repository there. The options below repeat some of
that for the user's own configuration, and for what git may read from elsewhere one day. There is no sandbox around each
git: not every machine has one, so safety must not rest on it. (Bubblewrap took `git status` from 5 to 15 ms; see
`tests/benchmarks/bench_gitrepo.py`.)
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from desktop_agent.core.base.programs import search_path
from desktop_agent.core.system.gitrepo.config_file import read_plain_settings
from desktop_agent.core.system.gitrepo.finding import Repository, common_folder, is_still_there, stranger_of
from desktop_agent.core.system.gitrepo.stand_in import LISTING, make_stand_in
from desktop_agent.core.system.gitrepo.states import NoStatus
from desktop_agent.core.system.processes.child import unhurried

TIME_LIMIT_S: Final = 30.0
_ERROR_LIMIT_BYTES: Final = 8 * 1024
_SETTINGS_LIMIT_BYTES: Final = 4 * 1024 * 1024

_SETTINGS: Final = (
    "safe.bareRepository=explicit", "protocol.allow=never", "submodule.recurse=false", "diff.ignoreSubmodules=all",
    f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "core.pager=cat", "core.askPass=", "credential.helper=",
    "log.showSignature=false", "gc.auto=0", "maintenance.auto=false",
)  # fmt: skip
_ALWAYS: Final = ("--no-pager", "--no-optional-locks", *(word for setting in _SETTINGS for word in ("-c", setting)))
_FOR_COMMAND: Final[Mapping[str, tuple[str, ...]]] = {
    "status": ("--ignore-submodules=all",),
    "diff": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
}
"""Without them, these start converters, and git in each submodule with that one's configuration."""
_REPLACED: Final = "{} is not the one that was there when the folder was opened"
_STRANGER: Final = (
    "{0} belongs to another user; if you trust the repository, run: git config --global --add safe.directory {1}"
)

_PASSED_ON: Final = (
    "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "GIT_EXEC_PATH",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
    "APPDATA", "LOCALAPPDATA", "USERPROFILE", "SYSTEMROOT", "TEMP", "TMP", "PATHEXT",
)  # fmt: skip
"""Named one by one, so that no key reaches a child process and no GIT_DIR of a calling hook misleads it."""
_NOWHERE: Final = str(Path(os.sep, "nonexistent"))
"""Stands for no `PATH`: an empty one is the current folder."""


class _Look(Struct, frozen=True, kw_only=True):
    """What a repository is like just before git is asked about it."""

    why_not: NoStatus | None = None
    """Why git must not be asked at all."""
    stranger: Path | None = None
    """What of it belongs to another user."""
    common: Path = Path()
    settings: bytes | None = None
    """As `LISTING` prints them; None where they are not written plainly."""


class PinnedGit:
    """Git, bound to one repository: it looks for no other, and runs no program but itself."""

    def __init__(self, repository: Repository, common: Path) -> None:
        self._repository = repository
        self._common = common

    async def run(self, *arguments: str, limit_bytes: int) -> "tuple[bytes, bool] | NoStatus":
        """Return git's output and whether it is whole, or why there is none. Cancelling kills the process group."""
        repository = self._repository
        places = (f"--git-dir={repository.git_dir}", f"--work-tree={repository.root}")
        command, *rest = arguments
        environ = await asyncio.to_thread(_environment, repository.root) | {
            "GIT_COMMON_DIR": str(self._common),
            "GIT_CEILING_DIRECTORIES": str(repository.root.parent),
        }
        argv = (*_ALWAYS, *places, command, *_FOR_COMMAND.get(command, ()), *rest)
        return await _run(argv, repository.root / repository.prefix, environ, limit_bytes)


@contextlib.asynccontextmanager
async def pinned(repository: Repository) -> AsyncGenerator["PinnedGit | NoStatus"]:
    """Give git bound to `repository`, for some questions in a row; or why it may not, or cannot, be asked.

    It is not asked about a repository that took the place of the one that was found, or that another user owns.
    """
    look = await asyncio.to_thread(_look_at, repository)
    if look.why_not is not None:
        yield look.why_not
        return
    if look.stranger is not None and not await _is_trusted(repository):
        yield NoStatus(reason="failed", detail=_STRANGER.format(look.stranger, repository.root))
        return
    listed = look.settings
    if listed is None:  # git is started only for what is not written plainly
        listed = await _ask_about_settings(repository, *LISTING, str(look.common / "config"))
    if isinstance(listed, NoStatus):
        yield listed
        return
    folder = Path(tempfile.mkdtemp(prefix="desktop-agent-git-"))
    in_thread = asyncio.get_running_loop().run_in_executor  # not in tasks, which the end of the application cancels
    try:
        try:
            await unhurried(
                in_thread(None, make_stand_in, folder, look.common, listed)
            )  # cancelled, it would still write
        except OSError as error:
            yield NoStatus(reason="failed", detail=error.strerror or str(error))
        else:
            yield PinnedGit(repository, folder)
    finally:
        await unhurried(in_thread(None, partial(shutil.rmtree, folder, ignore_errors=True)))


async def run_git(repository: Repository, *arguments: str, limit_bytes: int) -> tuple[bytes, bool] | NoStatus:
    """Ask git one question about `repository`; see `PinnedGit.run`."""
    async with pinned(repository) as git:
        return git if isinstance(git, NoStatus) else await git.run(*arguments, limit_bytes=limit_bytes)


def _look_at(repository: Repository) -> _Look:
    """Look at all that is asked before git is. Blocks."""
    if not is_still_there(repository):
        return _Look(why_not=NoStatus(reason="replaced", detail=_REPLACED.format(repository.root / ".git")))
    try:
        stranger = stranger_of(repository)
    except OSError as error:
        return _Look(why_not=NoStatus(reason="failed", detail=error.strerror or str(error)))
    common = common_folder(repository.git_dir)
    return _Look(stranger=stranger, common=common, settings=read_plain_settings(common / "config"))


async def _is_trusted(repository: Repository) -> bool:
    """Whether the user told git to read this repository although it belongs to somebody else."""
    trusted = await _ask_about_settings(repository, "config", "--null", "--get-all", "safe.directory")
    places: list[str] = []
    for place in [] if isinstance(trusted, NoStatus) else os.fsdecode(trusted).split("\0")[:-1]:
        places = [*places, place] if place else []  # an empty one takes back those before it, as git has it
    return bool({"*", str(repository.root)}.intersection(places))


async def _ask_about_settings(repository: Repository, *arguments: str) -> bytes | NoStatus:
    """Return what `git config` prints of the user's own settings, or of a file; it looks for no repository."""
    environ = await asyncio.to_thread(_environment, repository.root) | {"GIT_DIR": os.devnull}
    answer = await _run((*_ALWAYS, *arguments), repository.root, environ, _SETTINGS_LIMIT_BYTES)
    if isinstance(answer, NoStatus):
        return answer
    return answer[0] if answer[1] else NoStatus(reason="failed", detail="the configuration of git is too long")


async def _run(
    argv: Sequence[str], folder: Path, environ: Mapping[str, str], limit_bytes: int
) -> tuple[bytes, bool] | NoStatus:
    try:
        process = await _start_git(argv, folder, environ)
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


async def _start_git(argv: Sequence[str], folder: Path, environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            "git",
            *argv,
            cwd=folder,
            env=environ,
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
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }
