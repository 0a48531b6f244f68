"""The transcript: one event in, and patches with the resulting changes out.

One fold makes the entries: which ones an event adds, and which ones it affects. The others hold the changes and what is
known of the session, its turns and its context.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal, Self

from msgspec import Struct, field
from msgspec.structs import replace

from desktop_agent.core.base.ids import CallId, ChangeId
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    ApprovalRequest,
    AssistantBlock,
    Citation,
    HostedCall,
    JsonObject,
    OpaqueBlock,
    TextBlock,
    ToolCall,
    ToolResult,
    ToolUseBlock,
    WebPage,
)
from desktop_agent.core.transcript.change_state import CHANGE_EVENTS, ChangeState
from desktop_agent.core.transcript.entries import (
    BACKGROUND_KEY,
    CUT_OFF_KEY,
    ChangeRecord,
    CompactionEntry,
    Destroyed,
    Entry,
    Fold,
    HookEntry,
    JournalPage,
    NoticeEntry,
    Piece,
    SpendingEntry,
    TextEntry,
    ToolEntry,
    readable,
    said_in,
)
from desktop_agent.core.transcript.paged import CHANGES, STATUS, PagedEntries, Patch
from desktop_agent.core.transcript.session_info import CONTEXT_EVENTS, TURN_EVENTS, ContextState, SessionInfo, TurnState

UNFINISHED = "The provider did not finish this."


def hosted_calls(content: Sequence[AssistantBlock], *, goes_on: bool) -> dict[CallId, HostedCall]:
    """Return a message's hosted calls, in order. A call without an end has failed, unless the message `goes_on`."""
    calls: dict[CallId, HostedCall] = {}
    for block in content:
        if isinstance(block, OpaqueBlock) and (call := block.call) is not None:
            begun = calls.get(call.id)
            calls[call.id] = replace(call, tool=begun.tool, query=call.query or begun.query) if begun else call
    if not goes_on:
        for call_id, call in calls.items():
            if call.state == "started":
                calls[call_id] = replace(call, state="failed", error=UNFINISHED)
    return calls


def citations_of(content: Sequence[AssistantBlock]) -> dict[str, Citation]:
    cited: dict[str, Citation] = {}
    for block in content:
        for citation in block.citations if isinstance(block, TextBlock) else ():
            known = cited.setdefault(citation.url, citation)
            if not known.quote:
                cited[citation.url] = citation
    return cited


def begun_entry(call: HostedCall, turn: int, at: datetime) -> ToolEntry:
    entry = ToolEntry(
        turn=turn,
        call=ToolCall(id=call.id, name=call.tool, arguments={}),
        title=call.query,
        is_read_only=False,
        started_at=at,
    )
    update_hosted_call(entry, call, {})
    return entry


def update_hosted_call(entry: ToolEntry, call: HostedCall, cited: dict[str, Citation]) -> None:
    query = call.query or entry.title
    arguments: JsonObject = {"url" if call.tool == "web_fetch" else "query": query} if query else {}
    entry.call, entry.title = ToolCall(id=call.id, name=call.tool, arguments=arguments), query
    entry.state = call.state
    if call.state != "started":
        entry.result = _result(call, cited)


def with_cited(calls: dict[CallId, HostedCall], cited: dict[str, Citation]) -> dict[CallId, HostedCall]:
    """Add cited pages that no call lists to the last search, which must have found them."""
    listed = {page.url for call in calls.values() for page in call.pages}
    more = tuple(WebPage(url=each.url, title=each.title) for each in cited.values() if each.url not in listed)
    searches = [call for call in calls.values() if call.tool == "web_search" and call.state == "completed"]
    if not more or not searches:
        return calls
    last = searches[-1]
    return calls | {last.id: replace(last, pages=(*last.pages, *more))}


def _result(call: HostedCall, cited: dict[str, Citation]) -> ToolResult:
    if call.error:
        return ToolResult(content=call.error, is_error=True, metadata={"at_provider": True})
    pages = sorted(call.pages, key=lambda page: page.url not in cited)  # what the answer rests on comes first
    found = [_found(page, cited.get(page.url)) for page in pages]
    content = "\n".join("\n".join(filter(None, map(str, page.values()))) for page in found)
    results: JsonObject = {"results": found} if call.tool == "web_search" else {}
    return ToolResult(content=content, metadata=results | {"at_provider": True})


def _found(page: WebPage, cited: Citation | None) -> JsonObject:
    title = page.title or (cited.title if cited is not None else "")
    return {"title": title or page.url, "link": page.url, "snippet": cited.quote if cited is not None else ""}


