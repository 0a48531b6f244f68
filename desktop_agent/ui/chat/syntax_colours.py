"""Colours of code: which parts of a piece of source are keywords, strings, comments and so on, found by Pygments.

Pieces are coloured one by one, each with the piece before it as context, so the cost of a long fence never comes at
once. A string or comment longer than that can lose its colour; the code itself is never touched.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Literal, Protocol

from desktop_agent.ui.runtime.pacing import BackgroundCall
from desktop_agent.ui.wording.visible_text import utf16_length

SyntaxRole = Literal["keyword", "function", "string", "comment", "number"]
Colouring = tuple[tuple[int, int, SyntaxRole], ...]
"""Start and length in UTF-16 units, and the role, in order."""

_MAX_LINE = 2_000
"""Lines longer than this are data, not code; some lexers take seconds for them."""


class Lexer(Protocol):
    """Takes source of one language apart. Those of Pygments do, which is slow to import."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
        """Yield each token: where it begins, its type, which is a tuple of names, and its text."""
        ...


def colour_code(lexer: Lexer, before: str, code: str) -> Colouring:
    """Return the colours of `code`, a piece of a fence, which continues `before`."""
    if max(map(len, code.split("\n"))) > _MAX_LINE:
        return ()
    if before and max(map(len, before.split("\n"))) > _MAX_LINE:
        before = ""
    skipped = len(before) + 1 if before else 0
    text = f"{before}\n{code}" if before else code
    is_ascii = code.isascii()
    found: list[tuple[int, int, SyntaxRole]] = []
    for at, kind, value in lexer.get_tokens_unprocessed(text):
        role = _role(kind)
        end = at + len(value) - skipped
        if role is None or end <= 0:
            continue
        start = max(0, at - skipped)
        if is_ascii:
            found.append((start, end - start, role))
        else:
            found.append((utf16_length(code[:start]), utf16_length(code[start:end]), role))
    return tuple(found)


_ROLES: dict[tuple[str, ...], SyntaxRole] = {
    ("Keyword",): "keyword",
    ("Keyword", "Constant"): "number",
    ("Operator", "Word"): "keyword",
    ("Name", "Tag"): "keyword",
    ("Name", "Function"): "function",
    ("Name", "Class"): "function",
    ("Name", "Decorator"): "function",
    ("Name", "Attribute"): "function",
    ("Literal", "String"): "string",
    ("Literal", "Number"): "number",
    ("Comment",): "comment",
    ("Generic", "Inserted"): "string",
    ("Generic", "Deleted"): "number",
    ("Generic", "Heading"): "function",
    ("Generic", "Subheading"): "function",
}
"""By Pygments token type, which is a tuple of names; a longer one has the role of its nearest parent."""


@cache
def _role(kind: tuple[str, ...]) -> SyntaxRole | None:
    return next((_ROLES[kind[:end]] for end in range(len(kind), 0, -1) if kind[:end] in _ROLES), None)


class Lexers:
    """Hands out lexers by the name a fence gives its language."""

    def __init__(self) -> None:
        self._searches: dict[str, BackgroundCall[Lexer | None]] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a lexer is being made."""
        return not all(search.is_done for search in self._searches.values())

    def is_known(self, language: str) -> bool:
        """Whether it is clear by now which lexer a language has. If not, finding out begins."""
        search = self._searches.get(language)
        if search is None:
            search = self._searches[language] = BackgroundCall(partial(lexer_for_language, language), None)
            search.start()
        return search.is_done

    def get(self, language: str) -> Lexer | None:
        """Return the lexer of a known language, or `None` if there is none."""
        return self._searches[language].result


def lexer_for_language(language: str) -> Lexer | None:
    """Return a new lexer for a language, or `None` for unknown names. Not for the window's thread."""
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] - untyped **options
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
