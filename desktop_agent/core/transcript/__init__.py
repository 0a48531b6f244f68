"""The transcript: a pure fold of events into what a user reads, used by the window, the command line and export."""

from desktop_agent.core.transcript.change_state import (
    ChangeState as ChangeState, UndoEffect as UndoEffect, Undone as Undone, UndoStep as UndoStep,
    undone_of as undone_of,
)  # fmt: skip
from desktop_agent.core.transcript.entries import (
    BACKGROUND_KEY as BACKGROUND_KEY, CUT_OFF_KEY as CUT_OFF_KEY, ChangeRecord as ChangeRecord,
    CompactionEntry as CompactionEntry, Destroyed as Destroyed, Entry as Entry,
    HookEntry as HookEntry, JournalPage as JournalPage,
    NoticeEntry as NoticeEntry, PageEntry as PageEntry, SpendingEntry as SpendingEntry, TextEntry as TextEntry,
    ToolEntry as ToolEntry, UndoEntry as UndoEntry, asked_call as asked_call, explanation_of as explanation_of,
    first_line as first_line, hook_line as hook_line, how_it_ended as how_it_ended, spending_line as spending_line,
    todos_of as todos_of,
)  # fmt: skip
from desktop_agent.core.transcript.paged import Patch as Patch
from desktop_agent.core.transcript.session_info import (
    ContextState as ContextState, SessionInfo as SessionInfo, TurnState as TurnState,
)  # fmt: skip
from desktop_agent.core.transcript.transcript import (
    FALLBACK as FALLBACK, RETRYING as RETRYING, Transcript as Transcript, replay as replay,
)  # fmt: skip
