"""What a program printed, made readable: no escape codes, overwritten lines overwritten, and only so much of it."""

import json
import re
from typing import NamedTuple, cast

MAX_LINE = 500
"""Characters of a line that are shown; the whole is one click away."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movement (CSI)
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # titles, links and other strings (OSC, DCS …)
    r"|\x1b[ -/]*[0-~]"  # everything else that begins with an escape
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MAX_JSON = 300_000


class Excerpt(NamedTuple):
    """Some lines of an output, and how many there are besides."""

    text: str
    hidden_lines: int


def plain(text: str) -> str:
    """Return `text` as a terminal would leave it, without colours."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    if "\r" in text or "\b" in text:
        text = "\n".join(map(_overwritten, text.split("\n")))
    return _CONTROLS.sub("", text)


def _overwritten(line: str) -> str:
    """Return what is left of a line that went back to its start, as progress bars do."""
    shown = line.rstrip("\r").rsplit("\r", 1)[-1]
    if "\b" not in shown:
        return shown
    kept: list[str] = []
    for letter in shown:
        if letter != "\b":
            kept.append(letter)
        elif kept:
            kept.pop()
    return "".join(kept)


def last_lines(text: str, count: int) -> Excerpt:
    """Return the last lines of an output, for what happens over time."""
    text = text.rstrip("\n")
    tail = text.rsplit("\n", count)
    hidden = tail[0].count("\n") + 1 if len(tail) > count else 0
    return Excerpt(_shorten(tail[-count:]), hidden)


def first_lines(text: str, count: int) -> Excerpt:
    """Return the first lines of an output, for what is read from the top."""
    text = text.rstrip("\n")
    head = text.split("\n", count)
    hidden = head[count].count("\n") + 1 if len(head) > count else 0
    return Excerpt(_shorten(head[:count]), hidden)


def _shorten(lines: list[str]) -> str:
    # Cut first: an escape code at the cut is the lesser evil next to cleaning a megabyte.
    cut = (line if len(line) <= 4 * MAX_LINE else line[-4 * MAX_LINE :] for line in lines)
    return "\n".join(line[:MAX_LINE] for line in map(plain, cut))


def readable(content: str) -> str:
    """Return what a person wants to see of a tool's result: tools answer the model in JSON."""
    if not content.startswith(("{", "[")) or len(content) > _MAX_JSON:
        return content
    try:
        answer: object = json.loads(content)
    except ValueError:
        return content
    return _text_of(answer) or content


def _text_of(answer: object) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list):
        items = cast("list[object]", answer)
        return "\n".join(map(str, items)) if all(isinstance(item, str | int) for item in items) else ""
    if not isinstance(answer, dict):
        return ""
    fields = cast("dict[str, object]", answer)
    for key in ("output", "error", "message", "entries"):
        if key in fields and not isinstance(fields[key], dict) and (text := _text_of(fields[key])):
            return text
    is_count = all(type(value) is int for value in fields.values())
    return "\n".join(f"{name}: {value}" for name, value in fields.items()) if is_count else ""
