"""The transcript: a pure fold of events into what a user reads, used by the window, the command line and export.

`Transcript.apply(event)` updates the entries and returns patches that say exactly what changed, so a view of 2,000
entries touches only the one that is streaming. Replaying a journal gives the same entries as having watched it live.
"""

from desktop_agent.core.transcript.change_state import ChangeState
from desktop_agent.core.transcript.context_state import ContextState
from desktop_agent.core.transcript.entries import (
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
)
from desktop_agent.core.transcript.fold import Transcript, replay
from desktop_agent.core.transcript.patches import Patch
from desktop_agent.core.transcript.reading import (
    CUT_OFF_KEY,
    asked_call,
    explanation_of,
    first_line,
    how_it_ended,
    spending_line,
    todos_of,
)
from desktop_agent.core.transcript.retry_notices import FALLBACK, RETRYING
from desktop_agent.core.transcript.session_info import SessionInfo
from desktop_agent.core.transcript.steps import Turned, Undone, UndoStep, undone_of
from desktop_agent.core.transcript.turn_state import TurnState

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
