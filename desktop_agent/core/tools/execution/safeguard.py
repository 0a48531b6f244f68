"""The safeguard: copies what a command may destroy before it runs, and reports what it destroyed."""

import asyncio
import glob
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.ids import CallId, Digest
from desktop_agent.core.base.learned import learned
from desktop_agent.core.capture.safety import EndangeredPath, SafetyCopies, SafetyCopy, SafetyReport, restore_outside
from desktop_agent.core.policy.destructive import Loss, losses_of
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.model import Author, FileOutcome, OutsideFile, RefChange, Uncaptured
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.git.git_process import query_status
from desktop_agent.core.system.git.refs import KnownRefs, Refs, changed_refs, keep_objects, restore_refs
from desktop_agent.core.system.git.repository import FileState, RepoStatus, common_folder, find_repository
from desktop_agent.core.system.private_files import make_private_folder

_BEFORE = "before.json"
_MOST_MATCHES = 5_000
"""If a shell pattern matches more, everything in the folder is protected instead."""
_REPOSITORY_STATE = (
    "index", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "AUTO_MERGE",
    "rebase-merge", "rebase-apply", "sequencer",
)  # fmt: skip
_UNCOMMITTED: frozenset[FileState] = frozenset({"modified", "added", "deleted", "renamed", "conflicted"})


class PlannedCommand(Struct, frozen=True):
    """A command that is about to run. A call of a server has no command line."""

    line: str
    folder: str
    is_confined: bool
    author: Author = "shell"
    server: str = ""
    """The server that is called, which may continue to write after the call."""
    begun_ns: int | None = None
    """When it may have begun already, if an agent runs it without waiting for us."""


class Precautions(Struct, frozen=True):
    call_id: CallId
    copy: SafetyCopy = field(default_factory=SafetyCopy)
    refs: Mapping[str, Refs] = field(default_factory=dict[str, Refs])
    """Of every repository that the command may write to, by a folder in it, as in `RefChange.folder`."""
    is_destructive: bool = False

    @property
    def is_refs_only(self) -> bool:
        return not (self.copy.files or self.copy.gaps or self.is_destructive)


class Findings(Struct, frozen=True):
    report: SafetyReport = field(default_factory=SafetyReport)
    refs: tuple[RefChange, ...] = ()
    gaps: tuple[Uncaptured, ...] = ()
    is_destructive: bool = False


class Recovered(Struct, frozen=True):
    refs: tuple[RefChange, ...] = ()
    outside: tuple[OutsideFile, ...] = ()
    problems: tuple[FileOutcome, ...] = ()


class _Plan(Struct):
    places: list[EndangeredPath] = field(default_factory=list[EndangeredPath])
    repositories: dict[str, Path] = field(default_factory=dict[str, Path])
    refs: dict[str, Refs] = field(default_factory=dict[str, Refs])
    """Refs that are known to be unchanged. For other repositories, git has to be asked."""
    is_destructive: bool = False
    may_lose_files: bool = False


