"""Programs that wait for a user at a terminal, found before they hang a call that no user can answer.

This reads the command's words, not its text: `echo top` is fine, `git log | less` is not. It is a courtesy to the
model, not a safety check; what it misses meets the timeout.
"""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress

_EDITORS = frozenset({"vi", "vim", "nvim", "view", "vimdiff", "nano", "pico", "emacs", "micro", "hx"})
_MONITORS = frozenset({"top", "htop", "btop", "atop"})
_PAGERS = frozenset({"less", "more", "most"})
_PROGRAMS = _EDITORS | _MONITORS | _PAGERS

_QUIET_OPTIONS = re.compile(r"--version|--help|--headless|--?batch|-[A-Za-z]*[Ee]s|-b\S*|-l\S*")
"""Options with which one of these programs does its work and ends: `vim -es`, `emacs --batch`, `top -bn1`."""

_WRAPPERS = frozenset({"command", "doas", "env", "exec", "nice", "nohup", "sudo", "time"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_SEPARATORS = ";&|()\n"
_LONGEST_READ = 4000
"""Characters of a command that are looked at: the lexer takes quadratic time for long words."""


def interactive_program(command: str) -> str | None:
    """Return the first program in `command` that would wait for a user, or None."""
    for words in _segments(command[:_LONGEST_READ]):
        while words and (words[0] in _WRAPPERS or _ASSIGNMENT.fullmatch(words[0]) or words[0].startswith("-")):
            words.pop(0)
        name = words[0].rpartition("/")[2] if words else ""
        if name in _PROGRAMS and not any(_QUIET_OPTIONS.fullmatch(word) for word in words[1:]):
            return name
    return None


def _segments(command: str) -> Iterator[list[str]]:
    """Yield the words of each simple command, up to the first here-document, whose text is not commands."""
    words: list[str] = []
    for token in _tokens(command):
        if token.startswith("<<") and not token.startswith("<<<"):
            break
        if token and set(token) <= set(_SEPARATORS):
            yield words
            words = []
        else:
            words.append(token)
    yield words


def _tokens(command: str) -> Iterator[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    with suppress(ValueError):  # unbalanced quotes: the shell will say so better
        yield from lexer
