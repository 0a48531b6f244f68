"""What copying a whole row gives, whether or not it is on screen."""

from typing import TYPE_CHECKING

from desktop_agent.ui.chat import words
from desktop_agent.ui.chat.cards.families import family_of

if TYPE_CHECKING:
    from desktop_agent.ui.chat.row import Row


def copied_row(row: "Row") -> str:
    """Return an entry as text: what was said as it was written, what was done in words."""
    entry = row.entry
    match entry.kind:
        case "prompt" | "text" | "thinking":
            return entry.text
        case "tool":
            headline = " ".join(filter(None, words.headline(entry, is_superseded=row.is_superseded)))
            parts = [headline, *(note for note, _ in words.notes(entry))]
            if output := family_of(entry).copied(row):
                parts.append(output)
            return "\n".join(parts)
        case "notice":
            notice = entry.notice
            return "\n".join(part for part in (notice.title, notice.hint) if part)
        case "page":
            return words.page(entry)
        case "undo":
            return words.undo(entry)
        case "rewind":
            return words.rewind(entry)
        case "compaction":
            return words.compaction(entry)
        case "command":
            return f"{entry.text}\n{entry.output}"
        case "fork":
            return words.fork(entry)
        case "turn_end":
            return words.turn_end(entry)