class Safeguard:
    def __init__(
        self, root: Path, copies: SafetyCopies, folder: Path, *, writable: Callable[[], Sequence[Path]] = tuple
    ) -> None:
        """`folder` is the session's own, made when needed. `writable` returns what confined commands may write to."""
        self._root = root
        self._copies = copies
        self._before = folder / _BEFORE
        self._also_writable = writable
        self._refs = KnownRefs()
        self._held: Precautions | None = None

    async def describe(self, run: PlannedCommand) -> tuple[str, ...]:
        """Return sentences about the copies that are made before a destructive command; empty for other commands."""
        plan = await self._plan(run)
        if not plan.is_destructive:
            return ()
        units, gaps = await asyncio.to_thread(self._copies.survey, plan.places)
        own = [unit for unit in units if ".git" not in Path(unit.path).parts]
        covered = ["the files of this folder"] if plan.may_lose_files else []
        covered += [self._copies.name_of(unit.path) for unit in own[:3]]
        covered += ["…"] if len(own) > 3 else []
        covered += ["branches, tags and stash entries"] if plan.repositories else []
        copied = (f"A safety copy is made first: {', '.join(covered)}.",) if covered else ()
        return (*copied, *(f"Not in the safety copy: {gap.path}. {gap.reason}" for gap in gaps[:5]))

    async def prepare(self, call_id: CallId, run: PlannedCommand) -> None:
        """Copy what the command may destroy, and store the refs. Raises `ToolError`."""
        plan = await self._plan(run)
        refs = plan.refs
        for name, place in plan.repositories.items():
            if name not in refs and (known := await self._refs.read(place)) is not None:
                refs[name] = known
        if self._reuse_precautions(call_id, plan):
            return
        try:
            self._held = await asyncio.to_thread(self._write_down, call_id, plan, refs)
        except OSError as error:
            raise ToolError(
                f"The safety copy could not be made ({error.strerror or error}), so the command was not run."
            ) from error

    async def finish(self, call_id: CallId) -> Findings:
        """Return what the command destroyed. Works after a crash, too, and can be repeated until `forget`."""
        before = self._held or await asyncio.to_thread(self._read_back, call_id)
        if before is None or before.call_id != call_id:
            return Findings()
        report = await asyncio.to_thread(self._copies.compare, before.copy) if before.copy.units else SafetyReport()
        refs: list[RefChange] = []
        for name, known in before.refs.items():
            place = self._root / name
            now = await self._refs.read(place)
            changes = changed_refs(known, now) if now is not None else ()
            if before.is_destructive:
                await keep_objects(place, changes)
            refs += [replace(change, folder=name) for change in changes]
        gaps = (*(before.copy.gaps if before.is_destructive else ()), *report.gaps)
        return Findings(report, tuple(refs), gaps, before.is_destructive)

    async def forget(self) -> None:
        """Delete the copies after the outcome was recorded. Refs without copies are kept for the next command."""
        if self._held is None or self._held.copy.units:
            await asyncio.to_thread(self._discard)

    def _reuse_precautions(self, call_id: CallId, plan: _Plan) -> bool:
        held = self._held
        if not (held and held.is_refs_only and held.refs == plan.refs) or plan.places or plan.is_destructive:
            return False
        self._held = replace(held, call_id=call_id)
        return True

    def _write_down(self, call_id: CallId, plan: _Plan, refs: Mapping[str, Refs]) -> Precautions:
        self._discard()
        before = Precautions(call_id, self._copies.make(plan.places), refs, plan.is_destructive)
        if not before.refs and before.is_refs_only:
            return before
        make_private_folder(self._before.parent)
        text = json.dumps(to_builtins(before))
        write_atomically(self._before, text.encode("utf-8", "surrogatepass"), mode=0o600)
        return before

    def _read_back(self, call_id: CallId) -> Precautions | None:
        try:
            before = convert(json.loads(self._before.read_bytes()), learned(Precautions))
        except (OSError, ValueError):
            return None
        # Refs are stored again only after they moved, so stored refs alone also apply to later calls.
        return replace(before, call_id=call_id) if before.is_refs_only else before

    def _discard(self) -> None:
        with suppress(OSError):
            self._before.unlink()
        self._copies.discard()

    async def _plan(self, run: PlannedCommand) -> _Plan:
        losses = await asyncio.to_thread(lambda: losses_of(parse(run.line), run.folder)) if run.line else ()
        plan = _Plan(
            is_destructive=any(loss.is_destructive for loss in losses),
            may_lose_files=any(loss.kind not in ("refs", "objects") for loss in losses),
        )
        if not run.is_confined:
            # Any command may start git, so the refs of the workspace's repository are always checked.
            await asyncio.to_thread(self._add_own_repository, plan)
        for loss in losses:
            await self._add(loss, plan, is_confined=run.is_confined)
        if run.is_confined:
            plan.places = [place for place in plan.places if self._is_writable(place.path)]
        return plan

    async def _add(self, loss: Loss, plan: _Plan, *, is_confined: bool) -> None:
        path = _at(loss)
        match loss.kind:
            case "tree" | "file":
                plan.places += await asyncio.to_thread(_matches, loss, path)
            case "untracked" | "ignored":
                states: set[FileState] = {"untracked", "ignored"} if loss.kind == "ignored" else {"untracked"}
                plan.places += await _places_of(path, states)
            case "uncommitted":
                repository = await asyncio.to_thread(find_repository, path)
                if repository is not None:
                    plan.places += await _places_of(repository.root, _UNCOMMITTED)
            case "refs":
                if not is_confined:
                    await asyncio.to_thread(self._add_repository, path, plan, has_state=loss.is_destructive)
            case "objects":
                plan.places += await asyncio.to_thread(_object_places, path)
            case "worktree":
                plan.places += await asyncio.to_thread(lambda: list(_worktree_places(path)))

    def _add_own_repository(self, plan: _Plan) -> None:
        repository = find_repository(self._root)
        if repository is not None:
            plan.repositories[""] = self._root
            if (refs := self._refs.unmoved(self._root, repository)) is not None:
                plan.refs[""] = refs

    def _add_repository(self, folder: Path, plan: _Plan, *, has_state: bool) -> None:
        repository = find_repository(folder)
        if repository is None:
            return
        known = find_repository(self._root)
        name = self._copies.name_of(str(folder.resolve()))
        is_own = known is not None and common_folder(known.git_dir) == common_folder(repository.git_dir)
        plan.repositories.setdefault("" if is_own or name == "." else name, folder)
        if has_state:
            plan.places += [EndangeredPath(repository.git_dir / name) for name in _REPOSITORY_STATE]

    def _is_writable(self, path: Path) -> bool:
        return ".git" not in path.parts and any(
            path.is_relative_to(folder) for folder in (self._root, *self._also_writable())
        )


