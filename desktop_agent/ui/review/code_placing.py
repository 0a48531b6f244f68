"""Where a block of code of an answer goes in a file, and what is known of the file."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.protocol.model import FileDiff


class ApplyTarget(NamedTuple):
    """A file as it is on disk, or the place for a new one."""

    path: str
    text: str | None
    """`None`: there is no file yet."""
    digest: Digest | None


class ApplySource(Protocol):
    """Works beside the window's thread. Raises `AgentError` when something cannot be read or compared."""

    async def read(self, path: str) -> ApplyTarget: ...

    async def compare(self, target: ApplyTarget, new: str) -> FileDiff: ...

    async def offers(self, typed: str) -> Sequence[str]: ...

    def obstacle(self) -> str:
        """Say why nothing can be written now; empty when it can."""
        ...


Place = Literal["file", "lines", "end"]
"""What the code replaces: the whole file, the lines that it is another version of, or nothing."""

_MOSTLY = 0.8
"""Code as long as this share of a file is rather the whole of it."""
_CLOSING = re.compile(r"[\])}]+[;,)]*\Z|end\b")
_BOM = "\ufeff"


def decoded(content: bytes) -> str | None:
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def places(text: str | None, code: str) -> tuple[Place, ...]:
    """Return where `code` can go in a file with this text (`None`: there is no file), the likeliest place first."""
    if text is None or not text.strip():
        return ("file",)
    if _range_in(text, code) is None:
        return ("file", "end")
    is_whole = len(code) >= _MOSTLY * len(text)
    return ("file", "lines", "end") if is_whole else ("lines", "file", "end")


def placed(text: str | None, code: str, place: Place) -> str:
    """Return the new text of the file. Line ends and a byte order mark stay those of the file."""
    code = code.replace("\r\n", "\n").rstrip("\n") + "\n"
    if text is None:
        return code
    mark = _BOM if text.startswith(_BOM) else ""
    is_dos = "\r\n" in text
    plain = text.removeprefix(_BOM).replace("\r\n", "\n")
    span = _range_in(plain, code) if place == "lines" else None
    if place == "end":
        new = plain.rstrip("\n") + "\n\n" + code
    elif span is not None:
        lines = plain.splitlines(keepends=True)
        first, last = span
        new = "".join([*lines[:first], _indented(code, lines[first]), *lines[last + 1 :]])
    else:
        new = code
    return mark + (new.replace("\n", "\r\n") if is_dos else new)


def _range_in(text: str, code: str) -> tuple[int, int] | None:
    """Return the first and the last line of `text` that `code` is another version of, if that is clear."""
    lines = [line.strip() for line in text.splitlines()]
    written = [line.strip() for line in code.splitlines() if line.strip()]
    if not written or lines.count(written[0]) != 1:
        return None
    first = lines.index(written[0])
    last_written = written[-1]
    if len(written) > 1 and lines.count(last_written) == 1 and (last := lines.index(last_written)) > first:
        return first, last
    return first, _end_of_block(text.splitlines(), first)


def _end_of_block(lines: list[str], first: int) -> int:
    """Return the last line of what begins at `first` and is indented further, with the bracket that closes it."""
    depth, last = _indent(lines[first]), first
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            continue
        if _indent(line) <= depth:
            return number if _indent(line) == depth and _CLOSING.match(line.strip()) else last
        last = number
    return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _indented(code: str, line: str) -> str:
    first = next(each for each in code.splitlines() if each.strip())
    missing = line[: _indent(line) - _indent(first)] if _indent(line) > _indent(first) else ""
    return "".join(missing + each if each.strip() else each for each in code.splitlines(keepends=True))
