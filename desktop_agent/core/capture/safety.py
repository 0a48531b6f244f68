"""The safety copy: copies files that a command may destroy and the capture does not watch, within a budget."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.changes.workspace_files import MEANWHILE, mark_of, unless_touched
from desktop_agent.core.merge import CHANGED_SINCE
from desktop_agent.core.protocol.model import FileExtras, FileKind, FileOutcome, OutsideFile, Uncaptured
from desktop_agent.core.system.file_writes import ChangedError, write_state
from desktop_agent.core.system.files import FileState, FileTransition, digest_of, read_state
from desktop_agent.core.system.private_files import make_private_file, make_private_folder

_PACK = "copy.pack"
_COPIED = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFIFO, stat.S_IFSOCK)


class SafetyLimits(Struct, frozen=True, kw_only=True):
    max_files: int = 20_000
    max_bytes: int = 200 * 2**20
    ignored_folders: frozenset[str]
    max_captured_bytes: int


class EndangeredPath(Struct, frozen=True):
    path: Path
    is_file: bool = False
    is_guess: bool = False
    """Whether the command's words did not tell the path: it can be anything in this folder."""


class CopiedFile(Struct, frozen=True):
    path: str
    kind: FileKind
    mode: int
    digest: Digest
    size: int
    offset: int
    signature: str
    """Two equal signatures mean that the file was not written between them."""
    extras: FileExtras | None = None


class SafetyCopy(Struct, frozen=True):
    files: tuple[CopiedFile, ...] = ()
    units: tuple[str, ...] = ()
    gaps: tuple[Uncaptured, ...] = ()


class SafetyReport(Struct):
    inside: list[FileTransition] = field(default_factory=list[FileTransition])
    outside: list[FileTransition] = field(default_factory=list[FileTransition])
    """Files outside of the workspace, and git's own, by absolute path."""
    gaps: list[Uncaptured] = field(default_factory=list[Uncaptured])


class Unit(Struct):
    path: str
    is_guess: bool = False
    files: list[tuple[str, os.stat_result]] = field(default_factory=list[tuple[str, os.stat_result]])
    size: int = 0
    problem: str = ""


