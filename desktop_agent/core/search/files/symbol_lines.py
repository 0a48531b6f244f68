r"""Symbols that a user looks for by name: functions, classes, types, constants and modules, each told from one line.

What defines something in which language is in `symbols`; here are constants besides, and what kind each thing is.
A search of a whole workspace goes in two steps: ripgrep finds the lines that may define such a name in any language
(`likely_lines`), and `symbol_in` says what each of them defines in its own. The first may find too much, never too
little of what the second knows.
"""

import re
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct

from desktop_agent.core.search.files.symbols import KEYWORDS, LONGEST_NAME, pattern_for

LONGEST_LINE = 400
"""A longer one is data, or made by a tool, and could take long."""

SymbolKind = Literal["function", "class", "type", "constant", "module"]


class LineSymbol(Struct, frozen=True):
    """What a line defines."""

    kind: SymbolKind
    name: str
    """Its own: `load` for `Store::load`."""


class FoundSymbol(Struct, frozen=True):
    """A definition in a workspace."""

    kind: SymbolKind
    name: str
    path: str
    """Relative to the workspace, with `/`."""
    line: int
    """From 1."""


_LANGUAGES = """
py pyi pyx | js jsx mjs cjs ts tsx mts cts vue svelte | go | rs | c h cc cpp cxx hh hpp hxx m mm cu ino
| java kt kts scala cs swift dart groovy php | rb rake | sh bash zsh | sql
| lua pl pm r jl zig nim ex exs erl hs ml fs vb pas f90 tcl proto thrift graphql v sv vhd
"""
CODE_ENDINGS = tuple(_LANGUAGES.replace("|", " ").split())
"""What the names of files with symbols end in, without the dot."""

_CODE = frozenset(f".{ending}" for ending in CODE_ENDINGS)

_SCRIPT = r"^(?:export[ ]+)?(?:const|let|var)[ ]+([\w$]+)[ ]*(?::[^=\n]*)?=(?!=)"
_C = r"^(?=[^=(\n]*\b(?:const|constexpr)\b)[^=(\n]*?\b(\w+)(?:\[[^\]\n]*\])*[ ]*=(?!=)"
_JVM = r"""
^[ \t]*(?=[^=(\n]*\b(?:const|static)\b)[^=(\n]*?\b(\w+)[ ]*(?::[^=\n]*)?=(?!=)
| ^(?:\w+[ ]+){0,4}?(?:val|let)[ ]+(\w+)[ ]*(?::[^=\n]*)?=(?!=)
"""
_CONSTANTS = {
    r"^([A-Z]\w*)[ ]*(?::[^=\n]*)?=(?!=) | ^type[ ]+(\w+)[^=\n]*=": "py pyi pyx",
    _SCRIPT: "js jsx mjs cjs ts tsx mts cts vue svelte",
    r"^(?:const|var)[ ]+(\w+) | ^\t([A-Z]\w*)[ ]+(?:[\w.]+[ ]+)?=(?!=)": "go",
    _C: "c h cc cpp cxx hh hpp hxx m mm cu ino",
    _JVM: "java kt kts scala cs swift dart groovy php",
    r"^[ \t]*([A-Z][A-Z0-9_]+)[ ]*=(?![=~])": "rb rake",
    r"^(?:readonly|export)[ ]+(\w+)= | ^([A-Z][A-Z0-9_]{2,})=": "sh bash zsh",
}
_CONSTANTS_BY_ENDING = {
    f".{ending}": re.compile(pattern, re.VERBOSE)
    for pattern, endings in _CONSTANTS.items()
    for ending in endings.split()
}
_WORDS_OF_KINDS: dict[SymbolKind, str] = {
    "class": "class object",
    "type": "struct interface enum type union trait protocol record table view index",
    "constant": "const static define",
    "module": "mod module namespace",
    "function": "def fn func fun function proc sub macro_rules procedure trigger",
}
_KIND_BY_WORD: dict[str, SymbolKind] = {word: kind for kind, words in _WORDS_OF_KINDS.items() for word in words.split()}
_NO_SYMBOLS = frozenset({"impl", "extension"})
"""What adds to something that is defined elsewhere."""
_WORD = re.compile(r"\w+")


def symbol_in(path: str, line: str) -> LineSymbol | None:
    """Return what a line, without its end, defines in the language of its file; None for nothing."""
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
    """Return the name without what it belongs to; empty for a word that is none."""
    name = match[match.lastindex or 0].strip(' "')[:LONGEST_NAME]
    name = name.rpartition("::")[2].rpartition(".")[2].strip('"')
    return "" if name in KEYWORDS else name


def _kind(before: str, behind: str) -> SymbolKind | None:
    """Return what a name is by the rest of what its pattern took; None for what is no symbol."""
    words = _WORD.findall(before.lower())
    if not _NO_SYMBOLS.isdisjoint(words):
        return None
    if "(" in behind or (words and "=" in behind):  # what only functions have behind their name is in a pattern
        return "function"
    if "=" in behind:
        return "constant"
    kind: SymbolKind = "function"
    for word in words:
        kind = _KIND_BY_WORD.get(word, kind)
    return kind


_BEFORE_NAMES = "|".join([*_KIND_BY_WORD, "let", "var", "val", "readonly", "export"])
_TYPED = re.compile(r"[\w$?!-]+")


def can_be_a_name(typed: str) -> bool:
    """Whether a name of a symbol may contain this."""
    return _TYPED.fullmatch(typed) is not None


def likely_lines(typed: str) -> tuple[str, ...]:
    """Return regular expressions for ripgrep, ignoring case: lines that may define a name with this in it.

    `typed` must be what `can_be_a_name`.
    """
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
