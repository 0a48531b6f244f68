"""Whether a later word of a command line names a program, for the many programs that start what their words say.

`prlimit rm x`, `git -c alias.z='!rm x' z`, `tar --to-command=rm`, `ld.so /bin/rm`: no table has all of them. So a
program counts as named wherever its name stands: as a word, behind `=`, `!` or another sign, at the end of a path,
attached to a short option, in a text that another program may read as a script, written with quotes, escapes,
wildcards, braces or variables that may come to it. Only the line's own comments do not count.

Read widely, because what is named only asks. Pure, and linear in the length of the line.
"""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct

from desktop_agent.core.policy.paths import normalized
from desktop_agent.core.policy.segments import ParsedCommand, Segment
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.policy.shell_words import Word
from desktop_agent.core.policy.wrappers import SYSTEM_FOLDERS, bare_name

_EXPANSION = re.compile(r"\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+|\$[-!?@*#$]")
_DEFAULT = re.compile(r"\$\{!?\w+:?[-+=?]")
"""The beginning of `${x:-rm}`: what follows is a word of its own."""
_BRACES = re.compile(r"\{[^{}]*\}")
_QUOTES = re.compile(r"\\\n|[\\'\"]")
_BETWEEN = re.compile(r"[^\w.+/~*?-]+")
"""What ends a name in a text: everything that rarely is a part of a file's name."""
_ATTACHED = re.compile(r"-[A-Za-z0-9]+")
_ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_WHOLE_OPTIONS = frozenset({"-perm", "-form", "-confirm", "-transform", "-farm", "-norm"})
"""Words behind one dash that are one option, not a letter with a value."""
_LONGEST = 64
"""Of a name behind the letter of a short option."""


class _Spoken(Struct, frozen=True):
    """One word, and everything that it may name."""

    word: str
    names: frozenset[str] = frozenset()
    globs: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()
    """Short options with whatever stands behind their letters."""

    def may_be(self, program: str) -> bool:
        """Whether the word may come to the name of `program`."""
        return (
            program in self.names
            or any(fnmatchcase(program, glob) for glob in self.globs)
            or any(option.endswith(program) and len(option) > len(program) + 1 for option in self.attached)
        )


def mention(wanted: Sequence[str], parsed: ParsedCommand) -> str:
    """Return the later word of a line that names the command `wanted`; empty when none does.

    A command of several words, as `git push`, is named where its program is and its other words follow, options
    aside.
    """
    if not wanted:
        return ""
    program = bare_name(wanted[0])
    others = {_key(word) for word in wanted[1:] if not word.startswith("-")}
    for words in _later_words(parsed.text):
        first = next((index for index, spoken in enumerate(words) if spoken.may_be(program)), None)
        if first is not None and others <= {name for each in words[first:] for name in each.names}:
            return words[first].word
    return ""


@lru_cache(maxsize=128)
def _later_words(command: str) -> tuple[tuple[_Spoken, ...], ...]:
    """Return what every command of a line says behind its program, in order, each word with what it may name."""
    parsed = parse(command)
    known: dict[Word, _Spoken] = {}
    found: dict[tuple[Word, ...], None] = {}
    for segment in parsed.segments:
        found |= dict.fromkeys(_sequences(segment))
    if "<<" in command and parsed.segments:
        found[Word(command),] = None  # the text of a here document is in no word
    for words in found:
        known |= {word: _spoken(word) for word in words if word not in known}
    return tuple(tuple(known[word] for word in words) for words in found)


def _sequences(segment: Segment) -> Iterator[tuple[Word, ...]]:
    yield segment.parts[1:]
    if segment.outer:
        yield segment.outer[0][1:]  # the outermost has all others behind it
    yield tuple(redirection.target for redirection in segment.redirections)
    yield tuple(Word(value) for _, value in segment.assignments)


def _spoken(word: Word) -> _Spoken:
    names: set[str] = set()
    globs: set[str] = set()
    attached: set[str] = set()
    for text in _readings(word.text):
        for token in _BETWEEN.split(text):
            if not token:
                continue
            if _ATTACHED.fullmatch(token) and token not in _WHOLE_OPTIONS:
                attached.add(token.casefold()[: _LONGEST + 2])
            if "*" in token or "?" in token:
                globs |= {glob for glob in (_glob(token),) if glob}
            else:
                names |= {bare_name(token.lstrip("+")), _key(token)}
    return _Spoken(word.text, frozenset(names), tuple(globs), tuple(attached))


def _readings(text: str) -> Iterator[str]:
    """Yield a text as it is, and as a shell that reads it later may understand it."""
    if "$'" in text:
        text = _ANSI.sub(_unescaped, text)
    opened = _DEFAULT.sub(" ", text)
    yield _EXPANSION.sub(" ", opened)
    yield _QUOTES.sub("", _EXPANSION.sub(" ", opened))
    if _EXPANSION.search(text):
        yield _QUOTES.sub("", _EXPANSION.sub("*", text))
        yield _EXPANSION.sub(lambda found: f" {found[0][1:]} ", opened)
    if _BRACES.search(text):
        yield _QUOTES.sub("", _BRACES.sub("*", text))
    if "[" in text:
        yield re.sub(r"\[[^\]]*\]", "?", text)


def _unescaped(found: re.Match[str]) -> str:
    digits = next((digits for digits in found.groups()[:3] if digits), None)
    if digits is not None:
        return chr(min(int(digits, 16), 0x10FFFF))
    return chr(int(found[4], 8) & 0xFF) if found[4] else found[0]


def _glob(token: str) -> str:
    """Return the pattern that a name must fit; empty for one that says nothing, as `*` and `src/*` do."""
    folder, _, pattern = token.replace("\\", "/").rpartition("/")
    is_telling = re.search(r"\w", pattern) is not None or pattern.count("*") > 1 or folder in SYSTEM_FOLDERS
    return pattern.casefold() if is_telling else ""


def _key(word: str) -> str:
    """Return a word in the form that two spellings of it share."""
    return normalized(re.sub("/+", "/", word)).casefold().rstrip("=") if word else ""
