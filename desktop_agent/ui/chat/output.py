"""What a program printed, made readable: no escape codes, overwritten lines overwritten, and only so much of it."""

import json
import re
from typing import NamedTuple, cast

from desktop_agent.ui.terminal.line import MAX_LINE, goes_back, read_line

_MAX_JSON = 300_000
_NOTES = re.compile(r"(?:\[[^\n]*\]\n)+(?=\{)")
"""Notes to the model before a command's output; the card says the same in its own words."""


class OutputExcerpt(NamedTuple):
    """Some lines of an output, and how many there are besides."""

    text: str
    hidden_lines: int
    cut_lines: int = 0
    """How many of the lines go on beyond what is shown of them."""
    cut_chars: int = 0
    """For how many characters they do."""


def plain(text: str) -> str:
    """Return `text` as a terminal would leave it, without colours."""
    return "\n".join(read_line(line)[0].text for line in text.split("\n"))


def first_lines(text: str, count: int) -> OutputExcerpt:
    """Return the first lines of an output, for what is read from the top."""
    text = text.rstrip("\n")
    head = text.split("\n", count)
    hidden = head[count].count("\n") + 1 if len(head) > count else 0
    lines = [_shortened(line) for line in head[:count]]
    cuts = [cut for _, cut in lines if cut]
    return OutputExcerpt("\n".join(line for line, _ in lines), hidden, len(cuts), sum(cuts))


def _shortened(line: str) -> tuple[str, int]:
    """Return the beginning of a line, and for how many characters it goes on."""
    most = 4 * MAX_LINE
    if len(line) <= most:
        read, cut = line, 0
    elif goes_back(line):
        read, cut = line[-most:], 0  # what it was before it was overwritten is nowhere to be seen
    else:
        # Cut first: an escape code at the cut is the lesser evil next to cleaning a megabyte.
        read, cut = line[:most], len(line) - most
    text = plain(read)
    return text[:MAX_LINE], cut + max(0, len(text) - MAX_LINE)


def readable(content: str) -> str:
    """Return what the user wants to see of a tool's result: tools answer the model in JSON, below notes in brackets."""
    if notes := _NOTES.match(content):
        content = content[notes.end() :]
    if not content.startswith(("{", "[")) or len(content) > _MAX_JSON:
        return content
    try:
        answer: object = json.loads(content)
    except ValueError:
        return content
    return "" if _is_silent(answer) else _text_of(answer) or content


def _is_silent(answer: object) -> bool:
    """Whether there is nothing to see: a search that found nothing, a command that printed nothing."""
    if not isinstance(answer, dict):
        return answer == []
    fields = cast("dict[str, object]", answer)
    return not fields or (fields.get("output") == "" and not fields.get("note"))


def _text_of(answer: object) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list):
        items = cast("list[object]", answer)
        return "\n".join(map(str, items)) if all(isinstance(item, str | int) for item in items) else ""
    if not isinstance(answer, dict):
        return ""
    fields = cast("dict[str, object]", answer)
    for key in ("output", "error", "message", "entries", "note"):
        if key in fields and not isinstance(fields[key], dict) and (text := _text_of(fields[key])):
            return text
    is_count = all(type(value) is int for value in fields.values())
    return "\n".join(f"{name}: {value}" for name, value in fields.items()) if is_count else ""
