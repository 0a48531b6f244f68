"""A big folder in two parts, for two walks at once: what each walks, and how one result is made of two."""

import heapq
from collections.abc import Generator, Iterable
from itertools import islice
from typing import Final

from desktop_agent.core.capture.scan import Known, KnownFolder, Scan, split

_FOLDER_COST: Final = 5
"""To open and close a folder takes as long as to look at so many files."""
_CLOSE_ENOUGH: Final = 0.02
"""By how much of the whole a half may miss its size."""
_PIECE: Final = 2000
"""So many files are packed at once, which holds the interpreter lock for about 3 ms."""


def half_of(known: Known) -> tuple[str, ...]:
    """Return folders, none within another, that together make about half of the work of a walk, if there are such."""
    costs = {path: len(folder.files) + _FOLDER_COST for path, folder in known.items()}
    for path in sorted(known, reverse=True):  # what is in a folder before the folder
        parent, _ = split(path)
        if path and parent in costs:
            costs[parent] += costs[path]
    missing, tolerance = costs[""] / 2, costs[""] * _CLOSE_ENOUGH
    biggest_first = [(-costs[""], "")]
    half: list[str] = []
    while biggest_first and missing > tolerance:
        cost, path = heapq.heappop(biggest_first)
        if -cost <= missing:
            half.append(path)
            missing += cost
        else:
            for name in known[path].folders:
                child = f"{path}/{name}" if path else name
                if child in known:
                    heapq.heappush(biggest_first, (-costs[child], child))
    return tuple(half)


def below(known: Known, starts: Iterable[str]) -> Generator[tuple[str, KnownFolder]]:
    """Yield these folders and all that is known below them, with their paths."""
    pending = list(starts)
    while pending:
        path = pending.pop()
        folder = known.get(path)
        if folder is not None:
            yield path, folder
            pending += [f"{path}/{name}" if path else name for name in folder.folders]


def pieces_of_table(folders: Iterable[tuple[str, KnownFolder]]) -> Generator[Known]:
    """Yield folders some at a time; one with a great many files is a piece of its own."""
    piece, size = Known(), 0
    for path, folder in folders:
        piece[path] = folder
        size += len(folder.files) + 1
        if size >= _PIECE:
            yield piece
            piece, size = Known(), 0
    if piece:
        yield piece


def pieces_of_scan(scan: Scan) -> Generator[Scan]:
    """Yield what a walk found in pieces, of which `Scan.add` makes the whole again; at least one."""
    yield Scan(
        scan.started_ns,
        gone=scan.gone,
        out_of_reach=scan.out_of_reach,
        unread=scan.unread,
        file_count=scan.file_count,
        folders_left=scan.folders_left,
    )
    changed = iter(scan.changed.items())
    while piece := dict(islice(changed, _PIECE)):
        unusual = {path: scan.unusual[path] for path in piece if path in scan.unusual}
        yield Scan(scan.started_ns, changed=piece, unusual=unusual)
    for listed in pieces_of_table(scan.listed.items()):
        yield Scan(scan.started_ns, listed=listed)


def are_all_there(scan: Scan, folders: Iterable[str]) -> bool:
    """Whether a walk that went by these folders, without going into them, saw that each still is a folder."""
    gone = set(scan.gone)
    unreadable = {item.path for item in scan.out_of_reach}
    return not any(
        path in gone or _is_something_else(scan, path) or not unreadable.isdisjoint((".", *_above(path)))
        for path in folders
    )


def _is_something_else(scan: Scan, path: str) -> bool:
    parent, name = split(path)
    return parent in scan.listed and name not in scan.listed[parent].folders


def _above(path: str) -> Generator[str]:
    while path:
        path, _ = split(path)
        yield path
