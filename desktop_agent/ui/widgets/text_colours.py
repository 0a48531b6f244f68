"""Colours in text: the role of each part of code, found by Pygments, as Qt formats and marks. Also counts lines.

A fenced block is coloured in pieces, each with the piece before it as context, so a long block never blocks the window.
A string or comment longer than a piece can lose its colour.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import accumulate
from typing import Protocol

from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextCursor, QTextDocument, QTextLayout, QTextOption
from PySide6.QtWidgets import QTextEdit

from desktop_agent.core.diff.text import without_ending
from desktop_agent.ui.runtime.pacing import BackgroundCall
from desktop_agent.ui.wording import utf16_length

Colouring = tuple[tuple[int, int, str], ...]
"""Start and length in UTF-16 units, and the palette's name for the colour, in order."""

MAX_COLOURED_CHARS = 1_000
"""The longest line that is coloured. Longer ones are data and take some lexers seconds."""

Span = tuple[int, int, str]
"""The range `start:end` of a line, and its colour's name. The garbage collector visits plain tuples only once."""

LineSpans = tuple[Span, ...]


class Lexer(Protocol):
    """Splits source code into tokens. Pygments lexers match this interface, but Pygments is slow to import."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
        """Yield each token: its start, its type (a tuple of names) and its text."""
        ...


def spans_by_line(lexer: Lexer, lines: Sequence[str], *, skip: int) -> Iterator[dict[int, LineSpans]]:
    """Yield an empty dictionary after every token, for pauses; at the end, the spans of the lines from `skip` on."""
    text = ["\n" if len(line) > MAX_COLOURED_CHARS else without_ending(line) + "\n" for line in lines]
    ends = list(accumulate(map(len, text)))
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
    while at < len(ends) and start < end:
        line_start = ends[at - 1] if at else 0
        spans[at].append((start - line_start, min(end, ends[at]) - line_start, role))
        start = ends[at]
        at += 1


def in_utf16(text: str, spans: LineSpans) -> Colouring:
    return tuple((utf16_length(text[:start]), utf16_length(text[start:end]), role) for start, end, role in spans)


def colour_lines(lexer: Lexer, lines: Sequence[str], *, skip: int = 0) -> list[Colouring]:
    """Return the colours of the lines from `skip` on."""
    *_, found = spans_by_line(lexer, lines, skip=skip)
    return [in_utf16(lines[index], spans) for index, spans in found.items()]


def colour_code(lexer: Lexer, before: str, code: str) -> Colouring:
    """Return the colours of `code`, which follows `before` in the same fenced block."""
    skip, lines = len(before.split("\n")), code.split("\n")
    starts = accumulate((utf16_length(line) + 1 for line in lines), initial=0)
    by_line = zip(starts, colour_lines(lexer, [*before.split("\n"), *lines], skip=skip), strict=False)
    return tuple((start + at, length, role) for start, colours in by_line for at, length, role in colours)


def is_diff(language: str) -> bool:
    return language.lower() in ("diff", "patch", "udiff")


def diff_lines(code: str) -> Colouring:
    lines = code.split("\n")
    found: list[tuple[int, int, str]] = []
    at = 0
    for before, line, after in zip(["", *lines], lines, [*lines[1:], "+++ "], strict=False):
        length = utf16_length(line)
        is_place = line.startswith(("@@", "diff ", "index "))
        is_name = (line.startswith("--- ") and after.startswith("+++ ")) or (
            line.startswith("+++ ") and before.startswith("--- ")
        )
        role = "muted" if is_place or is_name else {"+": "added_text", "-": "removed_text"}.get(line[:1])
        if role is not None:
            found.append((at, length, role))
        at += length + 1
    return tuple(found)


_ROLES = {
    "Keyword": "syntax_keyword", "Operator.Word": "syntax_keyword", "Name.Tag": "syntax_keyword",
    "Name.Function": "syntax_function", "Name.Class": "syntax_function", "Name.Decorator": "syntax_function",
    "Name.Attribute": "syntax_function", "Generic.Heading": "syntax_function",
    "Generic.Subheading": "syntax_function", "Literal.String": "syntax_string", "Literal.Number": "syntax_number",
    "Comment": "syntax_comment",
    "Keyword.Constant": "syntax_number", "Generic.Inserted": "added_text", "Generic.Deleted": "removed_text",
}  # fmt: skip


@cache
def role_of(kind: tuple[str, ...]) -> str:
    """Return the palette's role for a Pygments token, or for its nearest parent with a role; empty for plain text."""
    names = (".".join(kind[:length]) for length in range(len(kind), 0, -1))
    return next((_ROLES[name] for name in names if name in _ROLES), "")


class Lexers:
    def __init__(self) -> None:
        self._searches: dict[str, BackgroundCall[Lexer | None]] = {}

    @property
    def is_busy(self) -> bool:
        return not all(search.is_done for search in self._searches.values())

    def is_known(self, language: str) -> bool:
        """The first call starts the search for the lexer."""
        search = self._searches.get(language)
        if search is None:
            search = self._searches[language] = BackgroundCall(partial(lexer_for_language, language), None)
            search.start()
        return search.is_done

    def get(self, language: str) -> Lexer | None:
        """Return the lexer, or `None` if there is none. Call this once `is_known` is true."""
        return self._searches[language].result


def lexer_for_language(language: str) -> Lexer | None:
    """Return a new lexer for a language, or `None` for unknown names. Slow: do not call this on the window's thread."""
    from pygments import lexers, util

    try:
        return lexers.get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)  # pyright: ignore[reportUnknownMemberType] - untyped options
    except util.ClassNotFound:
        return None


def lexer_for_path(path: str) -> Lexer | None:
    """Return `None` for plain text and unknown kinds. Slow: do not call this on the window's thread."""
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
    # Dialects share suffixes with the main language, which has the shortest name: Perl, SQL.
    return max(lexers, key=lambda lexer: (lexer.priority, -len(lexer.name)), default=None)


def foreground(colour: QColor) -> QTextCharFormat:
    text_format = QTextCharFormat()
    text_format.setForeground(colour)
    return text_format


def format_ranges(ranges: Iterable[tuple[int, int, QTextCharFormat]]) -> list[QTextLayout.FormatRange]:
    found: list[QTextLayout.FormatRange] = []
    for start, length, text_format in ranges:
        item = QTextLayout.FormatRange()
        item.start, item.length, item.format = start, length, text_format
        found.append(item)
    return found


def cursor_over(document: QTextDocument, start: int, end: int) -> QTextCursor:
    cursor = QTextCursor(document)
    cursor.setPosition(start)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    return cursor


def mark_of(cursor: QTextCursor, text_format: QTextCharFormat) -> QTextEdit.ExtraSelection:
    mark = QTextEdit.ExtraSelection()
    mark.cursor = cursor  # pyright: ignore[reportAttributeAccessIssue] - the stubs do not know it
    mark.format = text_format  # pyright: ignore[reportAttributeAccessIssue] - the stubs do not know it
    return mark


def count_lines(text: str, font: QFont, width: float, most: int) -> int:
    """Return how many lines plain text takes at a width, at most `most`. Further lines cost no time."""
    if text.count("\n") >= most:
        return most
    # No font is so narrow that this many letters fit into fewer lines.
    layout = QTextLayout(text[: most * max(1, int(width))].replace("\n", "\N{LINE SEPARATOR}"), font)
    option, count = QTextOption(), 0
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    while count < most and (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        count += 1
    layout.endLayout()
    return max(1, count)
