"""Which parts of a few lines of code get which colour. Knows Pygments, and nothing of Qt.

Pygments cannot start in the middle of a file, so a piece is lexed from some lines before it: enough for strings and
comments of usual length to come out right, and never the whole file.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from pygments.lexer import Lexer

from desktop_agent.core.diff.text import without_ending

MAX_COLOURED_CHARS = 1_000
"""Longer lines are generated, and cost more than their colours are worth."""


Span = tuple[int, int, str]
"""Characters `start:end` of a line, and the palette's name for their colour.

A plain tuple, because there are a hundred thousand in a long file: the garbage collector looks at plain tuples of plain
values once, and at named ones each time.
"""

LineSpans = tuple[Span, ...]


def lexer_for_path(path: str) -> Lexer | None:
    """Return the lexer for a file of this name, or `None` for plain text and unknown kinds.

    Takes tens of milliseconds the first time: not for the window's thread.
    """
    from pygments.lexers import (
        get_all_lexers,
        get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType] - its options have no types
    )

    name = path.rpartition("/")[2].lower()
    suffix = f"*.{name.rpartition('.')[2]}" if "." in name else ""
    found = [
        aliases[0]
        for _, aliases, patterns, _ in get_all_lexers(plugins=False)
        if aliases and any(pattern.lower() in (name, suffix) for pattern in patterns)
    ]
    lexers = [get_lexer_by_name(alias) for alias in found if alias != "text"]
    # Dialects and rarities share suffixes with the plain thing, which has the shortest name: Perl, SQL.
    return max(lexers, key=lambda lexer: (lexer.priority, -len(lexer.name)), default=None)


def spans_by_line(lexer: Lexer, lines: Sequence[str], *, skip: int) -> Iterator[dict[int, LineSpans]]:
    """Lex `lines` step by step and, at the end, yield the spans of each line from `skip` on, by its index.

    Yields an empty dictionary after every token, so that the caller can stop and go on later.
    """
    text = [_lexed(line) for line in lines]
    ends: list[int] = []
    for line in text:
        ends.append(len(line) + (ends[-1] if ends else 0))
    spans: list[list[Span]] = [[] for _ in text]
    at = 0
    for start, kind, value in lexer.get_tokens_unprocessed("".join(text)):
        while at < len(ends) and ends[at] <= start:
            at += 1
        role = role_of(kind)
        if role and at < len(ends):
            _add(spans, ends, at, start, start + len(value), role)
        yield {}
    yield {index: tuple(found) for index, found in enumerate(spans) if index >= skip}


def _add(spans: list[list[Span]], ends: list[int], at: int, start: int, end: int, role: str) -> None:
    """Cut one token into its lines."""
    while at < len(ends) and start < end:
        line_start = ends[at - 1] if at else 0
        spans[at].append((start - line_start, min(end, ends[at]) - line_start, role))
        start = ends[at]
        at += 1


def _lexed(line: str) -> str:
    return "\n" if len(line) > MAX_COLOURED_CHARS else without_ending(line) + "\n"


_ROLES = {
    "Keyword": "syntax_keyword",
    "Operator.Word": "syntax_keyword",
    "Name.Tag": "syntax_keyword",
    "Name.Function": "syntax_function",
    "Name.Class": "syntax_function",
    "Name.Decorator": "syntax_function",
    "Name.Attribute": "syntax_function",
    "Generic.Heading": "syntax_function",
    "Generic.Subheading": "syntax_function",
    "Literal.String": "syntax_string",
    "Literal.Number": "syntax_number",
    "Comment": "syntax_comment",
}


@cache
def role_of(kind: tuple[str, ...]) -> str:
    """Return the palette's name for the colour of a Pygments token; empty for plain text."""
    for length in range(len(kind), 0, -1):
        if role := _ROLES.get(".".join(kind[:length])):
            return role
    return ""
