"""Workers on this machine: processes that run one task after another, and are started again when they die.

Each task has a copy of its folder, so that tasks disturb neither the folder nor each other.
"""

import asyncio
import json
import os
import secrets
import shutil
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Final

from filelock import FileLock, Timeout
from msgspec.structs import asdict

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import WorkspaceError
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.system.processes.child import ChildProcess
from desktop_agent.core.system.processes.runner import Command, ProcessRunner
from desktop_agent.core.system.workspace import require_workspace
from desktop_agent.headless.batch.tasks import BatchTask, TaskOutcome, WorkerLostError, is_address

_LAST_WORDS_BYTES = 2_000

_MODULE: Final = "desktop_agent.cli.batch_worker"
"""What each process runs: it reads tasks and writes outcomes, as JSON lines."""


class LocalWorkers:
    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        """`environ` includes the keys, like the environment of a run that is started by hand."""
        self._environ = environ
        self._processes = ProcessRunner(clock)
        self._idle: list[_Worker] = []

    async def run(self, task: BatchTask, max_cost_usd: float | None) -> TaskOutcome:
        """Run a task in an idle process. Raises `WorkerLostError`. Cancelling ends the process."""
        worker = self._idle.pop() if self._idle else await self._start()
        try:
            outcome = await worker.run(task, max_cost_usd)
        except BaseException:
            await worker.end()
            raise
        self._idle.append(worker)
        return outcome

    async def aclose(self) -> None:
        await asyncio.gather(*(worker.end() for worker in self._idle))
        await self._processes.aclose()

    async def _start(self) -> "_Worker":
        worker = _Worker()
        command = Command(argv=(sys.executable, "-m", _MODULE), cwd=Path.cwd(), environ=self._environ, takes_input=True)
        try:
            worker.child = await self._processes.start(command, worker.take_output, worker.take_errors)
        except OSError as error:
            raise WorkerLostError(f"a worker could not be started: {error}") from error
        return worker


