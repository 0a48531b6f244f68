"""Which files a block of code may be meant for, as the text says it: behind the fence, in the code, or before it."""

import re
from collections.abc import Iterator

_PATH = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")
_WITHOUT_DOT = frozenset(("Dockerfile", "Makefile", "Justfile", "Procfile", "LICENSE", "Gemfile", "Rakefile"))
_SUFFIX = re.compile(r"\.[A-Za-z][\w-]{0,9}\Z")
_COMMENT = re.compile(r"\s*(?:#+|//+|--|;+|/\*|<!--|%)\s*(.*)")
_QUOTED = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")
_LINES_BEFORE = 3
_LONGEST_LINE = 300
_FAR = 2_000
"""How many characters in front of a fence are looked at: this is done whenever one comes into sight."""

_NO_FILES = frozenset(
    ("bash", "console", "diff", "math", "mermaid", "output", "patch", "sh", "shell", "terminal", "zsh")
)
"""Languages of what is run or looked at rather than saved, unless a file is named."""


def named_paths(source: str, start: int, code: str) -> tuple[str, ...]:
    """Return the relative paths that are named for the fence at `start` of `source`, the likeliest first."""
    line_end = source.find("\n", start)
    info = source[start:line_end] if line_end >= 0 else ""
    found = [
        *_paths_in(info[:_LONGEST_LINE].strip(" `~")),
        *_in_comment(code),
        *_before(source[max(0, start - _FAR) : start]),
    ]
    return tuple(dict.fromkeys(found))


def is_for_a_file(language: str, paths: tuple[str, ...]) -> bool:
    """Whether it makes sense to offer to write this code into a file."""
    return bool(paths) or language.lower() not in _NO_FILES


def _in_comment(code: str) -> Iterator[str]:
    """Yield a path that the first line names in a comment, and nothing else."""
    first = code.partition("\n")[0][:_LONGEST_LINE]
    comment = _COMMENT.fullmatch(first)
    words = comment[1].removesuffix("*/").removesuffix("-->").split() if comment is not None else []
    if len(words) == 1 or (len(words) == 2 and words[0].lower() in ("file:", "filename:", "path:")):
        yield from _paths_in(words[-1])


def _before(source: str) -> Iterator[str]:
    """Yield the paths in the lines above a fence, the nearest first."""
    lines = [line[-_LONGEST_LINE:] for line in source.splitlines() if line.strip()]
    for line in reversed(lines[-_LINES_BEFORE:]):
        if line.lstrip().startswith(("```", "~~~")):
            return
        quoted = [code or bold for code, bold in _QUOTED.findall(line)]
        last = line.rstrip(" :*").rpartition(" ")[2]
        for words in [last, *reversed(quoted)]:
            yield from _paths_in(words.strip("`*():"))


def _paths_in(text: str) -> Iterator[str]:
    for word in re.split(r"[\s\"'=:,{}()]+", text):
        path = word.removeprefix("./")
        name = path.rpartition("/")[2]
        is_name = name in _WITHOUT_DOT or _SUFFIX.search(name) is not None
        if is_name and _PATH.fullmatch(path) and ".." not in path.split("/") and not path.startswith("www."):
            yield path
