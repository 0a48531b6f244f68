"""The diff that the review shows of one path: what changes come to, what of it stands, and who wrote it."""

from collections.abc import Sequence
from dataclasses import replace

from desktop_agent.core.changes.attribution import Contents, attribute, links_of
from desktop_agent.core.changes.diff import diff_change
from desktop_agent.core.changes.hunk_edit import undone_keys
from desktop_agent.core.changes.hunk_keys import all_keys
from desktop_agent.core.changes.net import net_change
from desktop_agent.core.ids import HunkKey
from desktop_agent.core.model import Author, FileChange, FileDiff


def reviewed_diff(selected: Sequence[FileChange], recorded: Sequence[FileChange], contents: Contents) -> FileDiff:
    """Return what the `selected` changes of one path come to, as it stands after everything `recorded` of the path.

    Both are in the order made. Blocks: it compares up to four versions.
    """
    net = net_change(selected)
    diff = diff_change(net, contents(net.before), contents(net.after))
    return replace(
        diff, undone=_undone(diff, net, recorded, contents), authors=_authors(diff, selected, recorded, contents)
    )


def _undone(diff: FileDiff, net: FileChange, recorded: Sequence[FileChange], contents: Contents) -> frozenset[HunkKey]:
    now = recorded[-1].after if recorded else net.after
    if now == net.after:
        return frozenset()
    if now == net.before:
        return frozenset(all_keys(diff))
    if now is None or net.after is None or now.kind != net.after.kind:
        return frozenset()
    return undone_keys(diff, contents(now) or b"")


def _authors(
    diff: FileDiff, selected: Sequence[FileChange], recorded: Sequence[FileChange], contents: Contents
) -> tuple[tuple[HunkKey, tuple[Author, ...]], ...]:
    ids = [change.id for change in recorded]
    if not diff.edits or selected[0].id not in ids or selected[-1].id not in ids:
        return ()
    chain = recorded[ids.index(selected[0].id) : ids.index(selected[-1].id) + 1]
    links = links_of(chain, contents)
    if len({link.author for link in links}) < 2:
        return ()
    return tuple(attribute(links, diff).items())
