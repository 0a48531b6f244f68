"""Text of others as it is shown in a terminal: it steers nothing and makes up no line."""

import re

from desktop_agent.core.base.hidden_text import HIDING, TURNING

_STEERING = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{TURNING}]")


def without_controls(text: str) -> str:
    """Return `text` with control characters shown as escapes, but for line feeds and tabs.

    Those that turn the direction of writing are among them: with one, a name reads as another.
    """
    return _STEERING.sub(lambda match: _escape(match.group()), text)


def escaped_in_json(document: str) -> str:
    """Return a JSON document, which is the same to programs, with escapes for those characters.

    JSON itself only asks for escapes of those below a blank: outside of strings they are its line feeds.
    """
    return _STEERING.sub(lambda match: f"\\u{ord(match.group()):04x}", document)


def number_of(count: int, noun: str) -> str:
    """Return `1 turn`, `2 turns`, `1,000 turns`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def on_one_line(text: str) -> str:
    """Return `text`, such as a file's name, with escapes for all that cannot be seen."""
    return HIDING.sub(lambda match: _escape(match.group()), text)


def _escape(char: str) -> str:
    code = ord(char)
    if char in "\n\t":
        return "\\n" if char == "\n" else "\\t"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
