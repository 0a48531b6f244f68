"""The transcript: a pure fold of events into what a person reads, used by the window, the command line and export.

`Transcript.apply(event)` updates the entries and returns patches that say exactly what changed, so a view of 2,000
entries touches only the one that is streaming. Replaying a journal gives the same entries as having watched it live.
"""

from desktop_agent.core.transcript.entries import (
    ChangeRecord,
    CommandEntry,
    CompactionEntry,
    Entry,
    ForkEntry,
    NoticeEntry,
    PromptEntry,
    QueuedPrompt,
    RewindEntry,
    TextEntry,
    ToolEntry,
    TurnEndEntry,
    UndoEntry,
)
from desktop_agent.core.transcript.fold import (
    CHANGES,
    OUTPUT_TAIL_CHARS,
    RETRYING,
    STATUS,
    Patch,
    Status,
    Transcript,
    replay,
    todos_of,
)

__all__ = [
    "CHANGES",
    "OUTPUT_TAIL_CHARS",
    "RETRYING",
    "STATUS",
    "ChangeRecord",
    "CommandEntry",
    "CompactionEntry",
    "Entry",
    "ForkEntry",
    "NoticeEntry",
    "Patch",
    "PromptEntry",
    "QueuedPrompt",
    "RewindEntry",
    "Status",
    "TextEntry",
    "ToolEntry",
    "Transcript",
    "TurnEndEntry",
    "UndoEntry",
    "replay",
    "todos_of",
]
