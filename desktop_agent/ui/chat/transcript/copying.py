"""What copying gives: of a whole row, whether or not it is on screen, and of what is selected."""

from typing import TYPE_CHECKING

from desktop_agent.ui.chat import words
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.text.copied import END
from desktop_agent.ui.chat.transcript.selection import START

if TYPE_CHECKING:
    from collections.abc import Callable

    from desktop_agent.ui.chat.entries.base import EntryWidget
    from desktop_agent.ui.chat.transcript.row import Row
    from desktop_agent.ui.chat.transcript.rows import Rows
    from desktop_agent.ui.chat.transcript.selection import Selection


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


def copied_selection(selection: "Selection", rows: "Rows", widget_of: "Callable[[Row], EntryWidget]") -> str:
    """Return what copying a selection gives: text as shown within a paragraph, markdown source beyond."""
    ends = selection.ends()
    if ends is None or selection.is_empty:
        return ""
    parts: list[str] = []
    for index in range(ends[0].row.index, ends[1].row.index + 1):
        row = rows[index]
        selected = selection.range_in(row)
        if selected is not None:
            is_whole = selected == (START, END)
            parts.append(copied_row(row) if is_whole else widget_of(row).copied_text(*selected))
    return "\n\n".join(part for part in parts if part)