class SafetyCopies:
    def __init__(self, root: Path, folder: Path, limits: Callable[[], SafetyLimits]) -> None:
        """`folder` is created when needed. `limits` is called at each use."""
        self._root = str(real_path(root))
        self._folder = folder
        self._limits = limits

    def survey(self, places: Iterable[EndangeredPath]) -> tuple[list[Unit], list[Uncaptured]]:
        units: dict[str, Unit] = {}
        for place in _outermost(places):
            self._gather(place, units)
        chosen: list[Unit] = []
        gaps: list[Uncaptured] = []
        files, size = self._limits().max_files, self._limits().max_bytes
        for unit in sorted(units.values(), key=lambda unit: unit.size):
            reason = unit.problem
            if not reason and (len(unit.files) > files or unit.size > size):
                reason = self._too_much
            if reason:
                gaps += [] if unit.is_guess else [Uncaptured(path=self.name_of(unit.path), reason=reason)]
                continue
            files, size = files - len(unit.files), size - unit.size
            chosen.append(unit)
        return chosen, gaps

    def make(self, places: Iterable[EndangeredPath]) -> SafetyCopy:
        """The copy is durable when this returns. Raises `OSError`, for example for lack of space."""
        units, gaps = self.survey(places)
        if not units:
            return SafetyCopy(gaps=tuple(gaps))
        make_private_folder(self._folder)
        copied: list[CopiedFile] = []
        make_private_file(self._folder / _PACK)
        with (self._folder / _PACK).open("wb") as pack:
            for unit in units:
                for path, status in unit.files:
                    try:
                        copied.append(_copy(path, status, pack))
                    except OSError as error:
                        if error.filename is None:
                            raise  # the copy, not the file
                        reason = f"It could not be copied: {error.strerror}."
                        gaps.append(Uncaptured(path=self.name_of(path), reason=reason))
            pack.flush()
            os.fsync(pack.fileno())
        return SafetyCopy(tuple(copied), tuple(unit.path for unit in units), tuple(gaps))

    def compare(self, copy: SafetyCopy) -> SafetyReport:
        report = SafetyReport()
        with suppress(FileNotFoundError), (self._folder / _PACK).open("rb") as pack:
            for file in copy.files:
                try:
                    after = _changed_state(file)
                except OSError:
                    after = None if not os.path.lexists(file.path) else _UNREADABLE
                if after is _SAME:
                    continue
                if after is _UNREADABLE:
                    reason = "Something else is there now."
                    report.gaps.append(Uncaptured(path=self.name_of(file.path), reason=reason))
                    continue
                before = FileState(content=_content(pack, file), mode=file.mode, kind=file.kind, extras=file.extras)
                self._add(report, FileTransition(file.path, before, after))
        self._find_new(copy, report)
        report.inside.sort(key=lambda transition: transition.path)
        return report

    def discard(self) -> None:
        with suppress(OSError):
            (self._folder / _PACK).unlink()

    def name_of(self, path: str) -> str:
        return path.removeprefix(f"{self._root}/") if path != self._root else "."

    def _gather(self, place: EndangeredPath, units: dict[str, Unit]) -> None:
        path = str(place.path)
        try:
            status = os.lstat(path)
        except OSError:
            return  # nothing exists there
        if not stat.S_ISDIR(status.st_mode):
            self._add_file(place, path, status, units)
            return
        if place.is_file:
            return
        pending = [path]
        while pending:
            folder = pending.pop()
            unit = self._unit_of(folder, place)
            if unit is not None and units.get(unit, _NO_UNIT).problem:
                continue
            if unit is not None and self._is_ordinary(folder):
                with suppress(OSError):
                    self._add_to(unit, place, folder, os.lstat(folder), units)
            for entry in _entries(folder):
                if entry.is_dir(follow_symlinks=False):
                    # A repository that was only guessed is not copied: its refs are tracked elsewhere.
                    if not (place.is_guess and entry.name == ".git"):
                        pending.append(entry.path)
                    continue
                with suppress(OSError):
                    self._add_file(place, entry.path, entry.stat(follow_symlinks=False), units)

    def _add_file(self, place: EndangeredPath, path: str, status: os.stat_result, units: dict[str, Unit]) -> None:
        if stat.S_IFMT(status.st_mode) not in _COPIED:
            return
        name = self._unit_of(path.rpartition("/")[0], place)
        if name is None:
            if self._is_inside(path) and status.st_size <= self._limits().max_captured_bytes:
                return  # the capture watches this file
            name = path
        self._add_to(name, place, path, status, units)

    def _add_to(
        self, name: str, place: EndangeredPath, path: str, status: os.stat_result, units: dict[str, Unit]
    ) -> None:
        unit = units.setdefault(name, Unit(name, is_guess=place.is_guess))
        if unit.problem:
            return
        unit.files.append((path, status))
        unit.size += 0 if stat.S_ISDIR(status.st_mode) else status.st_size
        if len(unit.files) > self._limits().max_files or unit.size > self._limits().max_bytes:
            unit.problem = self._too_much

    def _unit_of(self, folder: str, place: EndangeredPath) -> str | None:
        if not self._is_inside(folder):
            return str(place.path)
        parts = folder[len(self._root) :].split("/")
        for index, part in enumerate(parts):
            if part in self._limits().ignored_folders:
                outermost = self._root + "/".join(parts[: index + 1])
                # Only the named part may be destroyed.
                named = str(place.path)
                return named if named.startswith(f"{outermost}/") else outermost
        return None

    def _is_inside(self, path: str) -> bool:
        return path == self._root or path.startswith(f"{self._root}/")

    @property
    def _too_much(self) -> str:
        limits = self._limits()
        size = limits.max_bytes // 2**20
        return f"It is more than a safety copy may hold: {limits.max_files:,} files, {size} MiB."

    def _add(self, report: SafetyReport, transition: FileTransition) -> None:
        if self._is_ordinary(transition.path):
            report.inside.append(replace(transition, path=self.name_of(transition.path)))
        elif transition.before is not None:
            report.outside.append(transition)

    def _is_ordinary(self, path: str) -> bool:
        return self._is_inside(path) and ".git" not in self.name_of(path).split("/")

    def _find_new(self, copy: SafetyCopy, report: SafetyReport) -> None:
        known = {file.path for file in copy.files}
        left_files, left_bytes = self._limits().max_files, self._limits().max_bytes
        for unit in copy.units:
            if not self._is_inside(unit) or "/.git" in unit[len(self._root) :]:
                continue
            new = [(path, status) for path, status in _everything_below(unit) if path not in known]
            size = sum(status.st_size for _, status in new if not stat.S_ISDIR(status.st_mode))
            if len(new) > left_files or size > left_bytes:
                reason = "It has many new files that were not copied. An undo leaves them in place."
                report.gaps.append(Uncaptured(path=self.name_of(unit), reason=reason))
                continue
            left_files, left_bytes = left_files - len(new), left_bytes - size
            for path, _ in new:
                with suppress(OSError):
                    self._add(report, FileTransition(path, None, read_state(Path(path), with_special=True)))