async def recover(
    root: Path, refs: Sequence[RefChange], outside: Sequence[OutsideFile], content: Callable[[Digest], bytes]
) -> Recovered:
    """Restore refs, and files outside the workspace. Undo the workspace's files first. Must not be cancelled."""
    # Files come first, because they may include objects that the refs need.
    files, unwritten = await asyncio.to_thread(restore_outside, outside, content)
    problems = list(unwritten)
    restored: list[RefChange] = []
    for folder in dict.fromkeys(change.folder for change in refs):
        own = [change for change in refs if change.folder == folder]
        recovery = await restore_refs(root / folder, own)
        restored += recovery.restored
        problems += [
            FileOutcome(path=problem.change.name, state="conflict", change_ids=(), reason=problem.reason)
            for problem in recovery.problems
        ]
    return Recovered(tuple(restored), files, tuple(problems))


async def _places_of(folder: Path, states: Collection[FileState]) -> list[EndangeredPath]:
    status = await query_status(folder)
    files = status.files.items() if isinstance(status, RepoStatus) else ()
    return [EndangeredPath(folder / name) for name, file in files if file.state in states]


def _at(loss: Loss) -> Path:
    return Path(loss.place).expanduser()


def _matches(loss: Loss, path: Path) -> list[EndangeredPath]:
    is_file = loss.kind == "file"
    if loss.certainty != "pattern":
        return [EndangeredPath(path, is_file, is_guess=loss.certainty == "guess")]
    found: list[EndangeredPath] = []
    for match in glob.iglob(str(path)):  # noqa: PTH207  # as a shell does, it passes over names that begin with a dot
        if len(found) >= _MOST_MATCHES:
            base = next(parent for parent in path.parents if not glob.has_magic(str(parent)))
            return [EndangeredPath(base, is_guess=True)]
        found.append(EndangeredPath(Path(match), is_file))
    return found


def _object_places(folder: Path) -> list[EndangeredPath]:
    repository = find_repository(folder)
    if repository is None:
        return []
    common = common_folder(repository.git_dir)
    # The stash's log is not copied, because its entries are restored one by one.
    names = ("objects", "logs/HEAD", "logs/refs/heads", "logs/refs/remotes", "packed-refs")
    return [EndangeredPath(common / name) for name in names]


def _worktree_places(path: Path) -> Iterator[EndangeredPath]:
    repository = find_repository(path)
    if repository is None:
        return
    if (path / ".git").is_file():
        yield EndangeredPath(path)
        yield EndangeredPath(repository.git_dir)
    else:
        yield EndangeredPath(common_folder(repository.git_dir) / "worktrees")
