"""Which words of a message are prose, and not code, names, paths or addresses: only these can be misspelled."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_TOKEN: Final = re.compile(r"\S+")
_OPENING: Final = "\"'([*~“”„‚‘’«»‹›¿¡–—"
_CLOSING: Final = "\"')]*~“”‘’«»‹›.,;:!?…–—"
_PROSE: Final = re.compile(r"[^\W\d_]+(?:['’‐-][^\W\d_]+)*")
_PART: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_FIRST_WITHOUT_SPACES: Final = "\u2e80"
"""From here on stand the scripts of East Asia, whose words nothing separates and no dictionary lists."""


class ProseWord(NamedTuple):
    """A word, and where in the message it stands."""

    text: str
    start: int
    """In code points, as Python counts."""

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)


def words_of(message: str) -> Iterator[ProseWord]:
    """Yield the words of the message that a dictionary can know, in their order.

    What stands between backticks is left out, and whatever looks like code: with a digit, a capital inside, in capitals
    only, with a sign between letters other than an apostrophe or a hyphen, or a slash command.
    """
    prose = _CODE.sub(lambda code: " " * len(code[0]), message)
    for token in _TOKEN.finditer(prose):
        text = token[0].lstrip(_OPENING)
        start = token.end() - len(text)
        text = text.rstrip(_CLOSING)
        if _PROSE.fullmatch(text) is None:
            continue
        for part in _PART.finditer(text):
            if _is_listed(part[0]):
                yield ProseWord(part[0], start + part.start())


def _is_listed(part: str) -> bool:
    """Whether a dictionary could list it."""
    has_inner_capital = part[1:] != part[1:].lower()
    return len(part) > 1 and not has_inner_capital and max(part) < _FIRST_WITHOUT_SPACES
