"""What a rule for commands outside the sandbox covers beyond the words that it begins with.

Nothing for programs that are not listed here. For the others, the listed options, and words that can only name what the
program works on in the folder. Options that name a program, a file to send or another host are in no list, so they need
a rule for the exact line.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

_BRANCH = re.compile(r"(?![-+.])(?!.*(\.\.|@\{))[\w./-]+")
_PATH = re.compile(r"(?![-/~])(?!(.*/)?\.\.(/|$))[\w./ -]+(::[\w:.\[\]-]+)?")
_PACKAGE = re.compile(r"\.|\./(?!(.*/)?\.\.(/|$))[\w./-]*")
"""Go packages in the folder; any other name is somebody's module."""
_TEXT = re.compile(r"(?!-)[^\0]*", re.DOTALL)
_NUMBER = re.compile(r"\d{1,9}")
_WORD = re.compile(r"\w[\w.-]*")


class Cover(Struct, frozen=True):
    """What may follow the words of a rule: options without a value, options with one, and other words."""

    letters: str = ""
    longs: tuple[str, ...] = ()
    values: tuple[tuple[str, re.Pattern[str]], ...] = ()
    others: re.Pattern[str] | None = None
    """None: no other words, because they name a command, a package, a host, or a file to send."""


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

_TAKE_REMOTE = frozenset({("git", "fetch"), ("git", "pull"), ("git", "push")})
"""Commands whose next word is the remote: only a rule that names it covers the branches after it."""


def covers(named: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a rule for commands that begin with `named` covers all of `words`, which begin with it."""
    rest = list(words[len(named) :])
    if not rest:
        return True
    key, offset = _key(words)
    cover = COVERED.get(key)
    if cover is None or len(named) < len(key) + offset:
        return False
    others = cover.others
    if key in _TAKE_REMOTE and _names_a_remote(list(named[len(key) :]), cover):
        others = _BRANCH
    return _are_covered(rest, cover, others)


def _names_a_remote(words: list[str], cover: Cover) -> bool:
    """Whether a rule's own words end with the remote, and the others are known options."""
    return bool(words) and not words[-1].startswith("-") and _are_covered(words[:-1], cover, None)


def _key(words: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Return the key that a command may be listed under, and how many words it begins with in addition."""
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
