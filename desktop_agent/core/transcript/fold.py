"""The fold itself: one event in, the entries it changes, and patches that say which."""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from msgspec import structs

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.transcript.entries import (
    ChangeRecord,
    CommandEntry,
    CompactionEntry,
    Destroyed,
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
from desktop_agent.core.transcript.paged import PagedEntries
from desktop_agent.core.transcript.patches import CHANGES, STATUS, Patch
from desktop_agent.core.transcript.reading import first_line, is_index, readable, todos_of
from desktop_agent.core.transcript.steps import changes_named, step_of, undone_of

OUTPUT_TAIL_CHARS = 65_536
"""How much live output of a call a transcript keeps; the whole is in the tool's result or its blob."""

RETRYING = "retrying"
"""The notice code after which a half-streamed message is void: the request is sent again."""


@dataclass(slots=True)
class Transcript(PagedEntries):
    """One session as a user sees it. Only `apply`, and loading its pages, changes it."""

    _open: list[int] = field(default_factory=list[int])
    """Entries of the message that is being streamed, counted from the first live one."""
    _waiting: int | None = None
    """The notice of the wait before the next try that is on, counted likewise."""

    def expand(self, number: int, page: "Transcript") -> list[Patch]:
        """Put the entries of a page in the place of its placeholder; `page` is the fold of its lines alone."""
        if self.is_loaded(number) or not 0 <= number < len(self.pages):
            return []
        for event in self.late.get(number, ()):
            page.apply(event)
        return [self._put_in(number, page)]

    def copy(self) -> "Transcript":
        """Return the same for another fold: what either of them folds in is not seen by the other."""
        return replace(
            self,
            pins=dict(self.pins),
            changes={change_id: copy(record) for change_id, record in self.changes.items()},
            kept={path: set(hunks) for path, hunks in self.kept.items()},
            comments=dict(self.comments),
            rewound=set(self.rewound),
            queued=list(self.queued),
            prompts=dict(self.prompts),
            cut_prompts=set(self.cut_prompts),
            undos=list(self.undos),
            steps=list(self.steps),
            uncaptured=list(self.uncaptured),
            destroyed={call_id: copy(known) for call_id, known in self.destroyed.items()},
            put_back=set(self.put_back),
            waiting=dict(self.waiting),
            entries=[_copied(entry) for entry in self.entries],
            pages=list(self.pages),
            late={number: list(events) for number, events in self.late.items()},
            _loaded=dict(self._loaded),
            _tools=dict(self._tools),
            _paged_tools=dict(self._paged_tools),
            _paged_compactions=dict(self._paged_compactions),
            _open=list(self._open),
        )

    # -- the fold --

    def apply(self, event: ev.Event) -> list[Patch]:  # noqa: C901 - one closed vocabulary, matched exhaustively
        """Fold one event in and return what it changed. Never raises for events it does not expect."""
        if isinstance(event, ev.DurableEvent):
            self.last_seq = max(self.last_seq, event.seq)  # a line of another program may say anything
            self.updated_at = event.at
        match event:
            case ev.TextDelta():
                return self._stream("text", event.turn, event.text)
            case ev.ThinkingDelta():
                return self._stream("thinking", event.turn, event.text)
            case ev.ToolOutputDelta():
                return self._output(event)
            case ev.ToolProgress():
                self.activity = event.message
                return [STATUS]
            case ev.MessageDone():
                return self._message_done(event)
            case ev.ToolCallStarted():
                return self._tool_started(event)
            case ev.ToolCallFinished():
                return self._tool_finished(event)
            case ev.ApprovalRequested() | ev.ApprovalResolved():
                return self._approval(event)
            case ev.CommandJudged():
                return self._judged(event)
            case ev.ChangesRecorded():
                return self._changes_recorded(event)
            case ev.ChangesUndone() | ev.ChangesRedone():
                return self._changes_reverted(event)
            case ev.ReviewMarked() | ev.CommentAdded() | ev.CommentsRemoved():
                return self._reviewed(event)
            case ev.Rewound():
                return self._rewound(event)
            case ev.PromptSubmitted() | ev.Queued() | ev.Unqueued():
                return self._prompt(event)
            case ev.TurnStarted() | ev.TurnEnded():
                return self._turn(event)
            case ev.Notice():
                return self._notice(event)
            case ev.RetryWaitReported(is_waiting=is_waiting, delay_s=delay_s):
                return self._retry_wait(is_waiting=is_waiting, wait_s=delay_s)
            case ev.SessionOpened() | ev.SessionRenamed() | ev.ModeSet() | ev.UsageReported():
                return self._header(event)
            case ev.SessionForked() | ev.SessionArchived() | ev.SessionPinned():
                return self._session(event)
            case ev.Compacted() | ev.SummaryEdited() | ev.CompactionUndone():
                return self._compaction(event)
            case ev.Pinned() | ev.Unpinned() | ev.GuidanceLoaded() | ev.ContextMeasured():
                return self._seen_by_model(event)
            case ev.CommandRun():
                entry = CommandEntry(text=event.text, output=event.output, is_error=event.is_error, at=event.at)
                return [self._append(entry)]
            case ev.JobsReported():
                self.jobs = event.jobs
                return [STATUS]
            case ev.RulesReported():
                self.rules = event.rules
                return [STATUS]
            case (
                ev.ChangesPrepared()
                | ev.RuleRevoked()
                | ev.PromptRejected()
                | ev.ContextInspected()
                | ev.UnknownEvent()
            ):
                return []
            case _:
                assert_never(event)

    def _stream(self, kind: Literal["text", "thinking"], turn: int, text: str) -> list[Patch]:
        if self._open:
            index = self._base + self._open[-1]
            entry = self.entries[index]
            if isinstance(entry, TextEntry) and entry.kind == kind:
                entry.chunks.append(text)
                return [Patch("text", index, text)]
        patch = self._append(TextEntry(turn=turn, chunks=[text], is_open=True, kind=kind))
        self._open.append(patch.index - self._base)
        return [patch]

    def _message_done(self, event: ev.MessageDone) -> list[Patch]:
        """Make the streamed entries final; create them when nothing was streamed (replay)."""
        self.activity = ""
        streamed = [self.entries[self._base + at] for at in self._open]
        final = readable(event.content)
        if [(e.kind, e.text) for e in streamed if isinstance(e, TextEntry)] == final:
            return [STATUS, *self._close_open()]
        patches = [STATUS, *self._discard_open()]
        patches += [
            self._append(TextEntry(turn=event.turn, chunks=[text], is_open=False, kind=kind)) for kind, text in final
        ]
        return patches

    def _discard_open(self) -> list[Patch]:
        """Drop what was streamed of a message that will come again."""
        patches = [self._remove(self._base + at) for at in reversed(self._open)]
        self._open.clear()
        return patches

    def _close_open(self) -> list[Patch]:
        """Keep what was streamed, as it is."""
        patches: list[Patch] = []
        for at in self._open:
            entry = self.entries[self._base + at]
            if isinstance(entry, TextEntry):
                entry.is_open = False
                patches.append(Patch("update", self._base + at))
        self._open.clear()
        return patches

    def _tool_started(self, event: ev.ToolCallStarted) -> list[Patch]:
        entry = ToolEntry(
            turn=event.turn,
            call=event.call,
            title=event.title,
            is_read_only=event.is_read_only,
            started_at=event.at,
        )
        self.waiting.pop(event.call.id, None)
        self.destroyed.pop(event.call.id, None)
        return [self._append(entry)]

    def _output(self, event: ev.ToolOutputDelta) -> list[Patch]:
        index, entry = self._locate(event.call_id)
        if entry is None:
            return []
        entry.output_chars += len(event.text)
        entry.output_tail = (entry.output_tail + event.text)[-OUTPUT_TAIL_CHARS:]
        return [Patch("output", index, event.text)]

    def _tool_finished(self, event: ev.ToolCallFinished) -> list[Patch]:
        if not self.knows_call(event.call_id):
            return []
        patches: list[Patch] = []
        index, entry = self._locate(event.call_id, event)
        if entry is not None:
            entry.state = event.state
            entry.result = event.result
            entry.duration_s = event.duration_s
            patches.append(Patch("update", index))
        todos = todos_of(event.result)
        if todos is None:
            return patches
        self.todos = todos
        return [*patches, STATUS]

    def _approval(self, event: ev.ApprovalRequested | ev.ApprovalResolved) -> list[Patch]:
        call_id = event.request.call_id if isinstance(event, ev.ApprovalRequested) else event.call_id
        index, entry = self._locate(call_id, event)
        if isinstance(event, ev.ApprovalRequested):
            if self.knows_call(call_id):
                self.waiting[call_id] = event.request
            if entry is not None:
                entry.ask(event.request, event.at)
        else:
            self.waiting.pop(call_id, None)
            if entry is not None:
                entry.resolve(event.decision, event.at)
        return [Patch("update", index), STATUS] if entry is not None else [STATUS]

    def _judged(self, event: ev.CommandJudged) -> list[Patch]:
        index, entry = self._locate(event.call_id)
        if entry is None or not entry.is_waiting:
            return []
        entry.judged = event
        return [Patch("update", index)]

    def _changes_recorded(self, event: ev.ChangesRecorded) -> list[Patch]:
        index, entry = self._locate(event.call_id, event)
        is_known = self.knows_call(event.call_id)
        if is_known:
            self.uncaptured += ((event.turn, found) for found in event.uncaptured)
            self._note_destroyed(event)
        tool = self.tool_of(event.call_id)
        for change in event.changes:
            self.changes[change.id] = ChangeRecord(change, event.turn, event.call_id, event.at, tool=tool)
        if entry is None:
            return [CHANGES]
        entry.changes += event.changes
        entry.uncaptured += event.uncaptured
        entry.refs += event.refs
        entry.outside += event.outside
        entry.is_recoverable = entry.is_recoverable or event.is_recoverable
        return [Patch("update", index), CHANGES]

    def _note_destroyed(self, event: ev.ChangesRecorded) -> None:
        known = self.destroyed.get(event.call_id)
        if known is None:
            if not (event.refs or event.outside or event.is_recoverable):
                return
            before = (record.change.id for record in self.changes.values() if record.call_id == event.call_id)
            known = self.destroyed[event.call_id] = Destroyed(changes=tuple(before))
        known.changes += tuple(change.id for change in event.changes)
        known.refs += event.refs
        known.outside += event.outside
        known.is_recoverable = known.is_recoverable or event.is_recoverable

    def _changes_reverted(self, event: ev.ChangesUndone | ev.ChangesRedone) -> list[Patch]:
        is_undo = isinstance(event, ev.ChangesUndone)
        before = {
            change_id: undone_of(self.changes[change_id])
            for change_id in changes_named(event)
            if change_id in self.changes
        }
        for change in event.changes:
            self.changes[change.id] = ChangeRecord(change, self.turn, "", event.at)
        for change_id in event.change_ids:
            if record := self.changes.get(change_id):
                record.is_undone = is_undo
                record.undone_hunks = frozenset()
        written = (reverted for change in event.changes for reverted in change.reverts)
        settled = (reverted for outcome in event.outcomes if outcome.is_done for reverted in outcome.reverts)
        for reverted in (*written, *settled):
            if reverted.hunks and (record := self.changes.get(reverted.change_id)):
                record.undone_hunks = frozenset(reverted.hunks)
                record.is_undone = False
        if not isinstance(event, ev.ChangesUndone):
            self.steps = [step for step in self.steps if step.stands(self.changes)]
        elif step := step_of(event, before, self.changes):
            self.steps.append(step)
        entry = UndoEntry(
            purpose="undo" if is_undo else "redo", outcomes=event.outcomes, at=event.at, reason=event.reason
        )
        if isinstance(event, ev.ChangesUndone):
            entry.refs, entry.outside = event.refs, event.outside
        self.undos.append(entry)
        return [self._append(entry), *self._note_recovered(event), CHANGES]

    def _note_recovered(self, event: ev.ChangesUndone | ev.ChangesRedone) -> list[Patch]:
        """Find out of which calls everything that they destroyed is back now."""
        call_id = event.selection.call_id or ""
        if isinstance(event, ev.ChangesUndone):
            self.put_back.update((call_id, item) for item in (*event.refs, *event.outside))
        patches: list[Patch] = []
        for own_id, known in self.destroyed.items():
            if not known.is_recoverable:
                continue
            lost = (*(change for change in known.refs if change.is_loss), *known.outside)
            is_back = all(self.changes[change_id].is_undone for change_id in known.changes if change_id in self.changes)
            is_back = is_back and all((own_id, item) in self.put_back for item in lost if not is_index(item))
            if is_back == known.is_recovered:
                continue
            known.is_recovered = is_back
            index, entry = self._locate(own_id)
            if entry is not None:
                entry.is_recovered = is_back
                patches.append(Patch("update", index))
        return patches

    def _reviewed(self, event: ev.ReviewMarked | ev.CommentAdded | ev.CommentsRemoved) -> list[Patch]:
        match event:
            case ev.ReviewMarked():
                kept = self.kept.setdefault(event.path, set())
                kept.update(event.hunks) if event.state == "kept" else kept.difference_update(event.hunks)
            case ev.CommentAdded():
                self.comments[event.comment.id] = event.comment
            case ev.CommentsRemoved():
                for comment_id in event.comment_ids:
                    self.comments.pop(comment_id, None)
            case _:
                assert_never(event)
        return [CHANGES]

    def _rewound(self, event: ev.Rewound) -> list[Patch]:
        if event.scope != "files":
            self.rewound.update(range(event.turn, self.turn + 1))
            self.compactions = {name: last for name, last in self.compactions.items() if last < event.turn}
        entry = RewindEntry(turn=event.turn, scope=event.scope, at=event.at)
        return [self._append(entry), *self._note_in_force(), STATUS]

    def _prompt(self, event: ev.PromptSubmitted | ev.Queued | ev.Unqueued) -> list[Patch]:
        self.queued = [prompt for prompt in self.queued if prompt.prompt_id != event.prompt_id]
        match event:
            case ev.Queued():
                self.queued.append(QueuedPrompt(event.prompt_id, event.text))
            case ev.PromptSubmitted():
                if not self.title:
                    self.title = first_line(event.text)
                self.prompts[event.turn] = event.text
                entry = PromptEntry(prompt_id=event.prompt_id, text=event.text, turn=event.turn, at=event.at)
                return [self._append(entry), STATUS]
            case ev.Unqueued():
                pass
            case _:
                assert_never(event)
        return [STATUS]

    def _turn(self, event: ev.TurnStarted | ev.TurnEnded) -> list[Patch]:
        self.activity = ""
        if isinstance(event, ev.TurnStarted):
            self.turn = event.turn
            self.is_running = True
            self.model = event.model
            return [STATUS]
        self.is_running = False
        self.last_end = event.reason
        patches = [*self._close_open(), *self._retry_wait(is_waiting=False)]
        if event.reason != "completed":
            entry = TurnEndEntry(
                turn=event.turn, reason=event.reason, requests=event.requests, duration_s=event.duration_s
            )
            patches.append(self._append(entry))
        return [*patches, STATUS]

    def _notice(self, event: ev.Notice) -> list[Patch]:
        patches = self._discard_open() if event.code == RETRYING else []
        if self._is_answered_by(event):
            patches.append(self._remove(len(self.entries) - 1))
            self._waiting = None
        return [*patches, self._append(NoticeEntry(notice=event)), STATUS]

    def _is_answered_by(self, event: ev.Notice) -> bool:
        """Whether the last entry reports a failed try, and `event` the next one: one of them is enough."""
        if len(self.entries) == self._base or event.turn is None or not _tells_retry(last := self.entries[-1]):
            return False
        is_same_turn = isinstance(last, NoticeEntry) and last.notice.turn == event.turn
        return is_same_turn and (event.code == RETRYING or event.level == "error")

    def _retry_wait(self, *, is_waiting: bool, wait_s: float = 0.0) -> list[Patch]:
        """Mark the notice that announced the wait: the last one, which the answer to a command may come after."""
        if is_waiting:
            lasts = range(len(self.entries) - 1, self._base - 1, -1)
            self._waiting = next((at - self._base for at in lasts if _tells_retry(self.entries[at])), None)
        if self._waiting is None:
            return []
        index = self._base + self._waiting
        entry = self.entries[index]
        if isinstance(entry, NoticeEntry):
            entry.is_waiting, entry.wait_s = is_waiting, wait_s
        if not is_waiting:
            self._waiting = None
        return [Patch("update", index)]

    def _session(self, event: ev.SessionForked | ev.SessionArchived | ev.SessionPinned) -> list[Patch]:
        match event:
            case ev.SessionForked():
                self.forked_from = event.source
                entry = ForkEntry(source=event.source, title=event.title, before_turn=event.before_turn, at=event.at)
                return [self._append(entry), STATUS]
            case ev.SessionArchived():
                self.is_archived = event.is_archived
            case ev.SessionPinned():
                self.is_pinned = event.is_pinned
            case _:
                assert_never(event)
        return [STATUS]

    def _compaction(self, event: ev.Compacted | ev.SummaryEdited | ev.CompactionUndone) -> list[Patch]:
        if isinstance(event, ev.Compacted):
            entry = CompactionEntry(
                compaction_id=event.compaction_id,
                through_turn=event.through_turn,
                summary=event.summary,
                tokens_before=event.tokens_before,
                tokens_after=event.tokens_after,
                at=event.at,
                is_automatic=event.is_automatic,
                shortened=len(event.shortened),
            )
            self.activity = ""
            self.compactions[event.compaction_id] = event.through_turn
            return [self._append(entry), *self._note_in_force(), STATUS]
        if isinstance(event, ev.CompactionUndone):
            self.compactions.pop(event.compaction_id, None)
        index, entry = self._locate_compaction(event)
        if entry is None:
            return [*self._note_in_force(), STATUS]
        if isinstance(event, ev.SummaryEdited):
            entry.summary = event.summary
        else:
            entry.is_undone = True
        return [Patch("update", index), *self._note_in_force(), STATUS]

    def _note_in_force(self) -> list[Patch]:
        """Mark the summary that the model sees, among those that are loaded."""
        patches: list[Patch] = []
        for index, entry in enumerate(self.entries):
            if isinstance(entry, CompactionEntry) and entry.is_in_force != self.is_in_force(entry):
                entry.is_in_force = self.is_in_force(entry)
                patches.append(Patch("update", index))
        return patches

    def _seen_by_model(self, event: ev.Pinned | ev.Unpinned | ev.GuidanceLoaded | ev.ContextMeasured) -> list[Patch]:
        match event:
            case ev.Pinned(pin=pin):
                self.pins[pin.id] = pin
            case ev.Unpinned(pin_id=pin_id):
                self.pins.pop(pin_id, None)
            case ev.GuidanceLoaded(files=files):
                self.guidance = files
            case ev.ContextMeasured(use=use):
                self.context = use
            case _:
                assert_never(event)
        return [STATUS]

    def _header(self, event: ev.SessionOpened | ev.SessionRenamed | ev.ModeSet | ev.UsageReported) -> list[Patch]:
        match event:
            case ev.SessionOpened():
                self.session_id = event.session_id
                self.workspace = event.workspace
                self.purpose = event.purpose
                self.model, self.approval, self.sandbox = event.model, event.approval, event.sandbox
                self.opened_at = event.at
            case ev.SessionRenamed():
                self.title = event.title
                self.is_title_given = not event.is_generated
            case ev.ModeSet():
                self.model, self.approval, self.sandbox = event.model, event.approval, event.sandbox
            case ev.UsageReported():
                self.usage += event.usage
                if not event.is_aside:
                    self.context_tokens = event.usage.context_tokens
            case _:
                assert_never(event)
        return [STATUS]


def replay(events: Iterable[ev.Event]) -> Transcript:
    """Return the transcript of a whole journal."""
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


def _copied(entry: Entry) -> Entry:
    if isinstance(entry, TextEntry):
        return structs.replace(entry, chunks=list(entry.chunks))
    return copy(entry)


def _tells_retry(entry: Entry) -> bool:
    return isinstance(entry, NoticeEntry) and entry.notice.code == RETRYING
