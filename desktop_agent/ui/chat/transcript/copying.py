"""What copying gives: of a whole row, whether or not it is on screen, and of what is selected."""

from collections.abc import Callable

from desktop_agent.core.protocol.events import CommandRun, PromptSubmitted, Rewound, SessionForked, Steered, TurnEnded
from desktop_agent.core.transcript import (
    CompactionEntry,
    NoticeEntry,
    PageEntry,
    SpendingEntry,
    TextEntry,
    ToolEntry,
    UndoEntry,
    spending_line,
)
from desktop_agent.ui.chat import entry_words
from desktop_agent.ui.chat.cards.families import family_of
from desktop_agent.ui.chat.entries.entry import EntryRow, EntryWidget
from desktop_agent.ui.chat.text.column_text import END
from desktop_agent.ui.chat.transcript.rows import EntryRows
from desktop_agent.ui.chat.transcript.selection import START, TranscriptSelection
from desktop_agent.ui.translation.core_words import answer_words


def copied_row(row: EntryRow) -> str:  # noqa: C901 - one closed vocabulary
    """Return an entry as text: what was said as it was written, what was done in entry_words."""
    entry = row.entry
    match entry:
        case PromptSubmitted() | Steered() | TextEntry():
            return entry.text
        case ToolEntry():
            headline = " ".join(filter(None, entry_words.headline(entry, is_superseded=row.is_superseded)))
            parts = [headline, *(note for note, _ in entry_words.notes(entry))]
            if output := family_of(entry).copied(row):
                parts.append(output)
            return "\n".join(parts)
        case NoticeEntry():
            notice = entry.notice
            return "\n".join(part for part in (notice.title, notice.hint) if part)
        case SpendingEntry():
            return spending_line(entry)
        case PageEntry():
            return entry_words.page(entry)
        case UndoEntry():
            return entry_words.undo(entry)
        case Rewound():
            return entry_words.rewind(entry)
        case CompactionEntry():
            return entry_words.compaction(entry)
        case CommandRun():
            return f"{entry.text}\n{answer_words(entry.output)}"
        case SessionForked():
            return entry_words.fork(entry)
        case TurnEnded():
            return entry_words.turn_end(entry)


def copied_selection(
    selection: TranscriptSelection, rows: EntryRows, widget_of: Callable[[EntryRow], EntryWidget]
) -> str:
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
            if is_whole:
                parts.append(copied_row(row))
            else:
                widget = widget_of(row)
                parts.append(widget.column.text.copied(*selected, widget.source()))
    return "\n\n".join(part for part in parts if part)
