"""Limits an output for the model: the beginning and the end, with a mark for the omitted middle."""

import json

from msgspec import Struct

from desktop_agent.core.diff.text import line_count
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.system.processes.output import continuation_bytes


class OutputLimits(Struct, frozen=True, kw_only=True):
    """The limits of a text. Half of each is for the beginning of the text. Bytes are those of UTF-8."""

    max_bytes: int
    max_lines: int


MODEL_FORMAT = OutputLimits(max_bytes=10_240, max_lines=256)
RESULT_LIMIT = OutputLimits(max_bytes=102_400, max_lines=102_400)
"""Only the bytes matter here, because no text of that many bytes has more lines."""

BYTES_PER_TOKEN = 4
"""The usual estimate; exact counts would need the model's own tokenizer."""

SMALLEST_BYTES = 512
SMALLEST_LINES = 16
"""The fewest lines with room for a beginning, a mark and an end. Smaller settings are raised to this."""

LARGEST_PICTURE_BYTES = 5 * 1024 * 1024 * 3 // 4
"""The strictest provider limits an image to 5 MiB of base64."""

LONGEST_SIDE = 8_000


class ContextLimits(Struct, frozen=True, kw_only=True):
    """`[tools.limits]`: the upper limits of every text that enters the model's context."""

    max_tool_tokens: int = 4_000
    max_stdout_bytes: int = 131_072
    max_lines: int = 800

    def as_output_limits(self) -> OutputLimits:
        max_bytes = max(SMALLEST_BYTES, min(self.max_tool_tokens * BYTES_PER_TOKEN, self.max_stdout_bytes))
        return OutputLimits(max_bytes=max_bytes, max_lines=max(SMALLEST_LINES, self.max_lines))


_FRAME_LINES = 4


class FittedText(Struct, frozen=True):
    text: str
    is_truncated: bool


def fit(
    head: str, tail: str = "", *, total_lines: int | None = None, limits: OutputLimits = MODEL_FORMAT
) -> FittedText:
    """Return the text within the limits. If its middle is missing, `tail` is its end; `total_lines` counts all."""
    front, back = (text.encode("utf-8", "replace") for text in (head, tail))
    lines = line_count(front) if total_lines is None else total_lines
    if not back and len(front) <= limits.max_bytes and lines <= limits.max_lines:
        return FittedText(head, is_truncated=False)
    header = f"Total output lines: {lines}\n\n"
    first = _leading(front, limits.max_bytes // 2, limits.max_lines // 2)
    room = limits.max_bytes - len(header) - len(_mark(lines, lines)) - len(first) - 1
    line_room = limits.max_lines - _FRAME_LINES - line_count(first)
    last, last_is_cut = _trailing(back or front[len(first) :], room, line_room, is_fragment=bool(back))
    shown = first.count(b"\n") + line_count(last) - last_is_cut
    between = "" if first.endswith(b"\n") or not first else "\n"
    text = f"{header}{first.decode()}{between}{_mark(lines - shown, lines)}{last.decode()}"
    return FittedText(text, is_truncated=True)


def fit_all(
    text: str, limits: ContextLimits, *, tail: str = "", total_lines: int | None = None, is_printed: bool = False
) -> FittedText:
    layers = [limits.as_output_limits(), RESULT_LIMIT, *((MODEL_FORMAT,) if is_printed else ())]
    narrowest = OutputLimits(
        max_bytes=min(layer.max_bytes for layer in layers), max_lines=min(layer.max_lines for layer in layers)
    )
    return fit(text, tail, total_lines=total_lines, limits=narrowest)


def printed_in(content: str) -> str:
    try:
        answer: object = json.loads(content)
    except ValueError:
        return content
    output = as_object(answer).get("output")
    return output if isinstance(output, str) else content


def _mark(omitted: int, lines: int) -> str:
    return f"[... omitted {omitted} of {lines} lines ...]\n\n"


def _leading(content: bytes, max_bytes: int, max_lines: int) -> bytes:
    part = content[:max_bytes]
    if len(part) < len(content):
        end = part.rfind(b"\n") + 1
        part = part[:end] or part.decode("utf-8", "ignore").encode()
    return _first_lines(part, max_lines)


def _trailing(content: bytes, max_bytes: int, max_lines: int, *, is_fragment: bool) -> tuple[bytes, bool]:
    """Return the last lines that fit, and whether the first is cut. A fragment may begin inside a line."""
    part = content[-max_bytes:]
    is_cut = False
    if (is_fragment or len(part) < len(content)) and content[-max_bytes - 1 : -max_bytes] != b"\n":
        start = part.find(b"\n") + 1
        if start in (0, len(part)):
            is_cut = True
            start = continuation_bytes(part)
        part = part[start:]
    return _last_lines(part, max_lines), is_cut


def _first_lines(content: bytes, count: int) -> bytes:
    parts = content.split(b"\n", count)
    return content[: len(content) - len(parts[-1])] if len(parts) > count else content


def _last_lines(content: bytes, count: int) -> bytes:
    parts = content.removesuffix(b"\n").rsplit(b"\n", count)
    return content[len(parts[0]) + 1 :] if len(parts) > count else content
