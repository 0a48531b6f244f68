"""The transcript: a pure fold of events into what a user reads, used by the window, the command line and export.

`Transcript.apply(event)` updates the entries and returns patches that say exactly what changed, so a view of 2,000
entries touches only the one that is streaming. Replaying a journal gives the same entries as having watched it live.
"""

from desktop_agent.core.transcript.change_state import ChangeState, Turned, Undone, UndoStep, undone_of
from desktop_agent.core.transcript.entries import (
    CUT_OFF_KEY,
    ChangeRecord,
    CompactionEntry,
    Destroyed,
    Entry,
    JournalPage,
    NoticeEntry,
    PageEntry,
    SpendingEntry,
    TextEntry,
    ToolEntry,
    UndoEntry,
    asked_call,
    explanation_of,
    first_line,
    how_it_ended,
    spending_line,
    todos_of,
)
from desktop_agent.core.transcript.entry_fold import FALLBACK, RETRYING
from desktop_agent.core.transcript.paged import Patch
from desktop_agent.core.transcript.transcript import ContextState, SessionInfo, Transcript, TurnState, replay

__all__ = [
    "CUT_OFF_KEY",
    "FALLBACK",
    "RETRYING",
    "ChangeRecord",
    "ChangeState",
    "CompactionEntry",
    "ContextState",
    "Destroyed",
    "Entry",
    "JournalPage",
    "NoticeEntry",
    "PageEntry",
    "Patch",
    "SessionInfo",
    "SpendingEntry",
    "TextEntry",
    "ToolEntry",
    "Transcript",
    "TurnState",
    "Turned",
    "UndoEntry",
    "UndoStep",
    "Undone",
    "asked_call",
    "explanation_of",
    "first_line",
    "how_it_ended",
    "replay",
    "spending_line",
    "todos_of",
    "undone_of",
]
