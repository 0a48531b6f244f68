"""From rows before and after to changes in an order in which they can be made, with renames found. No disk here."""

import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.capture.entries import Entry

_ALIKE = 0.5
"""How much two files must have in common to be one that was renamed and edited; git draws the line here, too."""
_PIECE_BYTES = 64
_MOST_COMPARED = 2_500
"""Of more pairs of files that may be alike, only those of one name are compared."""
_MOST_COMPARED_BYTES = 64 * 2**20
MOST_NEIGHBOURS = 300
"""Among more files of about its size in its folder, nobody can say of which a new one is a copy."""

ContentOf = Callable[[Entry], bytes | None]


class LeftAlone(Protocol):
    """The files that a command did not touch: a new file may be a copy of one of them."""

    def contents(self, sizes: Collection[int]) -> Mapping[str, Collection[str]]:
        """Return the digests and the ids in git of those with one of these sizes, with their names."""
        ...

    def neighbours(self, folder: str, sizes: range) -> Sequence[Entry]:
        """Return those in a folder that have about the size of another file."""
        ...


class Touched(Struct, frozen=True):
    """One path with what it was and what it is."""

    path: str
    before: Entry | None
    after: Entry | None
    moved_from: str = ""
    moved_to: str = ""


def in_order(touched: Iterable[Touched]) -> list[Touched]:
    """Sort changes so that each can be made after the ones before it, and taken back in the opposite order.

    Created folders come first, outermost first; deleted ones last, innermost first. A folder that may be written in
    only before, or only after, gets its mode on the side on which that helps.
    """
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
    """Pair each deleted file with the path it went to, where its content says so and nothing else is possible.

    A file was renamed if a file with its content and its modification time has another name now; if a new one has its
    content; or if a new one has at least half of it. Where two files may have come from one, or one from two, none is
    paired, unless their names tell. The number of the inode is asked last, and only about files that are equal in all
    else: file systems give that of a deleted file to the next new one.
    """
    pairs = dict(_Pairing(touched, content_of, left_alone).pairs())
    sources = {target: source for source, target in pairs.items()}
    return [replace(item, moved_to=pairs.get(item.path, ""), moved_from=sources.get(item.path, "")) for item in touched]


class _Pairing:
    """The files that went and those that came, which get fewer with each pair that is found."""

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
        """What is there now under a name that was known, or that was found to be a renamed file."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield where each file came from and went to, the surest first."""
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
        """Pair what has content and modification time in common: a move keeps both, and a new file has its own time."""
        groups = _Groups()
        for path, entry in self._gone.items():
            groups.add_source(_trace(entry), path)
        for path, item in self._came.items():
            if item.after is not None:
                groups.add_target(_trace(item.after), path)
        inodes = {path: entry.inode for path, entry in self._gone.items()}
        inodes |= {path: item.after.inode for path, item in self._came.items() if item.after is not None}
        for group in groups.whole:
            yield from group.pairs_by(inodes.__getitem__)
            yield from group.pairs()

    def _with_the_same_content(self) -> Iterator[tuple[str, str]]:
        """Pair new files with those that had their content, if there is no other one that they may be a copy of."""
        groups = _Groups()
        for path, entry in self._gone.items():
            if entry.size:  # all empty files are the same
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
        """Pair new files with those that had at least half of their content, each with the only one possible."""
        pairs = self._to_compare()
        sizes = {after.size for _, target in pairs if (after := self._came[target].after)}
        others = self._left_alone.contents(sizes)
        for item in self._stayed:
            if item.after is not None:
                self._now.setdefault(item.after.digest, []).append(item)
        alike = [(source, target) for source, target in pairs if self._is_origin(source, target, others)]
        yield from (pair for pair in _only_ones(alike) if self._is_likeliest(*pair))

    def _to_compare(self) -> list[tuple[str, str]]:
        """Return the pairs of which the sizes do not rule out that they are alike."""
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
            pairs += [(source, target) for target in targets if sizes[target].size in _near(before.size)]
        return pairs

    def _is_origin(self, source: str, target: str, others: Mapping[str, Collection[str]]) -> bool:
        """Whether the file that went may be the one that came, and that one is no copy of a file that stayed."""
        before, item = self._gone[source], self._came[target]
        after = item.after
        if after is None or self._likeness(before, after) < _ALIKE:
            return False
        if item.before is not None and self._likeness(item.before, after) >= _ALIKE:
            return False  # what was at the path before was edited, as far as the content tells
        twins = [other for other in self._now.get(after.digest, ()) if other is not item]
        if any(twin.before is None or twin.before.digest != before.digest for twin in twins):
            return False  # unless the same was done to both
        return not _names_of(after, others)

    def _is_likeliest(self, source: str, target: str) -> bool:
        """Whether the new file can only be the one that went: no other was as much like it, and is not itself now."""
        before, after = self._gone[source], self._came[target].after
        if after is None or _name(source) == _name(target):
            return True
        likeness = self._likeness(before, after)
        folders = {_folder(source), _folder(target)}
        near = [entry for folder in folders for entry in self._left_alone.neighbours(folder, _near(after.size))]
        if len(near) > MOST_NEIGHBOURS or any(self._likeness(other, after) >= likeness for other in near):
            return False
        stayed = [item for item in self._stayed if item.before is not None and item.before.size in _near(after.size)]
        return len(stayed) <= _MOST_COMPARED and not any(self._was_rather(item, after, likeness) for item in stayed)

    def _was_rather(self, item: Touched, after: Entry, likeness: float) -> bool:
        """Whether a new file may rather be what stood at the path of `item`, where something is still."""
        if item.before is None or item.after is None or (own := self._likeness(item.before, after)) < likeness:
            return False
        return own > likeness or self._likeness(item.before, item.after) < _ALIKE

    def _likeness(self, one: Entry, other: Entry) -> float:
        """How much of the bigger of two files is in the smaller one."""
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
    """Whether something else is under the name than before."""
    return item.before is None or item.after is None or item.before.digest != item.after.digest


