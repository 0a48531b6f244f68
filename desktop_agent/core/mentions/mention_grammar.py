r"""Reads mentions in a prompt: `@source:target`, or `@path` of a file or folder (docs/guide/mentions.md). Pure.

In quotation marks, `\"` and `\\` stand for what follows the backslash. An unquoted mention ends at white space or
punctuation. A path that does not look like one, such as `@types/node`, is plain text if there is no such file.
"""

import re

from msgspec import Struct

from desktop_agent.core.base.file_names import real_name
from desktop_agent.core.base.regex import regex

BEFORE = r"(?<![^\s(\[{\"'“‘«])"

_SOURCE = r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}"
_MENTION = (
    rf"{BEFORE}@(?P<source>{_SOURCE}):"
    r'(?:"(?P<quoted>(?:[^"\\\n]|\\[^\n])+)"|(?P<bare>[^\s"]\S*))'
)
_TYPED = (
    rf"{BEFORE}@(?:(?P<source>{_SOURCE}):"
    r'(?:"(?P<quoted>(?:[^"\\\n]|\\[^\n])*)|(?P<bare>(?:[^\s"]\S*)?))'
    r'|"(?P<quoted_path>(?:[^"\\\n]|\\[^\n])*)|(?P<path>[^\s"`@:]*))$'
)
_CODE = r"(?ms)^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1|\Z)|(`+)(?!`)[^\n]*?(?<!`)\2(?!`)"
"""Like the patterns of mentions, compiled with the first `@`: that takes 2 ms of the window's start."""
_ESCAPED = regex(r"\\(.)")
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_AT_END = frozenset(".,;:!?…'\"”’»。、，；：！？")
_LONGEST_TYPED = 300


class Mention(Struct, frozen=True):
    source: str
    target: str
    written: str
    """With the `@` and any quotation marks."""
    start: int


class TypedMention(Struct, frozen=True):
    start: int
    source: str
    """Empty until a colon is typed. Until then, `target` is part of a path, or the beginning of a source's name."""
    target: str


def mentions_in(text: str) -> tuple[Mention, ...]:
    if "@" not in text:
        return ()
    code = code_in(text)
    found: list[Mention] = []
    for match in re.finditer(_MENTION, text):
        if any(start <= match.start() < end for start, end in code):
            continue
        quoted, bare = match["quoted"], without_punctuation(match["bare"] or "")
        target = unescaped(quoted) if quoted is not None else bare
        end = match.end() if quoted is not None else match.start("bare") + len(bare)
        if target:
            found.append(Mention(match["source"], target, text[match.start() : end], match.start()))
    return tuple(found)


def typed_before(text: str, cursor: int) -> TypedMention | None:
    line = text.rfind("\n", 0, cursor) + 1
    begin = max(line, cursor - _LONGEST_TYPED)
    match = re.search(_TYPED, text[begin:cursor]) if "@" in text[begin:cursor] else None
    if match is None or (begin > line and match.start() == 0):
        return None
    start = begin + match.start()
    if any(first <= start < last for first, last in code_in(text[:cursor])):
        return None
    if match["source"] is None:
        path = match["path"]
        return TypedMention(start, "", path if path is not None else unescaped(match["quoted_path"]))
    target = match["bare"] if match["quoted"] is None else unescaped(match["quoted"])
    return TypedMention(start, match["source"], target)


def written(source: str, target: str) -> str:
    """Return the text of a mention of `target`, with quotes if needed. A line feed cannot be expressed."""
    bare = f"@{source}:{target}"
    found = mentions_in(bare)
    if len(found) == 1 and found[0].target == target and found[0].written == bare and "`" not in target:
        return bare
    return f"@{source}:{quoted(target)}"


def quoted(target: str) -> str:
    escaped = target.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def code_in(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(_CODE, text)]


def without_punctuation(target: str) -> str:
    """Remove punctuation at the end of `target`. A closing bracket stays if `target` also opens it."""
    while target:
        last = target[-1]
        opening = _BRACKETS.get(last)
        is_sentence = last in _AT_END or (opening is not None and target.count(opening) < target.count(last))
        if not is_sentence:
            break
        target = target[:-1]
    return target


