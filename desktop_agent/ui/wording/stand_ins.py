"""What is shown in place of characters that cannot be seen, such that the very text can be read back from it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from desktop_agent.core.base.plain_text import HIDING, MOST_BLANKS, MOST_SHOWN_CHARS, name_of

_FOUND = re.compile(rf"(?P<blanks> {{{MOST_BLANKS},}}|\t{{{MOST_BLANKS // 5},}})|(?P<hidden>{HIDING.pattern})")


class TextPiece(NamedTuple):
    """A part of a text: as it is shown, and as it is. Both are the same but for a stand-in."""

    shown: str
    original: str
    is_cut: bool = False
    """Whether it is the end of a text that is too long to show."""

    @property
    def is_stand_in(self) -> bool:
        """Whether it is shown as something else."""
        return self.shown != self.original


def pieces(text: str) -> Iterator[TextPiece]:
    """Cut `text` up. Names stand for what cannot be seen, a count for many blanks, both for an endless rest."""
    head, rest = text[:MOST_SHOWN_CHARS], text[MOST_SHOWN_CHARS:]
    at = 0
    for match in _FOUND.finditer(head):
        original = match[0]
        if original in "\n\t":
            continue
        if match.start() > at:
            yield TextPiece(head[at : match.start()], head[at : match.start()])
        yield TextPiece(_shown(original), original)
        at = match.end()
    if at < len(head):
        yield TextPiece(head[at:], head[at:])
    if rest:
        yield TextPiece(f"·What follows these {len(head):,} characters is not shown·", rest, is_cut=True)


def _shown(original: str) -> str:
    if len(original) == 1:
        return name_of(original)
    return f"·{len(original):,} {'spaces' if original[0] == ' ' else 'tabs'}·"