RETRYING = "retrying"
"""The notice code after which a half-streamed message is void, because the request is sent again."""

FALLBACK = "fallback"
"""The notice code after which another model answers, so that a half-streamed message is void as well."""

ANEW: Final = frozenset((RETRYING, FALLBACK))


class RetryNotices(Struct):
    waiting: int | None = None
    """The notice's position among the live entries; `None` while no turn waits."""

    def begin(self, paged: PagedEntries, wait_s: float) -> list[Patch]:
        """Mark the last notice that announced a wait. The answer to a command may follow it."""
        lasts = range(len(paged.entries) - 1, paged.base - 1, -1)
        self.waiting = next((at - paged.base for at in lasts if _tells_retry(paged.entries[at])), None)
        return self._mark(paged, is_waiting=True, wait_s=wait_s)

    def end(self, paged: PagedEntries) -> list[Patch]:
        patches = self._mark(paged, is_waiting=False, wait_s=0.0)
        self.waiting = None
        return patches

    def _mark(self, paged: PagedEntries, *, is_waiting: bool, wait_s: float) -> list[Patch]:
        if self.waiting is None:
            return []
        index = paged.base + self.waiting
        entry = paged.entries[index]
        if isinstance(entry, NoticeEntry):
            entry.is_waiting, entry.wait_s = is_waiting, wait_s
        return [Patch("update", index)]

    def give_way(self, paged: PagedEntries, event: ev.Notice) -> list[Patch]:
        """Remove the last entry if it reports a failed try and `event` the next one."""
        if len(paged.entries) == paged.base or event.turn is None:
            return []
        last = paged.entries[-1]
        is_same_turn = isinstance(last, NoticeEntry) and _tells_retry(last) and last.notice.turn == event.turn
        if not (is_same_turn and (event.code in ANEW or event.level == "error")):
            return []
        self.waiting = None
        return [paged.remove(len(paged.entries) - 1)]


def _tells_retry(entry: Entry) -> bool:
    return isinstance(entry, NoticeEntry) and entry.notice.code == RETRYING


def _notice_of_said(event: ev.AgentSessionOpened) -> ev.Notice:
    name = event.name or event.agent
    title = f"Before this message, the conversation went on in {name}."
    hint = "Files that it changed there are not in the review."
    return ev.Notice(level="info", code="agent", title=title, hint=hint, detail=said_in(event), at=event.at)


OUTPUT_TAIL_CHARS = 65_536

ENTRY_EVENTS: Final = frozenset({
    ev.TextDelta, ev.ThinkingDelta, ev.ToolOutputDelta, ev.HostedCallReported, ev.MessageDone, ev.PromptSubmitted,
    ev.Steered, ev.TurnEnded, ev.ToolCallStarted, ev.ToolCallFinished, ev.ChangesRecorded, ev.ApprovalRequested,
    ev.ApprovalResolved, ev.CommandJudged, ev.Notice, ev.RetryWaitReported, ev.Compacted, ev.SummaryEdited,
    ev.CompactionUndone, ev.Rewound, ev.SessionForked, ev.CommandRun, ev.AgentSessionOpened, ev.SubagentStarted,
    ev.SubagentEnded, ev.UsageReported, ev.ToolProgress, ev.HookRan,
})  # fmt: skip
"""The events that `EntryFold.apply` folds; it ignores all others."""


