"""Reads a slash command: `/name`, then words, which may be quoted, or plain text up to the end.

A prompt that begins with a slash is written with two of them, or with a space in front. A quotation mark counts only
at the beginning of a word that ends with one, so that `/pin add don't touch it` needs no care.
"""

import re

from msgspec import Struct

_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s|$)|\'([^\']*)\'(?=\s|$)|(\S+)', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')
_NAME = re.compile(r"/(\S*)\s*", re.DOTALL)


class Invocation(Struct, frozen=True):
    """A command as it was written."""

    name: str
    """Without the slash."""
    rest: str
    """Everything behind the name, without the white space around it."""

    @property
    def words(self) -> tuple[str, ...]:
        """The rest as words."""
        return split_words(self.rest)


def is_command(text: str) -> bool:
    """Whether `text`, as it was typed, is a command and no prompt."""
    return text.startswith("/") and not text.startswith("//")


def prompt_of(text: str) -> str:
    """Return the prompt that `text` stands for, when it is no command."""
    stripped = text.strip()
    return stripped[1:] if text.startswith("//") else stripped


def typed_prompt(prompt: str) -> str:
    """Return how `prompt` has to be typed to be no command: the inverse of `prompt_of`."""
    return f" {prompt}" if prompt.startswith("/") else prompt


def parse(text: str) -> Invocation:
    """Read a command. Never fails: what is no name is an unknown one."""
    text = text.strip()
    match = _NAME.match(text)
    if match is None:
        return Invocation("", text)
    return Invocation(match[1].lower(), text[match.end() :])


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of `text`. In double quotes `\\"` and `\\\\` stand for what follows the backslash."""
    return tuple(_unquoted(match) for match in _WORD.finditer(text))


def first_word(text: str) -> tuple[str, str]:
    """Return the first word of `text` and what follows it, as it was written."""
    match = _WORD.match(text.lstrip())
    if match is None:
        return "", ""
    return _unquoted(match), text.lstrip()[match.end() :].strip()


def plain_text(text: str) -> str:
    """Return `text` without the quotation marks around all of it, if there are some."""
    text = text.strip()
    match = _WORD.fullmatch(text)
    return _unquoted(match) if match is not None else text


def _unquoted(match: re.Match[str]) -> str:
    double, single, bare = match.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return single if single is not None else bare
