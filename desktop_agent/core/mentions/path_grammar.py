"""Reads mentions of files and folders in a prompt: `@path`, relative to the workspace, with `/`.

    @src/app.py             a file
    @src/app.py:10-40       some of its lines; `:10` is one line
    @src/                   a folder
    @"docs/my notes.md"     quoted, for blanks; the lines stand behind: `@"my notes.md":3`

What stands around a mention, and what ends it, is as in `grammar.py`. `@` has other meanings in texts (`@property`,
`@types/node`), so what looks like a path, by its ending, its lines or its quotation marks, must be there; anything else
is a mention only if it is. Pure.
"""

import re

from msgspec import Struct

from desktop_agent.core.mentions.grammar import BEFORE, code_in, quoted, unescaped, without_punctuation

_MENTION = re.compile(
    rf"{BEFORE}@(?:"
    r'"(?P<quoted>(?:[^"\\\n]|\\[^\n])+)"(?P<lines>:[0-9]{1,7}(?:-[0-9]{1,7})?(?![0-9]))?'
    r'|(?P<bare>[^\s"@`]\S*))'
)
_LINES = re.compile(r":([0-9]{1,7})(?:-([0-9]{1,7}))?$")
_POSSESSIVE = re.compile(r"['’]s$")
_LOOKS_LIKE_A_PATH = re.compile(
    r"\.{1,2}/.*|~/.*|[^:]*/"  # ./x, ../x, ~/x, x/
    r"|[^:]*/[^/:()]*\.[A-Za-z][A-Za-z0-9]{0,9}"  # x/y.py
    r"|[^/:()]+\.(?:bash|c|cc|cfg|conf|cpp|cs|css|csv|gif|go|h|hpp|html|ini|ipynb|java|jpeg|jpg|js|json|jsonl|jsx|kt|lock"
    r"|log|lua|md|mjs|pdf|php|png|ps1|py|pyi|rb|rs|rst|scss|sh|sql|svg|swift|toml|ts|tsv|tsx|txt|webp|xml|yaml|yml|zig)"
)
"""`@app.route` and `@angular/core` do not."""


class PathMention(Struct, frozen=True):
    """One mention of a file or folder, as it stands in a text."""

    path: str
    written: str
    """With the `@`, the quotation marks and the lines if there are some."""
    start: int
    first: int = 0
    """The first line meant, counted from 1; 0 means the whole file."""
    last: int = 0
    is_certain: bool = True
    """Whether it is meant as a path for sure; otherwise it is text if there is no such file."""

    @property
    def lines(self) -> str:
        """The lines meant, as they are written; empty for the whole file."""
        return lines_text(self.first, self.last)


def paths_in(text: str) -> tuple[PathMention, ...]:
    """Return the mentions of paths in `text`, in their order. `@docs:x` is among them, and not certain."""
    if "@" not in text:
        return ()
    code = code_in(text)
    matches = (match for match in _MENTION.finditer(text) if not _is_in(match.start(), code))
    return tuple(found for match in matches if (found := _mention(text, match)) is not None)


def _is_in(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


def _mention(text: str, match: re.Match[str]) -> PathMention | None:
    start = match.start()
    if match["quoted"] is not None:
        lines = _LINES.fullmatch(match["lines"] or "")
        first, last = _numbers(lines)
        return PathMention(unescaped(match["quoted"]), text[start : match.end()], start, first, last)
    bare = _POSSESSIVE.sub("", without_punctuation(match["bare"]))
    lines = _LINES.search(bare)
    path = bare[: lines.start()] if lines else bare
    if not path:
        return None
    first, last = _numbers(lines)
    is_certain = _LOOKS_LIKE_A_PATH.fullmatch(path) is not None
    return PathMention(path, f"@{bare}", start, first, last, is_certain=is_certain)


def _numbers(lines: re.Match[str] | None) -> tuple[int, int]:
    """Return the first and the last line; the other way round they mean the same."""
    if lines is None:
        return 0, 0
    numbers = sorted((int(lines[1]), int(lines[2] or lines[1])))
    return max(numbers[0], 1), max(numbers[1], 1)


def lines_text(first: int, last: int) -> str:
    """Return how a range of lines is written; empty for none."""
    if not first:
        return ""
    return str(first) if first == last else f"{first}-{last}"


def written_path(path: str, first: int = 0, last: int = 0) -> str:
    """Return the mention of a path, in quotation marks where it needs them. A line feed cannot be written."""
    lines = f":{lines_text(first, last)}" if first else ""
    bare = f"@{path}{lines}"
    found = paths_in(bare)
    is_read_as_meant = len(found) == 1 and (found[0].path, found[0].written) == (path, bare)
    if is_read_as_meant and found[0].first == first and ":" not in path:
        return bare
    return f"@{quoted(path)}{lines}"