class EntryFold(Fold):
    paged: PagedEntries = field(default_factory=PagedEntries)
    _open: list[int] = field(default_factory=list[int])
    """Entries of the message that is being streamed, by position from the first live entry."""
    _retries: RetryNotices = field(default_factory=RetryNotices)
    _unfinished: set[CallId] = field(default_factory=set[CallId])

    def copy(self) -> Self:
        return replace(super().copy(), paged=self.paged.copy(), _retries=replace(self._retries))

    def apply(self, event: ev.Event) -> list[Patch]:  # noqa: C901 - one vocabulary
        """Fold one event. Entries for undos and redos are added by the fold of changes (`add`, `note_recovered`)."""
        match event:
            case ev.TextDelta():
                return self._stream("text", event.turn, event.text)
            case ev.ThinkingDelta():
                return self._stream("thinking", event.turn, event.text)
            case ev.MessageDone():
                return self._message_done(event)
            case ev.HostedCallReported():
                return self._hosted_call(event)
            case ev.PromptSubmitted() | ev.Steered() | ev.Rewound() | ev.SessionForked() | ev.CommandRun():
                return [self.add(event)]
            case ev.TurnEnded():
                return self._turn_ended(event)
            case ev.Notice():
                return self._notice(event)
            case ev.HookRan():
                return [self._hook(event)]
            case ev.AgentSessionOpened() if event.said:
                return [self.add(NoticeEntry(notice=_notice_of_said(event)))]
            case ev.RetryWaitReported(is_waiting=is_waiting, delay_s=delay_s):
                return self._retries.begin(self.paged, delay_s) if is_waiting else self._retries.end(self.paged)
            case ev.Compacted() | ev.SummaryEdited() | ev.CompactionUndone():
                return self._compaction(event)
            case ev.ToolCallStarted(turn=turn, call=call, title=title, is_read_only=is_read_only):
                entry = ToolEntry(turn=turn, call=call, title=title, is_read_only=is_read_only, started_at=event.at)
                return [self.add(entry)]
            case ev.ToolOutputDelta():
                return self._output(event)
            case ev.SubagentStarted():
                return self._update_call(event.call_id, event)
            case ev.UsageReported(call_id=call_id) if call_id:
                return self._update_call(call_id, event)
            case ev.ToolProgress():
                return self._progress(event)
            case ev.CommandJudged():
                return self._judged(event)
            case ev.ApprovalRequested(turn=turn, request=request) if request.spending is not None:
                return [self.add(SpendingEntry(turn=turn, request=request))]
            case ev.ApprovalRequested(request=request):
                return self._update_call(request.call_id, event)
            case ev.ApprovalResolved(call_id=call_id) if self.paged.is_question(call_id):
                return self._answer_question(event)
            case ev.ApprovalResolved() | ev.ToolCallFinished() | ev.SubagentEnded() | ev.ChangesRecorded():
                return self._update_call(event.call_id, event)
            case _:
                return []

    def add(self, entry: Entry) -> Patch:
        return self.paged.append(entry)

    def note_recovered(self, destroyed: dict[CallId, Destroyed]) -> list[Patch]:
        patches: list[Patch] = []
        for call_id, known in destroyed.items():
            index, entry = self.paged.locate(call_id)
            if entry is not None and entry.is_recovered != known.is_recovered:
                entry.is_recovered = known.is_recovered
                patches.append(Patch("update", index))
        return patches

    def note_in_force(self, compaction_id: str | None) -> list[Patch]:
        patches: list[Patch] = []
        for index, entry in enumerate(self.paged.entries):
            if isinstance(entry, CompactionEntry) and entry.is_in_force != (entry.event.compaction_id == compaction_id):
                entry.is_in_force = not entry.is_in_force
                patches.append(Patch("update", index))
        return patches

    def _hook(self, event: ev.HookRan) -> Patch:
        last = self.paged.entries[-1] if len(self.paged.entries) > self.paged.base else None
        if not isinstance(last, HookEntry) or last.runs[-1].turn != event.turn:
            return self.add(HookEntry(runs=(event,)))
        last.runs += (event,)
        return Patch("update", len(self.paged.entries) - 1)

    def _stream(self, kind: Literal["text", "thinking"], turn: int, text: str) -> list[Patch]:
        if self._open:
            index = self.paged.base + self._open[-1]
            entry = self.paged.entries[index]
            if isinstance(entry, TextEntry) and entry.kind == kind:
                entry.chunks.append(text)
                return [Patch("text", index, text)]
        patch = self.add(TextEntry(turn=turn, chunks=[text], is_open=True, kind=kind))
        self._open.append(patch.index - self.paged.base)
        return [patch]

    def _message_done(self, event: ev.MessageDone) -> list[Patch]:
        """Finalise the streamed entries of a message, or create them in a replay."""
        content, goes_on = event.content, event.stop_reason == "pause_turn"
        streamed = [_piece(self.paged.entries[self.paged.base + at]) for at in self._open]
        cited = citations_of(content)
        calls = with_cited(hosted_calls(content, goes_on=goes_on), cited)
        # A call that the message before began has its entry there.
        final = [piece for piece in readable(content) if piece[0] != "call" or piece[1] not in self._unfinished]
        patches: list[Patch] = []
        if streamed != final:
            patches = self._discard_open()
            for kind, text in final:
                if kind == "call":
                    patches.append(self.add(begun_entry(calls[text], event.turn, event.at)))
                else:
                    patches.append(self.add(TextEntry(turn=event.turn, chunks=[text], is_open=False, kind=kind)))
        for call in calls.values():
            patches += self._update_hosted_call(call, cited)
        self._unfinished = {call.id for call in calls.values() if call.state == "started"}
        last = self.paged.entries[-1] if final else None
        if isinstance(last, TextEntry) and not goes_on and event.stop_reason != "interrupted":
            last.is_final = last.kind == "text" and not any(isinstance(block, ToolUseBlock) for block in content)
        return [*patches, *self._close_open()]

    def _hosted_call(self, event: ev.HostedCallReported) -> list[Patch]:
        index, entry = self.paged.locate(event.call.id)
        is_open = index - self.paged.base in self._open or event.call.id in self._unfinished
        if entry is not None and is_open:
            return self._update_hosted_call(event.call, {})
        patch = self.add(begun_entry(event.call, event.turn, event.at))
        self._open.append(patch.index - self.paged.base)
        return [patch]

    def _update_hosted_call(self, call: HostedCall, cited: dict[str, Citation]) -> list[Patch]:
        index, entry = self.paged.locate(call.id)
        if entry is None:
            return []
        update_hosted_call(entry, call, cited)
        return [Patch("update", index)]

    def _discard_open(self) -> list[Patch]:
        patches = [self.paged.remove(self.paged.base + at) for at in reversed(self._open)]
        self._open.clear()
        return patches

    def _close_open(self) -> list[Patch]:
        patches: list[Patch] = []
        for at in self._open:
            entry = self.paged.entries[self.paged.base + at]
            if isinstance(entry, TextEntry):
                entry.is_open = False
                patches.append(Patch("update", self.paged.base + at))
        self._open.clear()
        return patches

    def _output(self, event: ev.ToolOutputDelta) -> list[Patch]:
        index, entry = self.paged.locate(event.call_id)
        if entry is None:
            return []
        entry.output_chars += len(event.text)
        entry.output_tail = (entry.output_tail + event.text)[-OUTPUT_TAIL_CHARS:]
        return [Patch("output", index, event.text)]

    def _progress(self, event: ev.ToolProgress) -> list[Patch]:
        index, entry = self.paged.locate(event.call_id)
        if entry is None or entry.state != "started":
            return []
        entry.progress = event.message
        return [Patch("update", index)]

    def _judged(self, event: ev.CommandJudged) -> list[Patch]:
        index, entry = self.paged.locate(event.call_id)
        if entry is None or not entry.is_waiting:
            return []
        entry.judged = event
        return [Patch("update", index)]

    def _update_call(
        self,
        call_id: CallId,
        event: ev.ApprovalRequested
        | ev.ApprovalResolved
        | ev.ToolCallFinished
        | ev.ChangesRecorded
        | ev.SubagentStarted
        | ev.SubagentEnded
        | ev.UsageReported,
    ) -> list[Patch]:
        index, entry = self.paged.locate(call_id, event)
        if entry is None:
            return []
        match event:
            case ev.ApprovalRequested(request=request):
                entry.ask(request, event.at)
            case ev.ApprovalResolved(decision=decision):
                entry.resolve(decision, event.at)
            case ev.SubagentStarted():
                entry.subagent = event
            case ev.UsageReported(usage=usage):
                entry.usage += usage
            case ev.ToolCallFinished() if BACKGROUND_KEY in event.result.metadata:
                pass  # its sub-agent still works
            case ev.ToolCallFinished() | ev.SubagentEnded():
                entry.state, entry.result, entry.duration_s = event.state, event.result, event.duration_s
                if CUT_OFF_KEY in event.result.metadata:
                    entry.duration_s = None  # nobody saw when it ended
            case ev.ChangesRecorded():
                entry.record(event)
        return [Patch("update", index)]

    def _answer_question(self, event: ev.ApprovalResolved) -> list[Patch]:
        index, entry = self.paged.locate_question(event)
        if entry is None:
            return []
        entry.decision = event.decision
        return [Patch("update", index)]

    def _turn_ended(self, event: ev.TurnEnded) -> list[Patch]:
        patches = [*self._close_open(), *self._retries.end(self.paged)]
        unfinished, self._unfinished = self._unfinished, set()
        for call_id in sorted(unfinished):
            patches += self._update_hosted_call(HostedCall(id=call_id, error=UNFINISHED, state="failed"), {})
        if event.reason != "completed":
            patches.append(self.add(event))
        return patches

    def _notice(self, event: ev.Notice) -> list[Patch]:
        patches = self._discard_open() if event.code in ANEW else []
        return [*patches, *self._retries.give_way(self.paged, event), self.add(NoticeEntry(notice=event))]

    def _compaction(self, event: ev.Compacted | ev.SummaryEdited | ev.CompactionUndone) -> list[Patch]:
        if isinstance(event, ev.Compacted):
            return [self.add(CompactionEntry(event=event, summary=event.summary))]
        index, entry = self.paged.locate_compaction(event)
        if entry is None:
            return []
        if isinstance(event, ev.SummaryEdited):
            entry.summary = event.summary
        else:
            entry.is_undone = True
        return [Patch("update", index)]


