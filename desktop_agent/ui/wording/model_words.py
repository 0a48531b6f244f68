"""Words of the model's for a user who decides by them: nothing in them is hidden, or changes what stands beside it."""

import re

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.plain_text import HIDING, has_hidden, name_of
from desktop_agent.ui.wording.visible_text import MAX_DRAWN_CHARS

_MOST_SHOWN_CHARS = 600
"""How much of a line with hidden characters a note repeats: the command itself stands above."""
_BLANKS = re.compile(r" {9,}")


def visible(text: str) -> str:
    """Return `text` with the names of characters that cannot be seen, or reorder others, in their places.

    Tabs become blanks. A line that is too long to draw says how much of it is left out.
    """
    return "\n".join(map(_visible_line, text.split("\n")))


def one_line(text: str) -> str:
    """Return `text` on one line, with nothing in it that cannot be seen."""
    return " ⏎ ".join(visible(text).split("\n"))


def explained(explanation: str) -> str:
    """Return what the model says a call is for, marked as its words; empty if it said nothing."""
    words = " ".join(explanation.split())
    if not words:
        return ""
    return QCoreApplication.translate("ApprovalRequest", "The agent says: {0}").format(_cut(visible(words)))


def hidden_text_risks(command: str) -> list[str]:
    """Say what stands in a command that cannot be seen, or reorders what is around it."""
    hidden = [_cut(_visible_line(line)) for line in command.split("\n") if has_hidden(line)]
    text = QCoreApplication.translate(
        "ApprovalRequest", "The command has characters that cannot be seen. It really is: {0}"
    )
    return [text.format(_cut(" ⏎ ".join(hidden)))] if hidden else []


def _visible_line(line: str) -> str:
    if line.isascii() and line.isprintable() and len(line) <= MAX_DRAWN_CHARS:
        return line
    more = len(line) - MAX_DRAWN_CHARS
    drawn = HIDING.sub(lambda match: name_of(match.group()), line[:MAX_DRAWN_CHARS].expandtabs(4))
    if more <= 0:
        return drawn
    return drawn + QCoreApplication.translate("ApprovalRequest", " … {0} more characters").format(f"{more:,}")


def _cut(text: str) -> str:
    text = _BLANKS.sub(lambda match: f" ·{len(match.group()):,} spaces· ", text)
    return text if len(text) <= _MOST_SHOWN_CHARS else f"{text[:_MOST_SHOWN_CHARS]}…"
