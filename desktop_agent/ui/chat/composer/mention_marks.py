"""Which parts of a message are mentions, as far as the window knows, and which of them are pictures and the like."""

from collections.abc import Callable, Collection
from typing import NamedTuple

PASTED = "pasted"
"""What stands before the colon in a mention of what was pasted."""

_LONGEST_TEXT = 50_000
"""In a longer one nothing is marked: it is read again with every key."""

_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def marks_in(text: str, is_path: Callable[[str], bool], sources: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return from where to where they stand, in their order. `sources` are what may stand before a colon."""
    if "@" not in text or len(text) > _LONGEST_TEXT:
        return ()
    from desktop_agent.core.mentions.mention_grammar import (
        mentions_in,  # with the first `@`
        paths_in,
    )

    spans = {
        path.start: path.start + len(path.written) for path in paths_in(text) if path.is_certain or is_path(path.path)
    }
    for mention in mentions_in(text):
        if mention.source in sources:
            spans[mention.start] = mention.start + len(mention.written)
    return tuple(sorted(spans.items()))


class MentionedContent(NamedTuple):
    """A content that a message mentions and that is to be seen otherwise than in its text."""

    is_pasted: bool
    """Whether it is kept for messages; otherwise it is a file of the folder."""
    name: str
    """What it is kept by, or its path."""

    @property
    def is_picture(self) -> bool:
        """Whether it is a picture, by its name."""
        return self.name.lower().endswith(_PICTURES)


def contents_in(text: str) -> dict[MentionedContent, list[tuple[int, int]]]:
    """Return the pictures and pasted contents in their order, each with where it is mentioned."""
    lower = text.lower() if "@" in text and len(text) <= _LONGEST_TEXT else ""
    found: dict[MentionedContent, list[tuple[int, int]]] = {}
    if PASTED not in lower and not any(ending in lower for ending in _PICTURES):
        return found
    from desktop_agent.core.mentions.mention_grammar import (
        mentions_in,  # with the first of them
        paths_in,
    )

    pasted = [each for each in mentions_in(text) if each.source == PASTED]
    paths = [each for each in paths_in(text) if each.path.lower().endswith(_PICTURES) and not each.first]
    starts = {each.start for each in pasted}
    spans = [(each.start, each.written, MentionedContent(True, each.target)) for each in pasted]
    spans += [
        (each.start, each.written, MentionedContent(False, each.path)) for each in paths if each.start not in starts
    ]
    for start, written, content in sorted(spans):
        found.setdefault(content, []).append((start, start + len(written)))
    return found