_PATH_MENTION = (
    rf"{BEFORE}@(?:"
    r'"(?P<quoted>(?:[^"\\\n]|\\[^\n])+)"(?P<lines>:[0-9]{1,7}(?:-[0-9]{1,7})?(?![0-9]))?'
    r'|(?P<bare>[^\s"@`]\S*))'
)
_LINES = regex(r":([0-9]{1,7})(?:-([0-9]{1,7}))?$")
_POSSESSIVE = regex(r"['’]s$")
_LOOKS_LIKE_A_PATH = regex(
    r"\.{1,2}/.*|~/.*|[^:]*/"  # ./x, ../x, ~/x, x/
    r"|[^:]*/[^/:()]*\.[A-Za-z][A-Za-z0-9]{0,9}"  # x/y.py
    r"|[^/:()]+\.(?:bash|c|cc|cfg|conf|cpp|cs|css|csv|gif|go|h|hpp|html|ini|ipynb|java|jpeg|jpg|js|json|jsonl|jsx|kt|lock"
    r"|log|lua|md|mjs|pdf|php|png|ps1|py|pyi|rb|rs|rst|scss|sh|sql|svg|swift|toml|ts|tsv|tsx|txt|webp|xml|yaml|yml|zig)"
)
"""Matches certain paths; does not match `@app.route` and `@angular/core`."""


class PathMention(Struct, frozen=True):
    path: str
    written: str
    """With the `@`, any quotation marks and any lines."""
    start: int
    first: int = 0
    """The first of the mentioned lines, counted from 1; 0 for the whole file."""
    last: int = 0
    is_certain: bool = True
    """Whether this is surely a path. Otherwise it is plain text if there is no such file."""

    @property
    def lines(self) -> str:
        """The line range as written; empty for the whole file."""
        if not self.first:
            return ""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def paths_in(text: str) -> tuple[PathMention, ...]:
    """Return the mentions of paths in order. `@docs:x` is included, although it may mean something else."""
    if "@" not in text:
        return ()
    code = code_in(text)
    matches = re.finditer(_PATH_MENTION, text)
    outside = (match for match in matches if not any(start <= match.start() < end for start, end in code))
    return tuple(found for match in outside if (found := _mention(text, match)) is not None)


def _mention(text: str, match: re.Match[str]) -> PathMention | None:
    start = match.start()
    if match["quoted"] is not None:
        lines = _LINES.fullmatch(match["lines"] or "")
        first, last = _numbers(lines)
        return PathMention(_path_in(f'"{match["quoted"]}"'), text[start : match.end()], start, first, last)
    bare = _POSSESSIVE.sub("", without_punctuation(match["bare"]))
    lines = _LINES.search(bare)
    path = bare[: lines.start()] if lines else bare
    if not path:
        return None
    first, last = _numbers(lines)
    is_certain = _LOOKS_LIKE_A_PATH.fullmatch(path) is not None
    return PathMention(path, f"@{bare}", start, first, last, is_certain=is_certain)


def _path_in(quotes: str) -> str:
    """Return the path in quotation marks. C quotes are kept if they mean another name, such as one in Latin-1."""
    plain, name = unescaped(quotes[1:-1]), real_name(quotes)
    return plain if name in (quotes, plain) else quotes


def _numbers(lines: re.Match[str] | None) -> tuple[int, int]:
    if lines is None:
        return 0, 0
    numbers = sorted((int(lines[1]), int(lines[2] or lines[1])))
    return max(numbers[0], 1), max(numbers[1], 1)


def written_path(path: str) -> str:
    """Return the text of a mention of a path, with quotes if needed. A line feed cannot be expressed."""
    bare = f"@{path}"
    found = paths_in(bare)
    is_read_as_meant = len(found) == 1 and (found[0].path, found[0].written) == (path, bare)
    return bare if is_read_as_meant and (":" not in path or path.startswith('"')) else f"@{quoted(path)}"
