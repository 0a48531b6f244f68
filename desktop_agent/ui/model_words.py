"""Words of the model's for people who decide by them: nothing in them is hidden, or changes what stands beside it."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.changes.text import split_lines, without_ending
from desktop_agent.ui.visible_text import hidden_characters, visible_line


def visible(text: str) -> str:
    """Return `text` with the names of characters that cannot be seen, or reorder others, in their places."""
    return "\n".join(visible_line(without_ending(line)).text for line in split_lines(text))


def one_line(text: str) -> str:
    """Return `text` on one line, with nothing in it that cannot be seen."""
    return " ⏎ ".join(visible(text).split("\n"))


def hidden_text_risks(command: str) -> list[str]:
    """Say what a field cannot show of a command: invisible characters, and those that reorder what is around them."""
    hidden = [visible_line(without_ending(line)).text for line in split_lines(command) if hidden_characters(line)]
    text = QCoreApplication.translate(
        "ApprovalRequest", "The command has characters that cannot be seen. It really is: {0}"
    )
    return [text.format(" ⏎ ".join(hidden))] if hidden else []
