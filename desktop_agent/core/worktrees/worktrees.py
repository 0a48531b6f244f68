"""Makes worktrees for sessions, says where they are, and moves them to the trash and back. None is deleted for a month.

Each step is written to the record of the worktree before git acts, under a lock. The next access to the worktrees
cleans up after a killed process. In the user's `.git`, a worktree is one folder in `worktrees`, and one branch.
"""

import asyncio
import json
import os
import secrets
import shutil
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct, convert, field, to_builtins

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AgentError, SessionBusyError, StorageError, UsageError, storage_error
from desktop_agent.core.base.file_names import folders_above, name_on_a_line
from desktop_agent.core.base.ids import SessionId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.base.regex import regex
from desktop_agent.core.protocol.model import FileImage, WorktreeOrigin
from desktop_agent.core.store.session_folder import LOCK_NAME, SessionLock, is_locked
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.git.git_process import NoRepositoryError, UsersGit
from desktop_agent.core.system.git.repository import common_folder
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.system.processes.child import unhurried

KEPT: Final = timedelta(days=30)
"""How long a removed worktree stays in the trash."""
INCLUDE_FILE: Final = ".worktreeinclude"
"""Names, as in `.gitignore`, the ignored files that a new worktree gets copies of. Other agents use the same file."""

_LOCK_PATIENCE_S: Final = 10.0
_POLL_S: Final = 0.05
_TRASH: Final = "trash"
_PREFIX: Final = "desktop-agent-"
_NAME: Final = regex(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_LONGEST_NAME: Final = 60
_FAILED: Final = "git failed, so nothing was changed."
_FIRST: Final = (
    "amber",
    "bold",
    "bright",
    "calm",
    "clear",
    "eager",
    "gentle",
    "keen",
    "quick",
    "quiet",
    "steady",
    "swift",
)
_SECOND: Final = (
    "badger",
    "crane",
    "falcon",
    "finch",
    "fox",
    "heron",
    "lynx",
    "marten",
    "otter",
    "raven",
    "swan",
    "wren",
)

RecordedState = Literal["making", "made", "trashing", "trashed", "restoring", "purging"]
State = Literal[RecordedState, "moved", "missing", "unlinked"]
"""`moved` and `missing`: by hand. `unlinked`: git's own data of the worktree is gone."""


class NewWorktree(Struct, frozen=True, kw_only=True):
    """A worktree to make. Without a name, it gets one."""

    name: str = ""
    base: str = "HEAD"


class Worktree(Struct, kw_only=True):
    name: str
    main: str
    path: str
    git_dir: str
    """Git's own folder of the worktree, in the repository."""
    prefix: str
    """The path of the session's folder in the worktree; empty, or ending in `/`."""
    branch: str
    base: str
    made_at: datetime
    session_id: SessionId = ""
    state: RecordedState = "making"
    trashed_at: datetime | None = None
    tip: str = ""
    """The last known commit of the branch."""
    brought_by: SessionId = ""
    """The last session that brought changes back."""
    brought_base: str = ""
    """The commit from which these changes lead."""
    brought: dict[str, FileImage | None] = field(default_factory=dict[str, FileImage | None])
    """The files that were brought back, in the versions brought back, since `brought_base`."""

    @property
    def workspace(self) -> Path:
        folder = Path(self.path) / self.prefix
        return folder if folder.is_dir() else Path(self.path)

    @property
    def origin(self) -> WorktreeOrigin:
        return WorktreeOrigin(name=self.name, main=self.main, branch=self.branch, base=self.base)


class SeenWorktree(Struct, frozen=True):
    worktree: Worktree
    state: State
    path: Path


class _Records:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def held(self, name: str) -> AsyncGenerator[None]:
        """Hold the lock of a worktree. Raises `SessionBusyError` if another process has it."""
        place = self._folder / name
        try:
            with storage_error("The worktrees cannot be written.", path=place):
                await asyncio.to_thread(make_private_folder, place)
            lock = await asyncio.to_thread(SessionLock, place)
        except SessionBusyError as error:
            title = f"Another process makes or moves the worktree {name}."
            raise SessionBusyError(title, hint="Wait for it, then try again.") from error
        try:
            yield
        finally:
            lock.release()

    def names(self) -> list[str]:
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def has(self, name: str) -> bool:
        return self._path(name).exists()

    def read(self, name: str) -> Worktree:
        try:
            return convert(json.loads(self._path(name).read_bytes()), learned(Worktree))
        except (OSError, ValueError) as error:
            hint = "`desktop-agent worktrees list` lists them."
            raise UsageError(f"There is no worktree {name_on_a_line(name)}.", hint=hint) from error

    async def save(self, worktree: Worktree) -> None:
        path, content = self._path(worktree.name), json.dumps(to_builtins(worktree), indent=1).encode()
        with storage_error("The record of the worktree cannot be written.", path=path):
            await asyncio.to_thread(write_atomically, path, content, mode=PRIVATE_FILE)

    def forget(self, worktree: Worktree) -> None:
        self._path(worktree.name).unlink(missing_ok=True)
        shutil.rmtree(self._folder / worktree.name, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name if _NAME.fullmatch(name) else _TRASH}.json"


class Worktrees:
    """The worktrees of one data folder. Methods raise `AgentError`."""

    def __init__(self, folder: Path, sessions: Path, clock: Clock) -> None:
        self._folder = folder
        self._records = _Records(folder)
        self._sessions = sessions
        self._clock = clock

    # -- making --

    async def free_name(self) -> str:
        """Return a name that no worktree has."""
        taken = await asyncio.to_thread(self._records.names)
        return next(name for name in _fresh_names() if name not in taken)

    async def make(
        self, workspace: Path, wanted: NewWorktree, session_id: SessionId = ""
    ) -> tuple[Worktree, Sequence[str]]:
        """Make a worktree of the repository of `workspace`; also return what the user should know about it.

        If this fails or is cancelled, nothing is left of it.
        """
        git = await git_in(workspace)
        async with self._reserved(git, wanted) as (name, base):
            main, common = git.repository.root, common_folder(git.repository.git_dir)
            worktree = Worktree(
                name=name,
                main=str(main),
                path=str(real_path(self._folder) / name / (main.name if main.name != LOCK_NAME else "repository")),
                git_dir=str(common / "worktrees" / f"{_PREFIX}{name}"),
                prefix=git.repository.prefix,
                branch=f"desktop-agent/{name}",
                base=base,
                made_at=self._clock.now(),
                session_id=session_id,
                tip=base,
            )
            try:
                await self._records.save(worktree)
                await self._add(git, worktree, "--no-track", "-b", worktree.branch, target=worktree.base)
                said = await self._copy_ignored(git, worktree)
                worktree.state = "made"
                await self._records.save(worktree)
            except BaseException as error:
                await unhurried(self._unmake(worktree))
                if isinstance(error, OSError):
                    title = "The worktree could not be made, and nothing is left of it."
                    raise StorageError(title, hint="Free some disk space.", detail=str(error)) from error
                raise
        if (Path(worktree.path) / ".gitmodules").exists():
            said.append("Its submodules are empty. `git submodule update --init` in the worktree fills them.")
        return worktree, said

    async def unmake(self, worktree: Worktree) -> None:
        """Remove a worktree in which nobody has worked."""
        async with self._records.held(worktree.name):
            await self._unmake(worktree)

    @asynccontextmanager
    async def _reserved(self, git: UsersGit, wanted: NewWorktree) -> AsyncGenerator[tuple[str, str]]:
        """Hold the lock of a free name. Yield it, and the commit to start from."""
        name = named = wanted.name
        if named and (not _NAME.fullmatch(named) or len(named) > _LONGEST_NAME or named.lower() == _TRASH):
            hint = "Use letters, digits, `-` and `_`, at most 60."
            raise UsageError(f"{name_on_a_line(named)} cannot be the name of a worktree.", hint=hint)
        git_folders = common_folder(git.repository.git_dir) / "worktrees"
        for name in [named] if named else _fresh_names():
            asked = f"{wanted.base.partition(chr(10))[0]}^{{commit}}\nrefs/heads/desktop-agent/{name}\n"
            base, branch, *_ = (await git.ask("cat-file", "--batch-check=%(objectname)", stdin=asked)).splitlines()
            if " " in base:
                is_head = wanted.base == "HEAD"
                title = "The repository has no commit yet." if is_head else f"There is no commit {wanted.base}."
                raise UsageError(title, hint="A worktree starts from a commit." if is_head else "")
            if branch.endswith(" missing") and not (git_folders / f"{_PREFIX}{name}").exists():
                async with AsyncExitStack() as stack:
                    try:
                        await stack.enter_async_context(self._records.held(name))
                    except SessionBusyError:  # two that are made at once may draw the same name
                        if named:
                            raise
                        continue
                    if not self._records.has(name):
                        yield name, base
                        return
        raise UsageError(f"There is a worktree or branch of the name {name} already.", hint="Choose another name.")

    async def _add(self, git: UsersGit, worktree: Worktree, *options: str, target: str) -> None:
        place = _staging(worktree)
        deadline = self._clock.monotonic() + _LOCK_PATIENCE_S
        while True:
            code, _, complaint = await git.run("worktree", "add", "-q", *options, str(place), target)
            if not code:
                break
            if ".lock" not in complaint or self._clock.monotonic() > deadline:
                raise AgentError("git could not make the worktree.", hint="Nothing is left of it.", detail=complaint)
            await asyncio.to_thread(_remove_folders, place, Path(worktree.git_dir))
            await self._drop_branch(git, worktree)
            await self._clock.sleep(_POLL_S)
        if "--no-checkout" in options:
            await asyncio.to_thread(shutil.rmtree, place)
        else:
            await asyncio.to_thread(place.rename, worktree.path)
        await asyncio.to_thread(_point, worktree, Path(worktree.path))

    async def _copy_ignored(self, git: UsersGit, worktree: Worktree) -> list[str]:
        if not await asyncio.to_thread((git.repository.root / INCLUDE_FILE).is_file):
            return []
        listed = await git.ask("ls-files", "-z", "--others", "--ignored", f"--exclude-from={INCLUDE_FILE}")
        _, ignored, _ = await git.run("check-ignore", "-z", "--stdin", stdin=listed)
        paths = ignored.split("\0")[:-1]
        left = await asyncio.to_thread(_copy, git.repository.root, Path(worktree.path), paths)
        return [f"Not copied, because it is a link that leads out of it: {name_on_a_line(path)}" for path in left]

    async def _unmake(self, worktree: Worktree) -> None:
        folders = Path(worktree.path), _staging(worktree), Path(worktree.git_dir)
        await asyncio.to_thread(_remove_folders, *folders)
        with suppress(AgentError):  # a repository that is gone has no branch either
            await self._drop_branch(await git_of(worktree), worktree)
        if not await asyncio.to_thread(lambda: any(map(os.path.lexists, folders))):  # git of a killed process may run
            await asyncio.to_thread(self._records.forget, worktree)

    async def _drop_branch(self, git: UsersGit, worktree: Worktree) -> None:
        """Remove the branch if nothing was committed to it."""
        await git.run("update-ref", "-d", f"refs/heads/{worktree.branch}", worktree.base)

    # -- what there is --

    async def all(self) -> list[SeenWorktree]:
        names = await asyncio.to_thread(self._records.names)
        seen: list[SeenWorktree] = []
        for name in names:
            with suppress(UsageError):  # it was never made, or is gone meanwhile
                seen.append(await self.find(name))
        return seen

    async def find(self, name: str) -> SeenWorktree:
        """Clean up a worktree after a killed process, and return where it is. Raises `UsageError`."""
        worktree = await asyncio.to_thread(self._records.read, name)
        if worktree.state not in ("made", "trashed"):
            with suppress(StorageError):  # another process does it at this moment, or the disk is full
                async with self._records.held(name):
                    await self._conclude(await asyncio.to_thread(self._records.read, name))
            worktree = await asyncio.to_thread(self._records.read, name)
        tip = await asyncio.to_thread(_tip, worktree)
        if tip != worktree.tip:
            with suppress(StorageError):
                await self.note(name, lambda known: setattr(known, "tip", tip))
        return await asyncio.to_thread(self._seen, worktree)

    async def note(self, name: str, change: Callable[[Worktree], None]) -> None:
        """Change the record of a worktree."""
        async with self._records.held(name):
            worktree = await asyncio.to_thread(self._records.read, name)
            change(worktree)
            await self._records.save(worktree)

    def _seen(self, worktree: Worktree) -> SeenWorktree:
        path = _trash(worktree) if worktree.state == "trashed" else Path(worktree.path)
        state: State = worktree.state
        if worktree.state in ("made", "trashed"):
            git_dir = Path(worktree.git_dir)
            there = Path(_text(git_dir / "gitdir")).parent
            if path.is_dir():
                state = state if git_dir.is_dir() else "unlinked"
            elif there.is_absolute() and there != path and there.is_dir():
                state, path = "moved", there
            else:
                state = "missing"
        return SeenWorktree(worktree, state, path)

    async def _conclude(self, worktree: Worktree) -> None:
        match worktree.state:
            case "making":
                await self._unmake(worktree)
            case "trashing" | "restoring":
                await asyncio.to_thread(_remove_staging, worktree, _staging(worktree))
                is_trashed = await asyncio.to_thread(_trash(worktree).is_dir)
                await self._settle(worktree, is_trashed=is_trashed)
            case "purging":
                await self._purge(worktree)
            case "made" | "trashed":
                pass

    # -- to the trash and back --

    async def remove(self, name: str) -> SeenWorktree:
        """Move a worktree to the trash, with everything in it. Its branch stays."""
        seen = await self.find(name)
        async with self._records.held(name):
            worktree = await asyncio.to_thread(self._records.read, name)
            if worktree.state != "made":
                raise UsageError(f"The worktree {name} is in the trash already.")
            if worktree.session_id and await asyncio.to_thread(is_locked, self._sessions / worktree.session_id):
                raise AgentError(f"The session of the worktree {name} is open.", hint="Close it, then try again.")
            if seen.state == "moved":
                hint = "Move it back with `git worktree move`, or remove it with `git worktree remove`."
                raise AgentError(f"The worktree {name} was moved to {seen.path}.", hint=hint)
            worktree.tip = await asyncio.to_thread(_tip, worktree)
            if seen.state == "missing":
                await self._put_branch_back(await git_of(worktree), worktree)
                await asyncio.to_thread(_remove_folders, Path(worktree.git_dir))
                await asyncio.to_thread(self._records.forget, worktree)
                return seen
            worktree.state, worktree.trashed_at = "trashing", self._clock.now()
            await self._records.save(worktree)
            await asyncio.to_thread(_move, Path(worktree.path), _trash(worktree))
            await self._settle(worktree, is_trashed=True)
        return await self.find(name)

    async def restore(self, name: str) -> SeenWorktree:
        """Bring a worktree back from the trash, or what git knows of one that was removed by hand."""
        seen = await self.find(name)
        async with self._records.held(name):
            worktree = await asyncio.to_thread(self._records.read, name)
            path, trash = Path(worktree.path), _trash(worktree)
            if seen.state == "made":
                raise UsageError(f"The worktree {name} is in its place.")
            if seen.state == "moved":
                hint = f"Move it back with `git worktree move {seen.path} {path}`."
                raise AgentError(f"The worktree {name} was moved to {seen.path}.", hint=hint)
            if await asyncio.to_thread(os.path.lexists, path) and worktree.state == "trashed":
                raise AgentError(f"Something else is at {path}.", hint="Move it away, then try again.")
            git = await git_of(worktree)
            worktree.state = "restoring"
            await self._records.save(worktree)
            if await asyncio.to_thread(trash.is_dir):
                await asyncio.to_thread(_move, trash, path)
            await self._put_branch_back(git, worktree)
            await self._link_again(git, worktree)
            await self._settle(worktree, is_trashed=False)
        return await self.find(name)

    async def purge(self) -> None:
        """Delete what has been in the trash for a month. A branch that is not merged stays."""
        oldest = self._clock.now() - KEPT
        for seen in await self.all():
            if seen.state == "moved":  # out of the trash, by hand
                continue
            with suppress(StorageError, UsageError):
                async with self._records.held(seen.worktree.name):
                    worktree = await asyncio.to_thread(self._records.read, seen.worktree.name)
                    if worktree.state == "trashed" and worktree.trashed_at and worktree.trashed_at < oldest:
                        worktree.state = "purging"
                        await self._records.save(worktree)
                        await self._purge(worktree)

    async def _settle(self, worktree: Worktree, *, is_trashed: bool) -> None:
        place = _trash(worktree) if is_trashed else Path(worktree.path)
        await asyncio.to_thread(_point, worktree, place)
        worktree.state = "trashed" if is_trashed else "made"
        worktree.trashed_at = worktree.trashed_at if is_trashed else None
        await self._records.save(worktree)

    async def _link_again(self, git: UsersGit, worktree: Worktree) -> None:
        """Restore git's own data of the worktree, or the files that git knows, whichever is missing."""
        path, git_dir = Path(worktree.path), Path(worktree.git_dir)
        is_there = await asyncio.to_thread(path.is_dir)
        if await asyncio.to_thread(git_dir.is_dir):
            if is_there:
                return
            staging = _staging(worktree)
            await asyncio.to_thread(_link_to, staging, git_dir)
            await (await git_in(staging)).ask("checkout-index", "-a", "-q")  # with what was staged
            await asyncio.to_thread(_move, staging, path)
        elif is_there:
            await self._add(git, worktree, "--no-checkout", target=worktree.branch)
            await (await git_in(path)).ask("reset", "-q")
        else:
            await self._add(git, worktree, target=worktree.branch)

    async def _put_branch_back(self, git: UsersGit, worktree: Worktree) -> None:
        ref = f"refs/heads/{worktree.branch}"
        if (await git.run("show-ref", "-q", "--verify", ref))[0]:
            await git.ask("update-ref", ref, await asyncio.to_thread(_tip, worktree), "")

    async def _purge(self, worktree: Worktree) -> None:
        await asyncio.to_thread(_remove_folders, _trash(worktree).parent, Path(worktree.git_dir))
        with suppress(AgentError):
            await (await git_of(worktree)).run("branch", "-q", "-d", worktree.branch)
        await asyncio.to_thread(self._records.forget, worktree)


def _trash(worktree: Worktree) -> Path:
    place = Path(worktree.path)
    return place.parent.parent / _TRASH / worktree.name / place.name


def _staging(worktree: Worktree) -> Path:
    """Return where git makes the worktree. Git names its own folder after the last part of the path."""
    return Path(worktree.path).with_name(Path(worktree.git_dir).name)


def hint_for_lost(folder: Path, root: Path) -> str:
    """Return what to do if the workspace `root` is lost; empty if it is none of the worktrees in `folder`."""
    folder = real_path(folder)
    if not root.is_relative_to(folder) or root == folder:
        return ""
    name = root.relative_to(folder).parts[0]
    return f"It is the worktree {name}. `desktop-agent worktrees restore {name}` puts it back."


async def git_in(folder: Path) -> UsersGit:
    return await UsersGit.around(folder, _FAILED)


async def git_of(worktree: Worktree) -> UsersGit:
    try:
        return await git_in(Path(worktree.main))
    except NoRepositoryError as error:
        title = f"The repository of the worktree {worktree.name} is not at {worktree.main} any more."
        raise AgentError(title, hint=f"The files of the worktree are in {worktree.path}.") from error


def _fresh_names() -> Iterator[str]:
    for _ in range(10):
        yield f"{secrets.choice(_FIRST)}-{secrets.choice(_SECOND)}"
    yield f"{secrets.choice(_FIRST)}-{secrets.choice(_SECOND)}-{secrets.token_hex(3)}"


def _point(worktree: Worktree, folder: Path) -> None:
    """Make the worktree's `.git` and git's own folder lead to each other. A move breaks that."""
    git_dir = Path(worktree.git_dir)
    if git_dir.is_dir():
        _link_to(folder, git_dir)
        write_atomically(git_dir / "gitdir", b"%s\n" % os.fsencode(folder / ".git"))


def _link_to(folder: Path, git_dir: Path) -> None:
    make_private_folder(folder)
    if _text(folder / ".git") != f"gitdir: {git_dir}":
        write_atomically(folder / ".git", b"gitdir: %s\n" % os.fsencode(git_dir))


def _remove_staging(worktree: Worktree, staging: Path) -> None:
    if staging.is_dir():
        git_dir = Path(worktree.git_dir)
        is_of_staging = real_path(Path(_text(git_dir / "gitdir"))) == real_path(staging / ".git")
        _remove_folders(staging, *([git_dir] if is_of_staging else []))


def _tip(worktree: Worktree) -> str:
    """Return the last commit that was checked out, also when the branch is gone."""
    lines = _text(Path(worktree.git_dir) / "logs/HEAD").splitlines()
    fields = lines[-1].split(" ") if lines else []
    return fields[1] if len(fields) > 1 else worktree.tip


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape").rstrip("\n")
    except OSError:
        return ""


def _move(folder: Path, to: Path) -> None:
    with storage_error(f"The folder {folder} could not be moved.", hint="Nothing was changed.", path=to):
        make_private_folder(to.parent)
        folder.rename(to)


def _remove_folders(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # other worktrees are in it
        folders[-1].parent.rmdir()


def _copy(source: Path, target: Path, paths: Sequence[str]) -> list[str]:
    """Copy files, never over another one. Return the links that are left out."""
    left: list[str] = []
    for path in paths:
        place, is_link = target / path, (source / path).is_symlink()
        if path.endswith("/") or os.path.lexists(place):
            continue
        if any((target / folder).is_symlink() for folder in folders_above(path)):
            continue
        if is_link and not _stays_inside(source, path):
            left.append(path)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy2(source / path, place, follow_symlinks=False)
        except (shutil.SpecialFileError, FileNotFoundError):
            if not is_link and (source / path).is_file():
                raise
    return left


def _stays_inside(source: Path, path: str) -> bool:
    link = (source / path).readlink()
    return not link.is_absolute() and Path(os.path.normpath((source / path).parent / link)).is_relative_to(source)
