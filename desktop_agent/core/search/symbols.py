"""Finds a file's definitions line by line, in any language, without a parser: no line takes long."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.regex import regex

LONGEST_NAME = 80

_NO_NAMES = "if for while switch catch return else do function new throw await sizeof elif match with"
KEYWORDS = frozenset(_NO_NAMES.split())

_PYTHON = r"""
^[ \t]*(?:async[ ]+)?(?:def|class)[ ]+(\w+)
| ^([A-Z][A-Z0-9_]{2,})[ ]*(?::[^=\n]*)?=(?!=)
"""
_SCRIPT_NAMES = r"""
^[ \t]*(?:(?:export|default|declare|abstract|async)[ ]+){0,4}
(?:function\*?|class|interface|enum|type|namespace)[ ]+([\w$]+)
| ^[ \t]*(?:export[ ]+)?(?:const|let|var)[ ]+([\w$]+)[ ]*(?::[^=\n]*)?=[ ]*(?:async[ ]*)?
(?:function\b|\([^)\n]*\)|[\w$]+[ ]*=>)
| ^[ \t]+(?:(?:public|private|protected|static|async|get|set|readonly|override)[ ]+){0,4}
([\w$]+)[ ]*\([^)\n]*\)[^;{\n]*\{[ \t]*$
"""
_GO = r"^func[ ]+(?:\([^)\n]*\)[ ]*)?(\w+) | ^type[ ]+(\w+)"
_RUST = r"""
^[ \t]*(?:pub(?:\([^)\n]*\))?[ ]+)?(?:(?:async|unsafe|const|extern|default)[ ]+){0,4}
(?:fn|struct|enum|trait|type|mod|union|static|const|macro_rules!)[ ]+(\w+)
| ^impl\b(?:<[^>\n]*>)?[ ]+(?:[\w:<>, ]+[ ]for[ ]+)?(\w+)
"""
_C_NAMES = r"""
^\#[ \t]*define[ \t]+(\w+)
| ^[ \t]*(?:typedef[ ]+)?(?:struct|class|enum(?:[ ]class)?|union|namespace)[ ]+(?:[A-Z][A-Z0-9_]*[ ]+)?
(\w+)(?=[ \t]*(?:final\b[ ]*)?(?:[:{][^;\n]*)?$)
| ^(?:[\w:<>,]++[ \t*&]++){1,6}(~?[\w:]+)[ ]*\([^;\n]*$
"""
_JVM_NAMES = r"""
^[ \t]*(?:\w+[ ]+){0,6}?
(?:class|interface|enum|record|struct|trait|object|protocol|extension|namespace|fun|func|function|def)[ ]+(\w+)
| ^[ \t]+(?:[\w<>\[\],.?]++[ ]++){1,6}(\w+)[ ]*\([^;\n]*\{[ \t]*$
"""
_RUBY = r"^[ \t]*(?:def|class|module)[ ]+([\w.:?!]+)"
_SHELL = r"^[ \t]*(?:function[ ]+)?([\w-]+)[ ]*\(\)"
_MARKDOWN = r"^\#{1,6}[ \t]+(\S[^\n]*)"
_SQL = r"""
^[ \t]*(?i:create)[ ]+(?:\w+[ ]+){0,4}?(?i:table|view|function|procedure|index|trigger|type)[ ]+
(?:(?i:if[ ]+not[ ]+exists)[ ]+)?([\w.\"]+)
"""
_OTHER = r"""
^[ \t]*(?:\w+[ ]+){0,4}?
(?:class|def|function|func|fn|fun|proc|sub|struct|interface|enum|trait|module|type)[ ]+(\w+)
"""

_SCRIPT_CONSTANTS = r"^(?:export[ ]+)?(?:const|let|var)[ ]+([\w$]+)[ ]*(?::[^=\n]*)?=(?!=)"
_C_CONSTANTS = r"^(?=[^=(\n]*\b(?:const|constexpr)\b)[^=(\n]*?\b(\w+)(?:\[[^\]\n]*\])*[ ]*=(?!=)"
_JVM_CONSTANTS = r"""
^[ \t]*(?=[^=(\n]*\b(?:const|static)\b)[^=(\n]*?\b(\w+)[ ]*(?::[^=\n]*)?=(?!=)
| ^(?:\w+[ ]+){0,4}?(?:val|let)[ ]+(\w+)[ ]*(?::[^=\n]*)?=(?!=)
"""

_FAMILIES = (
    ("py pyi pyx", _PYTHON, r"^([A-Z]\w*)[ ]*(?::[^=\n]*)?=(?!=) | ^type[ ]+(\w+)[^=\n]*="),
    ("js jsx mjs cjs ts tsx mts cts vue svelte", _SCRIPT_NAMES, _SCRIPT_CONSTANTS),
    ("go", _GO, r"^(?:const|var)[ ]+(\w+) | ^\t([A-Z]\w*)[ ]+(?:[\w.]+[ ]+)?=(?!=)"),
    ("rs", _RUST, ""),
    ("c h cc cpp cxx hh hpp hxx m mm cu ino", _C_NAMES, _C_CONSTANTS),
    ("java kt kts scala cs swift dart groovy php", _JVM_NAMES, _JVM_CONSTANTS),
    ("rb rake", _RUBY, r"^[ \t]*([A-Z][A-Z0-9_]+)[ ]*=(?![=~])"),
    ("sh bash zsh", _SHELL, r"^(?:readonly|export)[ ]+(\w+)= | ^([A-Z][A-Z0-9_]{2,})="),
    ("sql", _SQL, ""),
    ("lua pl pm r jl zig nim ex exs erl hs ml fs vb pas f90 tcl proto thrift graphql v sv vhd", _OTHER, ""),
    ("md markdown", _MARKDOWN, ""),
)
"""Per family: file endings, and what defines names and constants. The last family is no code."""
_BY_ENDING, _CONSTANTS_BY_ENDING = (
    {
        f".{ending}": regex(patterns[kind], (re.MULTILINE if kind == 0 else 0) | re.VERBOSE)
        for endings, *patterns in _FAMILIES
        if patterns[kind]
        for ending in endings.split()
    }
    for kind in (0, 1)
)
CODE_ENDINGS = tuple(ending for endings, _, _ in _FAMILIES[:-1] for ending in endings.split())
_CODE = frozenset(f".{ending}" for ending in CODE_ENDINGS)
_ANY = regex(_OTHER, re.MULTILINE | re.VERBOSE)
_DATA_ENDINGS = "json yaml yml toml xml html htm svg css scss csv tsv txt lock ini cfg"
_DATA = frozenset(f".{ending}" for ending in _DATA_ENDINGS.split())
_LINES_AT_ONCE = 200
"""Few enough lines not to hold the interpreter for long before other threads get a turn."""


def pattern_for(path: str) -> re.Pattern[str] | None:
    """Return the pattern for a file's language, None for data. The last group is the name of the definition."""
    ending = PurePosixPath(path).suffix.lower()
    return None if ending in _DATA else _BY_ENDING.get(ending, _ANY)


def definitions(path: str, lines: list[str]) -> list[tuple[int, str]]:
    """The line (from 0) and the name of each definition. `lines` keep their newlines."""
    pattern = pattern_for(path)
    if pattern is None:
        return []
    found: list[tuple[int, str]] = []
    for begin in range(0, len(lines), _LINES_AT_ONCE):
        text = "".join(lines[begin : begin + _LINES_AT_ONCE])
        line, position = begin, 0
        for match in pattern.finditer(text):
            name = match[match.lastindex or 0].strip()[:LONGEST_NAME]
            line, position = line + text.count("\n", position, match.start()), match.start()
            if name not in KEYWORDS:
                found.append((line, name))
    return found


LONGEST_LINE = 400

SymbolKind = Literal["function", "class", "type", "constant", "module"]


class LineSymbol(Struct, frozen=True):
    kind: SymbolKind
    name: str


class FoundSymbol(Struct, frozen=True):
    kind: SymbolKind
    name: str
    path: str
    line: int


_WORDS_OF_KINDS: dict[SymbolKind, str] = {
    "class": "class object",
    "type": "struct interface enum type union trait protocol record table view index",
    "constant": "const static define",
    "module": "mod module namespace",
    "function": "def fn func fun function proc sub macro_rules procedure trigger",
}
_KIND_BY_WORD: dict[str, SymbolKind] = {word: kind for kind, words in _WORDS_OF_KINDS.items() for word in words.split()}
_NO_SYMBOLS = frozenset({"impl", "extension"})
"""Words that begin an extension of something that is defined elsewhere."""
_WORD = regex(r"\w+")


def symbol_in(path: str, line: str) -> LineSymbol | None:
    """What a line (without its newline) defines in the language of the file; None if nothing."""
    ending = PurePosixPath(path).suffix.lower()
    if ending not in _CODE or len(line) > LONGEST_LINE:
        return None
    pattern = pattern_for(path)
    match = pattern.match(line) if pattern is not None else None
    if match is not None and (name := _own_name(match)):
        at, end = match.span(match.lastindex or 0)
        kind = _kind(line[match.start() : at], line[end : match.end()])
        return LineSymbol(kind, name) if kind is not None else None
    constants = _CONSTANTS_BY_ENDING.get(ending)
    match = constants.match(line) if constants is not None else None
    name = _own_name(match) if match is not None else ""
    return LineSymbol("type" if line.startswith("type ") else "constant", name) if name else None


def _own_name(match: re.Match[str]) -> str:
    name = match[match.lastindex or 0].strip(' "')[:LONGEST_NAME]
    name = name.rpartition("::")[2].rpartition(".")[2].strip('"')
    return "" if name in KEYWORDS else name


def _kind(before: str, behind: str) -> SymbolKind | None:
    words = _WORD.findall(before.lower())
    if not _NO_SYMBOLS.isdisjoint(words):
        return None
    if "(" in behind or (words and "=" in behind):  # the patterns include what follows only a function's name
        return "function"
    if "=" in behind:
        return "constant"
    kind: SymbolKind = "function"
    for word in words:
        kind = _KIND_BY_WORD.get(word, kind)
    return kind


_BEFORE_NAMES = "|".join([*_KIND_BY_WORD, "let", "var", "val", "readonly", "export"])
_TYPED = regex(r"[\w$?!-]+")


def can_be_a_name(typed: str) -> bool:
    return _TYPED.fullmatch(typed) is not None


def likely_lines(typed: str) -> tuple[str, ...]:
    """Return ripgrep expressions for lines that may define a name with `typed`. `can_be_a_name(typed)` must hold."""
    part = re.sub(r"([$?!-])", r"\\\1", typed)
    upper = re.sub(r"([$?!-])", r"\\\1", typed.upper())
    return (
        rf"\b(?:{_BEFORE_NAMES})[!*]?[ \t]+(?:\([^)\n]*\)[ \t]*)?(?:[\w\[\]<>,]+[ ]+){{0,6}}[\w.:$~\"-]*{part}",
        rf"^(?:[\w:<>,]+[ \t*&]+){{1,6}}[~\w:]*{part}\w*[ ]*\([^;\n]*$",  # C
        rf"^[ \t]+[\w<>\[\],.?$ \t]*{part}[\w$]*[ ]*\([^;\n]*\{{[ \t]*\r?$",  # methods between braces
        rf"^[ \t]*[\w-]*{part}[\w-]*[ ]*\(\)",  # shell
        rf"^(?:[\w:<>*&]+[ \t*&]+){{0,6}}[\w$]*{part}[\w$]*(?:\[[^\]\n]*\])*[ ]*(?::[^=\n]*)?=",
        rf"^[ \t]+(?-i:[A-Z0-9_]*{upper}[A-Z0-9_]*)[ ]*=",  # Ruby
        rf"^\t\w*{part}\w*[ ]+(?:[\w.]+[ ]+)?=",  # Go
    )


_MOST_ABOVE = 40
_ABOVE = regex(r"[ \t]*(?:@|#\[|#(?![ ]*(?:include|if|ifdef|ifndef|else|endif|define|pragma|import)\b)|//|/\*|\*|--)")
_CLOSING = regex(r"[ \t]*(?:[)\]}{]|end\b|begin\b)")
_LONG_TEXT = regex(r'"""|\'\'\'')


def extent_of(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return the first and last line (from 0) of the definition at `at`, with decorators and comments above it."""
    return _first(lines, at), _last(lines, at)


def _first(lines: Sequence[str], at: int) -> int:
    depth = _depth(lines[at])
    first = at
    while first > max(at - _MOST_ABOVE, 0):
        above = lines[first - 1]
        is_inside_comment = above.lstrip().startswith("*")
        if _ABOVE.match(above) is None or _depth(above) - is_inside_comment != depth:
            break
        first -= 1
    return first


def _last(lines: Sequence[str], at: int) -> int:
    depth = _depth(lines[at])
    last = _last_by_depth(lines, at, depth)
    header = range(at, last + 1)
    opening = next(
        (line for line in header if lines[line].rstrip().endswith("{") and _depth(lines[line]) <= depth), None
    )
    if opening is None:
        return last
    for at, line in enumerate(lines[opening + 1 :], start=opening + 1):
        if line.lstrip().startswith("}") and not line.rstrip().endswith("{") and _depth(line) <= depth:
            return at
    return last


def _last_by_depth(lines: Sequence[str], at: int, depth: int) -> int:
    last = at
    is_in_text = _ends_in_text(lines[at], is_in_text=False)
    for line in range(at + 1, len(lines)):
        text = lines[line]
        goes_on = lines[line - 1].rstrip().endswith("\\")
        if text.strip() and not (is_in_text or goes_on):
            deeper = _depth(text) > depth
            if not deeper and (_depth(text) < depth or _CLOSING.match(text) is None):
                break
        if text.strip():
            last = line
        is_in_text = _ends_in_text(text, is_in_text=is_in_text)
    return last


def _ends_in_text(line: str, *, is_in_text: bool) -> bool:
    return is_in_text != bool(len(_LONG_TEXT.findall(line)) % 2)


def _depth(line: str) -> int:
    expanded = line.expandtabs(8)
    return len(expanded) - len(expanded.lstrip())
