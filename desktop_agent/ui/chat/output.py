"""What a tool answered, made readable: the text in its JSON, control characters escaped, up to a limit."""

import json
import re
from typing import NamedTuple, cast

from desktop_agent.core.base.plain_text import without_controls
from desktop_agent.ui.terminal.tail import MAX_LINE

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


def with_controls_named(text: str) -> str:
    """Return a text that no terminal has shown as the model reads it, with its control characters escaped."""
    return without_controls(text.replace("\r\n", "\n"))


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
    text = with_controls_named(line[:MAX_LINE].removesuffix("\r"))[:MAX_LINE]
    return text, max(0, len(line) - MAX_LINE)


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
