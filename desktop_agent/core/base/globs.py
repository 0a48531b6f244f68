"""Globs, with the meaning of `.gitignore`. Matching takes linear time, whoever wrote the pattern."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from desktop_agent.core.base.regex import regex

MOST_ALTERNATIVES = 500
"""Thirty times `{a,b}` would expand to a billion alternatives."""

_TOKEN = regex(
    r"""
      (?P<folders> (?:^|(?<=/)) \*\*/ )   # **/ : any folders, also none
    | (?P<below>   (?:^|(?<=/)) \*\*$ )   # /** : everything below
    | (?P<stars>   \*+ )
    | (?P<any>     \? )
    | (?P<set>     \[ !? \]? [^]]* \] )
    | (?P<stray>   [][{}] )
    | (?P<literal> \\?. )
    """,
    re.VERBOSE | re.DOTALL,
)


class Glob:
    def __init__(self, pattern: str) -> None:
        if not pattern.strip("/"):
            raise ValueError("a glob must not be empty")
        self._alternatives = [
            f"{text}**" if text.endswith("/") else text for text in _without_braces(pattern.removeprefix("/"))
        ]
        self._is_for_names = "/" not in pattern
        try:
            self._regex = re.compile("|".join(f"(?:{_translate(text)})" for text in self._alternatives))
        except (re.error, ValueError) as error:
            raise ValueError(f"{pattern!r} is not a valid glob: {error}") from error

    @property
    def file_names(self) -> tuple[str, ...]:
        names = tuple(text.rpartition("/")[2] for text in self._alternatives)
        return () if any(name.strip("*") == "" for name in names) else names

    def filter(self, paths: list[str]) -> list[str]:
        """Return the paths that match. Fast even for 100,000 paths, because the ending decides most patterns."""
        endings = tuple(map(_literal_ending, self._alternatives))
        if "" not in endings:
            paths = [path for path in paths if path.endswith(endings)]
        return paths if all(map(self._is_all_ending, self._alternatives)) else list(filter(self.matches, paths))

    def _is_all_ending(self, text: str) -> bool:
        is_anywhere = self._is_for_names or text.startswith("**/")
        return is_anywhere and text.removeprefix("**/") == f"*{_literal_ending(text)}"

    def matches(self, path: str) -> bool:
        return self._regex.fullmatch(path.rpartition("/")[2] if self._is_for_names else path) is not None

    def covers(self, path: str) -> bool:
        parts = path.split("/")
        return any(self.matches("/".join(parts[: count + 1])) for count in range(len(parts)))


def _literal_ending(pattern: str) -> str:
    return re.split(r"[][*?{}\\\\]", pattern)[-1].rpartition("/")[2]


def _without_braces(pattern: str) -> list[str]:
    """Return the patterns without braces. Raises `ValueError` when there are too many alternatives."""
    found: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        innermost = re.search(r"(?<!\\)\{([^{}]*)\}", text)
        if innermost is None:
            found.append(text)
            continue
        head, tail = text[: innermost.start()], text[innermost.end() :]
        waiting += [f"{head}{choice}{tail}" for choice in reversed(innermost[1].split(","))]
        if len(found) + len(waiting) > MOST_ALTERNATIVES:
            raise ValueError(f"the glob has more than {MOST_ALTERNATIVES} alternatives; use fewer braces")
    return found


_Token = tuple[str, str]


def _translate(pattern: str) -> str:
    """The expression does not backtrack between stars, because `(?>…)` keeps its first match."""
    tokens = [(match.lastgroup or "", _token_regex(match)) for match in _TOKEN.finditer(pattern)]
    first, *others = _split(tokens, "folders")
    between = [_in_names(part) for part in others[:-1] if part]
    anywhere = "".join(f"(?>(?:[^/]+/)*?{part})" for part in between)
    return _in_names(first) + anywhere + (f"(?:[^/]+/)*{_in_names(others[-1])}" if others else "")


def _in_names(tokens: Sequence[_Token]) -> str:
    return "".join(_in_name(list(part)) for _, part in groupby(tokens, key=lambda token: token[1] == "/"))


def _in_name(tokens: Sequence[_Token]) -> str:
    first, *others = ("".join(regex for _, regex in part) for part in _split(tokens, "stars"))
    between = "".join(f"(?>[^/]*?{part})" for part in others[:-1])
    return first + between + (f"[^/]*{others[-1]}" if others else "")


def _split(tokens: Sequence[_Token], kind: str) -> Iterator[list[_Token]]:
    part: list[_Token] = []
    for token in tokens:
        if token[0] == kind:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _token_regex(match: re.Match[str]) -> str:
    token = match[0]
    match match.lastgroup:
        case "folders" | "stars":
            return ""  # their meaning depends on the neighbouring tokens
        case "below":
            return ".+"
        case "any":
            return "[^/]"
        case "set":
            inner = token[1:-1].replace("\\", r"\\").replace("[", r"\[")
            return f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
        case "stray":
            raise ValueError(f"{token!r} has no counterpart; write \\{token} for the character")
        case _:
            return re.escape(token[-1])
