r"""What a file defines: functions, classes, types, constants, headings, found line by line.

One regular expression per family of languages, not a parser: it must be right for what people write in the usual way,
fast (some megabytes a second), and harmless on anything else. Quantifiers next to each other never share a character,
so that no line takes long.
"""

import re
from pathlib import PurePosixPath

LONGEST_NAME = 80

_NO_NAMES = "if for while switch catch return else do function new throw await sizeof elif match with"
KEYWORDS = frozenset(_NO_NAMES.split())
"""What stands where a name would and is none."""

_PYTHON = r"""
^[ \t]*(?:async[ ]+)?(?:def|class)[ ]+(\w+)
| ^([A-Z][A-Z0-9_]{2,})[ ]*(?::[^=\n]*)?=(?!=)
"""
_SCRIPT = r"""
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
_C = r"""
^\#[ \t]*define[ \t]+(\w+)
| ^[ \t]*(?:typedef[ ]+)?(?:struct|class|enum(?:[ ]class)?|union|namespace)[ ]+(?:[A-Z][A-Z0-9_]*[ ]+)?
(\w+)(?=[ \t]*(?:final\b[ ]*)?(?:[:{][^;\n]*)?$)
| ^(?:[\w:<>,]++[ \t*&]++){1,6}(~?[\w:]+)[ ]*\([^;\n]*$
"""
_JVM = r"""
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

_FAMILIES = {
    _PYTHON: "py pyi pyx",
    _SCRIPT: "js jsx mjs cjs ts tsx mts cts vue svelte",
    _GO: "go",
    _RUST: "rs",
    _C: "c h cc cpp cxx hh hpp hxx m mm cu ino",
    _JVM: "java kt kts scala cs swift dart groovy php",
    _RUBY: "rb rake",
    _SHELL: "sh bash zsh",
    _MARKDOWN: "md markdown",
    _SQL: "sql",
}
_BY_ENDING = {
    f".{ending}": re.compile(pattern, re.MULTILINE | re.VERBOSE)
    for pattern, endings in _FAMILIES.items()
    for ending in endings.split()
}
_ANY = re.compile(_OTHER, re.MULTILINE | re.VERBOSE)
_DATA_ENDINGS = "json yaml yml toml xml html htm svg css scss csv tsv txt lock ini cfg"
_DATA = frozenset(f".{ending}" for ending in _DATA_ENDINGS.split())
_LINES_AT_ONCE = 200
"""Few enough that the interpreter is never held for long."""


def pattern_for(path: str) -> re.Pattern[str] | None:
    """Return what finds the definitions in the lines of a file, whose last group is the name; None for data."""
    ending = PurePosixPath(path).suffix.lower()
    return None if ending in _DATA else _BY_ENDING.get(ending, _ANY)


def definitions(path: str, lines: list[str]) -> list[tuple[int, str]]:
    """Return line (from 0) and name of what the file defines, in order. `lines` keep their newlines."""
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
