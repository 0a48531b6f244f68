"""What the review says of a diff beyond its lines: what of it is still in force, and who wrote each hunk."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.changes.attribution import Contents, attribute, links_of
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.diff.diff import diff_change
from desktop_agent.core.diff.hunks import all_keys
from desktop_agent.core.merge.merge import undone_keys
from desktop_agent.core.protocol.model import Author, FileChange, FileDiff, FileImage


def reviewed_diff(selected: Sequence[FileChange], recorded: Sequence[FileChange], contents: Contents) -> FileDiff:
    """Return what the `selected` changes of one file come to, as it stands after everything `recorded` of its path.

    Both are in the order made. Blocks: it compares up to four versions.
    """
    net = net_change(selected)
    diff = diff_change(net, contents(net.before), contents(net.after))
    since = change_since(net, recorded)
    later = diff_change(since, contents(since.before), contents(since.after)) if since is not None else None
    undone = undone_hunks(diff, net, recorded, later)
    return replace(diff, undone=undone, authors=hunk_authors(diff, selected, recorded, contents))


def change_since(net: FileChange, recorded: Sequence[FileChange]) -> FileChange | None:
    """Return the comparison, from the file as it is now to what `net` left, that shows what of `net` is undone.

    None when that is known without it.
    """
    now = recorded[-1].after if recorded else net.after
    if now is None or net.after is None or now in (net.before, net.after) or now.kind != net.after.kind:
        return None
    return replace(net, before=now, after=net.after, kind="modified")


def undone_hunks(
    diff: FileDiff, net: FileChange, recorded: Sequence[FileChange], since: FileDiff | None
) -> frozenset[HunkKey]:
    """Return the hunks of `diff`, which shows `net`, that are not in force any more. `since` shows `change_since`."""
    now: FileImage | None = recorded[-1].after if recorded else net.after
    if now == net.before != net.after:
        return frozenset(all_keys(diff))
    return undone_keys(diff, since) if since is not None else frozenset()


def hunk_authors(
    diff: FileDiff, selected: Sequence[FileChange], recorded: Sequence[FileChange], contents: Contents
) -> tuple[tuple[HunkKey, tuple[Author, ...]], ...]:
    """Return who wrote each hunk, when more than one did."""
    ids = [change.id for change in recorded]
    if not diff.edits or selected[0].id not in ids or selected[-1].id not in ids:
        return ()
    chain = recorded[ids.index(selected[0].id) : ids.index(selected[-1].id) + 1]
    if len({change.author for change in chain}) < 2 and _is_unbroken(chain):
        return ()
    return tuple(attribute(links_of(chain, contents), diff).items())


def _is_unbroken(chain: Sequence[FileChange]) -> bool:
    return all(one.after == other.before for one, other in pairwise(chain))