def _piece(entry: Entry) -> Piece | None:
    match entry:
        case TextEntry():
            return entry.kind, entry.text
        case ToolEntry():
            return "call", entry.call.id
        case _:
            return None


_CHANGING: Final = CHANGE_EVENTS - {ev.ToolCallStarted, ev.ApprovalRequested, ev.ChangesPrepared}
_SILENT: Final = frozenset({
    ev.ToolCallStarted, ev.ToolCallFinished, ev.CommandJudged, ev.HostedCallReported, ev.RetryWaitReported,
    ev.CommandRun, ev.HookRan, ev.ChangesPrepared, ev.RuleRevoked, ev.PromptRejected, ev.ContextInspected,
    ev.UnknownEvent,
})  # fmt: skip
_OF_CALLS: Final = frozenset((ev.ToolCallFinished, ev.ChangesRecorded, ev.ApprovalRequested))
_SUMMARISING: Final = frozenset((ev.Compacted, ev.SummaryEdited, ev.CompactionUndone, ev.Rewound))


_OF_STATUS: Final = ("todos", "plan", BACKGROUND_KEY)


def _is_of_status(event: ev.Event) -> bool:
    return isinstance(event, ev.ToolCallFinished) and not event.result.metadata.keys().isdisjoint(_OF_STATUS)


