"""Reading files that anybody may have written: only the beginning, never through a link or a pipe, and no secrets.

Front matter is YAML between two lines of `---` above Markdown, as in skills, sub-agents, commands and rules. It is
read leniently, as the peers do: YAML that is broken is read again with its values quoted. All scalars stay text, so
that `1.10` and `no` are what they look like. Aliases are refused, a few of which can stand for gigabytes.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from msgspec import Struct

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.regex import regex

SecretAt = Callable[[Path, os.stat_result], str]
"""Returns the name for which a resolved file counts as a secret; empty if it does not. Raises `ToolError`."""


class HoldsSecretsError(ValueError):
    """The file holds secrets, or may. The message is the reason, worded to follow a name and a colon."""


def read_start(path: Path, most: int, secret_at: SecretAt | None) -> bytes:
    """Return the first `most` bytes of a resolved file. Blocks, but never on a pipe.

    `secret_at` is `None` for the user's own file, which may be any file. Raises `HoldsSecretsError` and `OSError`.
    """
    with open(path, "rb", opener=_not_through_a_link) as source:
        # The file that is open is judged: another may have taken its name since the look.
        if secret_at is not None and (reason := _why_not(path, source.fileno(), secret_at)):
            raise HoldsSecretsError(reason)
        return source.read(most)


def why_unread(error: Exception) -> str:
    """Return why a file could not be read or parsed, in the system's words where it has some."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(getattr(error, "strerror", None) or error)


def _why_not(path: Path, descriptor: int, secret_at: SecretAt) -> str:
    with suppress(OSError):  # only Linux tells where the open file is
        opened = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - for hundreds of files
        if opened.removesuffix(" (deleted)") != str(path):
            return "a folder of it was replaced while it was read"
    try:
        secret = secret_at(path, os.fstat(descriptor))
    except ToolError:  # the folder is too big to find its secrets
        return "it has another name (a hard link), and the folder holds too many files to find out which"
    return f"it is a link to `{secret}`, which often holds secrets" if secret else ""


def _not_through_a_link(path: str, flags: int) -> int:
    """Open the file that was checked, unless a link replaced it; never wait for a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


MOST_CHARS = 32_768
_MOST_DEPTH = 12

Value = str | list["Value"] | dict[str, "Value"]

_FENCED = regex(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_FIELD = regex(r"([A-Za-z][\w.-]*)[ \t]*:[ \t]+(\S.*)")


class FrontMatter(Struct, frozen=True):
    fields: Mapping[str, Value] = {}
    """The fields by their lower-case names."""
    body: str = ""
    problem: str = ""
    """Why fields are missing; it follows the name of the file and a colon."""

    def text(self, name: str) -> str:
        """Return a field that is text, without white space around it; empty if it is missing or something else.

        A list is the text in brackets that it was probably meant to be, as in `argument-hint: [branch]`.
        """
        value = self.fields.get(name, "")
        if isinstance(value, list):
            return f"[{', '.join(self.texts(name))}]"
        return value.strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts, which may also be written as one text with commas."""
        value = self.fields.get(name, "")
        if isinstance(value, dict):
            return ()
        values = value.split(",") if isinstance(value, str) else [each for each in value if isinstance(each, str)]
        return tuple(text for text in map(str.strip, values) if text)

    def switch(self, name: str, *, default: bool) -> bool:
        """Return a field that is true or false; the default for anything else."""
        return {"true": True, "yes": True, "false": False, "no": False}.get(self.text(name).lower(), default)


def split(text: str) -> FrontMatter:
    """Return the fields and the body of a file. Never raises: what is wrong with the fields is their `problem`."""
    match = _FENCED.match(text)
    if match is None:
        return FrontMatter(body=text.strip())
    above, body = match[1], text[match.end() :].strip()
    if len(above) > MOST_CHARS:
        return FrontMatter(body=body, problem=f"its front matter has more than {MOST_CHARS:,} characters")
    try:
        try:
            found = parsed(above)
        except ValueError:
            found = parsed("\n".join(map(_with_value_quoted, above.splitlines())))
    except ValueError as error:
        return FrontMatter(body=body, problem=f"its front matter is not valid YAML: {error}")
    if not isinstance(found, dict):
        return FrontMatter(body=body, problem="" if found == "" else "its front matter has no names of fields")
    return FrontMatter({name.lower(): value for name, value in found.items()}, body)


def _with_value_quoted(line: str) -> str:
    """Quote the value of `name: value` unless it is YAML by itself, so that a colon or another sign in it is text."""
    match = _FIELD.fullmatch(line.rstrip())
    if match is None:
        return line
    try:
        parsed(line)
    except ValueError:
        doubled = match[2].replace("'", "''")
        return f"{match[1]}: '{doubled}'"
    return line


def parsed(text: str) -> Value:
    """Return a YAML document whose scalars are all text. Raises `ValueError` with a reason.

    It is made of the parser's events without recursion, because a folder's file may nest as deeply as it likes.
    """
    import yaml  # takes milliseconds, and only a folder with such files needs it

    open_values: list[list[Value] | dict[str, Value]] = [[]]
    keys: list[str | None] = [None]

    def put(value: Value) -> None:
        inside, key = open_values[-1], keys[-1]
        if isinstance(inside, list):
            inside.append(value)
        elif key is None:
            if not isinstance(value, str):
                raise ValueError("a name of a field is not text")  # noqa: TRY004 - one error for what is no front matter
            keys[-1] = value
        else:
            inside[key] = value
            keys[-1] = None

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # not every build of PyYAML has libyaml's
    parse = cast("Callable[[str, object], Iterator[yaml.Event]]", yaml.parse)
    try:
        for event in parse(text, loader):
            match event:
                case yaml.ScalarEvent():
                    put(cast("str", event.value))
                case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                    if len(open_values) > _MOST_DEPTH:
                        raise ValueError(f"it nests more than {_MOST_DEPTH} deep")
                    value: list[Value] | dict[str, Value] = [] if isinstance(event, yaml.SequenceStartEvent) else {}
                    put(value)
                    open_values.append(value)
                    keys.append(None)
                case yaml.CollectionEndEvent():
                    open_values.pop()
                    keys.pop()
                case yaml.AliasEvent():
                    raise ValueError("it has an alias (`*name`)")
                case _:
                    pass
    except (yaml.YAMLError, RecursionError) as error:
        mark = cast("yaml.Mark | None", getattr(error, "problem_mark", None))
        reason = str(getattr(error, "problem", None) or "it cannot be read")
        raise ValueError(reason if mark is None else f"{reason} (line {mark.line + 1})") from error
    [document] = open_values
    return document[0] if isinstance(document, list) and document else ""
