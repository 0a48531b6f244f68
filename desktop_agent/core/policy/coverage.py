"""Tells which commands the words of a rule apply to. Pure, in linear time.

A program counts as named wherever its name is found, because many programs start others (`prlimit rm x`).
"""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct

from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.paths import normalized
from desktop_agent.core.policy.segments import SYSTEM_FOLDERS, ParsedCommand, Segment, bare_name
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.policy.shell_words import Word

_BRANCH = regex(r"(?![-+.])(?!.*(\.\.|@\{))[\w./-]+")
_PATH = regex(r"(?![-/~])(?!(.*/)?\.\.(/|$))[\w./ -]+(::[\w:.\[\]-]+)?")
_PACKAGE = regex(r"\.|\./(?!(.*/)?\.\.(/|$))[\w./-]*")
_TEXT = regex(r"(?!-)[^\0]*", re.DOTALL)
_NUMBER = regex(r"\d{1,9}")
_WORD = regex(r"\w[\w.-]*")


class Cover(Struct, frozen=True):
    """What may follow the words of a rule: options without a value, options with one (`values`), and other words."""

    letters: str = ""
    longs: tuple[str, ...] = ()
    values: tuple[tuple[str, re.Pattern[str]], ...] = ()
    others: re.Pattern[str] | None = None
    """None if there may be no other words, because they would name a command, a package, a host, or a file to send."""


_TESTS = Cover(
    "qvxsl",
    ("verbose", "quiet", "exitfirst", "last-failed", "lf", "failed-first", "ff", "stepwise", "no-header", "no-summary"),
    (("-k", _TEXT), ("-m", _WORD), ("--maxfail", _NUMBER), ("--tb", _WORD), ("--durations", _NUMBER)),
    _PATH,
)
_INSTALL = Cover("s", ("no-audit", "no-fund", "silent", "quiet", "prefer-offline", "frozen-lockfile", "immutable"))
_CARGO = Cover(
    "qv",
    (
        "release", "quiet", "verbose", "workspace", "all", "locked", "offline", "frozen", "lib", "bins", "tests",
        "examples", "all-targets", "all-features", "no-default-features", "keep-going", "no-fail-fast",
    ),
    (("-p", _WORD), ("--package", _WORD), ("-j", _NUMBER), ("--jobs", _NUMBER)),
)  # fmt: skip
_FETCH = Cover(
    "qvp",
    ("quiet", "verbose", "prune", "tags", "no-tags", "progress", "no-progress", "dry-run"),
    (("--depth", _NUMBER),),
)
_PULL = Cover("qv", ("quiet", "verbose", "ff-only", "rebase", "no-rebase", "autostash", "progress", "no-progress"))
_PUSH = Cover(
    "qvnu",
    ("quiet", "verbose", "dry-run", "set-upstream", "follow-tags", "porcelain", "progress", "no-progress", "atomic"),
)
_COMMIT = Cover(
    "aqs", ("all", "quiet", "signoff", "no-edit", "allow-empty"), (("-m", _TEXT), ("--message", _TEXT)), _PATH
)

COVERED: dict[tuple[str, ...], Cover] = {
    ("git", "fetch"): _FETCH,
    ("git", "pull"): _PULL,
    ("git", "push"): _PUSH,
    ("git", "commit"): _COMMIT,
    ("git", "add"): Cover("Auv", ("all", "update", "verbose"), (), _PATH),
    ("git", "switch"): Cover("q", ("quiet",), (), _BRANCH),
    ("npm", "install"): _INSTALL,
    ("npm", "ci"): _INSTALL,
    ("pnpm", "install"): _INSTALL,
    ("yarn", "install"): _INSTALL,
    ("pytest",): _TESTS,
    ("cargo", "build"): _CARGO,
    ("cargo", "check"): _CARGO,
    ("cargo", "test"): _CARGO,
    ("cargo", "clippy"): _CARGO,
    ("go", "build"): Cover("v", ("race",), (), _PACKAGE),
    ("go", "test"): Cover("v", ("race", "short"), (("-run", _WORD), ("-count", _NUMBER)), _PACKAGE),
    ("go", "vet"): Cover("v", (), (), _PACKAGE),
    ("make",): Cover("ks", ("keep-going", "silent", "quiet"), (("-j", _NUMBER), ("--jobs", _NUMBER))),
}
"""By the first words of a command. `python -m pytest` counts as `pytest`."""