class Transcript(Struct):
    """One session as a user sees it. Only `apply` and loading pages change it."""

    session: SessionInfo = field(default_factory=SessionInfo)
    turns: TurnState = field(default_factory=TurnState)
    changed: ChangeState = field(default_factory=ChangeState)
    context: ContextState = field(default_factory=ContextState)
    shown: EntryFold = field(default_factory=EntryFold)

    # -- what is asked most --

    @property
    def turn(self) -> int:
        return self.turns.turn

    @property
    def pending_approvals(self) -> list[ApprovalRequest]:
        return self.turns.pending_approvals

    @property
    def changes(self) -> dict[ChangeId, ChangeRecord]:
        return self.changed.changes

    @property
    def paged(self) -> PagedEntries:
        return self.shown.paged

    @property
    def entries(self) -> list[Entry]:
        return self.shown.paged.entries

    @property
    def pages(self) -> list[JournalPage]:
        return self.shown.paged.pages

    @property
    def is_whole(self) -> bool:
        return all(page.entries for page in self.pages)

    # -- pages --

    def expand(self, number: int, page: "Transcript") -> list[Patch]:
        """Replace the placeholder of page `number` by its entries. `page` is the fold of that page's lines alone."""
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
        """Replace all live entries by a placeholder for `page`, which gets the ids of their calls and summaries."""
        for entry in self.paged.live:
            if isinstance(entry, ev.PromptSubmitted):
                self.turns.cut_prompt(entry.turn, entry.text)
        self.paged.page_out(page)

    def copy(self) -> "Transcript":
        return Transcript(
            replace(self.session), self.turns.copy(), self.changed.copy(), self.context.copy(), self.shown.copy()
        )

    # -- the fold --

    def apply(self, event: ev.Event) -> list[Patch]:
        """Fold one event and return what it changed. Never raises for unexpected events."""
        if isinstance(event, ev.TextDelta | ev.ThinkingDelta | ev.ToolOutputDelta):
            return self.shown.apply(event)  # they come in great numbers, and only an entry grows
        # Checking the type first spares most events of a long journal most of the tests of a `match`.
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
            elif isinstance(event, ev.ChangesCommitted | ev.CommitUndone):
                patches = [self.shown.add(event)]
            patches.append(CHANGES)
        elif kind in _SUMMARISING:
            patches += self.shown.note_in_force(self.context.compaction_in_force)
            patches.append(STATUS)
        elif kind not in _SILENT or (tool is not None and _is_of_status(event)):
            patches.append(STATUS)
        return patches

    def _tool_of(self, event: ev.Event) -> str | None:
        """Return the tool of the event's call, if the call is known and the event counts only then."""
        match event:
            case ev.ToolCallFinished(call_id=call_id) | ev.ChangesRecorded(call_id=call_id):
                return self.paged.tool_of(call_id)
            case ev.ApprovalRequested(request=request):
                return self.paged.tool_of(request.call_id)
            case _:
                return None


def replay(events: Iterable[ev.Event]) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript
