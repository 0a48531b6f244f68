"""The entries of paths, and the changes between them: in order, and with renames. Does not access the disk."""

import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.capture.scan import Signature
from desktop_agent.core.protocol.model import FileExtras, FileImage, FileKind

EntryKind = FileKind | Literal["device"]
"""What an entry is. A device is only noted; it is neither read nor recreated."""

_KINDS: dict[int, EntryKind] = {
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "symlink",
    stat.S_IFREG: "file",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}
NO_CONTENT = ("folder", "fifo", "socket")

Kept = Literal["copy", "git", ""]
"""Where a file's content is available: as a copy in the baseline, among git's objects, or nowhere."""


class Entry(Struct, frozen=True, kw_only=True):
    path: str
    signature: Signature
    is_racy: bool = False
    digest: Digest | str
    """Empty if the content was not read: git has it (`kept`), it is too large or over the budget, or reading failed."""
    object: str = ""
    """The object id of the content in git; empty if git was not asked."""
    kept: Kept = ""
    extras: FileExtras | None = None
    """What the file had beside its content; None if there was no time to look."""
    links: int = 1

    @property
    def kind(self) -> EntryKind:
        return _KINDS.get(stat.S_IFMT(self.signature[4]), "device")

    @property
    def mode(self) -> int:
        """The permission bits, which are always the same for symlinks."""
        return 0o777 if self.kind == "symlink" else stat.S_IMODE(self.signature[4])

    @property
    def size(self) -> int:
        return 0 if self.kind in NO_CONTENT else self.signature[2]

    @property
    def inode(self) -> int:
        return self.signature[3]

    @property
    def image(self) -> FileImage | None:
        """None if the content was not read."""
        if not self.digest or self.kind == "device":
            return None
        return FileImage(digest=self.digest, size=self.size, mode=self.mode, kind=self.kind, extras=self.extras)

    def is_like(self, other: "Entry") -> bool:
        if (self.mode, self.kind) != (other.mode, other.kind):
            return False
        if None not in (self.extras, other.extras) and self.extras != other.extras:
            return False
        return (self.digest != "" and self.digest == other.digest) or (
            self.object != "" and self.object == other.object
        )

    def is_still(self, other: "Entry") -> bool:
        return self.is_like(other) or (self.signature == other.signature and "" in (self.digest, other.digest))


def as_note(image: FileImage | None) -> tuple[str, int]:
    """The digest of a written file (empty for a removed one) and its mode (0 for folders)."""
    if image is None:
        return "", 0
    return image.digest, 0 if image.kind == "folder" else image.mode


_ALIKE = 0.5
"""The share of content that two files must have in common to count as one that was renamed and edited; as in git."""
_PIECE_BYTES = 64
_MOST_COMPARED = 2_500
"""If there are more pairs of a deleted and a new file than this, only those with the same name are compared."""
_MOST_COMPARED_BYTES = 64 * 2**20
MOST_NEIGHBOURS = 300
"""If a folder has more files than this that are about as large as a new one, the new one is not compared with them."""

ContentOf = Callable[[Entry], bytes | None]


class LeftAlone(Protocol):
    def contents(self, sizes: Collection[int]) -> Mapping[str, Collection[str]]:
        """Return the names of files with one of these sizes, by their digest and by their object id in git."""
        ...

    def neighbours(self, folder: str, sizes: range) -> Sequence[Entry]: ...


class Touched(Struct, frozen=True):
    path: str
    before: Entry | None
    after: Entry | None
    moved_from: str = ""
    moved_to: str = ""


def in_order(touched: Iterable[Touched]) -> list[Touched]:
    """Sort changes so that each can be made after the ones before it, and undone in reverse order."""
    return sorted(touched, key=_place)


def _place(item: Touched) -> tuple[int, int, str]:
    depth = item.path.count("/")
    was_folder = item.before is not None and item.before.kind == "folder"
    is_folder = item.after is not None and item.after.kind == "folder"
    if is_folder and not was_folder:
        return 0, depth, item.path
    if was_folder and not is_folder:
        return 4, -depth, item.path
    if was_folder and item.after is not None:
        return (1 if item.after.mode & stat.S_IWUSR else 3), depth, item.path
    return 2, 0, item.path


def with_renames(touched: Sequence[Touched], content_of: ContentOf, left_alone: LeftAlone) -> list[Touched]:
    """Pair each deleted file with its new path, if the contents prove a rename and allow no other pairing.

    Contents and times decide, then contents, then at least half of the content. Ambiguous files are paired if their
    names decide. File systems reuse inode numbers, so they are compared last.
    """
    pairs = dict(_Pairing(touched, content_of, left_alone).pairs())
    sources = {target: source for source, target in pairs.items()}
    return [replace(item, moved_to=pairs.get(item.path, ""), moved_from=sources.get(item.path, "")) for item in touched]


class _Pairing:
    def __init__(self, touched: Sequence[Touched], content_of: ContentOf, left_alone: LeftAlone) -> None:
        self._content_of = content_of
        self._left_alone = left_alone
        self._pieces: dict[str, Counter[bytes]] = {}
        self._now: dict[str, list[Touched]] = {}
        self._gone = {item.path: item.before for item in touched if item.before and not item.after}
        self._gone = {path: entry for path, entry in self._gone.items() if _is_movable(entry)}
        there = [item for item in touched if item.after and _is_movable(item.after)]
        self._came = {item.path: item for item in there if _is_another_file(item)}
        self._stayed = [item for item in there if item.before is not None]

    def pairs(self) -> Iterator[tuple[str, str]]:
        if self._gone and self._came:
            yield from self._take(self._moved_as_they_were())
        if self._gone and self._came:
            yield from self._take(self._with_the_same_content())
        if self._gone and self._came:
            yield from self._take(self._alike())

    def _take(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        found = list(pairs)
        for source, target in found:
            del self._gone[source]
            self._stayed.append(self._came.pop(target))
        return found

    def _moved_as_they_were(self) -> Iterator[tuple[str, str]]:
        groups = _Groups()
        for path, entry in self._gone.items():
            groups.add_source(_kept_by_move(entry), path)
        for path, item in self._came.items():
            if item.after is not None:
                groups.add_target(_kept_by_move(item.after), path)
        inodes = {path: entry.inode for path, entry in self._gone.items()}
        inodes |= {path: item.after.inode for path, item in self._came.items() if item.after is not None}
        for group in groups.whole:
            yield from group.pairs_by(inodes.__getitem__)
            yield from group.pairs()

    def _with_the_same_content(self) -> Iterator[tuple[str, str]]:
        groups = _Groups()
        for path, entry in self._gone.items():
            if entry.size:  # all empty files are alike
                groups.add_source((entry.kind, entry.digest), path)
        for path, item in self._came.items():
            if item.before is None and item.after is not None:
                groups.add_target((item.after.kind, item.after.digest), path)
        sizes = {self._gone[path].size for group in groups.whole for path in group.sources}
        others = self._left_alone.contents(sizes)
        copied: dict[str, set[str]] = {}
        for item in self._stayed:
            for entry in (item.before, item.after):
                if entry is not None and entry.digest:
                    copied.setdefault(entry.digest, set()).add(_name(item.path))
        for group in groups.whole:
            yield from group.pairs(_names_of(self._gone[group.sources[0]], copied, others))

    def _alike(self) -> Iterator[tuple[str, str]]:
        pairs = self._to_compare()
        sizes = {after.size for _, target in pairs if (after := self._came[target].after)}
        others = self._left_alone.contents(sizes)
        for item in self._stayed:
            if item.after is not None:
                self._now.setdefault(item.after.digest, []).append(item)
        alike = [(source, target) for source, target in pairs if self._is_origin(source, target, others)]
        yield from (pair for pair in _only_ones(alike) if self._is_only_origin(*pair))

    def _to_compare(self) -> list[tuple[str, str]]:
        gone = [(path, entry) for path, entry in self._gone.items() if entry.kind == "file" and entry.size]
        came = [(path, item.after) for path, item in self._came.items() if item.after and item.after.kind == "file"]
        if sum(entry.size for _, entry in (*gone, *came)) > _MOST_COMPARED_BYTES:
            return []
        pairs: list[tuple[str, str]] = []
        by_name = _by(_name, (path for path, _ in came))
        sizes = dict(came)
        is_all = len(gone) * len(came) <= _MOST_COMPARED
        for source, before in gone:
            targets = sizes if is_all else by_name.get(_name(source), [])
            pairs += [(source, target) for target in targets if sizes[target].size in _sizes_like(before.size)]
        return pairs

    def _is_origin(self, source: str, target: str, others: Mapping[str, Collection[str]]) -> bool:
        before, item = self._gone[source], self._came[target]
        after = item.after
        if after is None or self._likeness(before, after) < _ALIKE:
            return False
        if item.before is not None and self._likeness(item.before, after) >= _ALIKE:
            return False  # by its content, this is the earlier file at the same path, edited
        twins = [other for other in self._now.get(after.digest, ()) if other is not item]
        if any(twin.before is None or twin.before.digest != before.digest for twin in twins):
            return False  # unless the same was done to both
        return not _names_of(after, others)

    def _is_only_origin(self, source: str, target: str) -> bool:
        before, after = self._gone[source], self._came[target].after
        if after is None or _name(source) == _name(target):
            return True
        likeness = self._likeness(before, after)
        folders = {_folder(source), _folder(target)}
        near = [entry for folder in folders for entry in self._left_alone.neighbours(folder, _sizes_like(after.size))]
        if len(near) > MOST_NEIGHBOURS or any(self._likeness(other, after) >= likeness for other in near):
            return False
        stayed = [
            item for item in self._stayed if item.before is not None and item.before.size in _sizes_like(after.size)
        ]
        return len(stayed) <= _MOST_COMPARED and not any(self._may_come_from(item, after, likeness) for item in stayed)

    def _may_come_from(self, item: Touched, after: Entry, likeness: float) -> bool:
        if item.before is None or item.after is None or (own := self._likeness(item.before, after)) < likeness:
            return False
        return own > likeness or self._likeness(item.before, item.after) < _ALIKE

    def _likeness(self, one: Entry, other: Entry) -> float:
        first, second = self._pieces_of(one), self._pieces_of(other)
        common = sum(len(piece) * count for piece, count in (first & second).items())
        return common / max(one.size, other.size, 1)

    def _pieces_of(self, entry: Entry) -> Counter[bytes]:
        key = entry.digest or entry.object
        if key not in self._pieces:
            self._pieces[key] = Counter(_pieces(self._content_of(entry) or b"")) if entry.kind == "file" else Counter()
        return self._pieces[key]


def _is_movable(entry: Entry) -> bool:
    return entry.kind != "folder" and entry.digest != ""


def _is_another_file(item: Touched) -> bool:
    return item.before is None or item.after is None or item.before.digest != item.after.digest


def _names_of(entry: Entry, *named: Mapping[str, Collection[str]]) -> set[str]:
    return {name for names in named for key in (entry.digest, entry.object) if key for name in names.get(key, ())}


def _kept_by_move(entry: Entry) -> tuple[object, ...]:
    """Return what a move preserves. Includes the inode for empty files, which are all alike."""
    return entry.kind, entry.digest, entry.signature[1], 0 if entry.size else entry.inode


def _sizes_like(size: int) -> range:
    return range(max(1, int(size * _ALIKE)), int(size / _ALIKE) + 1)


def _pieces(content: bytes) -> Iterator[bytes]:
    for line in content.splitlines(keepends=True):
        if len(line) <= _PIECE_BYTES:
            yield line
        else:
            yield from (line[start : start + _PIECE_BYTES] for start in range(0, len(line), _PIECE_BYTES))


class _Twins(Struct):
    sources: list[str] = field(default_factory=list[str])
    targets: list[str] = field(default_factory=list[str])

    def pairs_by(self, key: Callable[[str], object]) -> Iterator[tuple[str, str]]:
        sources, targets = _by(key, self.sources), _by(key, self.targets)
        for shared in sources.keys() & targets.keys():
            if len(sources[shared]) == len(targets[shared]) == 1:
                yield sources.pop(shared)[0], targets.pop(shared)[0]
        self.sources = [path for paths in sources.values() for path in paths]
        self.targets = [path for paths in targets.values() for path in paths]

    def pairs(self, others: Collection[str] = ()) -> Iterator[tuple[str, str]]:
        """Yield old and new names of files with equal content: those with the same base name, then a last single pair.

        `others` are base names of equal files that have not moved. They are not paired, and with them there is no last
        pair.
        """
        yield from ((source, target) for source, target in self.pairs_by(_name) if _name(source) not in others)
        if len(self.sources) == len(self.targets) == 1 and not others:
            yield self.sources[0], self.targets[0]


class _Groups:
    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], _Twins] = {}

    def add_source(self, key: tuple[object, ...], path: str) -> None:
        self._groups.setdefault(key, _Twins()).sources.append(path)

    def add_target(self, key: tuple[object, ...], path: str) -> None:
        if key in self._groups:
            self._groups[key].targets.append(path)

    @property
    def whole(self) -> list[_Twins]:
        return [group for group in self._groups.values() if group.targets]


def _only_ones(pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    named = _without_rivals([pair for pair in pairs if _name(pair[0]) == _name(pair[1])])
    taken = {path for pair in named for path in pair}
    yield from named
    yield from _without_rivals([pair for pair in pairs if taken.isdisjoint(pair)])


def _without_rivals(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    ends = Counter(source for source, _ in pairs), Counter(target for _, target in pairs)
    return [pair for pair in pairs if ends[0][pair[0]] == ends[1][pair[1]] == 1]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _by(key: Callable[[str], object], paths: Iterable[str]) -> dict[object, list[str]]:
    found: dict[object, list[str]] = {}
    for path in paths:
        found.setdefault(key(path), []).append(path)
    return found
