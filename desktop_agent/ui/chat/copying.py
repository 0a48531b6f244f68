"""What copying a whole entry gives, whether or not it is on screen."""

from typing import TYPE_CHECKING

from desktop_agent.ui.chat import words
from desktop_agent.ui.chat.entries.tool import output_of

if TYPE_CHECKING:
    from desktop_agent.core.transcript import Entry


def copied_entry(entry: "Entry") -> str:
    """Return an entry as text: what was said as it was written, what was done in words."""
    match entry.kind:
        case "prompt" | "text" | "thinking":
            return entry.text
        case "tool":
            parts = [f"{words.verb(entry.call.name)} {entry.title}", *(note for note, _ in words.notes(entry))]
            if not entry.changes and (output := output_of(entry).text):
                parts.append(output)
            return "\n".join(parts)
        case "notice":
            notice = entry.notice
            return "\n".join(part for part in (notice.title, notice.hint) if part)
        case "undo":
            return words.undo(entry)
        case "turn_end":
            return words.turn_end(entry)
