"""What a terminal would show in the end, as plain text: the model reads this, people see the colours.

- Escape sequences (colours, cursor movements, titles) are left out.
- Of a line that a carriage return begins anew, such as a progress bar, the last state stays; `\\r\\n` is a line's end.
- A backspace takes back the character before it.

Nothing adds or removes a line feed, so counting lines before or after makes no difference.
"""

import json
import re
from typing import cast

# Every alternative begins with a literal: the search then skips ordinary text ten times as fast.
_ESCAPE = re.compile(
    r"""
      \x1b\[ [0-?]* [ -/]* [@-~]?                         # colours, cursor; also one that was cut off
    | \x9b [0-?]* [ -/]* [@-~]?
    | \x1b [\]PX^_] [^\x07\x1b\n]* (?:\x07|\x1b\\)?    # titles, links, answers to questions
    | \x1b [ -/]* [0-~]?
    | \x07 | \x0e | \x0f                                # the bell, other character sets
    """,
    re.VERBOSE,
)


def printed_in(content: str) -> str:
    """Return what a command printed, out of the JSON that the model reads of it."""
    try:
        answer: object = json.loads(content)
    except ValueError:
        return content
    output = cast("dict[str, object]", answer).get("output") if isinstance(answer, dict) else None
    return output if isinstance(output, str) else content


def plain_text(text: str) -> str:
    """Return `text` as it would stand there in the end, without colours."""
    text = _ESCAPE.sub("", text).replace("\r\n", "\n")
    if "\r" not in text and "\b" not in text:
        return text
    return "\n".join(_last_state(line) if "\r" in line or "\b" in line else line for line in text.split("\n"))


def _last_state(line: str) -> str:
    line = line.rstrip("\r").rpartition("\r")[2]
    if "\b" not in line:
        return line
    shown: list[str] = []
    for character in line:
        if character != "\b":
            shown.append(character)
        elif shown:
            shown.pop()
    return "".join(shown)
