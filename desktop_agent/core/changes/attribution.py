"""Who wrote each hunk of a diff that several changes, and perhaps several people, have a part in. Pure.

Lines are followed through the chain of versions: each line of the last version was there at first or was added by one
of the changes, and each line of the first version is still there or was removed by one of them.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from msgspec import Struct

from desktop_agent.core.base.ids import HunkKey
from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.hunks import edits_by_key
from desktop_agent.core.diff.text import as_utf8
from desktop_agent.core.protocol.model import Author, Edit, FileChange, FileDiff, FileImage

Contents = Callable[[FileImage | None], bytes | None]
"""Reads what an image holds; `None` for an absent file."""


class Link(Struct, frozen=True):
    """One version following another, and by whom."""

    author: Author
    before: bytes
    after: bytes


def links_of(chain: Sequence[FileChange], contents: Contents) -> list[Link]:
    """Return the versions that `chain`, the recorded changes of one path, leads through.

    What was not recorded, between one change and the next, is the user's.
    """
    links: list[Link] = []
    for change in chain:
        before, after = contents(change.before) or b"", contents(change.after) or b""
        if links and links[-1].after != before:
            links.append(Link("person", links[-1].after, before))
        links.append(Link(change.author, before, after))
    return links


def attribute(links: Sequence[Link], diff: FileDiff) -> dict[HunkKey, tuple[Author, ...]]:
    """Return the authors of each hunk of `diff`, which leads from the first link's before to the last one's after.

    Links follow each other without a gap. Empty where a version is no text.
    """
    versions = [as_utf8(content) for content in chain([links[0].before], (link.after for link in links))]
    texts = [version for version in versions if version is not None]
    if len(texts) < len(versions):
        return {}
    added_by: list[Author | None] = [None] * len(diff.old_lines)
    origin: list[int | None] = list(range(len(diff.old_lines)))
    removed_by: dict[int, Author] = {}
    for link, before, after in zip(links, texts, texts[1:], strict=False):
        shift = 0
        for edit in find_edits(before, after):
            start, end = edit.old_start + shift, edit.old_end + shift
            removed_by |= {line: link.author for line in origin[start:end] if line is not None}
            size = edit.new_end - edit.new_start
            theirs: list[Author | None] = [link.author] * size
            origin[start:end] = [None] * size
            added_by[start:end] = theirs
            shift += size - (end - start)
    return {key: tuple(sorted(_authors(edits, added_by, removed_by))) for key, edits in edits_by_key(diff).items()}


def _authors(edits: Iterable[Edit], added_by: Sequence[Author | None], removed_by: dict[int, Author]) -> set[Author]:
    authors: set[Author] = set()
    for edit in edits:
        authors.update(author for author in added_by[edit.new_start : edit.new_end] if author is not None)
        authors.update(removed_by[line] for line in range(edit.old_start, edit.old_end) if line in removed_by)
    return authors