class _Worker:
    def __init__(self) -> None:
        self.child: ChildProcess | None = None
        self._output = bytearray()
        self._errors = b""
        self._answer: asyncio.Future[bytes] | None = None

    async def run(self, task: BatchTask, max_cost_usd: float | None) -> TaskOutcome:
        assert self.child is not None
        self._answer = asyncio.get_running_loop().create_future()
        line = json.dumps({"task": asdict(task), "max_cost": max_cost_usd}, ensure_ascii=False)
        if not await self.child.send(line.encode(errors="backslashreplace") + b"\n"):
            raise WorkerLostError(self._last_words())
        gone = asyncio.create_task(self.child.wait())
        try:
            await asyncio.wait([self._answer, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if not self._answer.done():
            raise WorkerLostError(self._last_words())
        try:
            return TaskOutcome.read(self._answer.result())
        except ValueError as error:
            raise WorkerLostError(f"a worker wrote what is no outcome: {error}") from error

    async def end(self) -> None:
        if self.child is not None:
            await self.child.end()

    def take_output(self, content: bytes) -> None:
        self._output += content
        line, end, rest = self._output.partition(b"\n")
        if end and self._answer is not None and not self._answer.done():
            self._output = rest
            self._answer.set_result(bytes(line))

    def take_errors(self, content: bytes) -> None:
        self._errors = (self._errors + content)[-_LAST_WORDS_BYTES:]

    def _last_words(self) -> str:
        words = self._errors.decode(errors="replace").strip().splitlines()
        return f"a worker died: {words[-1]}" if words else "a worker died"


_LOCK = ".lock"


@contextmanager
def copy_of(workspace: str, scratch: Path) -> Generator[Path]:
    """Make a temporary copy of a folder, or clone of a repository. Blocks. Raises `WorkspaceError`.

    Uncommitted changes are copied. Git's objects, which never change, are shared by hard links if possible. The copy
    keeps the name of the folder, which the model sees.
    """
    place = scratch / secrets.token_hex(6)
    place.mkdir(parents=True)
    lock = FileLock(f"{place}{_LOCK}", thread_local=False)  # it is released in another thread
    with lock:
        try:
            name = workspace.rstrip("/").rpartition("/")[2].removesuffix(".git") or "workspace"
            target = place / name
            if is_address(workspace) and not (Path(workspace) / ".git").exists():
                _clone(workspace, target)
            else:
                source = Path(workspace)
                if not source.is_dir():
                    raise WorkspaceError(f"The folder {source} does not exist.", hint="Name another one in the task.")
                require_workspace(real_path(source), "client")
                try:
                    _copy_folder(source, target)
                    if (source / ".git").is_file():
                        _take_repository_along(source, target)
                except OSError as error:
                    raise WorkspaceError(f"The folder {source} could not be copied.", detail=str(error)) from error
            yield target
        finally:
            shutil.rmtree(place, ignore_errors=True)
            with suppress(OSError):
                Path(lock.lock_file).unlink()


def sweep(scratch: Path) -> None:
    """Remove copies of workers that were killed or stopped. Blocks."""
    for lock_file in scratch.glob(f"*{_LOCK}"):
        lock = FileLock(lock_file)
        try:
            lock.acquire(timeout=0)
        except (Timeout, OSError):
            continue
        shutil.rmtree(lock_file.with_suffix(""), ignore_errors=True)
        with suppress(OSError):
            lock_file.unlink()
        lock.release()


def _copy_folder(source: Path, target: Path) -> None:
    target.mkdir()
    parts = source.parts
    is_shared = any(parts[at : at + 2] == (".git", "objects") for at in range(len(parts) - 1))
    for entry in os.scandir(source):
        to, mode = target / entry.name, entry.stat(follow_symlinks=False).st_mode
        if S_ISDIR(mode):
            _copy_folder(Path(entry.path), to)
        elif S_ISLNK(mode):
            to.symlink_to(Path(entry.path).readlink())
        elif S_ISREG(mode):
            _copy_file(entry.path, to, is_shared=is_shared and not mode & 0o222)
    shutil.copystat(source, target)


def _take_repository_along(source: Path, target: Path) -> None:
    """Give the copy of a worktree or submodule a repository of its own: https://git-scm.com/docs/gitrepository-layout

    Otherwise a commit in the copy would be one in the original, because `.git` only names a shared repository.
    """
    link = target / ".git"
    named = link.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("gitdir:").strip()
    own = source / named
    common = own / (own / "commondir").read_text(encoding="utf-8").strip() if (own / "commondir").exists() else own
    if not (common / "objects").is_dir():
        return  # it is broken in the original, too
    link.unlink()
    _copy_folder(real_path(common), link)
    for of_others in ("worktrees", "modules"):
        shutil.rmtree(link / of_others, ignore_errors=True)
    if common != own:  # a worktree has its own HEAD and index
        shutil.copytree(own, link, dirs_exist_ok=True, ignore=shutil.ignore_patterns("commondir", "gitdir", "locked"))
        return
    import pygit2

    config = pygit2.Config(str(link / "config"))
    if "core.worktree" in config:
        del config["core.worktree"]  # where the original is


def _copy_file(source: str, target: Path, *, is_shared: bool) -> None:
    if is_shared:
        with suppress(OSError):  # another file system
            target.hardlink_to(source)
            return
    shutil.copy2(source, target)


def _clone(address: str, target: Path) -> None:
    hint = "Name a repository on this machine: a path or file://…"
    if "://" in address and not address.startswith("file://"):
        raise WorkspaceError(f"The repository {address} is not on this machine.", hint=hint)
    import pygit2  # takes as long to import as a run takes to start

    try:
        pygit2.clone_repository(address, str(target))  # pyright: ignore[reportUnknownMemberType] - its own annotation
    except (pygit2.GitError, OSError, ValueError) as error:
        raise WorkspaceError(f"The repository {address} could not be cloned.", hint=hint, detail=str(error)) from error
