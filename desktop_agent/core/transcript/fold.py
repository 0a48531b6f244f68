"""The transcript: one event in, and patches that say what it changed."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import ChangeId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ApprovalRequest
from desktop_agent.core.transcript.change_state import CHANGE_EVENTS, ChangeState
from desktop_agent.core.transcript.context_state import CONTEXT_EVENTS, ContextState
from desktop_agent.core.transcript.entries import ChangeRecord, Entry, JournalPage
from desktop_agent.core.transcript.entry_fold import ENTRY_EVENTS, EntryFold
from desktop_agent.core.transcript.paged import PagedEntries
from desktop_agent.core.transcript.patches import CHANGES, STATUS, Patch
from desktop_agent.core.transcript.reading import todos_of
from desktop_agent.core.transcript.session_info import SessionInfo
from desktop_agent.core.transcript.turn_state import TURN_EVENTS, TurnState

_CHANGING: Final = CHANGE_EVENTS - {ev.ToolCallStarted, ev.ApprovalRequested, ev.ChangesPrepared}
_SILENT: Final = frozenset(
    (
        ev.ToolCallStarted,
        ev.ToolCallFinished,
        ev.CommandJudged,
        ev.HostedCallReported,
        ev.RetryWaitReported,
        ev.CommandRun,
        ev.ChangesPrepared,
        ev.RuleRevoked,
        ev.PromptRejected,
        ev.ContextInspected,
        ev.UnknownEvent,
    )
)
"""What says nothing beside its entry, if it has one."""
_OF_CALLS: Final = frozenset((ev.ToolCallFinished, ev.ChangesRecorded, ev.ApprovalRequested))
_SUMMARISING: Final = frozenset((ev.Compacted, ev.SummaryEdited, ev.CompactionUndone, ev.Rewound))
"""What may put another summary in force."""


class Transcript(Struct):
    """One session as a user sees it: what is known of it, in four folds, and its entries.

    Only `apply`, and loading its pages, changes it. The four stay small however long the conversation gets.
    """

    session: SessionInfo = field(default_factory=SessionInfo)
    turns: TurnState = field(default_factory=TurnState)
    changed: ChangeState = field(default_factory=ChangeState)
    context: ContextState = field(default_factory=ContextState)
    shown: EntryFold = field(default_factory=EntryFold)

    # -- what is asked most --

    @property
    def turn(self) -> int:
        """The number of the last turn; 0 before the first."""
        return self.turns.turn

    @property
    def pending_approvals(self) -> list[ApprovalRequest]:
        """What waits for the user, oldest first."""
        return self.turns.pending_approvals

    @property
    def changes(self) -> dict[ChangeId, ChangeRecord]:
        """All recorded changes in the order they were made, with the user's and with undos and redos."""
        return self.changed.changes

    @property
    def paged(self) -> PagedEntries:
        """The entries with the pages that they are on."""
        return self.shown.paged

    @property
    def entries(self) -> list[Entry]:
        """What there is to read, oldest first."""
        return self.shown.paged.entries

    @property
    def pages(self) -> list[JournalPage]:
        """The pages before the live entries, the oldest first."""
        return self.shown.paged.pages

    @property
    def is_whole(self) -> bool:
        """Whether all of the journal is folded in. At first only the end of a long one is: a page without entries
        stands for the rest, and what was changed there is not known."""
        return all(page.entries for page in self.pages)

    # -- pages --

    def expand(self, number: int, page: "Transcript") -> list[Patch]:
        """Put the entries of a page in the place of its placeholder; `page` is the fold of its lines alone."""
        paged = self.paged
        if paged.is_loaded(number) or not 0 <= number < len(paged.pages):
            return []
        for event in paged.late.get(number, ()):
            page.apply(event)
        for call_id, known in self.changed.destroyed.items():
            if paged.page_of_call(call_id) == number and (entry := page.paged.tool_entry(call_id)) is not None:
                entry.is_recovered = known.is_recovered
        page.shown.note_in_force(self.context.compaction_in_force)
        return [paged.put_in(number, page.paged)]

    def page_out(self, page: JournalPage) -> None:
        """Let all live entries go; `page` is where they are. It gets the names of what was on it."""
        for entry in self.paged.live:
            if isinstance(entry, ev.PromptSubmitted):
                self.turns.cut_prompt(entry.turn, entry.text)
        self.paged.page_out(page)

    def copy(self) -> "Transcript":
        """Return the same for another fold: what either of them folds in is not seen by the other."""
        return Transcript(
            replace(self.session), self.turns.copy(), self.changed.copy(), self.context.copy(), self.shown.copy()
        )

    # -- the fold --

    def apply(self, event: ev.Event) -> list[Patch]:
        """Fold one event in and return what it changed. Never raises for events it does not expect."""
        if isinstance(event, ev.TextDelta | ev.ThinkingDelta | ev.ToolOutputDelta):
            return self.shown.apply(event)  # they come in great numbers, and only an entry grows
        # Asking for the type spares most events of a long journal most of the questions that a `match` asks.
        kind = type(event)
        tool = self._tool_of(event) if kind in _OF_CALLS else None
        self.session.apply(event)
        if kind in TURN_EVENTS:
            self.turns.apply(event, is_known_call=tool is not None)
        if kind in CHANGE_EVENTS:
            self.changed.apply(event, self.turns.turn, tool)
        if kind in CONTEXT_EVENTS:
            self.context.apply(event, self.turns.turn)
        patches = self.shown.apply(event) if kind in ENTRY_EVENTS else []
        if kind in _CHANGING:
            if isinstance(event, ev.ChangesUndone | ev.ChangesRedone):
                patches = [self.shown.add(self.changed.undos[-1]), *self.shown.note_recovered(self.changed.destroyed)]
            patches.append(CHANGES)
        elif kind in _SUMMARISING:
            patches += self.shown.note_in_force(self.context.compaction_in_force)
            patches.append(STATUS)
        elif kind not in _SILENT or (tool is not None and _has_plan(event)):
            patches.append(STATUS)
        return patches

    def _tool_of(self, event: ev.Event) -> str | None:
        """The tool of the call that must be known for what the event says of it to count."""
        match event:
            case ev.ToolCallFinished(call_id=call_id) | ev.ChangesRecorded(call_id=call_id):
                return self.paged.tool_of(call_id)
            case ev.ApprovalRequested(request=request):
                return self.paged.tool_of(request.call_id)
            case _:
                return None


def replay(events: Iterable[ev.Event]) -> Transcript:
    """Return the transcript of a whole journal."""
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


def _has_plan(event: ev.Event) -> bool:
    return isinstance(event, ev.ToolCallFinished) and todos_of(event.result) is not None
