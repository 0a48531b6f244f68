"""Colours in text: the role of each part of code, found by Pygments, as Qt formats and marks. Also counts lines.

A fenced block is coloured in pieces, each with the piece before it as context, so a long block never blocks the window.
A string or comment longer than a piece can lose its colour.
"""

from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Protocol

from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextCursor, QTextDocument, QTextLayout, QTextOption
from PySide6.QtWidgets import QTextEdit

from desktop_agent.ui.runtime.pacing import BackgroundCall
from desktop_agent.ui.wording.visible_text import utf16_length

Colouring = tuple[tuple[int, int, str], ...]
"""Start and length in UTF-16 units, and the palette's name for the colour, in order."""

_MAX_LINE = 2_000
"""The longest line of code, in characters, that is coloured. Longer ones are data and take some lexers seconds."""


class Lexer(Protocol):
    """Splits source code into tokens. Pygments lexers match this interface, but Pygments is slow to import."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
        """Yield each token: its start, its type (a tuple of names) and its text."""
        ...


def colour_code(lexer: Lexer, before: str, code: str) -> Colouring:
    """Return the colours of `code`, which follows `before` in the same fenced block."""
    if max(map(len, code.split("\n"))) > _MAX_LINE:
        return ()
    if before and max(map(len, before.split("\n"))) > _MAX_LINE:
        before = ""
    skipped = len(before) + 1 if before else 0
    text = f"{before}\n{code}" if before else code
    is_ascii = code.isascii()
    found: list[tuple[int, int, str]] = []
    for at, kind, value in lexer.get_tokens_unprocessed(text):
        role = role_of(kind, is_fence=True)
        end = at + len(value) - skipped
        if not role or end <= 0:
            continue
        start = max(0, at - skipped)
        if is_ascii:
            found.append((start, end - start, role))
        else:
            found.append((utf16_length(code[:start]), utf16_length(code[start:end]), role))
    return tuple(found)


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
}  # fmt: skip
_FENCE_ROLES = _ROLES | {
    "Keyword.Constant": "syntax_number",
    "Generic.Inserted": "added_text",
    "Generic.Deleted": "removed_text",
}


@cache
def role_of(kind: tuple[str, ...], *, is_fence: bool = False) -> str:
    """Return the palette's role for a Pygments token, or for its nearest parent with a role; empty for plain text."""
    roles = _FENCE_ROLES if is_fence else _ROLES
    names = (".".join(kind[:length]) for length in range(len(kind), 0, -1))
    return next((roles[name] for name in names if name in roles), "")


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
