"""Computes which hunks of a diff are still in force, and who wrote each hunk. Pure."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.changes.patch import Contents
from desktop_agent.core.diff.diff import diff_change, find_edits
from desktop_agent.core.diff.hunks import all_keys, edits_by_key
from desktop_agent.core.diff.text import as_utf8
from desktop_agent.core.merge import undone_keys
from desktop_agent.core.protocol.model import Author, Edit, FileChange, FileDiff, FileImage


class Link(Struct, frozen=True):
    author: Author
    before: bytes
    after: bytes


def links_of(chain: Sequence[FileChange], contents: Contents) -> list[Link]:
    """An unrecorded difference between two changes counts as the user's."""
    links: list[Link] = []
    for change in chain:
        before, after = contents(change.before) or b"", contents(change.after) or b""
        if links and links[-1].after != before:
            links.append(Link("person", links[-1].after, before))
        links.append(Link(change.author, before, after))
    return links


def attribute(links: Sequence[Link], diff: FileDiff) -> dict[HunkKey, tuple[Author, ...]]:
    """Return the authors of each hunk; empty if a version is not text.

    `diff` leads from the first link's `before` to the last link's `after`.
    """
    lines = _follow([links[0].before, *(link.after for link in links)], len(diff.old_lines))
    if lines is None:
        return {}
    return {
        key: tuple(sorted({links[step].author for edit in edits for step in lines.behind(edit)}))
        for key, edits in edits_by_key(diff).items()
    }


def lines_of_steps(
    versions: Sequence[bytes], diff: FileDiff, keys: Collection[HunkKey] = ()
) -> list[tuple[int, int]] | None:
    """Return how many lines each step between versions added and removed; None if a version is not text.

    `diff` leads from the first version to the last. If `keys` are given, only lines in these hunks are counted.
    """
    lines = _follow(versions, len(diff.old_lines))
    if lines is None:
        return None
    counts = [[0, 0] for _ in versions[1:]]
    for key, edits in edits_by_key(diff).items():
        for edit in edits if not keys or key in keys else ():
            for step in lines.added_by[edit.new_start : edit.new_end]:
                if step is not None:
                    counts[step][0] += 1
            for line in range(edit.old_start, edit.old_end):
                if line in lines.removed_by:
                    counts[lines.removed_by[line]][1] += 1
    return [(added, removed) for added, removed in counts]


class _Lines(Struct, frozen=True):
    added_by: list[int | None]
    removed_by: dict[int, int]

    def behind(self, edit: Edit) -> Iterator[int]:
        yield from (step for step in self.added_by[edit.new_start : edit.new_end] if step is not None)
        yield from (self.removed_by[at] for at in range(edit.old_start, edit.old_end) if at in self.removed_by)


def _follow(versions: Sequence[bytes], line_count: int) -> _Lines | None:
    texts = [text for version in versions if (text := as_utf8(version)) is not None]
    if len(texts) < len(versions):
        return None
    added_by: list[int | None] = [None] * line_count
    origin: list[int | None] = list(range(line_count))
    removed_by: dict[int, int] = {}
    for step, (before, after) in enumerate(pairwise(texts)):
        shift = 0
        for edit in find_edits(before, after):
            start, end = edit.old_start + shift, edit.old_end + shift
            removed_by |= {line: step for line in origin[start:end] if line is not None}
            size = edit.new_end - edit.new_start
            theirs: list[int | None] = [step] * size
            origin[start:end] = [None] * size
            added_by[start:end] = theirs
            shift += size - (end - start)
    return _Lines(added_by, removed_by)


def reviewed_diff(selected: Sequence[FileChange], recorded: Sequence[FileChange], contents: Contents) -> FileDiff:
    """Return the net diff of the `selected` changes of one file. Blocks. `recorded` are all changes at its path."""
    net = net_change(selected)
    diff = diff_change(net, contents(net.before), contents(net.after))
    since = change_since(net, recorded)
    later = diff_change(since, contents(since.before), contents(since.after)) if since is not None else None
    undone = undone_hunks(diff, net, recorded, later)
    return replace(diff, undone=undone, authors=hunk_authors(diff, selected, recorded, contents))


def change_since(net: FileChange, recorded: Sequence[FileChange]) -> FileChange | None:
    """Return the change from the present file back to the state after `net`; None if no diff is needed."""
    now = recorded[-1].after if recorded else net.after
    if now is None or net.after is None or now in (net.before, net.after) or now.kind != net.after.kind:
        return None
    return replace(net, before=now, after=net.after, kind="modified")


def undone_hunks(
    diff: FileDiff, net: FileChange, recorded: Sequence[FileChange], since: FileDiff | None
) -> frozenset[HunkKey]:
    """Return the hunks of `net` that are undone. `diff` is the diff of `net`, `since` the diff of `change_since`."""
    now: FileImage | None = recorded[-1].after if recorded else net.after
    if now == net.before != net.after:
        return frozenset(all_keys(diff))
    return undone_keys(diff, since) if since is not None else frozenset()


def hunk_authors(
    diff: FileDiff, selected: Sequence[FileChange], recorded: Sequence[FileChange], contents: Contents
) -> tuple[tuple[HunkKey, tuple[Author, ...]], ...]:
    """Return the authors of each hunk; empty if all changes have the same author."""
    ids = [change.id for change in recorded]
    if not diff.edits or selected[0].id not in ids or selected[-1].id not in ids:
        return ()
    chain = recorded[ids.index(selected[0].id) : ids.index(selected[-1].id) + 1]
    if len({change.author for change in chain}) < 2 and _is_unbroken(chain):
        return ()
    return tuple(attribute(links_of(chain, contents), diff).items())


def _is_unbroken(chain: Sequence[FileChange]) -> bool:
    return all(one.after == other.before for one, other in pairwise(chain))
