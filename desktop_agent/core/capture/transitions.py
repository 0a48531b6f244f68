"""From rows before and after to changes in an order in which they can be made, with renames found. No disk here."""

import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.capture.entries import Entry

_ALIKE = 0.5
"""How much two files must have in common to be one that was renamed and edited; git draws the line here, too."""
_PIECE_BYTES = 64

ContentOf = Callable[[Entry], bytes | None]


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


def with_renames(touched: Sequence[Touched], content_of: ContentOf) -> list[Touched]:
    """Pair each deleted file with the path it went to, where that can be determined.

    It is the same file if it has the same content, or the same inode and at least half of the content: the number
    alone proves nothing, for file systems give that of a deleted file to the next new one.
    """
    pairs = dict(_pairs(touched, content_of))
    sources = {target: source for source, target in pairs.items()}
    return [replace(item, moved_to=pairs.get(item.path, ""), moved_from=sources.get(item.path, "")) for item in touched]


def _pairs(touched: Sequence[Touched], content_of: ContentOf) -> Iterator[tuple[str, str]]:
    gone = {item.path: item.before for item in touched if item.before and not item.after and _is_movable(item.before)}
    came = {item.path: item.after for item in touched if item.after and _is_movable(item.after) and _is_new_file(item)}
    by_inode = {entry.inode: path for path, entry in came.items()}
    for source, before in list(gone.items()):
        target = by_inode.get(before.inode)
        if target in came and _is_one_file(before, came[target], content_of):
            yield source, target
            del gone[source], came[target]
    yield from _same_contents(gone, came)


def _is_movable(entry: Entry) -> bool:
    return entry.kind != "folder" and entry.digest != ""


def _is_new_file(item: Touched) -> bool:
    """Whether another file than before has the name; one that was written in place was not renamed."""
    return item.before is None or item.after is None or item.before.inode != item.after.inode


def _is_one_file(before: Entry, after: Entry, content_of: ContentOf) -> bool:
    if before.kind != after.kind:
        return False
    return before.digest == after.digest or _is_alike(content_of(before), content_of(after))


def _is_alike(before: bytes | None, after: bytes | None) -> bool:
    if not before or not after:
        return False
    old, new = _pieces(before), _pieces(after)
    return len(old & new) >= _ALIKE * max(len(old), len(new))


def _pieces(content: bytes) -> set[bytes]:
    if b"\0" not in content:
        return set(content.splitlines())
    return {content[start : start + _PIECE_BYTES] for start in range(0, len(content), _PIECE_BYTES)}


class _Twins(Struct):
    """Files of one content: where they were, and where they are."""

    sources: list[str] = field(default_factory=list[str])
    targets: list[str] = field(default_factory=list[str])

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Pair those of a name that no other has, and then the last two, if there are but two."""
        sources, targets = _by_name(self.sources), _by_name(self.targets)
        for name in sources.keys() & targets.keys():
            if len(sources[name]) == len(targets[name]) == 1:
                yield sources.pop(name)[0], targets.pop(name)[0]
        left = [[path for paths in side.values() for path in paths] for side in (sources, targets)]
        if len(left[0]) == len(left[1]) == 1:
            yield left[0][0], left[1][0]


def _by_name(paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(path.rpartition("/")[2], []).append(path)
    return found


def _same_contents(gone: Mapping[str, Entry], came: Mapping[str, Entry]) -> Iterator[tuple[str, str]]:
    """Pair by content, as far as it is clear which is which: by name, or because there is but one of each."""
    groups: dict[str, _Twins] = {}
    for path, entry in gone.items():
        if entry.size:  # all empty files are the same
            groups.setdefault(entry.digest, _Twins()).sources.append(path)
    for path, entry in came.items():
        if entry.digest in groups:
            groups[entry.digest].targets.append(path)
    for group in groups.values():
        yield from group.pairs()