_NO_UNIT = Unit("")
_SAME = FileState(content=b"", mode=-1)
_UNREADABLE = FileState(content=b"", mode=-2)


def _outermost(places: Iterable[EndangeredPath]) -> Iterator[EndangeredPath]:
    chosen: list[str] = []
    resolved = {EndangeredPath(_resolved(place.path), place.is_file, place.is_guess) for place in places}
    for place in sorted(resolved, key=lambda place: (place.is_guess, place.is_file, len(place.path.parts))):
        text = str(place.path)
        if not any(text == other or text.startswith(f"{other}/") for other in chosen):
            yield place
            if not place.is_file and not place.is_guess:
                chosen.append(text)


def _resolved(path: Path) -> Path:
    """Resolve symlinks in the parent only, because deleting a link does not delete its target."""
    return Path(os.path.realpath(path.parent)) / path.name if path.name else path


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _everything_below(unit: str) -> Iterator[tuple[str, os.stat_result]]:
    pending = [unit]
    while pending:
        for entry in _entries(pending.pop()):
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode) or stat.S_IFMT(status.st_mode) in _COPIED:
                    yield entry.path, status


def _copy(path: str, status: os.stat_result, pack: BinaryIO) -> CopiedFile:
    state = read_state(Path(path), with_special=True)
    if state is None:
        raise FileNotFoundError(2, "it is gone", path)
    offset = pack.tell()
    pack.write(state.content)
    return CopiedFile(
        path,
        state.kind,
        state.mode,
        digest_of(state.content),
        len(state.content),
        offset,
        _signature(status),
        state.extras,
    )


def _content(pack: BinaryIO, file: CopiedFile) -> bytes:
    pack.seek(file.offset)
    return pack.read(file.size)


def _changed_state(file: CopiedFile) -> FileState | None:
    try:
        status = os.lstat(file.path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if _signature(status) == file.signature:
        return _SAME
    state = read_state(Path(file.path), with_special=True)
    if state is not None and (state.digest, state.mode, state.kind) == (file.digest, file.mode, file.kind):
        return _SAME
    return state


def _signature(status: os.stat_result) -> str:
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}:{status.st_mode}"


def restore_outside(
    files: Sequence[OutsideFile], content: Callable[[Digest], bytes]
) -> tuple[tuple[OutsideFile, ...], tuple[FileOutcome, ...]]:
    """Restore files that are still as the command left them. Return those, and the outcomes for the others."""
    restored: list[OutsideFile] = []
    problems: list[FileOutcome] = []
    for file in files:
        path = Path(file.path)
        try:
            seen = mark_of(path)
            current = read_state(path)
            image = current.image() if current else None
            if image not in (file.before, file.after):
                problems.append(FileOutcome(path=file.path, state="conflict", change_ids=(), reason=CHANGED_SINCE))
                continue
            if image != file.before:
                before = file.before
                state = FileState(content=content(before.digest), mode=before.mode, kind=before.kind)
                write_state(path, state, check=unless_touched(path, seen), before=current)
            restored.append(file)
        except ChangedError:
            problems.append(FileOutcome(path=file.path, state="conflict", change_ids=(), reason=MEANWHILE))
        except OSError as error:
            reason = f"It could not be written: {error.strerror or error}."
            problems.append(FileOutcome(path=file.path, state="failed", change_ids=(), reason=reason))
        except StorageError as error:
            problems.append(FileOutcome(path=file.path, state="failed", change_ids=(), reason=error.title))
    return tuple(restored), tuple(problems)