def _names_of(entry: Entry, *named: Mapping[str, Collection[str]]) -> set[str]:
    """Return the names of the files that have the content of `entry`."""
    return {name for names in named for key in (entry.digest, entry.object) if key for name in names.get(key, ())}


def _trace(entry: Entry) -> tuple[object, ...]:
    """What a move keeps. Of a file without content it takes more to recognise it."""
    return entry.kind, entry.digest, entry.signature[1], 0 if entry.size else entry.inode


def _near(size: int) -> range:
    """The sizes that a file can have which has half of its content in common with one of this size."""
    return range(max(1, int(size * _ALIKE)), int(size / _ALIKE) + 1)


def _pieces(content: bytes) -> Iterator[bytes]:
    """Cut a content into lines, and long lines into parts, as git does to compare files of any kind."""
    for line in content.splitlines(keepends=True):
        if len(line) <= _PIECE_BYTES:
            yield line
        else:
            yield from (line[start : start + _PIECE_BYTES] for start in range(0, len(line), _PIECE_BYTES))


class _Twins(Struct):
    """Files that cannot be told apart by what is in them: where they were, and where they are."""

    sources: list[str] = field(default_factory=list[str])
    targets: list[str] = field(default_factory=list[str])

    def pairs_by(self, key: Callable[[str], object]) -> Iterator[tuple[str, str]]:
        """Take out and yield the pairs of a key that only the two of them have."""
        sources, targets = _by(key, self.sources), _by(key, self.targets)
        for shared in sources.keys() & targets.keys():
            if len(sources[shared]) == len(targets[shared]) == 1:
                yield sources.pop(shared)[0], targets.pop(shared)[0]
        self.sources = [path for paths in sources.values() for path in paths]
        self.targets = [path for paths in targets.values() for path in paths]

    def pairs(self, others: Collection[str] = ()) -> Iterator[tuple[str, str]]:
        """Pair those of a name that no other has, and then the last two, if there are but two.

        `others` are the names of files that are the same and still where they were.
        """
        yield from ((source, target) for source, target in self.pairs_by(_name) if _name(source) not in others)
        if len(self.sources) == len(self.targets) == 1 and not others:
            yield self.sources[0], self.targets[0]


class _Groups:
    """Files by what they have in common."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], _Twins] = {}

    def add_source(self, key: tuple[object, ...], path: str) -> None:
        self._groups.setdefault(key, _Twins()).sources.append(path)

    def add_target(self, key: tuple[object, ...], path: str) -> None:
        """Add a file that came, if one like it went."""
        if key in self._groups:
            self._groups[key].targets.append(path)

    @property
    def whole(self) -> list[_Twins]:
        """The groups from which something went and to which something came."""
        return [group for group in self._groups.values() if group.targets]


def _only_ones(pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of which neither end has another partner, after those of one name have found each other."""
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