TAKE_REMOTE = frozenset({("git", "fetch"), ("git", "pull"), ("git", "push")})
"""The next word is the remote. Only a rule that names the remote covers the branches after it."""


def covers(named: Sequence[str], words: Sequence[str]) -> bool:
    rest = list(words[len(named) :])
    if not rest:
        return True
    key, offset = _listed_under(words)
    cover = COVERED.get(key)
    if cover is None or len(named) < len(key) + offset:
        return False
    others = cover.others
    options, remote = list(named[len(key) : -1]), named[-1]
    if key in TAKE_REMOTE and len(named) > len(key) and remote[:1] != "-" and _are_covered(options, cover, None):
        others = _BRANCH
    return _are_covered(rest, cover, others)


def _listed_under(words: Sequence[str]) -> tuple[tuple[str, ...], int]:
    if re.fullmatch(r"python[\d.]*", words[0]) and tuple(words[1:3]) == ("-m", "pytest"):
        return ("pytest",), 2
    first = tuple(words[:1])
    return (first if first in COVERED else tuple(words[:2])), 0


def _are_covered(rest: list[str], cover: Cover, others: re.Pattern[str] | None) -> bool:
    values = dict(cover.values)
    index = 0
    while index < len(rest):
        word = rest[index]
        index += 1
        name, has_value, value = word.partition("=")
        if word[:2] in values and len(word) > 2:  # `-j4`
            name, has_value, value = word[:2], "=", word[2:]
        if word.startswith("-") and name in values:
            if not has_value:
                if index == len(rest):
                    return False
                value, index = rest[index], index + 1
            if values[name].fullmatch(value) is None:
                return False
        elif word.startswith("--") and word != "--":
            if word[2:] not in cover.longs:
                return False
        elif word.startswith("-"):
            if not (word[1:] in cover.longs or (word[1:] and set(word[1:]) <= set(cover.letters))):
                return False
        elif others is None or others.fullmatch(word) is None:
            return False
    return True


_EXPANSION = regex(r"\$\{[^{}]*\}|\$\([^()]*\)|`[^`]*`|\$\w+|\$[-!?@*#$]")
_DEFAULT = regex(r"\$\{!?\w+:?[-+=?]")
_BRACES = regex(r"\{[^{}]*\}")
_QUOTES = regex(r"\\\n|[\\'\"]")
_BETWEEN = regex(r"[^\w.+/~*?-]+")
_ATTACHED = regex(r"-[A-Za-z0-9]+")
_ANSI = regex(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_WHOLE_OPTIONS = frozenset({"-perm", "-form", "-confirm", "-transform", "-farm", "-norm"})
_LONGEST = 64


class _Spoken(Struct, frozen=True):
    word: str
    names: frozenset[str] = frozenset()
    globs: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()

    def may_be(self, program: str) -> bool:
        return (
            program in self.names
            or any(fnmatchcase(program, glob) for glob in self.globs)
            or any(option.endswith(program) and len(option) > len(program) + 1 for option in self.attached)
        )


def mention(wanted: Sequence[str], parsed: ParsedCommand) -> str:
    if not wanted:
        return ""
    program = bare_name(wanted[0])
    others = {_folded(word) for word in wanted[1:] if not word.startswith("-")}
    for words in _later_words(parsed.text):
        first = next((index for index, spoken in enumerate(words) if spoken.may_be(program)), None)
        if first is not None and others <= {name for each in words[first:] for name in each.names}:
            return words[first].word
    return ""


@lru_cache(maxsize=128)
def _later_words(command: str) -> tuple[tuple[_Spoken, ...], ...]:
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
        yield segment.outer[0][1:]  # the outermost contains all others
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
                folder, _, pattern = token.replace("\\", "/").rpartition("/")
                # A glob such as `*` or `src/*` excludes nothing, so it names nothing.
                if re.search(r"\w", pattern) or pattern.count("*") > 1 or folder in SYSTEM_FOLDERS:
                    globs.add(pattern.casefold())
            else:
                names |= {bare_name(token.lstrip("+")), _folded(token)}
    return _Spoken(word.text, frozenset(names), tuple(globs), tuple(attached))


def _readings(text: str) -> Iterator[str]:
    """Yield a text unchanged, and in the forms in which a shell could read it later."""
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


def _folded(word: str) -> str:
    return normalized(re.sub("/+", "/", word)).casefold().rstrip("=") if word else ""
