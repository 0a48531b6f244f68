"""Glob patterns with one meaning everywhere: that of `.gitignore`.

`*` and `?` stop at `/`, `**` does not, `[a-z]` and `[!a-z]` are sets, `{a,b}` are alternatives, `\\` takes the next
character as it is. A pattern without `/` is matched with the last part of a path, one with `/` with the whole path.
"""

import re

_TOKEN = re.compile(
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
    """One compiled pattern."""

    def __init__(self, pattern: str) -> None:
        """Raise `ValueError` that says what is wrong with `pattern`."""
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
        """Patterns for the last part alone that let through what this one matches; none when that is any name."""
        names = tuple(text.rpartition("/")[2] for text in self._alternatives)
        return () if any(name.strip("*") == "" for name in names) else names

    def filter(self, paths: list[str]) -> list[str]:
        """Return those of `paths` that `matches`, also for a hundred thousand: what an ending decides costs little."""
        endings = tuple(map(_literal_ending, self._alternatives))
        if "" not in endings:
            paths = [path for path in paths if path.endswith(endings)]
        return paths if all(map(self._is_all_ending, self._alternatives)) else list(filter(self.matches, paths))

    def _is_all_ending(self, text: str) -> bool:
        """Whether this alternative means every path with its ending."""
        is_anywhere = self._is_for_names or text.startswith("**/")
        return is_anywhere and text.removeprefix("**/") == f"*{_literal_ending(text)}"

    def matches(self, path: str) -> bool:
        """Whether the pattern means the file `path` (relative, with `/`)."""
        return self._regex.fullmatch(path.rpartition("/")[2] if self._is_for_names else path) is not None

    def covers(self, path: str) -> bool:
        """Whether the pattern means `path` or any folder that it lies in."""
        parts = path.split("/")
        return any(self.matches("/".join(parts[: count + 1])) for count in range(len(parts)))


def _literal_ending(pattern: str) -> str:
    """Return the plain characters that everything which matches `pattern` ends with."""
    return re.split(r"[][*?{}\\\\]", pattern)[-1].rpartition("/")[2]


def _without_braces(pattern: str) -> list[str]:
    """Return the patterns that one with `{a,b}` stands for."""
    innermost = re.search(r"(?<!\\)\{([^{}]*)\}", pattern)
    if innermost is None:
        return [pattern]
    head, tail = pattern[: innermost.start()], pattern[innermost.end() :]
    return [text for choice in innermost[1].split(",") for text in _without_braces(f"{head}{choice}{tail}")]


def _translate(pattern: str) -> str:
    return "".join(map(_token_regex, _TOKEN.finditer(pattern)))


def _token_regex(match: re.Match[str]) -> str:
    token = match[0]
    match match.lastgroup:
        case "folders":
            return "(?:[^/]+/)*"
        case "below":
            return ".+"
        case "stars":
            return "[^/]*"
        case "any":
            return "[^/]"
        case "set":
            inner = token[1:-1].replace("\\", r"\\").replace("[", r"\[")
            return f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
        case "stray":
            raise ValueError(f"{token!r} has no counterpart; write \\{token} for the character")
        case _:
            return re.escape(token[-1])
